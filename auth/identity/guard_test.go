package identity_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/auth/identity"
)

// known is a verifier of the tokens in it.
type known map[string]*identity.Identity

func (k known) Verify(_ context.Context, token string) (*identity.Identity, error) {
	switch id := k[token]; {
	case token == "broken":
		return nil, errors.New("the disk is gone")
	case id == nil:
		return nil, identity.ErrForeign
	default:
		return id, nil
	}
}

func views(r *http.Request) identity.Resource {
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/mcp"), "/")
	if name == "" {
		return identity.Resource{Path: "/mcp"}
	}
	return identity.Resource{Path: "/mcp/" + strings.ReplaceAll(name, `"`, "%22"), Name: name}
}

func get(target, token string) *http.Request {
	r := httptest.NewRequest("GET", target, nil)
	r.Host = "127.0.0.1:7332"
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7332}
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local))
}

func TestGuard(t *testing.T) {
	t.Parallel()
	const base = "http://127.0.0.1:7332/mcp"
	g := identity.NewGuard(&identity.Options{Resource: views, Scopes: []string{"mcp", "view:{view}"}, Issuers: []string{"https://as.example"}}, known{
		"all":     {Principal: "user:all"},
		"github":  {Principal: "user:github", Views: []string{"github"}},
		"jwt":     {Principal: "https://as.example#ann", Scopes: []string{"mcp", "view:github"}, Audience: []string{base + "/github"}},
		"slash":   {Principal: "https://as.example#ann", Scopes: []string{"mcp", "view:*"}, Audience: []string{base + "/"}},
		"poor":    {Principal: "https://as.example#bob", Scopes: []string{"mcp"}, Audience: []string{base + "/github", base}},
		"old":     {Principal: "user:old", Expires: time.Now().Add(-2 * time.Minute)},
		"nobody":  {},
		"nowhere": {Principal: "user:x", Audience: []string{}},
	}, known{"second": {Principal: "user:second"}})
	meta := func(path string) string {
		return `, resource_metadata="http://127.0.0.1:7332/.well-known/oauth-protected-resource/mcp` + path + `"`
	}
	missing := func(path, scope string) string {
		return `Bearer realm="indus", scope="mcp view:` + scope + `"` + meta(path)
	}
	wrong := func(path, scope string) string {
		return strings.Replace(missing(path, scope), ", ", `, error="invalid_token", `, 1)
	}
	poor := func(path, scope string) string {
		return strings.Replace(missing(path, scope), ", ", `, error="insufficient_scope", `, 1)
	}
	for _, tt := range []struct {
		path, authorization, who string
		status                   int
		challenge                string
	}{
		{"", "", "", 401, missing("", "*")},
		{"/github", "", "", 401, missing("/github", "github")},
		{`/a"b`, "", "", 401, missing("/a%22b", "a%22b")},
		{"/" + strings.Repeat("x", 1000), "", "", 401, `Bearer realm="indus"`},
		{"", "Bearer all", "user:all", 0, ""},
		{"/nowhere", "bearer  all ", "user:all", 0, ""},
		{"", "Basic all", "", 401, wrong("", "*")},
		{"", "Bearer", "", 401, wrong("", "*")},
		{"", "Bearer all all", "", 401, wrong("", "*")},
		{"", "Bearer " + strings.Repeat("a", 17<<10), "", 401, wrong("", "*")},
		{"", "Bearer unknown", "", 401, wrong("", "*")},
		{"", "Bearer old", "", 401, wrong("", "*")},
		{"", "Bearer nobody", "", 401, wrong("", "*")},
		{"", "Bearer nowhere", "", 401, wrong("", "*")},
		{"", "Bearer second", "user:second", 0, ""},
		{"/github", "Bearer github", "user:github", 0, ""},
		{"/slack", "Bearer github", "", 403, ""},
		{"", "Bearer github", "", 403, ""},
		{"/github", "Bearer jwt", "https://as.example#ann", 0, ""},
		{"/slack", "Bearer jwt", "", 401, wrong("/slack", "slack")},
		{"", "Bearer slash", "https://as.example#ann", 0, ""},
		{"/github", "Bearer poor", "", 403, poor("/github", "github")},
		{"", "Bearer broken", "", 503, ""},
	} {
		r := get("http://127.0.0.1:7332/mcp", tt.authorization)
		r.URL.Path += tt.path
		who, err := g.Principal(r)
		status, header := 0, http.Header(nil)
		var refused *identity.Refusal
		if errors.As(err, &refused) {
			status, header, _ = refused.Refuse()
		}
		if string(who) != tt.who || status != tt.status {
			t.Errorf("%.40s %.40s: %q %d %v", tt.path, tt.authorization, who, status, err)
		}
		if diff := cmp.Diff(tt.challenge, header.Get("WWW-Authenticate")); diff != "" {
			t.Errorf("%.40s %.40s: %s", tt.path, tt.authorization, diff)
		}
		if err != nil && strings.Contains(err.Error(), "all all") {
			t.Errorf("the error has the token: %v", err)
		}
	}
	two := get("/mcp", "Bearer all")
	two.Header.Add("Authorization", "Bearer all")
	if _, err := g.Principal(two); err == nil {
		t.Error("two tokens are one too many")
	}
	if _, err := g.Principal(get("/mcp?access_token=all", "")); err == nil {
		t.Error("a token in the URL")
	}
}

// A token for another server on this machine is not accepted because the Host header has the name of that server.
func TestNobodyMakesUpTheResource(t *testing.T) {
	t.Parallel()
	who := known{
		"here": {Principal: "a#a", Audience: []string{"http://127.0.0.1:7332/mcp"}}, "beside": {Principal: "a#a", Audience: []string{"http://127.0.0.1:9999/mcp"}},
		"public": {Principal: "a#a", Audience: []string{"https://mcp.example/mcp"}}, "named": {Principal: "a#a", Audience: []string{"http://mcp.lan:7332/mcp"}},
	}
	for _, tt := range []struct {
		url, token, host string
		ok               bool
	}{
		{"", "here", "127.0.0.1:7332", true},
		{"", "here", "localhost:7332", false}, // its own name, but another one
		{"", "beside", "127.0.0.1:9999", false},
		{"", "public", "mcp.example", false},
		{"", "named", "mcp.lan:7332", true},
		{"", "named", "MCP.lan:7332", true},
		{"https://mcp.example", "public", "127.0.0.1:7332", true},
		{"https://mcp.example/", "public", "evil.example", true}, // the host checks it
		{"https://mcp.example", "here", "127.0.0.1:7332", false},
	} {
		g := identity.NewGuard(&identity.Options{URL: tt.url, Hosts: []string{"mcp.lan:7332"}, Resource: views}, who)
		r := get("/mcp", "Bearer "+tt.token)
		r.Host = tt.host
		if _, err := g.Principal(r); (err == nil) != tt.ok {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	g := identity.NewGuard(&identity.Options{URL: "https://mcp.example", Resource: views, Scopes: []string{"view:{view}"}, Issuers: []string{"https://as.example"}})
	const place = "/.well-known/oauth-protected-resource"
	for path, want := range map[string]string{
		"": `{"resource":"https://mcp.example/mcp","authorization_servers":["https://as.example"],"scopes_supported":["view:*"],` +
			`"bearer_methods_supported":["header"],"resource_name":"indus"}`,
		"/mcp/nowhere": `{"resource":"https://mcp.example/mcp/nowhere","authorization_servers":["https://as.example"],"scopes_supported":["view:nowhere"],` +
			`"bearer_methods_supported":["header"],"resource_name":"indus"}`,
		"x":                                "404 page not found\n",
		"/mcp/" + strings.Repeat("x", 600): "404 page not found\n",
	} {
		w := httptest.NewRecorder()
		g.Handler(http.NotFoundHandler()).ServeHTTP(w, get(place+path, ""))
		if diff := cmp.Diff(want, w.Body.String()); diff != "" {
			t.Errorf("%.40s: %s", path, diff)
		}
		if w.Code == 200 && w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: no page reads it", path)
		}
	}
	for method, want := range map[string]int{"OPTIONS": 204, "HEAD": 200, "POST": 405} {
		r := get(place, "")
		r.Method = method
		w := httptest.NewRecorder()
		if g.Metadata().ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	w := httptest.NewRecorder()
	if identity.NewGuard(nil).Metadata().ServeHTTP(w, get(place, "")); w.Code != 404 {
		t.Errorf("without an authorization server: %d", w.Code)
	}
}

// FuzzAuthorization checks that only a header with the token is accepted, and that no header is repeated in the answer.
func FuzzAuthorization(f *testing.F) {
	const secret = "s3cret-token-of-ann"
	g := identity.NewGuard(&identity.Options{Issuers: []string{"https://as.example"}}, known{secret: {Principal: "user:ann"}}, identity.NewKeys(f.TempDir()+"/none"), new(identity.Tokens))
	for _, s := range []string{"", "Bearer", "Bearer " + secret, "bearer\t" + secret, "Bearer " + secret + ", Bearer x", "Basic eDp5", "Bearer indus_a.b", "Bearer a.b.c", "\x00", "Bearer " + strings.Repeat("A", 20000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, authorization string) {
		r := get("/", "")
		r.Header["Authorization"] = []string{authorization}
		id, err := g.Authenticate(r)
		scheme, token, _ := strings.Cut(authorization, " ")
		if good := strings.EqualFold(scheme, "bearer") && strings.TrimSpace(token) == secret; good != (err == nil) {
			t.Fatalf("%q: %v %v", authorization, id, err)
		}
		if err == nil {
			return
		}
		reason := func(err error) string { return err.Error() + err.(*identity.Refusal).Header.Get("Www-Authenticate") }
		if other := reason(refusal(g, "Bearer made-up")) + reason(refusal(g, "")) + reason(refusal(g, "Bearer indus_made.up")); len(token) > 8 &&
			strings.Contains(reason(err), token) && !strings.Contains(other, token) {
			t.Fatalf("%q is repeated: %v", authorization, err)
		}
	})
}

func refusal(g *identity.Guard, authorization string) error {
	_, err := g.Authenticate(get("/", authorization))
	return err
}

// Trouble is reported once, however failures alternate with successes. Its end is reported after a minute without
// failures.
func TestTroubleIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []string
		ann := &identity.Identity{Principal: "user:ann"}
		g := identity.NewGuard(&identity.Options{Trouble: func(err error) { reported = append(reported, fmt.Sprint(err)) }}, known{"key": ann})
		send := func(tokens ...string) {
			for _, token := range tokens {
				_, _ = g.Authenticate(get("/mcp", "Bearer "+token))
			}
		}
		send("broken", "key", "broken", "key")
		time.Sleep(59 * time.Second)
		send("key", "broken", "nobody")
		time.Sleep(59 * time.Second)
		send("key")
		if want := []string{"the disk is gone"}; !cmp.Equal(reported, want) {
			t.Errorf("%q", reported)
		}
		time.Sleep(time.Second)
		send("nobody", "key", "key", "broken")
		if want := []string{"the disk is gone", "<nil>", "the disk is gone"}; !cmp.Equal(reported, want) {
			t.Errorf("%q", reported)
		}
	})
}

// A browser's preflight brings no token and is answered by the handler. All other requests, and requests that only
// resemble a preflight, are challenged.
func TestPreflights(t *testing.T) {
	t.Parallel()
	g := identity.NewGuard(&identity.Options{Realm: `my "own" realm`})
	h := g.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if identity.FromContext(r.Context()) != nil {
			t.Error("a preflight has a caller")
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	for _, tt := range []struct {
		method, origin, requests string
		want                     int
	}{
		{"OPTIONS", "https://app.example", "POST", 204},
		{"OPTIONS", "", "POST", 401}, {"OPTIONS", "https://app.example", "", 401}, {"GET", "https://app.example", "POST", 401},
	} {
		r := httptest.NewRequest(tt.method, "/mcp", nil)
		for name, value := range map[string]string{"Origin": tt.origin, "Access-Control-Request-Method": tt.requests} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.want || w.Code == 401 && w.Header().Get("WWW-Authenticate") != `Bearer realm="my \"own\" realm"` {
			t.Errorf("%+v: %d %v", tt, w.Code, w.Header())
		}
	}
}

// Clients of Entra request a scope by the address of its API. The tokens have only the name of the scope.
func TestScopesOfAnAPI(t *testing.T) {
	t.Parallel()
	g := identity.NewGuard(&identity.Options{URL: "https://mcp.example", Scopes: []string{"api://app/mcp"}}, known{
		"short": {Principal: "u", Scopes: []string{"mcp"}}, "long": {Principal: "u", Scopes: []string{"api://app/mcp"}},
		"other": {Principal: "u", Scopes: []string{"read"}}, "none": {Principal: "u", Scopes: []string{}},
	})
	for token, good := range map[string]bool{"short": true, "long": true, "other": false, "none": false} {
		r := httptest.NewRequest("GET", "/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		if _, err := g.Authenticate(r); (err == nil) != good {
			t.Errorf("%s: %v", token, err)
		}
	}
}
