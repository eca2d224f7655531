package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// separateServer returns servers of the SDK, one for each dial, each with its own state, as separate processes have.
type separateServer struct {
	t      testing.TB
	refuse atomic.Bool // it cannot be dialled

	mu     sync.Mutex
	opened []*mcp.ServerSession
}

func (a *separateServer) options(config.Server) *interop.EndpointOptions {
	return &interop.EndpointOptions{Transport: a}
}

func (a *separateServer) Connect(ctx context.Context) (mcp.Connection, error) {
	if a.refuse.Load() {
		return nil, errors.New("not today")
	}
	subscribed := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	unsubscribed := func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
	s := mcp.NewServer(&mcp.Implementation{Name: "apart"}, &mcp.ServerOptions{SubscribeHandler: subscribed, UnsubscribeHandler: unsubscribed})
	n, held := 0, []string{}
	schema := json.RawMessage(`{"type":"object"}`)
	text := func(text string) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	}
	s.AddTool(&mcp.Tool{Name: "count", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n++
		return text(fmt.Sprint(n))
	})
	s.AddTool(&mcp.Tool{Name: "keep", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		held = append(held, string(r.Params.Arguments))
		s.AddPrompt(&mcp.Prompt{Name: fmt.Sprint("p", len(held))}, nil)
		_ = s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "news:1"})
		return text(strings.Join(held, " "))
	})
	s.AddResource(&mcp.Resource{URI: "news:1", Name: "news"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "news:1", Text: strings.Join(held, " ")}}}, nil
	})
	client, end := mcp.NewInMemoryTransports()
	session, err := s.Connect(context.WithoutCancel(ctx), end, nil)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.opened = append(a.opened, session)
	a.mu.Unlock()
	return client.Connect(ctx)
}

// dials returns how many connections were made.
func (a *separateServer) dials() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.opened)
}

// end ends the nth connection, as a crash does.
func (a *separateServer) end(n int) {
	a.mu.Lock()
	s := a.opened[n-1]
	a.mu.Unlock()
	_ = s.Close()
}

// wantSessions calls the tool "count" for a principal, and checks the number.
func (a *separateServer) wantSessions(fleet *interop.Fleet, who toolbox.Principal, want string) {
	a.t.Helper()
	if got, err := callAs(a.t.Context(), fleet, nil, who, "count", ""); got != want || err != nil {
		a.t.Errorf("%s counts %q, %v, want %s", who, got, err, want)
	}
}

func perPrincipal(era interop.Era) config.Server {
	return config.Server{ID: "a", Era: era, Transport: config.Stdio{Command: "x"}, Pool: config.Pool{Per: config.PerPrincipal}}
}

// One principal sees neither the calls of another principal nor the messages of its server.
func TestEachPrincipalHasItsOwnServer(t *testing.T) {
	t.Parallel()
	for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			a := &separateServer{t: t}
			fleet := fleetOf(t, perPrincipal(era), &interop.FleetOptions{Endpoint: a.options})
			if n := a.dials(); n != 1 {
				t.Errorf("%d connections before anybody asked", n)
			}
			updates := map[toolbox.Principal]chan interop.Message{"ann": make(chan interop.Message, 10), "bob": make(chan interop.Message, 10)}
			for who, heard := range updates {
				stop, err := fleet.Subscribe(t.Context(), "a", "news:1", who, func(m interop.Message) { heard <- m })
				if err != nil {
					t.Fatal(err)
				}
				defer stop()
			}
			for _, want := range []string{"1", "2"} {
				a.wantSessions(fleet, "ann", want)
			}
			a.wantSessions(fleet, "bob", "1")
			a.wantSessions(fleet, "", "1") // the principal without a name is not all principals
			keep := toolbox.Call{Name: "a__keep", Input: json.RawMessage(`{"secret":"ann"}`), Caller: "ann"}
			if r, err := fleet.Do(t.Context(), keep); err != nil || r.IsError() {
				t.Fatal(r, err)
			}
			receiveSoon(t, updates["ann"], "ann's update")
			read := func(who toolbox.Principal, method, params string) string {
				got, err := fleet.Request(t.Context(), "a", interop.Message{Method: method, Params: json.RawMessage(params), Caller: who})
				if err != nil {
					t.Error(err)
				}
				return string(got)
			}
			for who, sees := range map[toolbox.Principal]bool{"ann": true, "bob": false, "": false} {
				if got := read(who, "resources/read", `{"uri":"news:1"}`); strings.Contains(got, "secret") != sees {
					t.Errorf("%q reads %s", who, got)
				}
				if got := read(who, "prompts/list", `{}`); strings.Contains(got, "p1") != sees {
					t.Errorf("%q is listed %s", who, got)
				}
			}
			if n := a.dials(); n != 4 {
				t.Errorf("%d connections for three principals", n)
			}
			if len(updates["bob"]) > 0 {
				t.Errorf("bob hears of %s", (<-updates["bob"]).Params)
			}
			own, _ := fleet.Endpoint("a", "ann")
			if other, _ := fleet.Endpoint("a", "bob"); own == other || own == fleet.Endpoints()[0] {
				t.Error("principals have one endpoint")
			}
		})
	}
}

// The clients of a principal share its connection, and are asked there as far as possible. A client with other
// capabilities has its own connection.
func TestTheClientsOfAPrincipalAreAsked(t *testing.T) {
	t.Parallel()
	a := newAskingServer(t)
	fleet := fleetOf(t, perPrincipal(interop.Legacy), &interop.FleetOptions{Endpoint: a.options})
	client := func(era interop.Era, session, capabilities string) *interop.Client {
		c := newRecordingClient(era, session, capabilities)
		c.Session = session
		return &c.Client
	}
	one, two := client(interop.Legacy, "one", everyCapability), client(interop.Legacy, "two", everyCapability)
	nobody, other := client(interop.Legacy, "none", "{}"), client(interop.Legacy, "other", `{"elicitation":{}}`)
	seen := map[toolbox.Principal]string{}
	for _, who := range []toolbox.Principal{"ann", "bob"} {
		for _, c := range []*interop.Client{one, two, nobody, nil} {
			got, err := callAs(t.Context(), fleet, c, who, "session", "")
			if err != nil || seen[who] != "" && got != seen[who] {
				t.Errorf("%s has %s and %s, %v", who, seen[who], got, err)
			}
			seen[who] = got
		}
	}
	if seen["ann"] == seen["bob"] {
		t.Error("two principals share a connection")
	}
	if got, err := callAs(t.Context(), fleet, other, "ann", "session", ""); got == seen["ann"] || got == seen["bob"] || err != nil {
		t.Errorf("a client that declares something else shares a connection, %v", err)
	}
	for _, c := range []*interop.Client{one, two, other} {
		if got, err := callAs(t.Context(), fleet, c, "ann", "ask", ""); got != c.Session || err != nil {
			t.Errorf("%s is asked as %q, %v", c.Session, got, err)
		}
	}
	if got, err := callAs(t.Context(), fleet, nobody, "ann", "ask", ""); !strings.HasPrefix(got, "error: ") || err != nil {
		t.Errorf("who cannot be asked is asked: %q, %v", got, err)
	}
	// A question waits for the calls of other clients, even of clients that cannot be asked, because it may belong to
	// them.
	var calling sync.WaitGroup
	calling.Go(func() {
		if got, err := callAs(t.Context(), fleet, one, "ann", "later", ""); got != "one" || err != nil {
			t.Errorf("it is asked as %q, %v", got, err)
		}
	})
	<-a.started
	calling.Go(func() { _, _ = callAs(t.Context(), fleet, nobody, "ann", "wait", "") })
	<-a.started
	close(a.later)
	close(a.release)
	calling.Wait()
	a.sessions(4)
}

// On a principal's connection, calls that are known to ask run one at a time. None of their questions reaches another
// client of the principal. A client that alone uses the connection is asked in all its calls at once.
func TestTheQuestionsOfAPrincipalDoNotCross(t *testing.T) {
	t.Parallel()
	a := newAskingServer(t)
	fleet := fleetOf(t, perPrincipal(interop.Legacy), &interop.FleetOptions{Endpoint: a.options, CallWait: time.Minute})
	sole := newRecordingClient(interop.Legacy, "sole", everyCapability)
	sole.Session = "sole"
	var calling sync.WaitGroup
	for range 4 {
		calling.Go(func() {
			if got, err := callAs(t.Context(), fleet, &sole.Client, "bob", "later", ""); got != "sole" || err != nil {
				t.Errorf("the only client: %q, %v", got, err)
			}
		})
	}
	for range 4 {
		receiveSoon(t, a.started, "the call")
	}
	close(a.later)
	calling.Wait()
	for i := range 8 {
		who := fmt.Sprint("client ", i)
		c := newRecordingClient([]interop.Era{interop.Legacy, interop.Modern}[i%2], who, `{"elicitation":{}}`)
		c.Always = nil
		if i%2 == 0 {
			c.Session = who
		}
		calling.Go(func() {
			for range 5 {
				if got, err := callAs(t.Context(), fleet, &c.Client, "ann", "ask", ""); got != who || err != nil {
					t.Errorf("%s was asked as %q, %v", who, got, err)
				}
			}
		})
	}
	calling.Wait()
	a.sessions(3)
}

func TestPrincipalsTakeTurnsOnConnections(t *testing.T) {
	t.Parallel()
	a := newAskingServer(t)
	s := perPrincipal(interop.Legacy)
	s.Pool.MaxPrincipals, s.Timeouts.Queue = 2, time.Millisecond
	fleet := fleetOf(t, s, &interop.FleetOptions{Endpoint: a.options})
	session := func(who toolbox.Principal) string {
		t.Helper()
		got, err := callAs(t.Context(), fleet, nil, who, "session", "")
		if err != nil {
			t.Error(err)
		}
		return got
	}
	ann := session("ann")
	ends := make(chan error, 1)
	go func() {
		_, err := callAs(t.Context(), fleet, nil, "ann", "wait", "")
		ends <- err
	}()
	receiveSoon(t, a.started, "ann's call")
	bob := session("bob")
	if session("eve") == bob || session("ann") != ann || session("bob") == bob { // bob evicted eve's connection, and eve evicted bob's
		t.Error("a connection that is in use made room, or none did")
	}
	a.sessions(3)
	go func() {
		_, err := callAs(t.Context(), fleet, nil, "bob", "wait", "")
		ends <- err
	}()
	receiveSoon(t, a.started, "bob's call")
	_, err := callAs(t.Context(), fleet, nil, "eve", "session", "")
	if f := wantFault(t, err, interop.Timeout); !strings.Contains(f.Message, "busy: 2 principals have a connection in use, which is its maxPrincipals") {
		t.Error(f)
	}
	close(a.release)
	for range 2 {
		if err := receiveSoon(t, ends, "the end of a call"); err != nil {
			t.Error(err)
		}
	}
}

// A server with a mended fault is tried at once, and no other server is.
func TestARetryLeavesOtherServersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, other := &separateServer{t: t}, perPrincipal(interop.Legacy)
		other.ID = "b"
		fleet := fleetOf(t, perPrincipal(interop.Legacy), &interop.FleetOptions{Endpoint: a.options})
		fleet.Apply([]config.Server{perPrincipal(interop.Legacy), other})
		if err := fleet.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		count := func(server string) error {
			_, err := fleet.Do(t.Context(), toolbox.Call{Name: config.QualifiedName(server, "count"), Caller: "ann"})
			return err
		}
		a.refuse.Store(true)
		wantFleetFault(t, count("a"), interop.Transport, "a", "", "not today")
		wantFleetFault(t, count("b"), interop.Transport, "b", "", "not today")
		a.refuse.Store(false)
		fleet.Retry(func(fault *interop.Fault) bool { return fault.Server == "a" })
		if err := count("a"); err != nil {
			t.Error(err)
		}
		wantFleetFault(t, count("b"), interop.Transport, "b", "", "not today")
		fleet.Close()
	})
}

// A failure of one principal's connection affects only that principal. It is not tried again at once, but later it is.
func TestAPrincipalsFailureIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &separateServer{t: t}
		fleet := fleetOf(t, perPrincipal(interop.Legacy), &interop.FleetOptions{Endpoint: a.options})
		a.wantSessions(fleet, "ann", "1")
		a.refuse.Store(true)
		for range 2 {
			_, err := callAs(t.Context(), fleet, nil, "bob", "count", "")
			wantFleetFault(t, err, interop.Transport, "a", "", "not today")
			a.refuse.Store(false)
		}
		a.wantSessions(fleet, "ann", "2")
		time.Sleep(2 * time.Second)
		a.wantSessions(fleet, "bob", "1")
		a.end(3)
		synctest.Wait()
		a.wantSessions(fleet, "bob", "1")
		a.wantSessions(fleet, "ann", "3")
		time.Sleep(time.Hour) // idle connections have ended, and their state with them
		a.wantSessions(fleet, "ann", "1")
		fleet.Close()
	})
}

// The configuration may change at any time: no call fails, and subscriptions continue.
func TestPrincipalsPartByReload(t *testing.T) {
	t.Parallel()
	a := &separateServer{t: t}
	s := perPrincipal(interop.Legacy)
	shared := s
	shared.Pool = config.Pool{}
	fleet := fleetOf(t, shared, &interop.FleetOptions{Endpoint: a.options})
	heard := make(chan interop.Message, 100)
	var stops []func()
	for _, who := range []toolbox.Principal{"ann", "bob"} {
		stop, err := fleet.Subscribe(t.Context(), "a", "news:1", who, func(interop.Message) { heard <- interop.Message{Caller: who} })
		if err != nil {
			t.Fatal(err)
		}
		stops = append(stops, stop)
	}
	hears := func(who toolbox.Principal, want string) {
		t.Helper()
		for { // messages from the renewal come first
			if _, err := fleet.Do(t.Context(), toolbox.Call{Name: "a__keep", Caller: who}); err != nil {
				t.Fatal(err)
			}
			names := map[string]bool{}
			for len(heard) > 0 {
				names[string((<-heard).Caller)] = true
			}
			if names[want] {
				return
			}
		}
	}
	a.wantSessions(fleet, "ann", "1")
	a.wantSessions(fleet, "bob", "2")
	hears("ann", "bob")
	apply := func(s config.Server) {
		t.Helper()
		fleet.Apply([]config.Server{s})
		if err := fleet.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	apply(s)
	a.wantSessions(fleet, "ann", "1")
	a.wantSessions(fleet, "bob", "1")
	hears("ann", "ann")
	hears("bob", "bob")
	apply(shared)
	a.wantSessions(fleet, "ann", "1")
	a.wantSessions(fleet, "bob", "2")
	hears("ann", "bob")
	for _, stop := range stops {
		stop()
	}
}

// signedIn sends requests with the name of a principal.
type signedIn struct {
	who  toolbox.Principal
	base http.RoundTripper
}

func (s signedIn) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Who", "of "+string(s.who))
	return s.base.RoundTrip(r)
}

// The RoundTripper of requests to a URL knows their principal.
func TestAPrincipalHasItsOwnCredentials(t *testing.T) {
	t.Parallel()
	f := fixture.New(t)
	s := config.Server{ID: "a", Transport: config.HTTP{URL: f.HTTP()}, Pool: config.Pool{Per: config.PerPrincipal}}
	fleet := fleetOf(t, s, &interop.FleetOptions{Endpoint: func(config.Server) *interop.EndpointOptions {
		return &interop.EndpointOptions{RoundTripper: func(_ config.Server, who toolbox.Principal, base http.RoundTripper) http.RoundTripper {
			return signedIn{who, base}
		}}
	}})
	for _, who := range []toolbox.Principal{"ann", "bob", "ann"} {
		got, err := callAs(t.Context(), fleet, nil, who, "headers", `{"name":"headers","arguments":{"region":"here","count":1}}`)
		if err != nil || !strings.Contains(got, `"X-Who":["of `+string(who)+`"]`) {
			t.Errorf("%s: %s, %v", who, got, err)
		}
		if !strings.Contains(got, `"Mcp-Param-Region"`) { // listed on another connection
			t.Errorf("no headers of parameters: %s", got)
		}
	}
}

// pooled returns the fixture with that many processes.
func pooled(f *fixture.Server, n int) config.Server {
	s := childServer("a", f)
	s.Era, s.Pool.Instances = interop.Legacy, n
	return s
}

// startHanging starts a call that lasts until the fixture releases it, and waits until it has arrived as the nth.
func startHanging(t testing.TB, f *fixture.Server, fleet *interop.Fleet, n int) <-chan callOutcome {
	t.Helper()
	c := callLater(t.Context(), fleet, "a__hang", `{"key":"k"}`)
	f.WaitN("call hang", n)
	return c
}

func pid(t testing.TB, fleet *interop.Fleet) int {
	t.Helper()
	var p struct{ Pid int }
	got, err := echoText(t.Context(), fleet, "a__process", "{}")
	if err == nil {
		err = json.Unmarshal([]byte(got), &p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.Pid
}

func TestProcessesShareCalls(t *testing.T) {
	t.Parallel()
	f := fixture.New(t, "-era", "legacy")
	fleet := fleetOf(t, pooled(f, 3), nil)
	starts := func(want int) {
		t.Helper()
		f.WaitN("start ", want)
		if got := f.Events("start "); len(got) != want {
			t.Fatalf("there are %d processes, want %d", len(got), want)
		}
	}
	first := pid(t, fleet)
	if again := pid(t, fleet); again != first {
		t.Error("a second process, although the first had nothing to do")
	}
	starts(1)
	var calls []<-chan callOutcome
	for n := 1; n <= 3; n++ {
		calls = append(calls, startHanging(t, f, fleet, n))
		starts(n)
	}
	calls = append(calls, startHanging(t, f, fleet, 4)) // every process has a call, and there is no fourth
	starts(3)
	if got := pid(t, fleet); got == first {
		t.Error("a call went to the busiest")
	}
	for _, method := range []string{"tools/list", "ping"} {
		if _, err := fleet.Request(t.Context(), "a", interop.Message{Method: method}); err != nil {
			t.Error(err)
		}
	}

	kill9(t, pidOf(t, f, 3))
	died := 0
	for n := 0; died == 0; n = (n + 1) % len(calls) { // finds the call of the process that ended
		select {
		case got := <-calls[n]:
			died++
			wantFleetFault(t, got.err, interop.ToolError, "a", "hang", "killed")
			calls = slices.Delete(calls, n, n+1)
		default:
		}
	}
	calls = append(calls, startHanging(t, f, fleet, 5))
	starts(4)
	f.Send("release k")
	for _, c := range calls {
		if got := awaitOutcome(t, c); got.text != "released" || got.err != nil {
			t.Error(got)
		}
	}

	one := pooled(f, 1)
	fleet.Apply([]config.Server{one}) // takes effect without another connection
	if got := pid(t, fleet); got != first {
		t.Error("a call goes to a process beyond the one")
	}
	starts(4)
}

// If no second process starts, the first receives all calls, and none fails.
func TestAFurtherProcessThatDoesNotStartIsDoneWithout(t *testing.T) {
	t.Parallel()
	var refuse atomic.Bool
	a := newAskingServer(t)
	fleet := fleetOf(t, config.Server{ID: "a", Era: interop.Legacy, Transport: config.Stdio{Command: "x"}, Pool: config.Pool{Instances: 3}}, &interop.FleetOptions{
		Endpoint: func(s config.Server) *interop.EndpointOptions {
			if refuse.Swap(true) {
				return &interop.EndpointOptions{Transport: refusingTransport{}}
			}
			return a.options(s)
		},
	})
	ends := make(chan error, 3)
	for range 3 {
		go func() {
			_, err := callAs(t.Context(), fleet, nil, "", "wait", "")
			ends <- err
		}()
		receiveSoon(t, a.started, "the call")
	}
	close(a.release)
	for range 3 {
		if err := receiveSoon(t, ends, "the end of a call"); err != nil {
			t.Error(err)
		}
	}
}

// Requests that only one process can handle go to the first.
func TestTasksStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	a := newAskingServer(t)
	s := config.Server{ID: "a", Era: interop.Legacy, Transport: config.Stdio{Command: "x"}, Pool: config.Pool{Instances: 3}}
	fleet := fleetOf(t, s, &interop.FleetOptions{Endpoint: a.options})
	first, err := callAs(t.Context(), fleet, nil, "", "session", "")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = callAs(t.Context(), fleet, nil, "", "wait", "") }()
	receiveSoon(t, a.started, "the call")
	for params, same := range map[string]bool{`{"name":"session"}`: false, `{"name":"session","task":{}}`: true} {
		got, err := callAs(t.Context(), fleet, nil, "", "session", params)
		if err != nil || (got == first) != same {
			t.Errorf("%s goes to the first: %t, %v", params, got == first, err)
		}
	}
	close(a.release)
}

// A server with a limit of one request receives one at a time, from all callers, and is still listed.
func TestAServerThatDoesOneThingAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAskingServer(t)
		s := legacyAsker
		s.Pool.MaxConcurrent = 1
		fleet := fleetOf(t, s, &interop.FleetOptions{Endpoint: a.options})
		ends := make(chan error, 3)
		begin := func(who toolbox.Principal) {
			go func() {
				_, err := callAs(t.Context(), fleet, nil, who, "wait", "")
				ends <- err
			}()
		}
		begin("ann")
		receiveSoon(t, a.started, "the first call")
		begin("ann")
		begin("bob")
		synctest.Wait() // both wait for their turn
		if _, err := fleet.Request(t.Context(), "a", interop.Message{Method: "tools/list"}); err != nil {
			t.Error(err)
		}
		if len(a.started) > 0 {
			t.Error("two calls at a time")
		}
		s.Pool.MaxQueue = -1
		fleet.Apply([]config.Server{s})
		_, err := callAs(t.Context(), fleet, nil, "eve", "session", "")
		wantFleetFault(t, err, interop.Timeout, "a", "", "busy: 1 requests are in flight there")
		if f := wantFault(t, err, interop.Timeout); !strings.Contains(f.Advice(), "maxConcurrent") {
			t.Error(f.Advice())
		}
		close(a.release)
		for range 3 {
			if err := receiveSoon(t, ends, "the end of a call"); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(2, len(a.started)); diff != "" {
			t.Error(diff)
		}
	})
}
