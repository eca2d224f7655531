package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/internal/testkit/authserver"
)

// answers is an authorization server with answers that a test changes while it runs. It registers clients, grants
// tokens that expire at once, and revokes them.
type answers struct {
	*attacker
	changed    atomic.Pointer[changedAnswer] // nil: no answer is changed
	registered atomic.Int64
	sent       atomic.Int64 // requests to the server with or without a token
	granted    atomic.Int64
}

// changedAnswer is the answer at a place: "redirect", a grant_type or "revocation".
type changedAnswer struct {
	place  string
	answer http.HandlerFunc
}

func newAnswers(t *testing.T) *answers {
	a := &answers{}
	changed := func(place string, honest http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			now := place
			if place == "" {
				now = r.FormValue("grant_type")
			}
			if c := a.changed.Load(); c != nil && c.place == now {
				c.answer(w, r)
				return
			}
			honest(w, r)
		}
	}
	a.attacker = attack(t, map[string]http.HandlerFunc{
		asmPath: says(strings.Replace(asm, "{", `{"revocation_endpoint":"~/revoke",`, 1)),
		"/register": func(w http.ResponseWriter, r *http.Request) {
			says(fmt.Sprintf(`{"client_id":"client-%d"}`, a.registered.Add(1)))(w, r)
		},
		"/revoke": changed("revocation", func(http.ResponseWriter, *http.Request) {}),
		"/token": changed("", func(w http.ResponseWriter, r *http.Request) {
			life := "1e-9"
			if r.FormValue("grant_type") == "refresh_token" {
				life = "3600"
			}
			says(fmt.Sprintf(`{"access_token":"access-%d","refresh_token":"refresh","expires_in":%s}`, a.granted.Add(1), life))(w, r)
		}),
		"/mcp": func(w http.ResponseWriter, r *http.Request) {
			a.sent.Add(1)
			if r.Header.Get("Authorization") == "" {
				w.WriteHeader(http.StatusUnauthorized)
			}
		},
	})
	honest := a.answers["/authorize"]
	a.answers["/authorize"] = changed("redirect", honest)
	return a
}

// change replaces the answer at a place. If place is "", no answer is changed.
func (a *answers) change(place string, answer http.HandlerFunc) {
	if place == "" {
		a.changed.Store(nil)
		return
	}
	a.changed.Store(&changedAnswer{place, answer})
}

// fails answers with a status and a body.
func fails(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// redirects answers with an error code in the redirect of the browser.
func redirects(code string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"error": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	}
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// paster is a person that pastes the address at which the browser ends. The address is always the same, because no port
// is opened. If the browser shows an error, the person gives up.
func paster() *oauth.Paste {
	back := ""
	return &oauth.Paste{
		Show: func(authorize string) error {
			res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(httptest.NewRequest(http.MethodGet, authorize, nil))
			if err != nil {
				return err
			}
			back = res.Header.Get("Location")
			return res.Body.Close()
		},
		Read: func(context.Context) (string, error) {
			if back == "" {
				return "", io.EOF
			}
			return back, nil
		},
	}
}

// A registration is discarded after every answer that shows that the authorization server no longer knows it, and after
// no other answer.
func TestRegistrationsThatAreDiscarded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		place     string
		answer    http.HandlerFunc
		discarded bool
	}{
		"redirect: unauthorized_client":    {"redirect", redirects("unauthorized_client"), true},
		"redirect: invalid_client":         {"redirect", redirects("invalid_client"), true},
		"redirect: access_denied":          {"redirect", redirects("access_denied"), false},
		"redirect: server_error":           {"redirect", redirects("server_error"), false},
		"redirect: a page with an error":   {"redirect", fails(400, "unknown client"), true},
		"code: invalid_client":             {"authorization_code", fails(401, `{"error":"invalid_client"}`), true},
		"code: unauthorized_client":        {"authorization_code", fails(400, `{"error":"unauthorized_client"}`), true},
		"code: invalid_client with 200":    {"authorization_code", fails(200, `{"error":"invalid_client"}`), true},
		"code: invalid_grant":              {"authorization_code", fails(400, `{"error":"invalid_grant"}`), false},
		"code: 401":                        {"authorization_code", fails(401, ``), false},
		"code: 503":                        {"authorization_code", fails(503, ``), false},
		"code: no answer":                  {"authorization_code", hangUp, false},
		"refresh: invalid_client":          {"refresh_token", fails(401, `{"error":"invalid_client"}`), true},
		"refresh: unauthorized_client":     {"refresh_token", fails(400, `{"error":"unauthorized_client"}`), true},
		"refresh: 200 unauthorized_client": {"refresh_token", fails(200, `{"error":"unauthorized_client"}`), true},
		"refresh: invalid_grant":           {"refresh_token", fails(400, `{"error":"invalid_grant"}`), false},
		"refresh: 500":                     {"refresh_token", fails(500, `{"error":"server_error"}`), false},
		"a sign-out":                       {"logout", nil, true},
		"a sign-out that is refused":       {"revocation", fails(401, `{"error":"invalid_client"}`), true},
		"a sign-out without an answer":     {"revocation", hangUp, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, store := newAnswers(t), &oauth.MemoryStore{}
			client := newClient(t, oauth.Options{Store: store})
			signIn := func() error {
				c := newClient(t, oauth.Options{Store: store, Interact: paster()})
				return c.SignIn(t.Context(), a.URL+"/mcp", "")
			}
			if err := signIn(); err != nil {
				t.Fatal(err)
			}
			a.change(c.place, c.answer)
			switch c.place {
			case "redirect", "authorization_code":
				if err := signIn(); err == nil {
					t.Fatal("signed in")
				}
			case "refresh_token":
				_, _, _ = send(t, newClient(t, oauth.Options{Store: store}).Transport(nil, a.URL+"/mcp", ""), a.URL+"/mcp", "")
			default:
				_ = client.SignOut(t.Context(), a.URL+"/mcp", "")
			}
			a.change("", nil)
			if err := signIn(); err != nil {
				t.Fatal(err)
			}
			if n := a.registered.Load(); (n == 2) != c.discarded || n > 2 {
				t.Errorf("registered %d times", n)
			}
		})
	}
	t.Run("a sign-out of nobody", func(t *testing.T) {
		t.Parallel()
		a, store := newAnswers(t), &oauth.MemoryStore{}
		c := newClient(t, oauth.Options{Store: store, Interact: paster()})
		a.change("authorization_code", fails(503, ""))
		for range 2 {
			if err := c.SignIn(t.Context(), a.URL+"/mcp", ""); err == nil {
				t.Fatal("signed in")
			}
		}
		if err := c.SignOut(t.Context(), a.URL+"/mcp", ""); err != nil || a.registered.Load() != 1 {
			t.Fatal(err, a.registered.Load())
		}
		if a.change("", nil); c.SignIn(t.Context(), a.URL+"/mcp", "") != nil || a.registered.Load() != 2 {
			t.Error(a.registered.Load())
		}
	})
}

// Some authorization servers refuse the resource indicator, or require the scopes in a renewal.
func TestParametersThatAreRefused(t *testing.T) {
	t.Parallel()
	accepts := func(holds func(r *http.Request) bool, refusal string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if !holds(r) {
				fails(400, refusal)(w, r)
				return
			}
			says(`{"access_token":"access","refresh_token":"refresh","expires_in":1e-9,"scope":"read"}`)(w, r)
		}
	}
	withoutResource := func(r *http.Request) bool { return !r.Form.Has("resource") }
	withScope := func(r *http.Request) bool { return r.FormValue("scope") == "read" }
	const refused = `{"error":"invalid_request","error_description":"the 'resource' request parameter isn't supported"}`
	for name, c := range map[string]struct {
		place  string
		answer http.HandlerFunc
	}{
		"a code":                    {"authorization_code", accepts(withoutResource, refused)},
		"a renewal":                 {"refresh_token", accepts(withoutResource, refused)},
		"a renewal without a text":  {"refresh_token", accepts(withoutResource, `{"error":"invalid_request"}`)},
		"a renewal with its scopes": {"refresh_token", accepts(withScope, `{"error":"invalid_scope"}`)},
		"a renewal for a target":    {"refresh_token", accepts(withoutResource, `{"error":"invalid_target"}`)},
		"both": {"refresh_token", accepts(func(r *http.Request) bool { return withoutResource(r) && withScope(r) },
			`{"error":"invalid_request"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, store := newAnswers(t), &oauth.MemoryStore{}
			a.change("authorization_code", accepts(func(r *http.Request) bool { return r.FormValue("resource") != "" }, refused))
			if c.place == "authorization_code" {
				a.change(c.place, c.answer)
			}
			client := newClient(t, oauth.Options{Store: store, Interact: paster()})
			if err := client.SignIn(t.Context(), a.URL+"/mcp", ""); err != nil {
				t.Fatal(err)
			}
			if c.place == "refresh_token" {
				a.change(c.place, c.answer)
				wants(t, newClient(t, oauth.Options{Store: store}).Transport(nil, a.URL+"/mcp", ""), a.URL+"/mcp", "", "")
			}
		})
	}
}

// Some authorization servers refuse the resource indicator already at the page in the browser, which is then sent there
// once more without it. The token request has none either.
func TestResourceThatThePageRefuses(t *testing.T) {
	t.Parallel()
	pasting := paster()
	for name, interact := range map[string]oauth.Interaction{"browser": visitor(), "paste": pasting} {
		for _, code := range []string{"invalid_request", "invalid_target", "server_error"} {
			a := newAnswers(t)
			var pages, tokens atomic.Int64
			honest := a.answers["/authorize"]
			a.answers["/authorize"] = func(w http.ResponseWriter, r *http.Request) {
				pages.Add(1)
				if r.FormValue("resource") != "" {
					redirects(code)(w, r)
					return
				}
				honest(w, r)
			}
			a.change("authorization_code", func(w http.ResponseWriter, r *http.Request) {
				if tokens.Add(1); r.Form.Has("resource") {
					fails(400, `{"error":"invalid_target"}`)(w, r)
					return
				}
				says(`{"access_token":"access"}`)(w, r)
			})
			err := newClient(t, oauth.Options{Interact: interact}).SignIn(t.Context(), a.URL+"/mcp", "")
			want := map[bool][2]int64{true: {2, 1}, false: {1, 0}}[code != "server_error"]
			if got := [2]int64{pages.Load(), tokens.Load()}; (err == nil) != (code != "server_error") || got != want {
				t.Errorf("%s, %s: %v, %d", name, code, err, got)
			}
		}
	}
	a := newAnswers(t) // a refusal for another reason is asked for twice, and no more
	a.change("redirect", redirects("invalid_request"))
	err := newClient(t, oauth.Options{Interact: visitor()}).SignIn(t.Context(), a.URL+"/mcp", "")
	if refused, ok := errors.AsType[*oauth.ServerError](err); !ok || refused.Code != "invalid_request" {
		t.Error(err)
	}
	t.Run("a page of a site", func(t *testing.T) {
		a, site := newAnswers(t), newSite(t)
		honest := a.answers["/authorize"]
		a.answers["/authorize"] = func(w http.ResponseWriter, r *http.Request) {
			if r.FormValue("resource") != "" {
				redirects("invalid_target")(w, r)
				return
			}
			honest(w, r)
		}
		c := newClient(t, oauth.Options{Site: site})
		link, err := c.SignInAddress(t.Context(), a.URL+"/mcp", "free")
		if err != nil {
			t.Fatal(err)
		}
		own := jar(t)
		back, _, err := authserver.Browser{}.Confirm(t.Context(), own, link, "")
		if err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{Jar: own}).Get(back.String()) // follows redirects
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if page, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(page), "<h1>Signed in</h1>") {
			t.Errorf("%v, %s", err, page)
		}
	})
}

// Filters in front of servers admit some User-Agents only.
func TestUserAgentOfASignIn(t *testing.T) {
	t.Parallel()
	for configured, want := range map[string]string{"": "indus", "MyCompany/1.0": "MyCompany/1.0"} {
		a := newAnswers(t)
		var mu sync.Mutex
		seen := map[string]bool{}
		honest := a.Config.Handler
		a.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			if r.URL.Path != "/authorize" {
				seen[r.UserAgent()] = true
			}
			mu.Unlock()
			honest.ServeHTTP(w, r)
		})
		c := newClient(t, oauth.Options{Interact: paster(), UserAgent: configured})
		if err := c.SignIn(t.Context(), a.URL+"/mcp", ""); err != nil {
			t.Fatal(err)
		}
		if len(seen) != 1 || !seen[want] {
			t.Error(seen)
		}
	}
}

// A code is not sent on a connection that was idle for longer than its server announced.
func TestAnnouncedIdleTimeOfASignIn(t *testing.T) {
	t.Parallel()
	for announced, reused := range map[string]bool{"timeout=1": false, "timeout=60": true} {
		a, person := newAnswers(t), paster()
		var mu sync.Mutex
		from := map[string]string{}
		honest := a.Config.Handler
		a.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			from[r.URL.Path] = r.RemoteAddr
			mu.Unlock()
			w.Header().Set("Keep-Alive", announced)
			honest.ServeHTTP(w, r)
		})
		read := person.Read
		person.Read = func(ctx context.Context) (string, error) {
			time.Sleep(300 * time.Millisecond) // the person needs longer than the quarter of a second that is used
			return read(ctx)
		}
		if err := newClient(t, oauth.Options{Interact: person}).SignIn(t.Context(), a.URL+"/mcp", ""); err != nil {
			t.Fatal(err)
		}
		if (from["/register"] == from["/token"]) != reused {
			t.Errorf("%s: %v", announced, from)
		}
	}
}

// isUnsent reports whether an error means that the request was not run.
func isUnsent(err error) bool { return errors.As(err, new(interface{ Unsent() })) }

// The answer to a refresh decides whether a person is asked. The refresh token is kept in any case.
func TestAnswersToARefresh(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		asked  bool // for a sign-in; otherwise the authorization server is unreachable
	}{
		"invalid_grant":             {fails(400, `{"error":"invalid_grant"}`), true},
		"invalid_request":           {fails(400, `{"error":"invalid_request"}`), true},
		"interaction_required":      {fails(400, `{"error":"interaction_required"}`), true},
		"invalid_scope":             {fails(400, `{"error":"invalid_scope"}`), true},
		"an error without its type": {fails(400, `{"error":{"code":7},"error_description":3}`), true},
		"200 with an error":         {fails(200, `{"error":"bad_refresh_token"}`), true},
		"201 with an error":         {fails(201, `{"error":"bad_refresh_token"}`), true},
		"401":                       {fails(401, ``), true},
		"403":                       {fails(403, `<html>`), true},
		"404":                       {fails(404, ``), true},
		"410":                       {fails(410, ``), true},
		"404 with an error":         {fails(404, `{"error":"not_found"}`), true},
		"401 with a long page":      {fails(401, strings.Repeat("<p>", 1<<20)), true},
		"400 that is cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(400)
			io.WriteString(w, `{"error":`)
		}, true},
		"408":       {fails(408, ``), false},
		"429":       {fails(429, `{"error":"slow_down"}`), false},
		"500":       {fails(500, `{"error":"invalid_grant"}`), false},
		"503":       {fails(503, ``), false},
		"no answer": {hangUp, false},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, false},
		"a page":                     {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }, false},
		"no token":                   {fails(200, `{"token_type":"bearer"}`), false},
		"a token of another type":    {fails(200, `{"access_token":["x"]}`), false},
		"an error that is no string": {fails(200, `{"error":null}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, store := newAnswers(t), &oauth.MemoryStore{}
			if err := newClient(t, oauth.Options{Store: store, Interact: visitor()}).SignIn(t.Context(), a.URL+"/mcp", ""); err != nil {
				t.Fatal(err)
			}
			a.change("refresh_token", c.answer)
			client := newClient(t, oauth.Options{Store: store})
			rt := client.Transport(nil, a.URL+"/mcp", "")
			for range 2 {
				before := a.sent.Load()
				_, _, err := send(t, rt, a.URL+"/mcp", "")
				if isSignIn(err) != c.asked || !isUnsent(err) || !c.asked && a.sent.Load() > before {
					t.Errorf("%v; %d requests", err, a.sent.Load()-before)
				}
			}
			if s, err := client.Status(t.Context(), a.URL+"/mcp", ""); err != nil || s.Renews == c.asked || s.SignedIn == c.asked {
				t.Error(s, err)
			}
			key := oauth.Key{Resource: a.URL + "/mcp"}
			kept := map[string]any{}
			if b, err := store.Get(t.Context(), key); err != nil || json.Unmarshal(b, &kept) != nil || kept["refresh_token"] != "refresh" {
				t.Error("the refresh token is gone", err)
			}
			// It is tried again later.
			a.change("", nil)
			if c.asked {
				kept["refused"] = time.Now().Add(-time.Hour)
				b, err := json.Marshal(kept)
				if err != nil || store.Put(t.Context(), key, b) != nil {
					t.Fatal(err)
				}
				client.Reread(t.Context())
			}
			wants(t, rt, a.URL+"/mcp", "", "")
			if s, err := client.Status(t.Context(), a.URL+"/mcp", ""); err != nil || !s.Renews {
				t.Error(s, err)
			}
		})
	}
}

// A valid token is used while its renewal is refused.
func TestRefusedRenewalOfAGoodToken(t *testing.T) {
	t.Parallel()
	a, store := newAnswers(t), &oauth.MemoryStore{}
	if err := newClient(t, oauth.Options{Store: store, Interact: visitor()}).SignIn(t.Context(), a.URL+"/mcp", ""); err != nil {
		t.Fatal(err)
	}
	key := oauth.Key{Resource: a.URL + "/mcp"}
	kept := map[string]any{}
	b, err := store.Get(t.Context(), key)
	if err != nil || json.Unmarshal(b, &kept) != nil {
		t.Fatal(err)
	}
	kept["got"], kept["expiry"] = time.Now().Add(-time.Hour), time.Now().Add(50*time.Second) // it is time to renew it
	if b, err = json.Marshal(kept); err != nil || store.Put(t.Context(), key, b) != nil {
		t.Fatal(err)
	}
	a.change("refresh_token", fails(400, `{"error":"invalid_grant"}`))
	c := newClient(t, oauth.Options{Store: store})
	rt, before := c.Transport(nil, a.URL+"/mcp", ""), a.gotten.Load()
	for range 3 {
		wants(t, rt, a.URL+"/mcp", "", "")
	}
	if s, err := c.Status(t.Context(), a.URL+"/mcp", ""); err != nil || s.Renews || !s.SignedIn || a.gotten.Load()-before != 1 {
		t.Error(s, err, a.gotten.Load()-before)
	}
}

// If an authorization server has moved, it is found at the address in its present metadata.
func TestRenewalAfterAMove(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{"404": fails(404, ``), "503": fails(503, ``), "no answer": hangUp} {
		for _, elsewhere := range []bool{false, true} {
			t.Run(fmt.Sprint(name, elsewhere), func(t *testing.T) {
				t.Parallel()
				a, other, store := newAnswers(t), newAnswers(t), &oauth.MemoryStore{}
				c := newClient(t, oauth.Options{Store: store, Interact: visitor()})
				if err := c.SignIn(t.Context(), a.URL+"/mcp", ""); err != nil {
					t.Fatal(err)
				}
				a.change("refresh_token", answer)
				if elsewhere {
					a.answers[prmPath] = says(`{"resource":"~/mcp","authorization_servers":["` + other.URL + `"]}`)
				} else {
					a.answers["/new"] = other.answers["/token"]
					a.answers[asmPath] = says(strings.Replace(asm, "~/token", "~/new", 1))
				}
				waits := newClient(t, oauth.Options{Store: store})
				rt := waits.Transport(nil, a.URL+"/mcp", "")
				if !elsewhere {
					wants(t, rt, a.URL+"/mcp", "", "")
					wants(t, rt, a.URL+"/mcp", "", "")
					if n := other.granted.Load(); n != 1 {
						t.Errorf("renewed %d times", n)
					}
					return
				}
				_, _, err := send(t, rt, a.URL+"/mcp", "")
				if needed, ok := errors.AsType[*oauth.SignInError](err); !ok || needed.Issuer != other.URL {
					t.Error(err)
				}
				if s, err := waits.Status(t.Context(), a.URL+"/mcp", ""); err != nil || s.Renews {
					t.Error(s, err)
				}
				if other.gotten.Load() > 0 {
					t.Error("the refresh token went to another authorization server")
				}
				if err := c.SignIn(t.Context(), a.URL+"/mcp", ""); err != nil {
					t.Fatal(err)
				}
				wants(t, rt, a.URL+"/mcp", "", "")
			})
		}
	}
}

// A client that signs in by itself asks no person. Its errors mark the request as not run, and show whether the
// authorization server refuses.
func TestAnswersToAMachine(t *testing.T) {
	t.Parallel()
	subject := &oauth.Exchange{Subject: func(context.Context, string) (oauth.Secret, string, error) {
		return oauth.NewSecret("subject"), oauth.TypeIDToken, nil
	}}
	secret := oauth.NewSecret("secret")
	for grant, o := range map[string]oauth.Options{
		"client_credentials":                              {Grant: oauth.ClientCredentials, ClientID: "c", ClientSecret: secret},
		"urn:ietf:params:oauth:grant-type:token-exchange": {Grant: oauth.TokenExchange, ClientID: "c", ClientSecret: secret, Exchange: subject},
	} {
		for name, c := range map[string]struct {
			answer        http.HandlerFunc
			down, refused bool
		}{
			"invalid_client":    {fails(401, `{"error":"invalid_client"}`), false, true},
			"200 with an error": {fails(200, `{"error":"invalid_client"}`), false, true},
			"404":               {fails(404, ``), false, true},
			"429":               {fails(429, ``), true, false},
			"503":               {fails(503, ``), true, false},
			"no answer":         {hangUp, true, false},
			"no token":          {says(`{"token":"x"}`), false, false},
			"another type":      {says(`{"access_token":"x","token_type":"DPoP"}`), false, false},
			"a page":            {fails(200, `<html>`), false, false},
		} {
			t.Run(grant+" "+name, func(t *testing.T) {
				t.Parallel()
				a := newAnswers(t)
				a.change(grant, c.answer)
				rt := newClient(t, o).Transport(nil, a.URL+"/mcp", "")
				_, _, err := send(t, rt, a.URL+"/mcp", "")
				step, ok := errors.AsType[*oauth.StepError](err)
				if !ok || step.Step != oauth.StepToken || step.Unreachable() != c.down || step.Refused() != c.refused || !isUnsent(err) || isSignIn(err) || a.registered.Load() > 0 {
					t.Error(err)
				}
				a.change("", nil)
				wants(t, rt, a.URL+"/mcp", "", "")
			})
		}
	}
}

// If a server requires no token, or a token that is not of OAuth, nothing is registered and there is no sign-in.
func TestSignInWithoutOAuth(t *testing.T) {
	t.Parallel()
	plain := map[string]http.HandlerFunc{prmPath: nil, asmPath: nil}
	for name, c := range map[string]struct {
		mcp, register http.HandlerFunc
		signs         bool
	}{
		"open": {says(`{}`), nil, false},
		"a password": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(401)
		}, nil, false},
		"forbidden":                {fails(403, ``), nil, false},
		"a key":                    {fails(401, ``), fails(404, ``), false},
		"OAuth of before metadata": {fails(401, ``), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := attack(t, plain)
			registered := 0
			honest := a.answers["/register"]
			a.answers["/mcp"] = c.mcp
			a.answers["/register"] = func(w http.ResponseWriter, r *http.Request) {
				if c.register != nil {
					c.register(w, r)
					return
				}
				registered++
				honest(w, r)
			}
			err := newClient(t, oauth.Options{Interact: visitor()}).SignIn(t.Context(), a.URL+"/mcp", "")
			if (err == nil) != c.signs || !c.signs && (!errors.Is(err, oauth.ErrNoOAuth) || registered > 0) {
				t.Errorf("%v; registered %d times", err, registered)
			}
		})
	}
	t.Run("down", func(t *testing.T) {
		down := httptest.NewServer(http.NotFoundHandler())
		down.Close()
		err := newClient(t, oauth.Options{Interact: visitor()}).SignIn(t.Context(), down.URL+"/mcp", "")
		if step, ok := errors.AsType[*oauth.StepError](err); !ok || !step.Unreachable() || errors.Is(err, oauth.ErrNoOAuth) {
			t.Error(err)
		}
	})
}

// If a resource is not an address, every request fails, and none is sent without a token.
func TestTransportOfABadResource(t *testing.T) {
	t.Parallel()
	a := attack(t, nil)
	for _, resource := range []string{"", "mcp.example.com/mcp", "ftp://x/mcp", "https:///mcp"} {
		_, _, err := send(t, newClient(t, oauth.Options{}).Transport(nil, resource, ""), a.URL+"/free", "")
		if err == nil || !strings.Contains(err.Error(), "http") || !isUnsent(err) || a.visits.Load() > 0 {
			t.Errorf("%q: %v", resource, err)
		}
	}
}

// If a field of a document has the wrong type, the error names the field and does not show its value.
func TestFieldsOfAWrongType(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, text, want string }{
		"servers":   {prmPath, `{"resource":"~/mcp","authorization_servers":"EVIL"}`, `oauth-protected-resource/mcp: the answer has a string as "authorization_servers", where it has to be a list`},
		"scopes":    {prmPath, `{"resource":"~/mcp","scopes_supported":{"EVIL":1}}`, `has an object as "scopes_supported"`},
		"issuer":    {asmPath, strings.Replace(asm, `"issuer":"~"`, `"issuer":["EVIL"]`, 1), `oauth-authorization-server: the answer has a list as "issuer", where it has to be a string`},
		"methods":   {asmPath, strings.Replace(asm, `["S256"]`, `"S256"`, 1), `has a string as "code_challenge_methods_supported"`},
		"client id": {"/register", `{"client_id":123456789}`, `has a number as "client_id", where it has to be a string`},
		"expiry":    {"/register", `{"client_id":"x","client_secret_expires_at":"EVIL"}`, `has a string as "client_secret_expires_at", where it has to be a whole number`},
		"token":     {"/token", `{"access_token":{"EVIL":"EVIL"}}`, `token request: ~/token: the answer has an object as "access_token", where it has to be a string`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := attack(t, map[string]http.HandlerFunc{c.path: says(c.text)})
			err := newClient(t, oauth.Options{Interact: visitor()}).SignIn(t.Context(), a.URL+"/mcp", "")
			if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(c.want, "~", a.URL)) || strings.Contains(err.Error(), "EVIL") || strings.Contains(err.Error(), "123456789") {
				t.Error(err)
			}
		})
	}
}

// The browser shows the end of a sign-in only after the token is stored.
func TestLastPageOfASignIn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		place, want string
		answer      http.HandlerFunc
	}{
		"signed in":             {"", "Signed in.", nil},
		"refused":               {"redirect", "Not signed in.", redirects("access_denied")},
		"a code that is none":   {"authorization_code", "Not signed in.", fails(400, `{"error":"invalid_grant"}`)},
		"no answer to the code": {"authorization_code", "Not signed in.", hangUp},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAnswers(t)
			a.change(c.place, c.answer)
			page := make(chan string, 1)
			err := newClient(t, oauth.Options{Interact: &oauth.Loopback{Open: func(ctx context.Context, address string) error {
				res, err := http.Get(address)
				if err != nil {
					return err
				}
				defer res.Body.Close()
				text, err := io.ReadAll(res.Body)
				page <- string(text)
				return err
			}}}).SignIn(t.Context(), a.URL+"/mcp", "")
			if got := <-page; !strings.Contains(got, ">"+c.want) || (err == nil) != (c.place == "") {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

// broken is a store that cannot be read.
type broken struct{ oauth.MemoryStore }

func (*broken) Get(context.Context, oauth.Key) ([]byte, error) {
	return nil, errors.New("oauth.json: it is damaged")
}

// If the store cannot be read, servers that need no sign-in can still be used. For a server that needs one, the error
// is returned.
func TestStoreThatCannotBeRead(t *testing.T) {
	t.Parallel()
	open := attack(t, map[string]http.HandlerFunc{"/mcp": func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "in") }})
	c := newClient(t, oauth.Options{Store: &broken{}, Interact: visitor()})
	for range 2 {
		wants(t, c.Transport(nil, open.URL+"/mcp", ""), open.URL+"/mcp", "", "in")
	}
	a := attack(t, nil)
	_, _, err := send(t, c.Transport(nil, a.URL+"/mcp", ""), a.URL+"/mcp", "")
	if err == nil || !strings.Contains(err.Error(), "HTTP 401, and the sign-ins cannot be read: oauth.json: it is damaged") || !isUnsent(err) {
		t.Error(err)
	}
	if a.gotten.Load() > 0 {
		t.Error("somebody was signed in")
	}
}
