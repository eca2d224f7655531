package oauth_test

import (
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/auth/oauth"
)

// attacker is a server with metadata and an authorization server that a test makes up, all at one address. "~" in a
// text is that address.
type attacker struct {
	*httptest.Server
	answers map[string]http.HandlerFunc // by path; "/mcp" refuses requests without a token
	visits  atomic.Int64                // of paths without an answer
	gotten  atomic.Int64                // token requests
}

const (
	prmPath = "/.well-known/oauth-protected-resource/mcp"
	asmPath = "/.well-known/oauth-authorization-server"
	prm     = `{"resource":"~/mcp","authorization_servers":["~"]}`
	asm     = `{"issuer":"~","authorization_endpoint":"~/authorize","token_endpoint":"~/token","registration_endpoint":"~/register","code_challenge_methods_supported":["S256"]}`
)

func attack(t *testing.T, answers map[string]http.HandlerFunc) *attacker {
	t.Helper()
	a := &attacker{}
	a.answers = map[string]http.HandlerFunc{
		prmPath: a.says(prm), asmPath: a.says(asm), "/register": a.says(`{"client_id":"x"}`),
		"/authorize": func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"the-code-of-a-sign-in"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
		},
		"/mcp": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" {
				w.Header().Set("WWW-Authenticate", "Bearer")
				w.WriteHeader(http.StatusUnauthorized)
			}
		},
		"/token": a.says(`{"access_token":"the-token-of-a-sign-in","token_type":"bearer","expires_in":"3600"}`),
	}
	for path, h := range answers {
		a.answers[path] = h
	}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			a.gotten.Add(1)
		}
		if h := a.answers[r.URL.Path]; h != nil {
			h(w, r)
			return
		}
		a.visits.Add(1)
		http.NotFound(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *attacker) says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, strings.ReplaceAll(text, "~", a.URL))
	}
}

// says returns a handler that answers with a text. It can be made before the attacker exists.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, strings.ReplaceAll(text, "~", "http://"+r.Host))
	}
}

// visitor is a browser that follows every redirect.
func visitor() *oauth.Loopback {
	return &oauth.Loopback{Open: func(ctx context.Context, authorize string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, authorize, nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		return res.Body.Close()
	}}
}

func endless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for chunk := strings.Repeat(" ", 64<<10); r.Context().Err() == nil; {
		if _, err := io.WriteString(w, chunk); err != nil {
			return
		}
	}
}

// coded answers with a token in a coding that was not asked for.
func coded(name string, to func(io.Writer) io.WriteCloser) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", name)
		coder := to(w)
		io.WriteString(coder, `{"access_token":"a"}`)
		coder.Close()
	}
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("somebody else was asked") }))
	defer elsewhere.Close()
	to := func(where string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, where, http.StatusTemporaryRedirect) }
	}
	t.Run("all", func(t *testing.T) {
		for name, c := range map[string]struct {
			answers map[string]http.HandlerFunc
			want    string // of the error
			tokens  int64  // requests to the token endpoint
		}{
			"an honest one":                   {nil, "", 1},
			"endless resource metadata":       {map[string]http.HandlerFunc{prmPath: endless}, "longer than 1048576 bytes", 0},
			"endless server metadata":         {map[string]http.HandlerFunc{asmPath: endless}, "longer than 1048576 bytes", 0},
			"endless token":                   {map[string]http.HandlerFunc{"/token": endless}, "longer than 1048576 bytes", 1},
			"endless registration":            {map[string]http.HandlerFunc{"/register": endless}, "longer than 1048576 bytes", 0},
			"a loop":                          {map[string]http.HandlerFunc{prmPath: to(prmPath)}, "not followed", 0},
			"metadata from another origin":    {map[string]http.HandlerFunc{prmPath: to(elsewhere.URL)}, "not followed", 0},
			"server metadata from elsewhere":  {map[string]http.HandlerFunc{asmPath: to(elsewhere.URL)}, "not followed", 0},
			"a token request sent on":         {map[string]http.HandlerFunc{"/token": to("/other")}, "/other, which is not followed: a secret would go there", 1},
			"a token request sent elsewhere":  {map[string]http.HandlerFunc{"/token": to(elsewhere.URL)}, "it redirects to " + elsewhere.URL + ", which is not followed: a secret", 1},
			"a token request moved":           {map[string]http.HandlerFunc{"/token": http.RedirectHandler("/other", http.StatusFound).ServeHTTP}, "/other, which is not followed: a secret would go there", 1},
			"a registration sent elsewhere":   {map[string]http.HandlerFunc{"/register": to(elsewhere.URL)}, "it redirects to " + elsewhere.URL + ", which is not followed: a secret", 0},
			"metadata of another resource":    {map[string]http.HandlerFunc{prmPath: says(`{"resource":"https://bank.example/mcp","authorization_servers":["~"]}`)}, "of another server: https://bank.example/mcp", 0},
			"metadata of a neighbour":         {map[string]http.HandlerFunc{prmPath: says(`{"resource":"~/mc","authorization_servers":["~"]}`)}, "of another server", 0},
			"no authorization server":         {map[string]http.HandlerFunc{prmPath: says(`{"resource":"~/mcp"}`)}, "no authorization server", 0},
			"an issuer that is another":       {map[string]http.HandlerFunc{asmPath: says(strings.Replace(asm, `"issuer":"~"`, `"issuer":"https://bank.example"`, 1))}, "of another issuer: https://bank.example", 0},
			"no PKCE":                         {map[string]http.HandlerFunc{asmPath: says(strings.Replace(asm, `["S256"]`, `["plain"]`, 1))}, "PKCE (S256)", 0},
			"a script":                        {map[string]http.HandlerFunc{asmPath: says(strings.Replace(asm, "~/authorize", "javascript:alert(1)", 1))}, "must name a host", 0},
			"a file":                          {map[string]http.HandlerFunc{asmPath: says(strings.Replace(asm, "~/authorize", "file://host/etc/passwd", 1))}, "https://", 0},
			"http on the Internet":            {map[string]http.HandlerFunc{asmPath: says(strings.Replace(asm, "~/token", "http://bank.example/token", 1))}, "https://", 0},
			"a link-local address":            {map[string]http.HandlerFunc{prmPath: says(`{"resource":"~/mcp","authorization_servers":["https://169.254.169.254"]}`)}, "private network", 0},
			"a command for a shell as a host": {map[string]http.HandlerFunc{asmPath: says(strings.Replace(asm, "~/authorize", "https://$(calc).example/authorize", 1))}, "names no host", 0},
			"a long address":                  {map[string]http.HandlerFunc{asmPath: says(strings.Replace(asm, "~/authorize", "~/authorize?"+strings.Repeat("a", 9<<10), 1))}, "longer than 8192 bytes", 0},
			"a long resource":                 {map[string]http.HandlerFunc{prmPath: says(`{"resource":"~/mcp?` + strings.Repeat("a", 9<<10) + `","authorization_servers":["~"]}`)}, "of another server", 0},
			"a client id to fill a store":     {map[string]http.HandlerFunc{"/register": says(`{"client_id":"` + strings.Repeat("a", 65<<10) + `"}`)}, "bytes to store, more than 32768", 0},
			"a life that is over":             {map[string]http.HandlerFunc{"/token": says(`{"access_token":"a","expires_in":-1}`)}, "", 1},
			"a user in an address":            {map[string]http.HandlerFunc{prmPath: says(`{"resource":"~/mcp","authorization_servers":["https://a:b@bank.example"]}`)}, "no user", 0},
			"another client's parameters":     {map[string]http.HandlerFunc{asmPath: says(strings.Replace(asm, "~/authorize", "~/authorize?redirect_uri=https://evil.example&client_id=y&state=z", 1))}, "", 1},
			"a token that splits headers":     {map[string]http.HandlerFunc{"/token": says(`{"access_token":"a\r\nX-Evil: 1"}`)}, "no header can carry", 1},
			"a token of another kind":         {map[string]http.HandlerFunc{"/token": says(`{"access_token":"a","token_type":"DPoP"}`)}, "no bearer token", 1},
			"a token without end":             {map[string]http.HandlerFunc{"/token": says(`{"access_token":"a","expires_in":1e300}`)}, "", 1},
			"no token":                        {map[string]http.HandlerFunc{"/token": says(`{}`)}, "no access token", 1},
			"br": {map[string]http.HandlerFunc{"/token": func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", "br")
				says(`{}`)(w, r)
			}}, `Content-Encoding "br"`, 1},
			"x-gzip":  {map[string]http.HandlerFunc{"/token": coded("x-gzip", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })}, "", 1},
			"deflate": {map[string]http.HandlerFunc{"/token": coded("deflate", func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })}, "", 1},
			"no JSON": {map[string]http.HandlerFunc{"/token": says(`access_token=a`)}, "no JSON document", 1},
			"secrets said back": {map[string]http.HandlerFunc{"/token": func(w http.ResponseWriter, r *http.Request) {
				_ = r.ParseForm()
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, `{"error":"\u001b[31mbad","error_description":"%s %s"}`, r.Form.Get("code"), r.Form.Get("code_verifier"))
			}}, "[31mbad: <secret: 21 characters> <secret: 43 characters>", 1},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				a := attack(t, c.answers)
				rt := newClient(t, oauth.Options{Interact: visitor()}).Transport(nil, a.URL+"/mcp", "")
				_, _, err := send(t, rt, a.URL+"/mcp", "")
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				if n := a.gotten.Load(); n != c.tokens {
					t.Errorf("%d token requests, want %d", n, c.tokens)
				}
			})
		}
	})
}

// A server on the Internet cannot cause requests to machines of our own network.
func TestRequestsThatAServerForges(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer inside.Close()
	for _, metadata := range []string{inside.URL, strings.Replace(inside.URL, "https:", "http:", 1), "https://10.0.0.1/x", "https://[::ffff:192.168.0.1]/", "http://example.com/", "ftp://example.com/"} {
		rt := newClient(t, oauth.Options{}).Transport(refuses(metadata), "https://192.0.2.1/mcp", "")
		_, _, err := send(t, rt, "https://192.0.2.1/mcp", "")
		if step, ok := errors.AsType[*oauth.StepError](err); !ok || step.Step != oauth.StepResource {
			t.Errorf("%s: %v", metadata, err)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("asked %d times", n)
	}
}

// refuses is a server with a challenge that names metadata.
func refuses(metadata string) http.RoundTripper {
	return tripper(func(r *http.Request) (*http.Response, error) {
		h := http.Header{"Www-Authenticate": {`Bearer resource_metadata="` + metadata + `"`}}
		return &http.Response{StatusCode: http.StatusUnauthorized, Header: h, Body: http.NoBody, Request: r}, nil
	})
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server that hangs delays only the callers that wait for it, and no longer than their contexts allow.
func TestAuthorizationServerThatHangs(t *testing.T) {
	t.Parallel()
	hung := make(chan struct{}, 10)
	a := attack(t, map[string]http.HandlerFunc{asmPath: func(_ http.ResponseWriter, r *http.Request) { hung <- struct{}{}; <-r.Context().Done() }})
	c := newClient(t, oauth.Options{Interact: visitor()})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-hung; cancel() }()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Transport(nil, a.URL+"/mcp", "").RoundTrip(req); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	b := attack(t, nil)
	wants(t, c.Transport(nil, b.URL+"/mcp", ""), b.URL+"/mcp", "", "")
}

// The token is sent only to the origin for which it was issued.
func TestTokenStaysWithItsOrigin(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "other", r.Header.Get("Authorization"))
	}))
	defer other.Close()
	a := attack(t, map[string]http.HandlerFunc{"/away": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/mcp", http.StatusTemporaryRedirect)
	}})
	rt := newClient(t, oauth.Options{Interact: visitor()}).Transport(nil, a.URL+"/mcp", "")
	wants(t, rt, a.URL+"/mcp", "", "")
	wants(t, rt, a.URL+"/away", "", "other")
	wants(t, rt, other.URL, "", "other")
}

// If a refusal repeats the token, the token is masked.
func TestTokenThatIsSaidBack(t *testing.T) {
	t.Parallel()
	a := attack(t, map[string]http.HandlerFunc{"/echo": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		http.Error(w, "not with "+r.Header.Get("Authorization"), http.StatusForbidden)
	}})
	rt := newClient(t, oauth.Options{Interact: visitor()}).Transport(nil, a.URL+"/mcp", "")
	wants(t, rt, a.URL+"/mcp", "", "")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL+"/echo", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || string(body) != "not with Bearer <secret: 22 characters>\n" || strings.Contains(res.Header.Get("X-Echo"), "the-token") {
		t.Errorf("%s, %v, %v", body, res.Header, err)
	}
}

// A server by http in a private network may require a key. Its own answer is returned.
func TestServerByHTTP(t *testing.T) {
	t.Parallel()
	const address = "http://10.255.255.1/mcp"
	c := newClient(t, oauth.Options{})
	status, _, err := send(t, c.Transport(tripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}), address, ""), address, "")
	if status != http.StatusUnauthorized || err != nil {
		t.Error(status, err)
	}
	if _, err := c.Discover(t.Context(), address); err == nil || !strings.Contains(err.Error(), "https://") {
		t.Error(err)
	}
	if _, _, err := send(t, c.Transport(refuses(address), address, ""), address, ""); err == nil || !strings.Contains(err.Error(), "https://") {
		t.Error(err)
	}
}

// If the authorization server is down, that does not mean that the server is down.
func TestAuthorizationServerThatIsDown(t *testing.T) {
	t.Parallel()
	tokens := httptest.NewServer(says(`{"access_token":"short-lived-token","refresh_token":"refresh-token","expires_in":1e-9}`))
	defer tokens.Close()
	a := attack(t, map[string]http.HandlerFunc{asmPath: says(strings.Replace(asm, "~/token", tokens.URL+"/token", 1))})
	rt := newClient(t, oauth.Options{Interact: visitor()}).Transport(nil, a.URL+"/mcp", "")
	wants(t, rt, a.URL+"/mcp", "", "")
	tokens.Close()
	_, _, err := send(t, rt, a.URL+"/mcp", "")
	if !errors.As(err, new(*oauth.StepError)) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
}

// The token is also masked if no authorization server is named any more, or if the server redirects.
func TestTokenThatIsSaidBackElsewhere(t *testing.T) {
	t.Parallel()
	gone := atomic.Bool{}
	a := attack(t, nil)
	a.answers[prmPath] = func(w http.ResponseWriter, r *http.Request) {
		if gone.Load() {
			http.NotFound(w, r)
			return
		}
		a.says(prm)(w, r)
	}
	a.answers[asmPath] = func(w http.ResponseWriter, r *http.Request) {
		if gone.Load() {
			http.NotFound(w, r)
			return
		}
		a.says(asm)(w, r)
	}
	a.answers["/echo"] = func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "not with "+r.Header.Get("Authorization"), http.StatusUnauthorized)
	}
	a.answers["/away"] = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/?"+url.Values{"t": {r.Header.Get("Authorization")}}.Encode())
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
	store := &oauth.MemoryStore{}
	wants(t, newClient(t, oauth.Options{Interact: visitor(), Store: store}).Transport(nil, a.URL+"/mcp", ""), a.URL+"/mcp", "", "")
	rt := newClient(t, oauth.Options{Store: store}).Transport(nil, a.URL+"/mcp", "")
	gone.Store(true)
	for _, path := range []string{"/echo", "/away"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if shown := fmt.Sprint(string(body), res.Header); err != nil || strings.Contains(shown, "the-token") || !strings.Contains(shown, "secret") {
			t.Errorf("%s: %s, %v", path, shown, err)
		}
	}
}

// If a server refuses every token, or requires more and more scopes, it causes no endless requests. A process that
// watches the store would try again after each change.
func TestServerThatIsNeverContent(t *testing.T) {
	t.Parallel()
	n := atomic.Int64{}
	a := attack(t, nil)
	a.answers["/token"] = func(w http.ResponseWriter, r *http.Request) {
		a.says(fmt.Sprintf(`{"access_token":"access-token-%d","refresh_token":"refresh-token-%d","expires_in":3600}`, n.Add(1), n.Load()))(w, r)
	}
	store := &oauth.MemoryStore{}
	address, key := a.URL+"/mcp", oauth.Key{Resource: a.URL + "/mcp"}
	wants(t, newClient(t, oauth.Options{Interact: visitor(), Store: store}).Transport(nil, address, ""), address, "", "")
	refused := func() string {
		t.Helper()
		_, _, err := send(t, newClient(t, oauth.Options{Store: store}).Transport(nil, address, ""), address, "") // a new process each time
		if !errors.As(err, new(*oauth.SignInError)) {
			t.Error(err)
		}
		kept, _ := store.Get(t.Context(), key)
		return string(kept)
	}
	a.answers["/mcp"] = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}
	if first, second := refused(), refused(); first != second || a.gotten.Load() != 2 {
		t.Errorf("%d token requests, and the store changed: %v", a.gotten.Load(), first != second)
	}
	a.answers["/mcp"] = func(w http.ResponseWriter, r *http.Request) {
		var all []string
		for range 60 {
			all = append(all, fmt.Sprint("s", n.Add(1)))
		}
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+strings.Join(all, " ")+`"`)
		w.WriteHeader(http.StatusForbidden)
	}
	refused()
	if second, third := refused(), refused(); second != third {
		t.Error("the store still changes")
	}
}

// If a token expires on its way, it is renewed, more than once on a slow machine. No person is asked to sign in for
// that.
func TestTokensThatExpireOnTheirWay(t *testing.T) {
	t.Parallel()
	n := atomic.Int64{}
	a := attack(t, map[string]http.HandlerFunc{
		"/token": func(w http.ResponseWriter, r *http.Request) {
			says(fmt.Sprintf(`{"access_token":"access-token-%d","refresh_token":"refresh-token","expires_in":0.02}`, n.Add(1)))(w, r)
		},
		"/mcp": func(w http.ResponseWriter, r *http.Request) {
			var nth int
			if _, err := fmt.Sscanf(r.Header.Get("Authorization"), "Bearer access-token-%d", &nth); err != nil || nth < 4 {
				time.Sleep(20 * time.Millisecond) // the life of a token
				w.Header().Set("WWW-Authenticate", "Bearer")
				w.WriteHeader(http.StatusUnauthorized)
			}
		},
	})
	store := &oauth.MemoryStore{}
	if err := newClient(t, oauth.Options{Interact: visitor(), Store: store}).SignIn(t.Context(), a.URL+"/mcp", ""); err != nil {
		t.Fatal(err)
	}
	wants(t, newClient(t, oauth.Options{Store: store}).Transport(nil, a.URL+"/mcp", ""), a.URL+"/mcp", "", "")
}

// The address for a browser has no character that is special in a shell, and no fragment.
func TestAddressForAShell(t *testing.T) {
	t.Parallel()
	a := attack(t, map[string]http.HandlerFunc{asmPath: says(strings.Replace(asm, "~/authorize", "~/a$(calc)'&;`id`|x#$(calc)", 1))})
	var shown string
	ask := &oauth.Loopback{Open: func(_ context.Context, authorize string) error {
		shown, _, _ = strings.Cut(authorize, "?")
		return errors.New("enough")
	}}
	_, _, err := send(t, newClient(t, oauth.Options{Interact: ask}).Transport(nil, a.URL+"/mcp", ""), a.URL+"/mcp", "")
	if want := a.URL + "/a%24%28calc%29%27%26%3B%60id%60%7Cx"; shown != want {
		t.Errorf("%s, want %s; %v", shown, want, err)
	}
}

// If a server requires something other than OAuth, its own answer is returned. The same holds for a request that cannot
// be sent again.
func TestAnswersThatAreNotOurs(t *testing.T) {
	t.Parallel()
	a := attack(t, map[string]http.HandlerFunc{prmPath: nil, asmPath: nil})
	rt := newClient(t, oauth.Options{}).Transport(nil, a.URL+"/mcp", "")
	if status, _, err := send(t, rt, a.URL+"/mcp", ""); err != nil || status != http.StatusUnauthorized {
		t.Error(status, err)
	}
	b := attack(t, nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL+"/mcp", io.MultiReader(strings.NewReader("once")))
	if err != nil {
		t.Fatal(err)
	}
	res, err := newClient(t, oauth.Options{Interact: visitor()}).Transport(nil, b.URL+"/mcp", "").RoundTrip(req)
	if err != nil || res.StatusCode != http.StatusUnauthorized || b.gotten.Load() != 0 {
		t.Error(res, err)
	}
	_ = res.Body.Close()
}

// Several authorization servers are tried in their order, but the person is asked only once.
func TestSeveralAuthorizationServers(t *testing.T) {
	t.Parallel()
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	a := attack(t, map[string]http.HandlerFunc{
		prmPath:                  says(`{"resource":"~/mcp","authorization_servers":["` + dead.URL + `","~/broken","~","~/never"]}`),
		asmPath + "/broken":      says(`{"issuer":"~/broken","token_endpoint":"~/token"}`),
		asmPath + "/never":       func(http.ResponseWriter, *http.Request) { t.Error("the fourth was asked") },
		"/.well-known/untouched": nil,
	})
	c := newClient(t, oauth.Options{Interact: visitor()})
	wants(t, c.Transport(nil, a.URL+"/mcp", ""), a.URL+"/mcp", "", "")
	if s, err := c.Status(t.Context(), a.URL+"/mcp", ""); s.Issuer != a.URL || err != nil {
		t.Error(s, err)
	}
	d, err := c.Discover(t.Context(), a.URL+"/mcp")
	if err != nil || d.Issuer != a.URL+"/broken" || len(d.Servers) != 4 || d.Legacy {
		t.Error(d, err)
	}
}

// The resource is on every request (RFC 8707). A refused token is renewed before a person is asked.
func TestResourceIsOnEveryRequest(t *testing.T) {
	t.Parallel()
	forms := make(chan url.Values, 10)
	a := attack(t, map[string]http.HandlerFunc{
		"/token": func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			forms <- r.PostForm
			says(`{"access_token":"token-`+r.PostForm.Get("grant_type")+`","refresh_token":"again","scope":""}`)(w, r)
		},
		"/mcp": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer token-refresh_token" {
				w.WriteHeader(http.StatusUnauthorized)
			}
		},
	})
	asked := visitor()
	authorize := make(chan string, 10)
	open := asked.Open
	asked.Open = func(ctx context.Context, address string) error { authorize <- address; return open(ctx, address) }
	wants(t, newClient(t, oauth.Options{Interact: asked}).Transport(nil, a.URL+"/mcp", ""), a.URL+"/mcp", "", "")
	u, err := url.Parse(<-authorize)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []url.Values{u.Query(), <-forms, <-forms} {
		if got := form["resource"]; len(got) != 1 || got[0] != a.URL+"/mcp" {
			t.Errorf("resource %q in %v", got, form)
		}
	}
	if len(authorize) > 0 || len(forms) > 0 {
		t.Error("asked again")
	}
}

// The address of a sign-in stays the same until it is used. Then SignedIn is called.
func TestSignInAddress(t *testing.T) {
	t.Parallel()
	a := attack(t, nil)
	told := make(chan string, 1)
	c := newClient(t, oauth.Options{SignedIn: func(resource, principal string) { told <- resource + " " + principal }})
	first, err := c.SignInAddress(t.Context(), a.URL+"/mcp", "anna")
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.SignInAddress(t.Context(), a.URL+"/mcp", "anna")
	if again != first || err != nil {
		t.Errorf("%s, %v; first %s", again, err, first)
	}
	rt := c.Transport(nil, a.URL+"/mcp", "anna")
	if _, _, err := send(t, rt, a.URL+"/mcp", ""); !errors.As(err, new(*oauth.SignInError)) {
		t.Error(err) // a request does not wait for it
	}
	waited := make(chan error, 1)
	go func() { waited <- c.AwaitSignIn(t.Context(), a.URL+"/mcp", "anna") }()
	if err := visitor().Open(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if got := <-told; got != a.URL+"/mcp anna" {
		t.Error(got)
	}
	wants(t, rt, a.URL+"/mcp", "", "")
	broken := attack(t, map[string]http.HandlerFunc{asmPath: says(`{"issuer":"https://bank.example"}`)})
	if _, err := c.SignInAddress(t.Context(), broken.URL+"/mcp", ""); err == nil || !strings.Contains(err.Error(), "another issuer") {
		t.Error(err)
	}
	if _, err := c.SignInAddress(t.Context(), a.URL+"/mcp", "carl"); err != nil {
		t.Error(err) // Close ends it
	}
}

type asker struct{}

// Open gets the context of the request that needs the sign-in (URL elicitation).
func TestOpenHasTheRequestsContext(t *testing.T) {
	t.Parallel()
	a := attack(t, nil)
	open := visitor().Open
	c := newClient(t, oauth.Options{Interact: &oauth.Loopback{Open: func(ctx context.Context, authorize string) error {
		if ctx.Value(asker{}) != "anna" {
			t.Error("nobody asks")
		}
		return open(ctx, authorize)
	}}})
	if err := c.SignIn(context.WithValue(t.Context(), asker{}, "anna"), a.URL+"/mcp", ""); err != nil {
		t.Error(err)
	}
}

// Close ends a sign-in that waits for a person.
func TestCloseEndsASignIn(t *testing.T) {
	t.Parallel()
	a := attack(t, nil)
	opened := make(chan string, 1)
	c := newClient(t, oauth.Options{Interact: &oauth.Loopback{Open: func(_ context.Context, authorize string) error { opened <- authorize; return nil }}})
	ended := make(chan error, 1)
	go func() { ended <- c.SignIn(context.Background(), a.URL+"/mcp", "") }()
	u, err := url.Parse(<-opened)
	if err != nil {
		t.Fatal(err)
	}
	// A request with another state, or with another Host, changes nothing.
	for _, other := range []string{"?code=x&state=y", "?code=x", ""} {
		res, err := http.Get(u.Query().Get("redirect_uri") + other)
		if err != nil || res.StatusCode != http.StatusBadRequest {
			t.Error(res, err)
		}
		_ = res.Body.Close()
	}
	c.Close()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("signed in")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still waiting")
	}
	if err := c.SignIn(t.Context(), a.URL+"/mcp", ""); err == nil {
		t.Error("a closed client signs in")
	}
}

// hurried is a store that gives up: another process may hold the lock, and hang.
type hurried struct {
	oauth.MemoryStore
	testing.TB
	locks atomic.Int32
}

func (s *hurried) Lock(ctx context.Context, k oauth.Key) (func(), error) {
	if _, bounded := ctx.Deadline(); !bounded {
		s.Errorf("the lock of %v is waited for without end", k)
	}
	s.locks.Add(1)
	return s.MemoryStore.Lock(ctx, k)
}

func TestLocksAreWaitedForInBoundedTime(t *testing.T) {
	t.Parallel()
	a := attack(t, nil)
	store := &hurried{TB: t}
	c := newClient(t, oauth.Options{Store: store, Interact: visitor()})
	if err := c.SignIn(t.Context(), a.URL+"/mcp", ""); err != nil || store.locks.Load() < 2 {
		t.Error(err, store.locks.Load())
	}
}
