package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/internal/testkit/authserver"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// town is a set of principals with changing credentials and sign-ins at a server.
type town struct {
	*soak
	issuer  *authserver.Server // issues half of the credentials; the others are API keys
	keys    *identity.Keys
	guarded *signInServer
	store   oauth.Store
	life    time.Duration // the lifetime of tokens, in whole seconds
	people  []*person
	left    chan struct{} // closed when all clients have ended their sessions
}

// person is one principal of a town.
type person struct {
	*soaker
	town      *town
	signed    bool // its credentials are signed tokens
	principal string
	oauth     *oauth.Client // the client of another process with the same sign-in
}

// settle signs in the people, and the operator whose sign-in is used to list tools.
func (w *town) settle(n int) {
	var settling sync.WaitGroup
	settling.Go(func() { w.signIn("operator", "") })
	for i := range n {
		p := &person{soaker: w.add(fmt.Sprint("p", i), nil), town: w, signed: i%2 == 0, principal: fmt.Sprint("user:p", i)}
		if p.signed {
			p.principal = w.issuer.Issuer + "#" + p.name
		}
		w.people = append(w.people, p)
		settling.Go(func() { p.oauth = w.signIn(p.name, p.principal) })
	}
	settling.Wait()
}

// signIn signs a user in to the account of the row "safe".
func (w *town) signIn(user, principal string) *oauth.Client {
	c, err := oauth.New(&oauth.Options{
		Store: w.store, Account: "safe", Interact: &oauth.Loopback{Open: authserver.Browser{User: user}.Open},
	})
	if err == nil {
		w.Cleanup(c.Close)
		err = c.SignIn(w.Context(), w.guarded.url, principal)
	}
	if err != nil {
		w.Error(err)
	}
	return c
}

// issue returns a new credential. end returns when the credential is no longer valid.
func (p *person) issue() (shows *credential, end func()) {
	shows = &credential{}
	defer func() { p.town.guarded.note(func(string) string { return shows.token }, "") }()
	if p.signed {
		shows.token = p.town.issuer.TokenOf(p, authserver.Client{ID: p.name, Secret: "secret-of-" + p.name}, p.url+"/mcp",
			"read")
		var claims jwt.RegisteredClaims
		if _, _, err := jwt.NewParser().ParseUnverified(shows.token, &claims); err != nil {
			p.Error(err)
			return shows, func() {}
		}
		over := claims.ExpiresAt.Add(time.Minute)
		shows.dying.Store(over.UnixNano())
		shows.dead.Store(over.UnixNano())
		return shows, func() { time.Sleep(time.Until(over)) }
	}
	token, key, err := p.town.keys.Add(p.Context(), identity.Key{Name: p.name})
	if err != nil {
		p.Error(err)
	}
	shows.token = token
	return shows, func() {
		time.Sleep(100 * time.Millisecond) // most requests with it have arrived by now
		shows.dying.Store(time.Now().UnixNano())
		if err := p.town.keys.Remove(p.Context(), key.ID); err != nil {
			p.Error(err)
		}
		shows.dead.Store(time.Now().UnixNano())
	}
}

// turnOver uses one credential after the other, and tries each once more after its end.
func (p *person) turnOver(first *credential, end func()) {
	var ending sync.WaitGroup
	defer ending.Wait()
	for shows := first; ; {
		if p.running() {
			time.Sleep(p.town.life/10 + rand.N(p.town.life/3))
		}
		old, over := shows, end
		more := p.running()
		if more {
			shows, end = p.issue()
			p.shows.Store(shows)
		}
		if !more && p.signed { // a signed token expires by itself
			return
		}
		ending.Go(func() {
			if !more { // a client that cannot sign in cannot end its session, which then lasts for an hour
				<-p.town.left
			}
			over()
			ghost := &soaker{soak: p.soak, name: p.name}
			ghost.shows.Store(old)
			for _, server := range []string{"safe", p.gossips[rand.IntN(len(p.gossips))]} {
				_, _, _ = ghost.post(p.Context(), "", "tools/call", p.calls(server))
			}
		})
		if !more {
			return
		}
	}
}

// calls returns the parameters of a call of the server's first tool.
func (p *person) calls(server string) string {
	tool := "echo"
	if server == "safe" {
		tool = "whoami"
	}
	return fmt.Sprintf(`"name":"%s__%s","arguments":{"nonce":%q},%s`, server, tool, p.nonce(), modernMeta("{}"))
}

// visits uses the sign-in through indus and from another process.
func (p *person) visits() {
	web := &http.Client{Transport: p.oauth.Transport(nil, p.town.guarded.url, p.principal)}
	direct, err := mcp.NewClient(&mcp.Implementation{Name: p.name, Version: "1"}, nil).Connect(p.Context(),
		&mcp.StreamableClientTransport{Endpoint: p.town.guarded.url, HTTPClient: web}, nil)
	if err != nil {
		p.Error(err)
		return
	}
	defer direct.Close()
	for p.running() {
		r, err := direct.CallTool(p.Context(), &mcp.CallToolParams{Name: "whoami"})
		if err != nil || resultText(r) != p.name {
			p.Errorf("%s is %v, %v", p.name, r, err)
		}
		if answer, _, err := p.post(p.Context(), "", "tools/call", p.calls("safe")); err == nil {
			who, err := answer.text()
			if err != nil && strings.Contains(err.Error(), "sign-in") {
				p.Errorf("%s is asked to sign in again: %v", p.name, err)
			}
			p.done("whoami", err, who == p.name, p.name+" is "+who)
		}
		if answer, _, err := p.post(p.Context(), "", "resources/list", modernMeta("{}")); err == nil {
			for _, found := range diaries.FindAllSubmatch(answer.Result, -1) {
				p.done("diary", nil, string(found[1]) == p.name, p.name+" is shown that of "+string(found[1]))
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

var diaries = regexp.MustCompile(`diary:(\w+)`)

// wantNoneRun fails if a server has run a refused call, or if one connection had calls of two principals.
func (w *town) wantNoneRun(trace string) {
	text, err := os.ReadFile(trace)
	if err != nil {
		w.Fatal(err)
	}
	ran, owners := w.guarded.ran, map[string]string{}
	for line := range strings.Lines(string(text)) {
		var server, process, session, nonce string
		if _, err := fmt.Sscanf(line, "%s %s %q %s", &server, &process, &session, &nonce); err != nil {
			continue // without a nonce
		}
		ran = append(ran, nonce)
		who, _, _ := strings.Cut(nonce, "/")
		if own := process + session; strings.HasPrefix(server, "own") {
			if owners[own] == "" {
				owners[own] = who
			}
			if owners[own] != who {
				w.Errorf("a connection of %s to %s has a call of %s", owners[own], server, who)
			}
		}
	}
	for _, nonce := range ran {
		if w.refused[nonce] {
			w.Errorf("%s was refused, and was run", nonce)
		}
	}
	w.Logf("%d calls were run, %d refused; %d connections of one principal", len(ran), len(w.refused), len(owners))
}

// TestSoakPrincipals runs principals whose API keys are created and removed, and whose tokens expire within seconds.
// Some servers are shared, and some have a connection per principal. One needs a sign-in that is renewed often. No data
// may reach another principal, no refused call may run, no user is asked to sign in again, and no process is left. It
// is short, unless INDUS_SOAK is set. Then it takes minutes with 20 principals.
func TestSoakPrincipals(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("what a process holds is found in /proc")
	}
	t.Parallel()
	n, wait, ttl := 5, 1500*time.Millisecond, 2
	long := soakTime()
	if long > 0 {
		n, wait, ttl = 20, long, 5
	}
	front := authserver.Options{ClockAhead: -60, TTL: ttl} // its clock is behind by the tolerated difference
	for i := range n {
		front.Clients = append(front.Clients, authserver.Client{ID: fmt.Sprint("p", i), Secret: fmt.Sprint("secret-of-p", i)})
	}
	w := &town{
		soak: newSoak(t), life: time.Duration(ttl) * time.Second, issuer: authserver.Start(t, &front), guarded: newGuarded(t,
			authserver.Options{Opaque: true, TTL: ttl}), left: make(chan struct{}),
	}
	w.wanted = []string{"echo", "question", "whoami", "diary", "refused"}
	w.gossips = []string{"g0", "g1", "own", "ownweb"}
	trace := filepath.Join(t.TempDir(), "trace")
	servers := map[string]entry{"safe": {URL: w.guarded.url, Per: "principal"}}
	for name, flags := range map[string][]string{"g0": nil, "g1": {"-stateless"}, "own": nil, "ownweb": {"-http"}} {
		args := []string{"-name", name, "-trace", trace, "-restless"}
		e := entry{Command: fixture.Gossip(t), Args: args, Env: map[string]string{markName: w.mark}, Era: "legacy"}
		if flags != nil {
			args = append(args, "-http", "127.0.0.1:0")
			e = entry{Era: "legacy"}
			if flags[0] == "-stateless" {
				args, e.Era = append(args, flags...), "modern"
			}
			p := fixture.Start(t, fixture.Command{Path: fixture.Gossip(t), Args: args})
			e.URL = p.Line()
			p.Drain()
		}
		if strings.HasPrefix(name, "own") {
			e.Per = "principal"
		}
		servers[name] = e
	}
	cmd := w.command(servers, "--auth", "keys,jwt", "--issuer", w.issuer.Issuer, "--tap", "tap")
	state := filepath.Join(cmd.Dir, "indus")
	w.keys = identity.NewKeys(filepath.Join(state, "serve.apikeys.json"))
	w.store = oauth.NewFileStore(filepath.Join(state, "oauth.json"), &oauth.FileStoreOptions{NoKeychain: true})
	w.settle(n)
	p := w.launch(cmd)
	for _, name := range append([]string{"safe"}, w.gossips...) {
		p.waitFor(&p.err, name+`: ready`)
	}
	m := w.meter(p, wait)
	var living sync.WaitGroup
	for _, one := range w.people {
		shows, end := one.issue()
		one.shows.Store(shows)
		living.Go(func() { one.turnOver(shows, end) })
		living.Go(one.visits)
	}
	w.clients()
	close(w.left)
	living.Wait()
	m.wantNoGrowth()
	w.wantNoneRun(trace)
	counts := w.guarded.as.Counts(t)
	if counts["authorized"] != n+1 || counts["authorization_code"] != n+1 || counts["refresh_token"] == 0 ||
		counts["refresh_token: invalid_grant"]+counts["revoked"] > 0 {
		t.Errorf("%d and the operator have signed in once each: %v", n, counts)
	}
	if list, err := w.keys.List(); err != nil || len(list) > 0 {
		t.Error(list, err)
	}
	for _, one := range w.people {
		one.oauth.Close()
	}
	m.wantQuiet(long > 0, 2*n)
	w.ends(p)
	w.report()
}
