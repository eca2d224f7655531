package authserver_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/authserver"
)

const resource = "http://127.0.0.1:7/mcp"

func TestTokensNameTheirResource(t *testing.T) {
	t.Parallel()
	as := authserver.Start(t, nil)
	for user, token := range map[string]string{
		"machine": as.ClientToken(t, resource, "read"),
		"bob":     as.UserToken(t, "bob", resource, "read", "write"),
	} {
		var claims struct{ Aud, Sub, Iss, Scope string }
		part, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(part, &claims); err != nil {
			t.Fatal(err)
		}
		if claims.Aud != resource || claims.Sub != user || claims.Iss != as.Issuer ||
			!strings.HasPrefix(claims.Scope, "read") {
			t.Errorf("%s has %+v", user, claims)
		}
	}
	if counts := as.Counts(t); counts["client_credentials"] != 1 || counts["authorization_code"] != 1 {
		t.Error(counts)
	}
}

func TestRevokedTokensAreNoLongerActive(t *testing.T) {
	t.Parallel()
	as := authserver.Start(t, &authserver.Options{Opaque: true})
	token := as.UserToken(t, "bob", resource, "read")
	if got := introspect(t, as, token); !strings.Contains(got, `"active":true`) || !strings.Contains(got, resource) {
		t.Error(got)
	}
	as.Revoke(t, "bob")
	if got := introspect(t, as, token); !strings.Contains(got, `"active":false`) {
		t.Error(got)
	}
}

func introspect(t *testing.T, as *authserver.Server, token string) string {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, as.URL+"/token/introspection",
		strings.NewReader(url.Values{"token": {token}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(authserver.Machine().ID, authserver.Machine().Secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
