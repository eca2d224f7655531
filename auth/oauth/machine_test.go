package oauth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"testing"

	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/internal/testkit/authserver"
)

// keyPair returns a private key and its public key, in PEM.
func keyPair(t *testing.T) (private, public string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	known, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: known}))
}

// machines tests the grants that ask no person.
func machines(t *testing.T, as *authserver.Server, key string) {
	m := authserver.Machine()
	p := protect(t, as, false)
	user := func(context.Context, string) (oauth.Secret, string, error) {
		return oauth.NewSecret(as.UserToken(t, "frida", "http://127.0.0.1:1/other", "read")), oauth.TypeAccessToken, nil
	}
	for name, c := range map[string]struct {
		o    oauth.Options
		want string
	}{
		"a secret": {oauth.Options{Grant: oauth.ClientCredentials, ClientID: m.ID, ClientSecret: oauth.NewSecret(m.Secret)}, "machine"},
		"a key":    {oauth.Options{Grant: oauth.ClientCredentials, ClientID: "keyed", Key: oauth.NewSecret(key)}, "keyed"},
		"an exchange": {oauth.Options{
			Grant: oauth.TokenExchange, ClientID: m.ID, ClientSecret: oauth.NewSecret(m.Secret), Exchange: &oauth.Exchange{Subject: user},
		}, "frida"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wants(t, newClient(t, c.o).Transport(nil, p.URL+"/mcp", ""), p.URL+"/mcp", " x", c.want+" x")
		})
	}
	t.Run("a wrong secret", func(t *testing.T) {
		t.Parallel()
		c := newClient(t, oauth.Options{Grant: oauth.ClientCredentials, ClientID: m.ID, ClientSecret: oauth.NewSecret("wrong")})
		_, _, err := send(t, c.Transport(nil, p.URL+"/mcp", ""), p.URL+"/mcp", "")
		if refused, ok := errors.AsType[*oauth.ServerError](err); !ok || refused.Code != "invalid_client" || refused.Status != http.StatusUnauthorized {
			t.Error(err)
		}
	})
}
