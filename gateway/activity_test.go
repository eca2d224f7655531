package gateway_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/control/activity"
	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An activity has the requests of which an audit has records.
func TestAnActivityHasWhatTheAuditHas(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			log, read := recorded(t)
			a := activity.New()
			g, _ := controlled(t, control.Options{Audit: log, Activity: a}, opened)
			c := dial(t, g, "/mcp", era)
			_, _ = c.ListTools(t.Context(), nil)
			_, _ = c.CallTool(t.Context(), call("a__open"))
			_, _ = c.CallTool(t.Context(), call("a__secret"))
			_, _ = c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "a__open"})
			_, _ = c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "a://open/x"})
			catalogued := dial(t, g, "/mcp/@catalog", era)
			_, _ = catalogued.CallTool(t.Context(), &mcp.CallToolParams{Name: "batch", Arguments: map[string]any{"calls": []any{
				map[string]any{"operation": "a__open", "input": map[string]any{"path": "1"}},
				map[string]any{"operation": "a__secret", "input": map[string]any{"path": "2"}},
			}}})
			want := map[string]int{}
			for _, r := range read() {
				want[r.ID+" "+shortRecord(r)]++
			}
			got := map[string]int{}
			for _, r := range a.Recent() {
				got[r.ID+" "+shortRecord(r)]++
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if n := len(a.InFlight()); n != 0 {
				t.Error(n, "requests in flight")
			}
			tools, _ := a.Usage(activity.OfTools)
			if diff := cmp.Diff([]activity.Usage{
				{Server: "a", Name: "open", Requests: 2}, {Server: "a", Name: "secret", Requests: 2, Errors: 2},
			}, tools, cmpopts.IgnoreFields(activity.Usage{}, "BytesIn", "BytesOut", "Tokens")); diff != "" {
				t.Error(diff)
			}
			if len(a.Durations("a")) != 2 || a.Durations("b") != nil {
				t.Error(a.Durations("a"), a.Durations("b"))
			}
			callers, since := a.Usage(activity.OfCallers)
			var sum int64
			for _, m := range a.Minutes(5) {
				sum += m.Requests
			}
			if len(callers) != 1 || callers[0].Errors == 0 || sum != callers[0].Requests || since.IsZero() {
				t.Errorf("%+v %d", callers, sum)
			}
		})
	}
}

func shortRecord(r audit.Record) string {
	return fmt.Sprint(r.Method, " ", r.Server, " ", r.Tool, r.Target, " ", r.Outcome, " ", r.ErrorKind)
}

// waiting returns a server whose tool wait runs until it is cancelled. It reports the beginning and the end of each call.
func waiting() (s *mcp.Server, began, cancelled chan bool) {
	began, cancelled = make(chan bool, 100), make(chan bool, 100)
	s = mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		began <- true
		<-ctx.Done()
		cancelled <- true
		return nil, nil, ctx.Err()
	})
	return s, began, cancelled
}

// watched returns a gateway with an activity, whose servers are listed.
func watched(t testing.TB, s shelf, opts gateway.Options, tools ...string) (*gateway.Gateway, *activity.Tracker) {
	t.Helper()
	a := activity.New()
	opts.Guard = control.New(&control.Options{Activity: a})
	g := s.open(t, opts, slices.Sorted(maps.Keys(s))...)
	for _, name := range tools {
		if err := g.Attached().Fleet.Await(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	return g, a
}

// untilActivity waits until done returns true.
func untilActivity(t testing.TB, a *activity.Tracker, done func() bool) {
	t.Helper()
	watch.Until(t.Context(), a.Watch, done)
	if t.Context().Err() != nil {
		t.Fatal("the activity does not change")
	}
}

// An operator cancels a call: the server is notified, and the client gets an error.
func TestAnOperatorCancelsACall(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			s, began, cancelled := waiting()
			g, a := watched(t, shelf{"s": s}, gateway.Options{}, "s__wait")
			c := dial(t, g, "/mcp", era)
			failed := make(chan error, 1)
			go func() {
				_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "s__wait"})
				failed <- err
			}()
			<-began
			running := a.InFlight()
			if len(running) != 1 || running[0].Server != "s" || running[0].Tool != "wait" || running[0].Client != "test" {
				t.Fatalf("%+v", running)
			}
			if a.Cancel(running[0].Seq + 1) {
				t.Error("another id is cancelled")
			}
			if !a.Cancel(running[0].Seq) {
				t.Error("not in flight")
			}
			if err := <-failed; err == nil || !strings.Contains(err.Error(), "an operator has cancelled this request") {
				t.Error(err)
			}
			<-cancelled
			if a.Cancel(running[0].Seq) {
				t.Error("an ended request is cancelled")
			}
			if r := a.Recent()[0]; r.Outcome != audit.Error || !strings.Contains(r.Reason, "an operator") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// An operator cancels a batch of the catalog: all of its calls end.
func TestAnOperatorCancelsABatch(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			s, began, cancelled := waiting()
			g, a := watched(t, shelf{"s": s}, gateway.Options{
				Expose: func(s toolbox.Source) toolbox.Source { return catalog.Over(s, nil) },
			}, "s__wait")
			c := dial(t, g, "/mcp", era)
			answer := make(chan string, 1)
			go func() {
				r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "batch", Arguments: map[string]any{"calls": []any{
					map[string]any{"operation": "s__wait", "input": map[string]any{}},
					map[string]any{"operation": "s__wait", "input": map[string]any{}},
				}}})
				if err != nil {
					answer <- err.Error()
					return
				}
				answer <- answerText(r)
			}()
			<-began
			<-began
			running := a.InFlight()
			if len(running) != 2 || running[0].Seq != running[1].Seq || running[1].Tool != "wait" || running[1].Client != "test" {
				t.Fatalf("%+v", running)
			}
			if !a.Cancel(running[0].Seq) {
				t.Error("not in flight")
			}
			if text := <-answer; !strings.Contains(text, "an operator has cancelled this request") {
				t.Error(text)
			}
			<-cancelled
			<-cancelled
			for _, r := range a.Recent()[:2] {
				if r.Tool != "wait" || r.Outcome != audit.Error || !strings.Contains(r.Reason, "an operator") {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// A batch shows the calls that have not ended.
func TestABatchShowsItsRunningCalls(t *testing.T) {
	t.Parallel()
	s, began, cancelled := waiting()
	done := make(chan struct{})
	mcp.AddTool(s, &mcp.Tool{Name: "brief"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		<-done
		return &mcp.CallToolResult{}, nil, nil
	})
	g, a := watched(t, shelf{"s": s}, gateway.Options{
		Expose: func(s toolbox.Source) toolbox.Source { return catalog.Over(s, nil) },
	}, "s__wait", "s__brief")
	c := dial(t, g, "/mcp", interop.Modern)
	var asking sync.WaitGroup
	asking.Go(func() {
		_, _ = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "batch", Arguments: map[string]any{"calls": []any{
			map[string]any{"operation": "s__brief", "input": map[string]any{}},
			map[string]any{"operation": "s__wait", "input": map[string]any{}},
		}}})
	})
	<-began
	tools := func() (names []string) {
		for _, r := range a.InFlight() {
			names = append(names, r.Tool)
		}
		slices.Sort(names)
		return names
	}
	both, one := []string{"brief", "wait"}, []string{"wait"}
	untilActivity(t, a, func() bool { return slices.Equal(tools(), both) })
	close(done)
	untilActivity(t, a, func() bool { return slices.Equal(tools(), one) })
	a.Cancel(a.InFlight()[0].Seq)
	<-cancelled
	asking.Wait()
}

// Callers of a transparent view can invent names of tools. All of them share one sum, so that the tools of the server
// keep theirs.
func TestInventedToolsShareASum(t *testing.T) {
	t.Parallel()
	s := &script{answers: map[string]func(interop.Message) (string, error){
		"server/discover": discovers(`{"tools":{}}`),
		"tools/list":      replyWith(`{"tools":[{"name":"real","inputSchema":{"type":"object"}}]}`),
		"tools/call":      replyWith(`{"content":[]}`), // for every name
	}}
	for name, text := range map[string]string{"without a policy": "", "with a policy": `permit(principal, action, resource);`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const invented = 1100
			a := activity.New()
			opts := control.Options{Activity: a}
			if text != "" {
				opts.Policy = always(rules(t, text), false)
			}
			g := scripts{"s": s}.open(t, gateway.Options{Transparent: "s", Guard: control.New(&opts)}, config.Server{ID: "s"})
			for i := range invented {
				ask(t, g.Handler(), "/mcp", "tools/call", fmt.Sprintf(`{"name":"invented %d","arguments":{}}`, i))
			}
			if got := ask(t, g.Handler(), "/mcp", "tools/call", `{"name":"real","arguments":{}}`); got.Error != nil {
				t.Fatal(got.Error)
			}
			got, _ := a.Usage(activity.OfTools)
			want := []activity.Usage{{Other: true, Requests: invented}, {Server: "s", Name: "real", Requests: 1}}
			if text != "" { // it refuses them before they reach the server
				want = want[1:]
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(activity.Usage{}, "BytesIn", "BytesOut", "Tokens")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A call of a modern client is in flight while its legacy server asks. If an operator cancels it, it ends at once, and
// the client that answers gets the error.
func TestAnOperatorCancelsAParkedCall(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	cancelled := make(chan error, 1)
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		_, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Name?", RequestedSchema: map[string]any{"type": "object"}})
		cancelled <- err
		return nil, nil, err
	})
	a := activity.New()
	g := gateway.New(t.Context(), []config.Server{{ID: "s", Era: interop.Legacy}}, &gateway.Options{
		Ledger: shelf{"s": s}.options(t), Guard: control.New(&control.Options{Activity: a}),
	})
	t.Cleanup(g.Close)
	if err := g.Attached().Fleet.Await(t.Context(), "s__ask"); err != nil {
		t.Fatal(err)
	}
	c := dialWith(t, g, "/mcp", interop.Modern, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			running := a.InFlight()
			if len(running) != 1 || running[0].Tool != "ask" || !a.Cancel(running[0].Seq) {
				t.Errorf("%+v", running)
			}
			if err := <-cancelled; err == nil {
				t.Error("the server got an answer")
			}
			untilActivity(t, a, func() bool { return len(a.InFlight()) == 0 })
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		},
	})
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "s__ask"})
	if err == nil || !strings.Contains(err.Error(), "an operator has cancelled this request") {
		t.Error(answerText(r), err)
	}
}

// A call that waits for its approval shows this. If an operator cancels it, it does not run.
func TestAnOperatorCancelsACallThatWaits(t *testing.T) {
	t.Parallel()
	a := activity.New()
	book := approvals(t, t.TempDir()+"/approvals.json", time.Minute)
	g, offices := controlled(t, control.Options{Approvals: book, Activity: a},
		`@approve("either") permit(principal, action == Action::"call", resource);`)
	c := dialWith(t, g, "/mcp", interop.Legacy, &mcp.ClientOptions{
		ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			running := a.InFlight()
			if len(running) != 1 || running[0].Approval == "" || running[0].Outcome != audit.Deferred || running[0].Tool != "open" {
				t.Errorf("%+v", running)
			}
			a.Cancel(running[0].Seq)
			untilActivity(t, a, func() bool { return len(a.InFlight()) == 0 })
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
		},
	})
	_, err := c.CallTool(t.Context(), call("a__open"))
	if err == nil || !strings.Contains(err.Error(), "an operator has cancelled this request") {
		t.Error(err)
	}
	if n := offices["a"].calls.Load(); n != 0 {
		t.Errorf("%d calls ran", n)
	}
}

// Clients that go away while their calls are cancelled leave nothing in flight.
func TestClientsGoAwayWhileTheirCallsAreCancelled(t *testing.T) {
	t.Parallel()
	s, began, cancelled := waiting()
	g, a := watched(t, shelf{"s": s}, gateway.Options{}, "s__wait")
	for i := range 20 {
		c := dial(t, g, "/mcp", bothEras[i%2])
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "s__wait"}); err == nil {
				t.Error("the call succeeded")
			}
		})
		<-began
		all.Go(leave)
		all.Go(func() {
			for _, r := range a.InFlight() {
				a.Cancel(r.Seq)
			}
		})
		all.Wait()
		<-cancelled
		_ = c.Close()
	}
	untilActivity(t, a, func() bool { return len(a.InFlight()) == 0 })
}

// A panic leaves no request in flight, and has its record.
func TestAPanicIsNotInFlight(t *testing.T) {
	t.Parallel()
	log, read := recorded(t)
	a := activity.New()
	s, _, _ := waiting()
	g := shelf{"s": s}.open(t, gateway.Options{
		Guard:  control.New(&control.Options{Activity: a, Audit: log}),
		Expose: func(s toolbox.Source) toolbox.Source { return panicking{s} },
	}, "s")
	got := ask(t, g.Handler(), "/mcp", "tools/call", `{"name":"s__wait","arguments":{}}`)
	if got.Error == nil || got.Error.Code != interop.CodeInternal {
		t.Errorf("%s %v", got.Result, got.Error)
	}
	if running := a.InFlight(); len(running) != 0 {
		t.Errorf("%+v", running)
	}
	for _, all := range [][]audit.Record{a.Recent(), read()} {
		if len(all) != 1 || all[0].Outcome != audit.Error || all[0].Method != "tools/call" {
			t.Errorf("%+v", all)
		}
	}
}

// panicking is a source that cannot call its tools.
type panicking struct{ toolbox.Source }

func (panicking) Do(context.Context, toolbox.Call) (*toolbox.Result, error) { panic("a defect") }

// An activity shows no secret of a URI, and no text without a bound.
func TestAnActivityMasksAndCuts(t *testing.T) {
	t.Parallel()
	const key = "ghp_012345678901234567890123456789012345"
	began := make(chan bool)
	answered := make(chan bool)
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "r", URITemplate: "s://{+path}"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			began <- true
			<-answered
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "text"}}}, nil
		})
	g, a := watched(t, shelf{"s": s}, gateway.Options{})
	handler := g.Handler()
	var asking sync.WaitGroup
	asking.Go(func() { ask(t, handler, "/mcp/s", "resources/read", `{"uri":"s://x?token=`+key+`"}`) })
	<-began
	for _, r := range a.InFlight() {
		if r.Target == "" || strings.Contains(fmt.Sprintf("%+v", r), key) {
			t.Errorf("%+v", r)
		}
	}
	close(answered)
	asking.Wait()
	if r := a.Recent()[0]; r.Target == "" || strings.Contains(fmt.Sprintf("%+v", r), key) {
		t.Errorf("%+v", r)
	}
	ask(t, handler, "/mcp/s", "x/"+strings.Repeat("y", 5000), `{}`)
	if r := a.Recent()[0]; len(r.Method) > 300 || len(r.Type) > 300 || !strings.HasPrefix(r.Method, "x/yy") {
		t.Errorf("%+v", r)
	}
}

// With requests of many clients at the same time, no request is missing or counted twice, and readers see them.
func TestAnActivityUnderLoad(t *testing.T) {
	t.Parallel()
	const calls = 20
	clients := fixture.Size(t, 10, 50)
	a := activity.New()
	g, offices := controlled(t, control.Options{Activity: a}, "")
	var running, reading sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		reading.Go(func() {
			stop := a.Watch(func() {})
			defer stop()
			for {
				select {
				case <-done:
					return
				default:
				}
				for _, r := range a.InFlight() {
					if r.Seq%20 == 0 {
						a.Cancel(r.Seq)
					}
				}
				a.Recent()
				a.Usage(activity.OfTools)
				a.Minutes(60)
				a.Durations("a")
			}
		})
	}
	var failed atomic.Int64
	for i := range clients {
		c := dial(t, g, "/mcp", bothEras[i%2])
		running.Go(func() {
			for range calls {
				if _, err := c.CallTool(t.Context(), call("a__open")); err != nil {
					failed.Add(1)
					if !strings.Contains(err.Error(), "an operator") {
						t.Error(err)
					}
				}
			}
		})
	}
	running.Wait()
	close(done)
	reading.Wait()
	if n := len(a.InFlight()); n != 0 {
		t.Error(n, "requests are in flight")
	}
	tools, _ := a.Usage(activity.OfTools)
	if len(tools) != 1 || tools[0].Requests > int64(clients*calls) || tools[0].Requests < offices["a"].calls.Load() {
		t.Errorf("%+v, and %d calls reached the server", tools, offices["a"].calls.Load())
	}
	// A call that is cancelled after its server's answer is no error of the server.
	callers, _ := a.Usage(activity.OfCallers)
	if len(callers) != 1 || callers[0].Requests != int64(clients*calls) || callers[0].Errors > failed.Load() {
		t.Errorf("%+v, and %d failed", callers, failed.Load())
	}
}

// A server that is connected again on request has a restart more.
func TestARestartOnRequestIsCounted(t *testing.T) {
	t.Parallel()
	s, _, _ := waiting()
	other, _, _ := waiting()
	g, _ := watched(t, shelf{"s": s, "other": other}, gateway.Options{}, "s__wait", "other__wait")
	ready := make(chan string, 10)
	t.Cleanup(g.Attached().Fleet.Events(func(e interop.Event) {
		if e.Kind == interop.ServerReady {
			ready <- e.Server
		}
	}))
	for n := range 3 {
		if got := g.Restarts("s"); got != n {
			t.Errorf("%d restarts, want %d", got, n)
		}
		if err := g.Attached().Fleet.RestartServer("s"); err != nil {
			t.Fatal(err)
		}
		if got := <-ready; got != "s" {
			t.Error(got, "is ready")
		}
		for g.Restarts("s") == n {
			time.Sleep(time.Millisecond)
		}
	}
	if n := g.Restarts("other"); n != 0 {
		t.Error(n, "restarts of a server that was left alone")
	}
	g.Reload(shelf{}.servers("other"), nil)
	for g.Restarts("s") != 0 {
		time.Sleep(time.Millisecond)
	}
}

// A hostile client fills neither the memory nor the sums.
func TestAnActivityIsBounded(t *testing.T) {
	t.Parallel()
	each := fixture.Size(t, 75, 150) // of eight clients: more requests than an activity keeps
	a := activity.New()
	g, _ := controlled(t, control.Options{Activity: a}, opened)
	woken := make(chan bool, 1)
	stop := a.Watch(func() {
		select {
		case woken <- true:
		default:
		}
	})
	defer stop()
	var running sync.WaitGroup
	for i := range 8 {
		c := dial(t, g, "/mcp", bothEras[i%2])
		running.Go(func() {
			for n := range each {
				name := fmt.Sprintf("a__%d-%d-%s", i, n, strings.Repeat("x", 3000))
				_, _ = c.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
				a.InFlight()
			}
		})
	}
	running.Wait()
	<-woken
	all := a.Recent()
	if len(all) != 500 {
		t.Error(len(all), "requests are kept")
	}
	for i, r := range all {
		if len(r.Tool) > 300 || len(r.Reason) > 300 {
			t.Fatal(len(r.Tool), len(r.Reason))
		}
		if i > 0 && r.At.Add(r.Duration).After(all[i-1].At.Add(all[i-1].Duration).Add(time.Second)) {
			t.Error("the newest is not the first")
		}
	}
	if tools, _ := a.Usage(activity.OfTools); len(tools) != 0 {
		t.Errorf("names of unknown tools are sums: %+v", tools[0])
	}
}
