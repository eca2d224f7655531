package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// eventID returns the last word of an event: the id of its request.
func eventID(event string) string { return event[strings.LastIndexByte(event, ' ')+1:] }

func TestEndpointACancelledCallIsTheCallersError(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			r := openFixture(t, nil, "-era", era, "-no-list-changed")
			ctx, cancel := context.WithCancel(t.Context())
			hanging := r.start(ctx, "hang", `{"key":"k"}`)
			called := eventID(r.Wait("call hang"))
			cancel()
			if err := receiveSoon(t, hanging, "the call").err; err != context.Canceled {
				t.Errorf("%T %v, want exactly context.Canceled", err, err)
			}
			if got := eventID(r.Wait("cancelled ")); got != called {
				t.Errorf("%s was cancelled, %s was called", got, called)
			}
			if got, want := r.invoke("cancelled", ""), fmt.Sprintf(`{"cancelled":[%s],"disconnected":[]}`, called); got != want {
				t.Errorf("the server tells %s, want %s", got, want)
			}
			wantReady(t, r.Endpoint)
		})
	}
}

func TestEndpointADeadlineOfTheCallersIsTheCallersError(t *testing.T) {
	t.Parallel()
	r := openFixture(t, nil, "-hang", "tools/list")
	ctx, cancel := context.WithTimeout(t.Context(), 5*brief) // enough time for the calls to be sent
	defer cancel()
	hanging := r.start(ctx, "hang", `{"key":"k"}`)
	_, listErr := r.Tools(ctx)
	_, doErr := r.Do(ctx, interop.Message{Method: "tools/call", Params: json.RawMessage(`{"name":"hang","arguments":{"key":"k"}}`)})
	_, lateErr := r.Invoke(ctx, "echo", nil)
	openErr := r.Open(ctx)
	for i, err := range []error{receiveSoon(t, hanging, "the call").err, listErr, doErr, lateErr, openErr} {
		if err != context.DeadlineExceeded {
			t.Errorf("%d: %T %v, want exactly context.DeadlineExceeded", i, err, err)
		}
	}
	r.Wait("cancelled ")
	if got := r.Events("call echo"); len(got) != 0 {
		t.Error("a call went out under an ended context")
	}
	wantReady(t, r.Endpoint)
}

func TestEndpointACauseIsNotTheError(t *testing.T) {
	r := openFixture(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	hanging := r.start(ctx, "hang", `{"key":"k"}`)
	r.Wait("call hang")
	cancel(fmt.Errorf("the user left"))
	if err := receiveSoon(t, hanging, "the call").err; err != context.Canceled {
		t.Errorf("%v", err)
	}
}

func TestEndpointTellsTheServerWhenItsOwnDeadlinePasses(t *testing.T) {
	t.Parallel()
	r := onFixture(t, nil, config.Timeouts{Call: brief, List: brief}, "-hang", "tools/list")
	mustOpen(t, r.Endpoint)
	_, err := r.Tools(t.Context())
	wantFault(t, err, interop.Timeout)
	if listed, got := eventID(r.Wait("recv tools/list")), eventID(r.Wait("cancelled ")); got != listed {
		t.Errorf("%s was cancelled, not %s", got, listed)
	}
	_, err = r.Invoke(t.Context(), "hang", []byte(`{"key":"k"}`))
	wantFault(t, err, interop.Timeout)
	if called, got := eventID(r.Wait("call hang")), eventID(r.WaitN("cancelled ", 2)); got != called {
		t.Errorf("%s was cancelled, not %s", got, called)
	}
}

func TestEndpointTheSeedsWayCancelsNothingThatHasGoneOut(t *testing.T) {
	t.Parallel()
	r := onFixture(t, &interop.EndpointOptions{CancelBeforeCallOnly: true}, config.Timeouts{List: brief}, "-hang", "tools/list")
	mustOpen(t, r.Endpoint)
	ctx, cancel := context.WithCancel(t.Context())
	hanging := r.start(ctx, "hang", `{"key":"k"}`)
	r.Wait("call hang")
	cancel()
	if _, err := r.Invoke(ctx, "echo", nil); err != context.Canceled {
		t.Errorf("before the call: %v", err)
	}
	if got := r.invoke("cancelled", ""); got != `{"cancelled":[],"disconnected":[]}` {
		t.Error(got)
	}
	r.Send("release k")
	if c := receiveSoon(t, hanging, "the call"); c.err != nil || textOf(t, c.res) != "released" {
		t.Errorf("%+v", c)
	}
	// Our own deadlines still apply.
	_, err := r.Tools(context.Background())
	wantFault(t, err, interop.Timeout)
}

func TestEndpointDropsALateAnswer(t *testing.T) {
	r := openFixture(t, nil, "-answer-cancelled", "-no-list-changed")
	ctx, cancel := context.WithCancel(t.Context())
	hanging := r.start(ctx, "hang", `{"key":"k"}`)
	called := eventID(r.Wait("call hang"))
	cancel()
	if err := receiveSoon(t, hanging, "the call").err; err != context.Canceled {
		t.Error(err)
	}
	r.Wait("cancelled ")
	r.Send("release k")
	r.Wait("handled " + called)
	wantReady(t, r.Endpoint)
	if n := r.Status().Noise; n != 0 {
		t.Errorf("a late answer is counted as noise")
	}
}

// progressOf returns a progress notification as text.
func progressOf(t *testing.T, m interop.Message) string {
	var p struct {
		Progress, Total float64
		Message         string
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		t.Error(err)
	}
	return fmt.Sprintf("%s of %d: %v/%v %s", m.Method, m.Of, p.Progress, p.Total, p.Message)
}

func TestEndpointToldOfProgressInOrderAndNeverAfterTheResult(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			var progress []string // no lock, because every message comes from the goroutine of the call
			r := openFixture(t, &interop.EndpointOptions{Receive: func(_ context.Context, m interop.Message) (json.RawMessage, error) {
				progress = append(progress, progressOf(t, m))
				return nil, nil
			}}, "-era", era, "-no-list-changed")
			params := json.RawMessage(`{"name":"progress","arguments":{"steps":3}}`)
			if _, err := r.Do(t.Context(), interop.Message{Method: "tools/call", Params: params, Of: 42}); err != nil {
				t.Fatal(err)
			}
			want := []string{
				"notifications/progress of 42: 1/3 step 1",
				"notifications/progress of 42: 2/3 step 2",
				"notifications/progress of 42: 3/3 step 3",
			}
			if diff := cmp.Diff(want, progress); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEndpointDropsProgressThatIsLateOrNobodys(t *testing.T) {
	var progress []string
	end := make(chan struct{})
	r := openFixture(t, &interop.EndpointOptions{Receive: func(_ context.Context, m interop.Message) (json.RawMessage, error) {
		if m.Method == "notifications/end" {
			close(end)
			return nil, nil
		}
		progress = append(progress, progressOf(t, m))
		return nil, nil
	}}, "-no-list-changed")
	note := func(token string, n int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, token, n)
	}
	if err := (&rig{r.Endpoint, r.Control, t}).writeLines(true, note("1", 1), note("77", 2), note(`"1"`, 3), note("null", 4),
		`{"jsonrpc":"2.0","method":"notifications/progress"}`, note("1", 5),
		`{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`, note("1", 6), `{"jsonrpc":"2.0","method":"notifications/end"}`); err != nil {
		t.Fatal(err)
	}
	receiveSoon(t, end, "the end")
	// A number that a server repeats as a string is accepted.
	want := []string{"notifications/progress of 0: 1/0 ", "notifications/progress of 0: 3/0 ", "notifications/progress of 0: 5/0 "}
	if !slices.Equal(progress, want) {
		t.Errorf("told %q, want %q", progress, want)
	}
}

func TestEndpointASlowListenerLosesTheOldestProgress(t *testing.T) {
	var told []string
	begun, release := make(chan struct{}, 1), make(chan struct{})
	r := openFixture(t, &interop.EndpointOptions{Receive: func(_ context.Context, m interop.Message) (json.RawMessage, error) {
		told = append(told, progressOf(t, m))
		if len(told) == 1 {
			begun <- struct{}{}
			<-release
		}
		return nil, nil
	}}, "-no-list-changed")
	hanging := r.start(t.Context(), "progress", `{"steps":5000}`)
	receiveSoon(t, begun, "progress")
	r.WaitN("handled", 2) // discover, and the call
	wantReady(t, r.Endpoint)
	close(release)
	if c := receiveSoon(t, hanging, "the call"); c.err != nil || textOf(t, c.res) != "done" {
		t.Errorf("%+v", c)
	}
	if n := len(told); n > 2*1024 || !strings.HasSuffix(told[n-1], "5000/5000 step 5000") {
		t.Errorf("%d told, the last is %s", n, told[n-1])
	}
}

func TestEndpointAroundWrapsEveryRequest(t *testing.T) {
	var seen []string
	wrap := func(name string) func(interop.Peer) interop.Peer {
		return func(next interop.Peer) interop.Peer {
			return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
				seen = append(seen, name+" "+m.Method)
				result, err := next(ctx, m)
				seen = append(seen, name+" done")
				return result, err
			}
		}
	}
	r := openFixture(t, &interop.EndpointOptions{Around: []func(interop.Peer) interop.Peer{wrap("outer"), wrap("inner")}}, "-era", "legacy")
	if _, err := r.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.invoke("echo", "")
	if _, err := r.Do(t.Context(), interop.Message{Method: "ping"}); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, method := range []string{"tools/list", "tools/call", "ping"} {
		want = append(want, "outer "+method, "inner "+method, "inner done", "outer done")
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEndpointWhatAroundReturnsIsTheResult(t *testing.T) {
	refused := &interop.Fault{Kind: interop.Protocol, Message: "not on my watch"}
	r := openFixture(t, &interop.EndpointOptions{Around: []func(interop.Peer) interop.Peer{func(next interop.Peer) interop.Peer {
		return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
			if m.Method == "tools/call" {
				return nil, refused
			}
			return json.RawMessage(`{"tools":[{"name":"mine","inputSchema":{"type":"object"}}]}`), nil
		}
	}}})
	if _, err := r.Invoke(t.Context(), "echo", nil); err != error(refused) {
		t.Error(err)
	}
	tools, err := r.Tools(t.Context())
	if err != nil || !slices.Equal(toolNames(tools), []string{"mine"}) {
		t.Errorf("%v, %v", toolNames(tools), err)
	}
}
