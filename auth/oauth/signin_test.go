package oauth_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/internal/testkit/authserver"
)

const document = "https://client.example/oauth/indus.json"

// TestSignIn runs the sign-ins of people at one authorization server.
func TestSignIn(t *testing.T) {
	t.Parallel()
	private, public := keyPair(t)
	as := authserver.Start(t, &authserver.Options{
		Clients:   []authserver.Client{{ID: "known", Secret: "known secret/+", Redirects: []string{"http://127.0.0.1:7333/callback"}}, {ID: "keyed", Key: public}},
		Documents: map[string]any{document: map[string]any{"client_id": document, "client_name": "indus", "redirect_uris": []string{"http://127.0.0.1/callback"}, "grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"}, "token_endpoint_auth_method": "none", "application_type": "native"}},
	})
	t.Run("machines", func(t *testing.T) { machines(t, as, private) })
	t.Run("once for all who wait", func(t *testing.T) {
		p, alice := protect(t, as, false), newPerson("alice")
		before := as.Counts(t)["registered"]
		store := &oauth.MemoryStore{}
		c := newClient(t, oauth.Options{Store: store, Interact: alice})
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if status, got, err := send(t, c.Transport(nil, p.URL+"/mcp", ""), p.URL+"/mcp", " asks"); err != nil || status != 200 || got != "alice asks" {
					t.Error(status, got, err)
				}
			})
		}
		all.Wait()
		if n := alice.asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
		if n := as.Counts(t)["registered"] - before; n != 1 {
			t.Errorf("registered %d times", n)
		}
		// Another person's sign-in uses the same registration. No person gets the token of another
		// one.
		bob := newPerson("bob")
		c = newClient(t, oauth.Options{Store: store, Interact: bob})
		wants(t, c.Transport(nil, p.URL+"/mcp", "bob"), p.URL+"/mcp", "", "bob")
		wants(t, c.Transport(nil, p.URL+"/mcp", ""), p.URL+"/mcp", "", "alice")
		if n := as.Counts(t)["registered"] - before; n != 1 || bob.asked.Load() != 1 {
			t.Errorf("registered %d times, bob was asked %d times", n, bob.asked.Load())
		}
	})
	t.Run("a client that is known", func(t *testing.T) {
		p := protect(t, as, false)
		var lines []string
		pasted := &oauth.Paste{
			Show: func(authorize string) error {
				back, err := authserver.Browser{}.Visit(t.Context(), authorize)
				lines = []string{"", "what?", " " + back.String() + "\r\n"}
				return err
			},
			Read: func(context.Context) (line string, err error) {
				line, lines = lines[0], lines[1:]
				return line, nil
			},
		}
		c := newClient(t, oauth.Options{ClientID: "known", ClientSecret: oauth.NewSecret("known secret/+"), Issuer: as.Issuer, Interact: pasted})
		if err := c.SignIn(t.Context(), p.URL+"/mcp", ""); err != nil || len(lines) > 0 {
			t.Fatal(err, lines)
		}
		wants(t, c.Transport(nil, p.URL+"/mcp", ""), p.URL+"/mcp", "", "alice")
		c = newClient(t, oauth.Options{ClientID: "known", Issuer: "https://elsewhere.example", Interact: newPerson("")})
		if err := c.SignIn(t.Context(), p.URL+"/mcp", ""); err == nil || !errors.Is(err, oauth.ErrOtherIssuer) || !strings.Contains(err.Error(), "at https://elsewhere.example") {
			t.Error(err)
		}
		before := as.Counts(t)["registered"]
		c = newClient(t, oauth.Options{Issuer: "https://elsewhere.example", Interact: newPerson("alice")})
		if err := c.SignIn(t.Context(), p.URL+"/mcp", ""); !errors.Is(err, oauth.ErrOtherIssuer) || as.Counts(t)["registered"] > before {
			t.Error(err)
		}
	})
	t.Run("by a metadata document", func(t *testing.T) {
		p := protect(t, as, false)
		before := as.Counts(t)["registered"]
		c := newClient(t, oauth.Options{MetadataDocument: document, Interact: newPerson("carol")})
		wants(t, c.Transport(nil, p.URL+"/mcp", ""), p.URL+"/mcp", "", "carol")
		if n := as.Counts(t)["registered"] - before; n != 0 {
			t.Errorf("registered %d times", n)
		}
	})
	t.Run("for more scopes", func(t *testing.T) {
		p, alice := protect(t, as, false), newPerson("alice")
		c := newClient(t, oauth.Options{Interact: alice})
		rt := c.Transport(nil, p.URL+"/mcp", "")
		wants(t, rt, p.URL+"/mcp", "", "alice")
		wants(t, rt, p.URL+"/mcp?scope=write", " writes", "alice writes")
		s, err := c.Status(t.Context(), p.URL+"/mcp", "")
		if diff := cmp.Diff([]string{"read", "write"}, s.Scopes, cmpopts.IgnoreSliceElements(func(s string) bool { return s == "offline_access" })); diff != "" || err != nil {
			t.Error(diff, err)
		}
		// A scope that cannot be granted is requested once.
		if status, _, err := send(t, rt, p.URL+"/mcp?scope=everything", ""); status != http.StatusForbidden || err != nil {
			t.Error(status, err)
		}
		if n := alice.asked.Load(); n > 3 {
			t.Errorf("asked %d times", n)
		}
	})
	t.Run("somewhere else", func(t *testing.T) {
		p, store := protect(t, as, false), &oauth.MemoryStore{}
		waits := newClient(t, oauth.Options{Store: store})
		rt := waits.Transport(nil, p.URL+"/mcp", "")
		_, _, err := send(t, rt, p.URL+"/mcp", "")
		needed, ok := errors.AsType[*oauth.SignInError](err)
		if !ok || needed.Resource != p.URL+"/mcp" || needed.Issuer != as.Issuer || !slices.Contains(needed.Scopes, "read") {
			t.Fatal(err)
		}
		told := make(chan string, 1)
		c := newClient(t, oauth.Options{Store: store, Interact: newPerson(""), SignedIn: func(resource, principal string) { told <- resource + principal }})
		if err := c.SignIn(t.Context(), p.URL+"/mcp/", ""); err != nil {
			t.Fatal(err)
		}
		if got := <-told; got != p.URL+"/mcp" {
			t.Error(got)
		}
		wants(t, rt, p.URL+"/mcp", "", "alice")
		// It lacks a scope, which is stored for the next sign-in.
		_, _, err = send(t, rt, p.URL+"/mcp?scope=write", "")
		if needed, ok = errors.AsType[*oauth.SignInError](err); !ok || !slices.Contains(needed.Scopes, "write") {
			t.Fatal(err)
		}
		if err := c.SignIn(t.Context(), p.URL+"/mcp", ""); err != nil {
			t.Fatal(err)
		}
		wants(t, rt, p.URL+"/mcp?scope=write", "", "alice")
		// After a sign-out here, the token is no longer renewed there. No other person was signed
		// out.
		if err := c.SignOut(t.Context(), p.URL+"/mcp", ""); err != nil {
			t.Fatal(err)
		}
		if s, err := waits.Status(t.Context(), p.URL+"/mcp", ""); s.SignedIn || err != nil {
			t.Error(s, err)
		}
	})
	t.Run("refused by the person", func(t *testing.T) {
		p := protect(t, as, false)
		c := newClient(t, oauth.Options{Interact: &oauth.Loopback{Open: authserver.Browser{Refuse: true}.Open}})
		_, _, err := send(t, c.Transport(nil, p.URL+"/mcp", ""), p.URL+"/mcp", "")
		if refused, ok := errors.AsType[*oauth.ServerError](err); !ok || refused.Code != "access_denied" {
			t.Error(err)
		}
	})
	t.Run("answers that were altered", func(t *testing.T) {
		p := protect(t, as, false)
		for name, c := range map[string]struct {
			by   altered
			want string
		}{
			"state":             {altered{answer: func(v url.Values) { v.Set("state", "x") }}, "its state is another"},
			"no state":          {altered{answer: func(v url.Values) { v.Del("state") }}, "its state is another"},
			"another issuer":    {altered{answer: func(v url.Values) { v.Set("iss", "https://evil.example") }}, "of another authorization server: https://evil.example"},
			"issuer with slash": {altered{answer: func(v url.Values) { v.Set("iss", as.Issuer+"/") }}, "of another authorization server"},
			"no issuer":         {altered{answer: func(v url.Values) { v.Del("iss") }}, "has no issuer"},
			"an error of another": {altered{answer: func(v url.Values) {
				v.Set("iss", "https://evil.example")
				v.Set("error", "EVIL")
			}}, "of another authorization server"},
			"two codes":         {altered{answer: func(v url.Values) { v.Add("code", "x") }}, "two of code"},
			"another code":      {altered{answer: func(v url.Values) { v.Set("code", "x") }}, "invalid_grant"},
			"another challenge": {altered{address: func(v url.Values) { v.Set("code_challenge", strings.Repeat("x", 43)) }}, "invalid_grant"},
			"no challenge":      {altered{address: func(v url.Values) { v.Del("code_challenge"); v.Del("code_challenge_method") }}, "invalid_request"},
		} {
			t.Run(name, func(t *testing.T) {
				c.by.Interaction = newPerson("")
				_, _, err := send(t, newClient(t, oauth.Options{Interact: &c.by}).Transport(nil, p.URL+"/mcp", ""), p.URL+"/mcp", "")
				if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "EVIL") {
					t.Errorf("got %v, want %q", err, c.want)
				}
				if p.answered.Load() != 0 {
					t.Error("it got in")
				}
			})
		}
	})
	t.Run("nothing secret is shown", func(t *testing.T) {
		p, store := protect(t, as, false), &recorded{}
		var log bytes.Buffer
		c := newClient(t, oauth.Options{Store: store, Interact: newPerson(""), Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		wants(t, c.Transport(nil, p.URL+"/mcp", ""), p.URL+"/mcp", "", "alice")
		s, err := c.Status(t.Context(), p.URL+"/mcp", "")
		shown := log.String() + strings.Join([]string{slog.AnyValue(s).String(), slog.AnyValue(c).String(), slog.AnyValue(err).String()}, "\n")
		for _, secret := range store.secrets(t) {
			if strings.Contains(shown, secret) {
				t.Errorf("%q is shown in %s", secret, shown)
			}
		}
	})
}
