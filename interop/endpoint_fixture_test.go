package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// eventWait is how long an event may take. It measures nothing: a test that passes
// never waits for it.
const eventWait = 30 * time.Second

// rig is an endpoint on a fixture over stdio, with the control of that fixture.
type rig struct {
	*interop.Endpoint
	*fixture.Control
	t testing.TB
}

// onFixture returns an idle endpoint on the fixture with these flags.
func onFixture(t testing.TB, opts *interop.EndpointOptions, timeouts config.Timeouts, flags ...string) *rig {
	t.Helper()
	f := fixture.New(t, flags...)
	return &rig{newEndpoint(t, config.Server{ID: "fx", Transport: stdioOf(f), Timeouts: timeouts}, opts), f.Control, t}
}

// openFixture returns a ready endpoint on the fixture with these flags.
func openFixture(t testing.TB, opts *interop.EndpointOptions, flags ...string) *rig {
	t.Helper()
	r := onFixture(t, opts, config.Timeouts{}, flags...)
	mustOpen(t, r.Endpoint)
	r.Wait("start ") // it obeys commands from now on
	return r
}

func stdioOf(f *fixture.Server) config.Stdio {
	return config.Stdio{Command: f.Path, Args: f.Args}
}

// newEndpoint returns an endpoint that is closed with the test.
func newEndpoint(t testing.TB, s config.Server, opts *interop.EndpointOptions) *interop.Endpoint {
	e := interop.NewEndpoint(s, opts)
	t.Cleanup(e.Close)
	return e
}

func mustOpen(t testing.TB, e *interop.Endpoint) {
	t.Helper()
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// invoke calls a tool and returns the text of its first block.
func (r *rig) invoke(tool, args string) string {
	r.t.Helper()
	res, err := r.Invoke(r.t.Context(), tool, json.RawMessage(args))
	if err != nil {
		r.t.Fatalf("%s: %v", tool, err)
	}
	return textOf(r.t, res)
}

func textOf(t testing.TB, res *toolbox.Result) string {
	t.Helper()
	blocks := res.Blocks()
	if len(blocks) == 0 || blocks[0].Text == nil {
		t.Fatalf("no text in %s", res.Wire().JSON)
	}
	return *blocks[0].Text
}

// fence waits until all events that the fixture has sent so far have arrived.
func (r *rig) fence() {
	r.t.Helper()
	r.Wait("start ")
	n := len(r.Events("done release fence")) + 1
	r.Send("release fence")
	r.WaitN("done release fence", n)
}

// call is the result of a call.
type call struct {
	res *toolbox.Result
	err error
}

// start calls a tool without waiting for it.
func (r *rig) start(ctx context.Context, tool, args string) <-chan call {
	out := make(chan call, 1)
	go func() {
		res, err := r.Invoke(ctx, tool, json.RawMessage(args))
		out <- call{res, err}
	}()
	return out
}

// receiveSoon waits for a value that must arrive.
func receiveSoon[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(eventWait):
		t.Fatalf("not in time: %s", what)
		panic("unreachable")
	}
}

// wantFault returns err as a fault of one kind.
func wantFault(t testing.TB, err error, kind interop.Kind) *interop.Fault {
	t.Helper()
	f, ok := errors.AsType[*interop.Fault](err)
	if !ok || f.Kind != kind || !errors.Is(err, kind) {
		t.Fatalf("got %T %v, want a fault of kind %s", err, err, kind)
	}
	return f
}

// wantReady fails the test if an endpoint is not ready, or cannot be called.
func wantReady(t testing.TB, e *interop.Endpoint) {
	t.Helper()
	if s := e.Status(); s.Phase != interop.Ready || s.Fault != nil {
		t.Errorf("phase %s, fault %v, want ready", s.Phase, s.Fault)
	}
	res, err := e.Invoke(t.Context(), "echo", json.RawMessage(`{"message":"still here"}`))
	if err != nil {
		t.Errorf("echo: %v", err)
	} else if got := textOf(t, res); got != "still here" {
		t.Errorf("echo: %s", got)
	}
}

// toolNames returns the server's own names of the listed tools.
func toolNames(tools []toolbox.Descriptor) []string {
	names := make([]string, len(tools))
	for i, d := range tools {
		names[i] = d.Tool
	}
	return names
}
