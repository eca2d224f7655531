//lint:file-ignore SA1019 Roots, sampling and logging are relayed for as long as clients and servers have them (SEP-2577).

package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// askingServer is a legacy server of the SDK, with a connection for each dial.
type askingServer struct {
	*mcp.Server
	t       *testing.T
	started chan struct{} // receives a value when the tool "wait" or "later" begins
	release chan struct{} // lets it end
	later   chan struct{} // lets the tool "later" ask
	roots   chan struct{} // receives a value for each roots/list_changed
	late    chan error    // receives the result of the question of the tool "late", which ends before it asks

	numbers      sync.Map // of the sessions
	sessionCount atomic.Int64
	mayAsk       atomic.Bool // the tool "perhaps" asks, when later is closed
}

func newAskingServer(t *testing.T) *askingServer {
	a := &askingServer{t: t, started: make(chan struct{}, 100), release: make(chan struct{}), later: make(chan struct{}), roots: make(chan struct{}, 10), late: make(chan error, 1)}
	a.Server = mcp.NewServer(&mcp.Implementation{Name: "asker"}, &mcp.ServerOptions{
		Capabilities:            &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}, Tools: &mcp.ToolCapabilities{}},
		RootsListChangedHandler: func(context.Context, *mcp.RootsListChangedRequest) { a.roots <- struct{}{} },
	})
	tool := func(name string, run func(context.Context, *mcp.ServerSession) (string, error)) {
		a.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text, err := run(ctx, r.Session)
			if err != nil {
				text = "error: " + err.Error()
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	}
	tool("ask", func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		return clientName(ctx, s)
	})
	tool("log", func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		return "logged", s.Log(ctx, &mcp.LoggingMessageParams{Level: "notice", Data: "hello"})
	})
	tool("wait", func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		a.started <- struct{}{}
		select {
		case <-a.release:
			return "waited", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	tool("late", func(_ context.Context, s *mcp.ServerSession) (string, error) {
		go func() {
			<-a.release
			_, err := clientName(a.t.Context(), s)
			a.late <- err
		}()
		return "", nil
	})
	tool("later", func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		a.started <- struct{}{}
		<-a.later
		return clientName(ctx, s)
	})
	a.AddTool(&mcp.Tool{Name: "report", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1)}); err != nil {
				return nil, err
			}
			if err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "notice", Data: i}); err != nil {
				return nil, err
			}
		}
		text, err := clientName(ctx, r.Session)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, err
	})
	tool("perhaps", func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		if !a.mayAsk.Load() {
			return "quiet", nil
		}
		a.started <- struct{}{}
		<-a.later
		return clientName(ctx, s)
	})
	tool("session", func(_ context.Context, s *mcp.ServerSession) (string, error) { return a.number(s), nil })
	return a
}

// number identifies a session, even after its end, because addresses are used again.
func (a *askingServer) number(s *mcp.ServerSession) string {
	n, _ := a.numbers.LoadOrStore(s, fmt.Sprint(a.sessionCount.Add(1)))
	return n.(string)
}

// clientName asks the client for a name and returns the answer.
func clientName(ctx context.Context, s *mcp.ServerSession) (string, error) {
	r, err := s.Elicit(ctx, &mcp.ElicitParams{Message: "Your name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
	if err != nil {
		return "", err
	}
	return fmt.Sprint(r.Content["name"]), nil
}

// options connects each connection of a fleet to a.
func (a *askingServer) options(config.Server) *interop.EndpointOptions {
	return &interop.EndpointOptions{Transport: dialled{a}}
}

// dialled makes a new session at each dial.
type dialled struct{ a *askingServer }

func (d dialled) Connect(ctx context.Context) (mcp.Connection, error) {
	client, end := mcp.NewInMemoryTransports()
	if _, err := d.a.Connect(context.WithoutCancel(ctx), end, nil); err != nil {
		return nil, err
	}
	return client.Connect(ctx)
}

// sessions waits until a has that many sessions.
func (a *askingServer) sessions(want int) {
	a.t.Helper()
	for end := time.Now().Add(giveUp); sessionsOf(a) != want; runtime.Gosched() {
		if time.Now().After(end) {
			a.t.Fatalf("%d sessions, want %d", sessionsOf(a), want)
		}
	}
}

// legacyAsker is the configuration of an askingServer in a fleet.
var legacyAsker = config.Server{ID: "a", Era: interop.Legacy}

func TestALegacyServerAsksTheClientThatCalls(t *testing.T) {
	t.Parallel()
	stdio := config.Server{ID: "a", Era: interop.Legacy, Transport: config.Stdio{Command: peers.SDKEverythingServer(t)}}
	for name, s := range map[string]config.Server{
		"stdio": stdio, "HTTP": {ID: "a", Transport: config.HTTP{URL: peers.SDKEverythingHTTP(t, false)}, Era: interop.Legacy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fleet := fleetOf(t, s, nil)
			for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
				c := newRecordingClient(era, "Ada", everyCapability)
				if got, err := callAs(t.Context(), fleet, &c.Client, "", "test_elicitation", `{"name":"x","arguments":{"message":"who?"}}`); err != nil || !strings.Contains(got, "Ada") {
					t.Errorf("%s: %q, %v", era, got, err)
				}
				if got, err := callAs(t.Context(), fleet, &c.Client, "", "test_sampling", `{"name":"x","arguments":{"prompt":"p"}}`); err != nil || !strings.Contains(got, "hi") {
					t.Errorf("%s: %q, %v", era, got, err)
				}
				c.LogLevel = "debug"
				if _, err := callAs(t.Context(), fleet, &c.Client, "", "test_tool_with_logging", ""); err != nil {
					t.Error(err)
				}
				if notes := strings.Join(c.messages(), " "); strings.Count(notes, "notifications/message") != 3 {
					t.Errorf("%s: logs: %s", era, notes)
				}
				samples := newRecordingClient(era, "Ada", `{"sampling":{}}`)
				if got, err := callAs(t.Context(), fleet, &samples.Client, "", "test_elicitation", `{"name":"x","arguments":{"message":"who?"}}`); err == nil && !strings.Contains(got, "not support") {
					t.Errorf("%s is asked for what it does not declare: %q", era, got)
				}
			}
			prompt := interop.Message{Method: "prompts/get", Params: json.RawMessage(`{"name":"test_simple_prompt"}`)}
			c := newRecordingClient(interop.Modern, "", everyCapability)
			if got, err := fleet.Request(interop.WithClient(t.Context(), &c.Client), "a", prompt); err != nil || !strings.Contains(string(got), "messages") {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

// The npm server asks on a separate stream.
func TestTheReferenceServerAsksTheClientThatCalls(t *testing.T) {
	t.Parallel()
	command, args := peers.Everything(t, "stdio")
	for name, transport := range map[string]config.TransportConfig{
		"stdio": config.Stdio{Command: command, Args: args}, "HTTP": config.HTTP{URL: peers.EverythingHTTP(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEndpoint(t, config.Server{ID: "a", Transport: transport}, &interop.EndpointOptions{
				Capabilities: json.RawMessage(everyCapability),
				Receive: func(_ context.Context, m interop.Message) (json.RawMessage, error) {
					if m.Method == "roots/list" {
						return json.RawMessage(`{"roots":[]}`), nil
					}
					return json.RawMessage(`{"role":"assistant","model":"m","content":{"type":"text","text":"Ada samples"}}`), nil
				},
			})
			mustOpen(t, e)
			r, err := e.Invoke(t.Context(), "trigger-sampling-request", json.RawMessage(`{"prompt":"who?","maxTokens":10}`))
			if err != nil || !strings.Contains(string(r.Wire().JSON), "Ada samples") {
				t.Errorf("%v, %v", r, err)
			}
		})
	}
}

// Many clients of both eras and two principals are asked during their calls. The connections do not show which client a
// question belongs to.
func TestEachIsAskedInItsOwnCall(t *testing.T) {
	t.Parallel()
	a := newAskingServer(t)
	fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: a.options})
	var calling sync.WaitGroup
	for i := range 8 {
		for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
			who := fmt.Sprintf("%s %d", era, i)
			c := newRecordingClient(era, who, everyCapability)
			if era == interop.Legacy {
				c.Session = who
			}
			calling.Go(func() {
				for range 10 {
					if got, err := callAs(t.Context(), fleet, &c.Client, toolbox.Principal(who), "ask", ""); got != who || err != nil {
						t.Errorf("%s was asked as %q, %v", who, got, err)
					}
				}
			})
		}
	}
	calling.Wait()
	if nobody, err := callAs(t.Context(), fleet, &interop.Client{Era: interop.Legacy}, "", "ask", ""); err != nil || !strings.HasPrefix(nobody, "error: ") {
		t.Errorf("a client that cannot be asked: %q, %v", nobody, err)
	}
}

func TestLanesAreFewAndEnd(t *testing.T) {
	t.Parallel()
	a := newAskingServer(t)
	fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: a.options, LaneIdle: -1, Lanes: 2, CallWait: 10 * time.Millisecond})
	c := newRecordingClient(interop.Modern, "Ada", everyCapability)
	type end struct {
		text string
		err  error
	}
	ends := make(chan end, 4)
	wait := func(c *recordingClient, p toolbox.Principal) {
		go func() {
			text, err := callAs(t.Context(), fleet, &c.Client, p, "wait", "")
			ends <- end{text, err}
		}()
		receiveSoon(t, a.started, "the call")
	}
	c.LogLevel = "info" // logs name no request, so each of these calls has its own connection
	wait(c, "")
	wait(c, "")
	_, err := callAs(t.Context(), fleet, &c.Client, "", "wait", "")
	if f := wantFault(t, err, interop.Timeout); !strings.Contains(f.Message, "busy: 2 calls") {
		t.Error(f)
	}
	wait(c, "bob") // this call waits for no other caller's
	a.sessions(4)
	c.LogLevel = ""
	wait(c, "") // the shared connection is separate
	a.sessions(5)
	close(a.release)
	for range 4 {
		if e := receiveSoon(t, ends, "the end of a call"); e.text != "waited" || e.err != nil {
			t.Error(e)
		}
	}
	a.sessions(1)

	ctx, cancel := context.WithCancel(t.Context())
	a.release = make(chan struct{})
	go func() { _, err := callAs(ctx, fleet, &c.Client, "", "wait", ""); ends <- end{err: err} }()
	receiveSoon(t, a.started, "the call")
	cancel()
	if e := receiveSoon(t, ends, "the end of a call"); !errors.Is(e.err, context.Canceled) {
		t.Error(e.err)
	}
	a.sessions(1)
}

// A question after the end of its call is not taken for a question of the next call. It is refused with a reason. If
// the call ended without a reply, no other call uses its connection.
func TestALateQuestionIsNobodys(t *testing.T) {
	t.Parallel()
	a := newAskingServer(t)
	fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: a.options})
	c := newRecordingClient(interop.Modern, "Ada", everyCapability)
	c.Always = nil // as in the host for clients without a session
	call := func(ctx context.Context, tool string) string {
		text, err := callAs(ctx, fleet, &c.Client, "", tool, "")
		if err != nil {
			text = err.Error()
		}
		return text
	}
	call(t.Context(), "late")
	close(a.release)
	if err := receiveSoon(t, a.late, "the end of the question"); err == nil || !strings.Contains(err.Error(), "no request under way") {
		t.Error(err)
	}
	first := call(t.Context(), "session")
	if again := call(t.Context(), "session"); again != first {
		t.Error("a connection for each call")
	}
	a.release = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-a.started; cancel() }()
	if got := call(ctx, "wait"); got != context.Canceled.Error() {
		t.Error(got)
	}
	if again := call(t.Context(), "session"); again == first {
		t.Error("the connection of the call that was cancelled serves another")
	}
}

// A call that waits for its client's answer, perhaps forever, delays no other call, even if that call already waits.
func TestALaneThatAsksIsNotInTheWay(t *testing.T) {
	t.Parallel()
	a := newAskingServer(t)
	fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: a.options, Lanes: 1, CallWait: time.Hour})
	c := newRecordingClient(interop.Modern, "Ada", everyCapability)
	answer, asked, until := c.Back, make(chan struct{}), make(chan struct{})
	c.Back = func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
		if m.ID != nil {
			asked <- struct{}{}
			<-until
		}
		return answer(ctx, m)
	}
	ends := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := callAs(t.Context(), fleet, &c.Client, "", "ask", "")
			ends <- err
		}()
	}
	receiveSoon(t, asked, "the question of one call")
	receiveSoon(t, asked, "that of the other")
	if _, err := callAs(t.Context(), fleet, &c.Client, "", "session", ""); err != nil {
		t.Error(err)
	}
	close(until)
	for range 2 {
		if err := receiveSoon(t, ends, "the end of a call"); err != nil {
			t.Error(err)
		}
	}
}

// If there are more sessions than lanes, the sessions take turns, and no call fails.
func TestSessionsTakeTurnsOnLanes(t *testing.T) {
	t.Parallel()
	a := newAskingServer(t)
	fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: a.options})
	const sessions = 150
	ends := make(chan error, sessions)
	for i := range sessions {
		go func() {
			c := newRecordingClient(interop.Legacy, "Ada", everyCapability)
			c.Session = fmt.Sprint(i)
			got, err := callAs(t.Context(), fleet, &c.Client, "", "ask", "")
			if err == nil && got != "Ada" {
				err = errors.New(got)
			}
			ends <- err
		}()
	}
	for range sessions {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
	fleet.Close()
	a.sessions(0)
}

func TestALaneServesASession(t *testing.T) {
	t.Parallel()
	a := newAskingServer(t)
	fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: a.options})
	c := newRecordingClient(interop.Legacy, "Ada", everyCapability)
	c.Session = "one"
	var leave context.CancelFunc
	call := func(tool string) string {
		t.Helper()
		got, err := callAs(t.Context(), fleet, &c.Client, "p", tool, "")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := call("session")
	if again := call("session"); again != first {
		t.Error("the second call of a session has another connection")
	}
	a.sessions(2)
	for p, session := range map[toolbox.Principal]string{"p": "one", "": "one", "q": "one", "r": ""} {
		fleet.Tell(t.Context(), session, interop.Message{Method: "notifications/roots/list_changed", Caller: p}, func(string) bool { return true })
	}
	receiveSoon(t, a.roots, "roots/list_changed")

	c.LogLevel = "warning"
	call("log")
	c.LogLevel = "info"
	call("log")
	if diff := cmp.Diff([]string{`notifications/message {"data":"hello","level":"notice"}`}, c.messages()); diff != "" {
		t.Error(diff)
	}

	for s := range a.Sessions() { // outside of any call
		if a.number(s) == first {
			if got, err := clientName(t.Context(), s); got != "Ada" || err != nil {
				t.Errorf("asked outside of calls: %q, %v", got, err)
			}
			_ = s.Close()
		} else if got, err := clientName(t.Context(), s); err == nil {
			t.Errorf("asked on the connection of all: %q", got)
		}
	}
	a.sessions(1)
	for { // the connection's death may be noticed by a call
		other, err := callAs(t.Context(), fleet, &c.Client, "p", "session", "")
		if err == nil && other != first {
			break
		}
		wantFault(t, err, interop.ToolError)
	}
	a.sessions(2)
	if diff := cmp.Diff([]string{"elicitation/create"}, c.always); diff != "" {
		t.Error(diff)
	}
	if len(a.roots) != 0 {
		t.Error("another's roots have changed")
	}

	c.Life, leave = context.WithCancel(t.Context())
	call("session")
	a.sessions(2)
	leave()
	a.sessions(1)
	c.Life = nil
	call("session")
	a.sessions(2)

	changed := legacyAsker
	changed.Timeouts.List = time.Minute
	fleet.Apply([]config.Server{changed})
	if err := fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.sessions(1)
	if other := call("session"); other == first {
		t.Error("a lane outlives its configuration")
	}
	denied := changed
	denied.Tools.Deny = []string{"ask"}
	fleet.Apply([]config.Server{denied})
	if got, err := callAs(t.Context(), fleet, &c.Client, "p", "ask", ""); err == nil {
		t.Errorf("a denied tool is called: %s", got)
	}
	fleet.Close()
	a.sessions(0)
}

// A server that cannot be connected twice still serves, because it may never ask.
func TestALaneThatFailsFailsNoCall(t *testing.T) {
	t.Parallel()
	a := newAskingServer(t)
	var broken atomic.Bool
	fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: func(s config.Server) *interop.EndpointOptions {
		if broken.Load() {
			return &interop.EndpointOptions{Transport: refusingTransport{}}
		}
		return a.options(s)
	}})
	c := newRecordingClient(interop.Legacy, "Ada", everyCapability)
	c.Session = "s"
	broken.Store(true)
	for range 2 {
		if got, err := callAs(t.Context(), fleet, &c.Client, "", "ask", ""); !strings.HasPrefix(got, "error: ") || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	broken.Store(false)
	if err := fleet.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := callAs(t.Context(), fleet, &c.Client, "", "ask", ""); got != "Ada" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

type refusingTransport struct{}

func (refusingTransport) Connect(context.Context) (mcp.Connection, error) {
	return nil, errors.New("not today")
}

// A lane that failed is soon tried again, because its server may have crashed only once.
func TestALaneThatFailedIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAskingServer(t)
		var broken atomic.Bool
		fleet := fleetOf(t, legacyAsker, &interop.FleetOptions{Endpoint: func(s config.Server) *interop.EndpointOptions {
			if broken.Load() {
				return &interop.EndpointOptions{Transport: refusingTransport{}}
			}
			return a.options(s)
		}})
		defer fleet.Close()
		c := newRecordingClient(interop.Legacy, "Ada", everyCapability)
		c.Session = "s"
		var leave context.CancelFunc
		c.Life, leave = context.WithCancel(t.Context())
		ask := func(want string) {
			t.Helper()
			if got, err := callAs(t.Context(), fleet, &c.Client, "", "ask", ""); !strings.HasPrefix(got, want) || err != nil {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		}
		broken.Store(true)
		ask("error: ")
		broken.Store(false)
		ask("error: ")
		time.Sleep(time.Second)
		ask("Ada")
		broken.Store(true) // lanes that fail repeatedly are tried less often
		leave()
		synctest.Wait()
		for range 8 {
			ask("error: ")
			time.Sleep(time.Minute)
		}
		ask("error: ")
		broken.Store(false)
		time.Sleep(59 * time.Second)
		ask("error: ")
		time.Sleep(time.Second)
		ask("Ada")
	})
}

func TestALegacyClientHasALegacySession(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		transport  config.TransportConfig
		tool, want string
	}{
		"stdio":     {config.Stdio{Command: peers.SDKEverythingServer(t)}, "test_elicitation", "Ada"},
		"stateless": {config.HTTP{URL: peers.SDKEverythingHTTP(t, true)}, "test_input_required_result_multi_round", "Ada likes red"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fleet := fleetOf(t, config.Server{ID: "a", Transport: c.transport}, nil)
			if era := fleet.Status()[0].Era; era != interop.Modern {
				t.Fatalf("it is %s", era)
			}
			client := newRecordingClient(interop.Legacy, "Ada", everyCapability)
			client.Session = "s"
			for range 2 {
				got, err := callAs(t.Context(), fleet, &client.Client, "", c.tool, `{"name":"x","arguments":{"message":"who?"}}`)
				if err != nil || !strings.Contains(got, c.want) {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
}
