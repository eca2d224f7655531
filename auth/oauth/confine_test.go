package oauth_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/indusagi/indus/auth/oauth"
)

// moving returns a server that names another authorization server after a call of move. Both send the token requests to
// told.
func moving(t *testing.T) (server, elsewhere *attacker, move func(), told chan string) {
	t.Helper()
	told = make(chan string, 10)
	var moved atomic.Bool
	token := func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		told <- r.Host + " " + r.Header.Get("Authorization") + " " + string(b)
		says(`{"access_token":"of-`+r.Host+`","token_type":"Bearer","expires_in":1}`)(w, r)
	}
	elsewhere = attack(t, map[string]http.HandlerFunc{"/token": token})
	server = attack(t, map[string]http.HandlerFunc{"/token": token, prmPath: func(w http.ResponseWriter, r *http.Request) {
		if moved.Load() {
			says(`{"resource":"~/mcp","authorization_servers":["`+elsewhere.URL+`"]}`)(w, r)
			return
		}
		says(prm)(w, r)
	}})
	return server, elsewhere, func() { moved.Store(true) }, told
}

// A client's secret and its token for exchange are sent only to the authorization server that got them first. This
// holds for every server that is named later, and for every principal. The secret is in a header, and the token is in
// the form.
func TestSecretStaysWithItsIssuer(t *testing.T) {
	t.Parallel()
	id, word := "client-of-ours", oauth.NewSecret("the-secret-of-ours")
	subject := &oauth.Exchange{Subject: func(context.Context, string) (oauth.Secret, string, error) {
		return oauth.NewSecret("the-subject-of-ours"), oauth.TypeIDToken, nil
	}}
	for name, o := range map[string]oauth.Options{
		"client credentials": {Grant: oauth.ClientCredentials, ClientID: id, ClientSecret: word},
		"a person":           {ClientID: id, ClientSecret: word, Interact: visitor()},
		"an exchange":        {Grant: oauth.TokenExchange, ClientID: id, Exchange: subject},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, elsewhere, move, told := moving(t)
			o.Store = &oauth.MemoryStore{}
			if err := newClient(t, o).SignIn(t.Context(), server.URL+"/mcp", "ann"); err != nil {
				t.Fatal(err)
			}
			<-told
			move()
			err := newClient(t, o).SignIn(t.Context(), server.URL+"/mcp", "ben")
			step, ok := errors.AsType[*oauth.StepError](err)
			if !errors.Is(err, oauth.ErrOtherIssuer) || !ok || step.URL != elsewhere.URL || !strings.Contains(err.Error(), "at "+server.URL) || len(told) > 0 {
				t.Fatal(err, len(told))
			}
			// A client that names the other issuer goes there, and no longer back.
			o.Issuer = elsewhere.URL
			if err := newClient(t, o).SignIn(t.Context(), server.URL+"/mcp", "ben"); err != nil || !strings.HasPrefix(<-told, strings.TrimPrefix(elsewhere.URL, "http://")) {
				t.Error(err)
			}
		})
	}
}

// If the authorization server does not grant a scope that the server requires, the scope is given up. The former scopes
// can be granted again.
func TestScopesOfARefusedStepUp(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"invalid_scope", "access_denied"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			asked := make(chan []string, 10)
			a := attack(t, map[string]http.HandlerFunc{"/mcp": func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Header.Get("Authorization") == "":
					w.Header().Set("WWW-Authenticate", `Bearer scope="read"`)
					w.WriteHeader(http.StatusUnauthorized)
				case r.URL.RawQuery != "":
					w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="admin"`)
					w.WriteHeader(http.StatusForbidden)
				}
			}})
			grants := a.answers["/authorize"]
			a.answers["/authorize"] = func(w http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				scopes := strings.Fields(q.Get("scope"))
				asked <- scopes
				if slices.Contains(scopes, "admin") {
					http.Redirect(w, r, q.Get("redirect_uri")+"?error="+code+"&state="+q.Get("state"), http.StatusFound)
					return
				}
				grants(w, r)
			}
			store := &oauth.MemoryStore{}
			c, waits := newClient(t, oauth.Options{Store: store, Interact: visitor()}), newClient(t, oauth.Options{Store: store})
			signIn := func(want string) (err error) {
				t.Helper()
				err = c.SignIn(t.Context(), a.URL+"/mcp", "")
				if got := strings.Join(<-asked, " "); got != want {
					t.Errorf("asked for %q, and not for %q", got, want)
				}
				return err
			}
			if err := signIn("read"); err != nil {
				t.Fatal(err)
			}
			rt := waits.Transport(nil, a.URL+"/mcp", "")
			if _, _, err := send(t, rt, a.URL+"/mcp?more", ""); !isSignIn(err) {
				t.Fatal(err)
			}
			if refused, ok := errors.AsType[*oauth.ServerError](signIn("read admin")); !ok || refused.Code != code {
				t.Fatal(refused)
			}
			wants(t, rt, a.URL+"/mcp", "", "") // the token is still valid
			if err := signIn("read"); err != nil {
				t.Error(err)
			}
		})
	}
}

func isSignIn(err error) bool { _, ok := errors.AsType[*oauth.SignInError](err); return ok }

// Tenants that differ only by the query (RFC 9728 section 3) have their own sign-ins and metadata.
func TestTenantsByQuery(t *testing.T) {
	t.Parallel()
	var got atomic.Value
	a := attack(t, map[string]http.HandlerFunc{
		prmPath: func(w http.ResponseWriter, r *http.Request) {
			says(`{"resource":"~/mcp?`+r.URL.RawQuery+`","authorization_servers":["~"]}`)(w, r)
		},
		"/token": func(w http.ResponseWriter, r *http.Request) {
			got.Store(r.FormValue("resource"))
			says(`{"access_token":"t","token_type":"Bearer"}`)(w, r)
		},
	})
	c := newClient(t, oauth.Options{Interact: visitor()})
	if err := c.SignIn(t.Context(), a.URL+"/mcp/?tenant=a", ""); err != nil || got.Load() != a.URL+"/mcp?tenant=a" {
		t.Fatal(err, got.Load())
	}
	for address, want := range map[string]bool{"/mcp?tenant=a": true, "/mcp/?tenant=a#x": true, "/mcp?tenant=b": false, "/mcp": false} {
		if s, err := c.Status(t.Context(), a.URL+address, ""); err != nil || s.SignedIn != want {
			t.Error(address, s, err)
		}
	}
	// The metadata of another tenant are refused.
	a.answers[prmPath] = a.says(`{"resource":"~/mcp?tenant=a","authorization_servers":["~"]}`)
	if err := c.SignIn(t.Context(), a.URL+"/mcp?tenant=b", ""); err == nil || !strings.Contains(err.Error(), "of another server") {
		t.Error(err)
	}
}
