package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/internal/testkit/authserver"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// signInsJSON is the JSON of "/sign-ins".
type signInsJSON struct {
	Servers []struct {
		Server                                  string
		Needed, PerCaller, Automatic, MaySignIn bool
		Users                                   []struct {
			Principal, Issuer, Text string
			Good, Renews            bool
			Until                   *time.Time
			MaySignOut              bool
		}
	}
	Total int
}

// lockedServer returns the URL of a server that answers no request without a token of the authorization server.
func lockedServer(t *testing.T, issuer string) string {
	t.Helper()
	server := newEcho(oneTool()).Server
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	var web *httptest.Server
	web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/.well-known/"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"resource":"%s/mcp","authorization_servers":["%s"],"scopes_supported":["read"]}`, web.URL, issuer)
		case r.Header.Get("Authorization") == "":
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(web.Close)
	return web.URL + "/mcp"
}

// signIn begins a sign-in with a token of the page, and returns its address.
func (d *desk) signIn(token, server string) (address string, local bool) {
	d.t.Helper()
	status, text := d.request(token, "/sign-ins/sign-in", map[string][]string{"server": {server}})
	var out struct {
		Server, Address string
		Local           bool
	}
	if err := json.Unmarshal(text, &out); err != nil || status != http.StatusOK || out.Server != server {
		d.t.Fatalf("status %d: %s", status, text)
	}
	return out.Address, out.Local
}

// awaitSignIns reads the sign-ins until there are so many users of the first server.
func (d *desk) awaitSignIns(users int) (got signInsJSON) {
	d.t.Helper()
	for got.Servers == nil || len(got.Servers[0].Users) != users {
		if err := d.t.Context().Err(); err != nil {
			d.t.Fatal(err)
		}
		got = signInsJSON{}
		d.show("/sign-ins", &got)
	}
	return got
}

// The operator signs in with an address that the page shows, and signs out. The server works in between.
func TestTheOperatorSignsIn(t *testing.T) {
	t.Parallel()
	as := authserver.Start(t, nil)
	d := newDesk(t, deskOptions{configured: []config.Server{
		{ID: "locked-1", Transport: config.HTTP{URL: lockedServer(t, as.Issuer)}},
		{ID: "process", Transport: config.Stdio{Command: "false"}},
	}, keys: true})
	d.tokens.Site = &oauth.Site{URL: d.web.URL, Proof: func(string) func(context.Context, string) (bool, error) { return nil }}
	var got signInsJSON
	d.show("/sign-ins", &got)
	if len(got.Servers) != 1 || !got.Servers[0].Needed || len(got.Servers[0].Users) != 0 || !got.Servers[0].MaySignIn {
		t.Fatalf("%+v", got)
	}
	b := d.browse()
	wants(t, b.open("/sign-ins"), "The server is down until the sign-in is there.", "No sign-in is stored.",
		"Sign in as the local user")
	wants(t, b.submit("/sign-ins/sign-in", "server", "locked-1"), `href="`+as.URL, `rel="noopener noreferrer"`,
		"The browser has to be on the machine of indus.")
	address, local := d.signIn(d.link(), "locked-1")
	if !local {
		t.Error("the sign-in of the local user ends at a site")
	}
	if err := (authserver.Browser{}).Open(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	got = d.awaitSignIns(1)
	if u := got.Servers[0].Users[0]; u.Principal != "" || !u.Good || u.Issuer != as.Issuer || !u.MaySignOut || u.Until == nil {
		t.Errorf("%+v", u)
	}
	wants(t, b.open("/sign-ins"), "<th scope=\"row\" role=\"rowheader\">local</th>", as.Issuer, "Sign out")
	d.tokens.Reread(t.Context()) // as serve does when the store changes
	fleet := d.gateway.Attached().Fleet
	fleet.Retry(func(f *interop.Fault) bool { return f.NeedsSignIn() })
	// An attempt that began before the sign-in may fail first.
	events := func(changed func()) func() { return fleet.Events(func(interop.Event) { changed() }) }
	isReady := func() bool { return d.gateway.Attached().Status()[0].Phase == interop.Ready }
	if watch.Until(t.Context(), events, isReady); !isReady() {
		t.Fatal("the server does not become ready")
	}
	admin := d.key("root-signs-out", "admin")
	_, failed := d.actAs(admin, "/sign-ins/sign-out", "server", "locked-1")
	wants(t, failed, "this is the sign-in of the operator")
	done, failed := d.act("/sign-ins/sign-out", "server", "locked-1")
	if done != "locked-1: local is signed out" {
		t.Errorf("%q, %q", done, failed)
	}
	_, failed = d.act("/sign-ins/sign-out", "server", "locked-1")
	wants(t, failed, "local is not signed in")
	_, failed = d.act("/sign-ins/sign-in", "server", "process")
	wants(t, failed, "it has no sign-in")
	_, failed = d.act("/sign-ins/sign-in", "server", foreignMarkup)
	wants(t, failed, "is served")
}

// An administrator signs in as a caller, and only to servers with a sign-in for each caller.
func TestAnAdministratorSignsIn(t *testing.T) {
	t.Parallel()
	as := authserver.Start(t, nil)
	each := config.Server{ID: "locked-2", Transport: config.HTTP{URL: lockedServer(t, as.Issuer)}}
	each.Pool.Per = config.PerPrincipal
	d := newDesk(t, deskOptions{configured: []config.Server{
		each, {ID: "locked-3", Transport: config.HTTP{URL: lockedServer(t, as.Issuer)}},
	}, keys: true})
	admin := d.key("root", "admin")
	if status, _ := d.request(d.key("alice"), "/sign-ins/sign-in", map[string][]string{"server": {"locked-2"}}); status !=
		http.StatusForbidden {
		t.Errorf("a caller: status %d", status)
	}
	_, failed := d.actAs(admin, "/sign-ins/sign-in", "server", "locked-3")
	wants(t, failed, "all callers share the sign-in of the operator")
	address, _ := d.signIn(admin, "locked-2")
	if err := (authserver.Browser{}).Open(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	got := d.awaitSignIns(1)
	if u := got.Servers[0].Users[0]; u.Principal != "user:root" || !u.Good || !got.Servers[0].PerCaller {
		t.Errorf("%+v", u)
	}
	if done, failed := d.actAs(admin, "/sign-ins/sign-out", "server", "locked-2", "principal", "user:root"); done == "" {
		t.Error(failed)
	}
	d.awaitSignIns(0)
}

// A hostile authorization server cannot make the page link to a script, and its texts stay text.
func TestHostileSignIn(t *testing.T) {
	t.Parallel()
	var endpoint atomic.Value
	var web *httptest.Server
	web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := map[string]any{
			"issuer": web.URL, "authorization_endpoint": endpoint.Load(), "token_endpoint": web.URL + "/token",
			"code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
			"registration_endpoint": web.URL + "/register",
		}
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/register" {
			answer = map[string]any{"client_id": foreignMarkup}
			w.WriteHeader(http.StatusCreated)
		}
		out, _ := json.Marshal(answer)
		_, _ = w.Write(out)
	}))
	t.Cleanup(web.Close)
	for i, bad := range []string{
		"javascript:alert(1)", "javascript://" + strings.TrimPrefix(web.URL, "http://") + "/%0aalert(1)",
		"data:text/html,<script>alert(1)</script>", foreignMarkup,
		web.URL + `/authorize?x="><img src=x onerror=alert(1)><script>alert(1)</script>`,
	} {
		endpoint.Store(bad)
		server := fmt.Sprintf("hostile-%d", i)
		d := newDesk(t, deskOptions{configured: []config.Server{
			{ID: server, Transport: config.HTTP{URL: lockedServer(t, web.URL)}},
		}})
		b := d.browse()
		b.open("/sign-ins")
		text := b.submit("/sign-ins/sign-in", "server", server) // which checks the links
		if strings.HasPrefix(bad, web.URL) {
			wants(t, text, `href="`+web.URL+`/authorize?`, `target="_blank"`)
		} else {
			wants(t, text, `class="problem"`)
		}
	}
}
