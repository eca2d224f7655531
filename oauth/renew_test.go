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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/authserver"
	"github.com/indusagi/indus/oauth"
)

// TestRenewal is about refresh tokens of which two uses end the whole sign-in.
func TestRenewal(t *testing.T) {
	t.Parallel()
	as := authserver.Start(t, &authserver.Options{TTL: 3, Opaque: true, StrictResource: true})
	t.Run("ten who share a store", func(t *testing.T) {
		p, store := protect(t, as, true), &oauth.MemoryStore{}
		if err := newClient(t, oauth.Options{Store: store, Interact: newPerson("dora")}).SignIn(t.Context(), p.URL+"/mcp", ""); err != nil {
			t.Fatal(err)
		}
		var transports []http.RoundTripper
		for range 10 { // as other processes: nothing but the store is shared
			transports = append(transports, newClient(t, oauth.Options{Store: store}).Transport(nil, p.URL+"/mcp", ""))
		}
		const rounds = 4
		before := as.Counts(t)
		for range rounds {
			var all sync.WaitGroup
			for i := range 2 * len(transports) {
				all.Go(func() {
					if status, got, err := send(t, transports[i/2], p.URL+"/mcp", " asks"); err != nil || status != 200 || got != "dora asks" {
						t.Error(status, got, err)
					}
				})
			}
			all.Wait()
			as.Expire(t, "dora")
		}
		wants(t, transports[0], p.URL+"/mcp", "", "dora")
		after := as.Counts(t)
		if n := after["refresh_token"] - before["refresh_token"]; n < rounds || n > 2*rounds { // some are renewed because time is up
			t.Errorf("%d refreshes in %d rounds", n, rounds)
		}
		if after["refresh_token: invalid_grant"] > 0 || after["revoked"] > 0 {
			t.Error(after)
		}
	})
	t.Run("a token that was ended", func(t *testing.T) {
		p, store := protect(t, as, true), &oauth.MemoryStore{}
		if err := newClient(t, oauth.Options{Store: store, Interact: newPerson("emil")}).SignIn(t.Context(), p.URL+"/mcp", ""); err != nil {
			t.Fatal(err)
		}
		c := newClient(t, oauth.Options{Store: store})
		rt := c.Transport(nil, p.URL+"/mcp", "")
		wants(t, rt, p.URL+"/mcp", "", "emil")
		as.Revoke(t, "emil")
		_, _, err := send(t, rt, p.URL+"/mcp", "")
		needed, ok := errors.AsType[*oauth.SignInError](err)
		if !ok || needed.Issuer != as.Issuer || !strings.Contains(err.Error(), "no longer good") {
			t.Fatal(err)
		}
		if s, err := c.Status(t.Context(), p.URL+"/mcp", ""); s.Renews || s.Issuer != as.Issuer || err != nil {
			t.Error(s, err)
		}
		if err := newClient(t, oauth.Options{Store: store, Interact: newPerson("emil")}).SignIn(t.Context(), p.URL+"/mcp", ""); err != nil {
			t.Fatal(err)
		}
		wants(t, rt, p.URL+"/mcp", "", "emil")
	})
	t.Run("before it expires", func(t *testing.T) {
		p, m := protect(t, as, true), authserver.Machine()
		gina := newClient(t, oauth.Options{Interact: newPerson("gina")}).Transport(nil, p.URL+"/mcp", "")
		machine := newClient(t, oauth.Options{Grant: oauth.ClientCredentials, ClientID: m.ID, ClientSecret: oauth.NewSecret(m.Secret)}).Transport(nil, p.URL+"/mcp", "")
		wants(t, gina, p.URL+"/mcp", "", "gina")
		wants(t, machine, p.URL+"/mcp", "", "")
		before := p.refused.Load()
		time.Sleep(1600 * time.Millisecond) // half a life: no event says so
		wants(t, gina, p.URL+"/mcp", "", "gina")
		wants(t, machine, p.URL+"/mcp", "", "")
		if n := p.refused.Load() - before; n > 0 || as.Counts(t)["refresh_token"] == 0 {
			t.Errorf("%d requests were refused; %v", n, as.Counts(t))
		}
	})
}

// TestMachines has the grants that ask nobody.
func TestMachines(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	m := authserver.Machine()
	as := authserver.Start(t, &authserver.Options{Clients: []authserver.Client{
		{ID: "keyed", Key: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))},
		{ID: "post", Secret: "post-secret", Method: "client_secret_post"},
	}})
	p := protect(t, as, false)
	user := func(context.Context, string) (oauth.Secret, string, error) {
		return oauth.NewSecret(as.UserToken(t, "frida", "http://127.0.0.1:1/other", "read")), oauth.TypeAccessToken, nil
	}
	for name, c := range map[string]struct {
		o    oauth.Options
		want string
	}{
		"a secret": {oauth.Options{Grant: oauth.ClientCredentials, ClientID: m.ID, ClientSecret: oauth.NewSecret(m.Secret)}, "machine"},
		"a key":    {oauth.Options{Grant: oauth.ClientCredentials, ClientID: "keyed", Key: oauth.NewSecret(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))}, "keyed"},
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
