package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/internal/testkit/authserver"
)

// registrar is an authorization server from before RFC 9207. It sends codes to the address that its only client has
// registered. It accepts any port in that address (RFC 8252 section 7.3).
func registrar(t *testing.T) (a *attacker, registered *[]*url.URL) {
	registered = &[]*url.URL{}
	a = attack(t, nil)
	register, authorize := a.answers["/register"], a.answers["/authorize"]
	a.answers["/register"] = func(w http.ResponseWriter, r *http.Request) {
		var client struct {
			Redirects []string `json:"redirect_uris"`
		}
		if err := json.NewDecoder(r.Body).Decode(&client); err != nil || len(client.Redirects) != 1 {
			t.Error(client, err)
		}
		u, _ := url.Parse(client.Redirects[0])
		*registered = append(*registered, u)
		register(w, r)
	}
	a.answers["/authorize"] = func(w http.ResponseWriter, r *http.Request) {
		all := *registered
		if u, err := url.Parse(r.FormValue("redirect_uri")); err != nil || u.Path != all[len(all)-1].Path {
			http.Error(w, "that is not registered", http.StatusBadRequest)
			return
		}
		authorize(w, r)
	}
	return a, registered
}

var errBrowser = errors.New("the browser ends at an error")

// browser is a browser that follows every redirect.
func browser() *oauth.Loopback {
	return &oauth.Loopback{Open: func(ctx context.Context, authorize string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, authorize, nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		if res.StatusCode != http.StatusOK {
			err = errBrowser
		}
		return errors.Join(err, res.Body.Close())
	}}
}

// If an authorization server's answers do not name it, no other one gets its codes (mix-up; RFC 9700 section 4.4).
func TestMixedUpAuthorizationServers(t *testing.T) {
	t.Parallel()
	honest, known := registrar(t)
	c := newClient(t, oauth.Options{Interact: browser()})
	for range 2 { // a registered address is used again
		if err := c.SignIn(t.Context(), honest.URL+"/mcp", ""); err != nil {
			t.Fatal(err)
		}
	}
	if len(*known) != 1 {
		t.Fatal(*known)
	}
	for name, redirect := range map[string]func(ours *url.URL) string{
		"as it is":                func(ours *url.URL) string { return ours.String() },
		"as the other is known":   func(ours *url.URL) string { return ours.ResolveReference(&url.URL{Path: (*known)[0].Path}).String() },
		"in a path below its own": func(ours *url.URL) string { return ours.JoinPath(path.Base((*known)[0].Path)).String() },
	} {
		evil := attack(t, map[string]http.HandlerFunc{"/authorize": func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			ours, _ := url.Parse(q.Get("redirect_uri"))
			q.Set("redirect_uri", redirect(ours))
			http.Redirect(w, r, honest.URL+"/authorize?"+q.Encode(), http.StatusFound)
		}})
		if err := c.SignIn(t.Context(), evil.URL+"/mcp", ""); !errors.Is(err, errBrowser) || evil.gotten.Load() != 0 {
			t.Errorf("%s: %v, and the code is asked for %d times", name, err, evil.gotten.Load())
		}
	}
}

// A plain address is used if it cannot change, or if answers name their issuer. A client that was registered with
// another address registers anew.
func TestAddressesOfAnswers(t *testing.T) {
	t.Parallel()
	const plain = "/callback"
	for name, c := range map[string]struct {
		meta    string // of the authorization server
		options oauth.Options
		own     bool
	}{
		"registered":         {"", oauth.Options{}, true},
		"it says who it is":  {`"authorization_response_iss_parameter_supported":true,`, oauth.Options{}, false},
		"no registration":    {"", oauth.Options{ClientID: "x"}, false},
		"a document":         {`"client_id_metadata_document_supported":true,`, oauth.Options{MetadataDocument: "https://example.com/client"}, false},
		"a useless document": {"", oauth.Options{MetadataDocument: "https://example.com/client"}, true},
	} {
		a := attack(t, map[string]http.HandlerFunc{asmPath: says(strings.Replace(asm, "{", "{"+c.meta, 1))})
		authorize := ""
		c.options.Interact = &oauth.Loopback{Open: func(_ context.Context, address string) error { authorize = address; return errBrowser }}
		_ = newClient(t, c.options).SignIn(t.Context(), a.URL+"/mcp", "")
		u, _ := url.Parse(authorize)
		back, _ := url.Parse(u.Query().Get("redirect_uri"))
		if got, own := strings.CutPrefix(back.Path, plain); !own || (got != "") != c.own {
			t.Errorf("%s: %s", name, back)
		}
		// The same holds if the address is pasted.
		c.options.Interact = &oauth.Paste{Show: func(address string) error { authorize = address; return errBrowser }}
		_ = newClient(t, c.options).SignIn(t.Context(), a.URL+"/mcp", "")
		u, _ = url.Parse(authorize)
		if got := u.Query().Get("redirect_uri"); got != "http://127.0.0.1:7333"+back.Path {
			t.Errorf("%s: %s is pasted, not %s", name, got, back.Path)
		}
	}
}

// The pages of a site distinguish authorization servers too.
func TestMixedUpAuthorizationServersOfASite(t *testing.T) {
	t.Parallel()
	honest, known := registrar(t)
	site := newSite(t)
	c := newClient(t, oauth.Options{Site: site})
	for range 2 {
		link, err := c.SignInAddress(t.Context(), honest.URL+"/mcp", "free")
		if err != nil {
			t.Fatal(err)
		}
		own := jar(t)
		back, _, err := authserver.Browser{}.Confirm(t.Context(), own, link, "")
		if err != nil || back == nil || !strings.HasPrefix(back.Path, "/oauth/callback/") {
			t.Fatal(back, err)
		}
		for _, at := range []string{"/oauth/callback", back.Path + "x"} {
			other := *back
			other.Path = at
			if page, err := authserver.Get(t.Context(), own, other.String()); err != nil || !strings.Contains(page, "This link has expired") {
				t.Error(at, page, err)
			}
		}
		if page, err := authserver.Get(t.Context(), own, back.String()); err != nil || !strings.Contains(page, "<h1>Signed in</h1>") {
			t.Error(page, err)
		}
	}
	if len(*known) != 1 {
		t.Error(*known)
	}
}
