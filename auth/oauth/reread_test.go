package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/indusagi/indus/auth/oauth"
)

// If another process signed a principal out, this process no longer sends the principal's token, although the token is
// still valid. After a sign-in with another account, it sends the token of that account.
func TestSignedOutElsewhere(t *testing.T) {
	t.Parallel()
	tokens := make(chan string, 2)
	tokens <- "of-one-account"
	tokens <- "of-another"
	sent := make(chan string, 1)
	a := attack(t, map[string]http.HandlerFunc{
		"/token": func(w http.ResponseWriter, r *http.Request) {
			says(`{"access_token":"`+<-tokens+`","token_type":"Bearer"}`)(w, r)
		},
		"/mcp": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			sent <- r.Header.Get("Authorization")
		},
	})
	store := &oauth.MemoryStore{}
	runs, other := newClient(t, oauth.Options{Store: store}), newClient(t, oauth.Options{Store: store, Interact: visitor()})
	rt := runs.Transport(nil, a.URL+"/mcp", "ann")
	for _, account := range []string{"of-one-account", "of-another"} {
		if err := other.SignIn(t.Context(), a.URL+"/mcp", "ann"); err != nil {
			t.Fatal(err)
		}
		runs.Reread(t.Context())
		if _, _, err := send(t, rt, a.URL+"/mcp", ""); err != nil {
			t.Fatal(err)
		}
		if got := <-sent; got != "Bearer "+account {
			t.Error(got)
		}
	}
	if err := other.SignOut(t.Context(), a.URL+"/mcp", "ann"); err != nil {
		t.Fatal(err)
	}
	runs.Reread(t.Context())
	if _, _, err := send(t, rt, a.URL+"/mcp", ""); !isSignIn(err) {
		t.Error(err)
	}
}

// A secret is not sent to the authorization server of an earlier configuration if it belongs to another one.
func TestSecretOfALaterConfiguration(t *testing.T) {
	t.Parallel()
	server, elsewhere, move, told := moving(t)
	server.answers["/token"] = func(w http.ResponseWriter, r *http.Request) {
		told <- r.Host + " " + r.Header.Get("Authorization")
		says(`{"access_token":"t","refresh_token":"r","token_type":"Bearer","expires_in":0.001}`)(w, r)
	}
	store := &oauth.MemoryStore{}
	client := func(secret, issuer string) *oauth.Client {
		return newClient(t, oauth.Options{Store: store, ClientID: "ours", ClientSecret: oauth.NewSecret(secret), Issuer: issuer, Interact: visitor()})
	}
	if err := client("one", server.URL).SignIn(t.Context(), server.URL+"/mcp", "ann"); err != nil || !strings.Contains(<-told, "Basic ") {
		t.Fatal(err)
	}
	move()
	c := client("another", "")
	if err := c.SignIn(t.Context(), server.URL+"/mcp", "ben"); err != nil || !strings.HasPrefix(<-told, strings.TrimPrefix(elsewhere.URL, "http://")) {
		t.Fatal(err)
	}
	if _, _, err := send(t, c.Transport(nil, server.URL+"/mcp", "ann"), server.URL+"/mcp", ""); err != nil { // with a new sign-in, at the other server
		t.Error(err)
	}
	for len(told) > 0 {
		if got := <-told; strings.HasPrefix(got, strings.TrimPrefix(server.URL, "http://")) {
			t.Error(got)
		}
	}
}

// A sign-in by an address requests the former scopes, and the scopes that the server required since. This holds even if
// no connection with that knowledge is left, such as after a restart.
func TestAddressOfAStepUp(t *testing.T) {
	t.Parallel()
	a := attack(t, map[string]http.HandlerFunc{"/mcp": func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", `Bearer scope="read"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="admin"`)
		w.WriteHeader(http.StatusForbidden)
	}})
	store := &oauth.MemoryStore{}
	if err := newClient(t, oauth.Options{Store: store, Interact: visitor()}).SignIn(t.Context(), a.URL+"/mcp", "ann"); err != nil {
		t.Fatal(err)
	}
	before := newClient(t, oauth.Options{Store: store})
	if _, _, err := send(t, before.Transport(nil, a.URL+"/mcp", "ann"), a.URL+"/mcp", ""); !isSignIn(err) {
		t.Fatal(err)
	}
	address, err := newClient(t, oauth.Options{Store: store}).SignInAddress(t.Context(), a.URL+"/mcp", "ann")
	if err != nil {
		t.Fatal(err)
	}
	if u, err := url.Parse(address); err != nil || u.Query().Get("scope") != "read admin" {
		t.Error(address, err)
	}
}
