package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// brief is a deadline that will pass. none is an unlimited deadline.
const (
	brief   = 300 * time.Millisecond
	noFault = -1
)

// opens, lists and calls are the three operations in which an endpoint can fail.
func openEndpoint(e *interop.Endpoint) error { return e.Open(context.Background()) }

func listTools(e *interop.Endpoint) error {
	if err := openEndpoint(e); err != nil {
		return err
	}
	_, err := e.Tools(context.Background())
	return err
}

func callTool(tool, args string) func(*interop.Endpoint) error {
	return func(e *interop.Endpoint) error {
		if err := openEndpoint(e); err != nil {
			return err
		}
		_, err := e.Invoke(context.Background(), tool, []byte(args))
		return err
	}
}

// faultCase is one row of the fault table: the place of a failure and its details.
type faultCase struct {
	name     string
	flags    []string
	command  string // replaces the fixture
	timeouts config.Timeouts
	act      func(*interop.Endpoint) error // nil means opens
	kind     interop.Kind
	is       []error
	as       func(error) bool
	texts    []string // parts of the message
	ready    bool     // the endpoint stays ready
}

func isExit(code int) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*exec.ExitError](err)
		return ok && e.ExitCode() == code
	}
}

func isRPC(code int64, message, data string) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*interop.RPCError](err)
		return ok && e.Code == code && e.Message == message && string(e.Data) == data
	}
}

func isHTTP(status int) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*interop.HTTPError](err)
		return ok && e.Status == status
	}
}

// check compares the error of an operation with its row.
func (c faultCase) check(t *testing.T, e *interop.Endpoint) {
	t.Helper()
	act := c.act
	if act == nil {
		act = openEndpoint
	}
	err := act(e)
	f := wantFault(t, err, c.kind)
	if f.Server != "fx" || !strings.HasPrefix(f.Error(), "fx: ") {
		t.Errorf("the fault does not name its server: %q, %v", f.Server, f)
	}
	for _, k := range kinds {
		if k != c.kind && errors.Is(err, k) {
			t.Errorf("it is of kind %s too", k)
		}
	}
	for _, target := range c.is {
		if !errors.Is(err, target) {
			t.Errorf("errors.Is(%v, %v) is false", err, target)
		}
	}
	if c.as != nil && !c.as(err) {
		t.Errorf("the cause is not in the chain of %v (%#v)", err, f.Cause)
	}
	for _, part := range c.texts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message has no %q: %v", part, err)
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v passes for the caller's own context", err)
	}
	switch s := e.Status(); {
	case c.ready && s.Phase != interop.Ready:
		t.Errorf("phase %s after a failure that concerns one request", s.Phase)
	case !c.ready && (s.Phase != interop.Faulted || s.Fault != f):
		t.Errorf("phase %s with fault %v, want faulted with the very same", s.Phase, s.Fault)
	}
}

func TestEndpointFaultsOverStdio(t *testing.T) {
	t.Parallel()
	table := []faultCase{
		{name: "command not found", command: "no-such-command-anywhere", kind: interop.SpawnFailed,
			is: []error{exec.ErrNotFound}, texts: []string{"fx: connect: start no-such-command-anywhere: "}},
		{name: "not executable", command: "/dev/null", kind: interop.SpawnFailed},
		{name: "exits at once", flags: []string{"-exit"}, kind: interop.SpawnFailed, is: []error{},
			as: isExit(3), texts: []string{"exit status 3", "mcpfixture: refusing to start"}},
		{name: "exits with 0", command: "true", kind: interop.SpawnFailed, texts: []string{"the server exited"}},
		{name: "no server at all", command: "cat", kind: interop.SpawnFailed},
		{name: "hangs on the probe and on initialize", flags: []string{"-hang", "server/discover,initialize", "-stderr", "warming up"},
			timeouts: config.Timeouts{Connect: 3 * time.Second}, kind: interop.Timeout, texts: []string{"connect: no answer within 3s", `"warming up"`}},
		{name: "hangs on tools/list", flags: []string{"-hang", "tools/list"}, timeouts: config.Timeouts{List: brief},
			act: listTools, kind: interop.Timeout, texts: []string{"tools/list: no answer within 300ms"}, ready: true},
		{name: "hangs on a call", timeouts: config.Timeouts{Call: brief}, act: callTool("hang", `{"key":"k"}`),
			kind: interop.Timeout, texts: []string{"tools/call hang: no answer and no progress within 300ms"}, ready: true},
		{name: "progress for ever", timeouts: config.Timeouts{Call: time.Minute, Total: brief}, act: callTool("progress", `{"steps":100000,"ms":20}`),
			kind: interop.Timeout, texts: []string{"tools/call progress: no result in all within 300ms"}, ready: true},
		{name: "malformed list", flags: []string{"-malformed", "tools/list"}, act: listTools, kind: interop.Protocol, ready: true},
		{name: "malformed call", flags: []string{"-malformed", "tools/call"}, act: callTool("echo", ""), kind: interop.Protocol, ready: true},
		{name: "list error", flags: []string{"-listerror"}, act: listTools, kind: interop.Protocol,
			as: isRPC(-32603, "the list is lost", `{"lost":true}`), texts: []string{"the list is lost (-32603)"}, ready: true},
		{name: "JSON-RPC error of a call", act: callTool("rpcerror", `{"code":-5}`), kind: interop.ToolError,
			as:    isRPC(-5, "no such luck", `{"why":"9007199254740993","n":9007199254740993,"z":null,"a":[]}`),
			texts: []string{"tools/call rpcerror: no such luck (-5)"}, ready: true},
		{name: "unknown tool", act: callTool("no_such_tool", ""), kind: interop.ToolError,
			as: isRPC(interop.CodeInvalidParams, "unknown tool: no_such_tool", ""), ready: true},
		{name: "arguments that are no JSON", act: callTool("echo", `{"message":`), kind: interop.ToolError, ready: true},
		{name: "result of an unknown type", flags: []string{"-era", "modern"}, act: callTool("task", ""), kind: interop.Protocol,
			texts: []string{`unknown type "task"`}, ready: true},
		{name: "asks for input", flags: []string{"-era", "modern"}, act: callTool("ask", ""), kind: interop.Protocol,
			texts: []string{"asks for input"}, ready: true},
	}
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := config.Server{ID: "fx", Transport: config.Stdio{Command: c.command}, Timeouts: c.timeouts}
			if c.command == "" {
				s.Transport = stdioOf(fixture.New(t, c.flags...))
			}
			opts := &interop.EndpointOptions{}
			if c.timeouts.Connect != 0 {
				interop.SetProbeWait(opts, brief/10)
			}
			c.check(t, newEndpoint(t, s, opts))
		})
	}
}

func TestEndpointFaultsOfACallNameItsTool(t *testing.T) {
	r := openFixture(t, nil)
	for _, args := range []string{`{}`, `{`} {
		_, err := r.Invoke(t.Context(), "rpcerror", []byte(args))
		if f := wantFault(t, err, interop.ToolError); f.Tool != "rpcerror" {
			t.Errorf("Tool is %q", f.Tool)
		}
	}
}

func TestEndpointAToolsOwnErrorIsAResult(t *testing.T) {
	r := openFixture(t, nil)
	res, err := r.Invoke(t.Context(), "error", []byte(`{"text":"no rain today"}`))
	if err != nil {
		t.Fatal(err)
	}
	if !res.IsError() || textOf(t, res) != "no rain today" {
		t.Errorf("IsError %v, text %q", res.IsError(), textOf(t, res))
	}
}

func TestEndpointIsNotConnectedBeforeOpenAndAfterClose(t *testing.T) {
	r := onFixture(t, nil, config.Timeouts{})
	check := func(when string) {
		t.Helper()
		_, listErr := r.Tools(t.Context())
		_, callErr := r.Invoke(t.Context(), "echo", nil)
		_, doErr := r.Do(t.Context(), interop.Message{Method: "ping"})
		for _, err := range []error{listErr, callErr, doErr} {
			if f := wantFault(t, err, interop.NotConnected); !strings.Contains(f.Error(), when) {
				t.Errorf("%v does not say %s", f, when)
			}
		}
	}
	check("idle")
	mustOpen(t, r.Endpoint)
	r.Close()
	check("closed")
	wantFault(t, r.Open(t.Context()), interop.NotConnected)
}

// If there is no listener, no progress is requested.
func TestEndpointProgressIsASignOfLife(t *testing.T) {
	listens := func(context.Context, interop.Message) (json.RawMessage, error) { return nil, nil }
	r := onFixture(t, nil, config.Timeouts{Call: time.Minute})
	mustOpen(t, r.Endpoint)
	if received := r.invoke("echo_raw", `{}`); strings.Contains(received, "progressToken") {
		t.Errorf("nobody listens to %s", received)
	}
	r = onFixture(t, &interop.EndpointOptions{Receive: listens}, config.Timeouts{Call: noFault})
	mustOpen(t, r.Endpoint)
	if received := r.invoke("progress", `{"steps":2,"ms":0}`); received != "done" {
		t.Error(received)
	}
}

// A call may take any time if its server is never silent for longer than the deadline.
func TestEndpointProgressGivesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPuppet("slow")
		release := s.hold("tools/call")
		e := interop.NewEndpoint(config.Server{ID: "a", Timeouts: config.Timeouts{Call: time.Second}}, &interop.EndpointOptions{
			Transport: s,
			Receive:   func(context.Context, interop.Message) (json.RawMessage, error) { return nil, nil },
		})
		defer e.Close()
		mustOpen(t, e)
		done := make(chan error, 1)
		call := func() { _, err := e.Invoke(t.Context(), "slow", json.RawMessage(`{}`)); done <- err }
		go call()
		for range 12 {
			time.Sleep(900 * time.Millisecond)
			s.notifyProgress()
		}
		release()
		if err := <-done; err != nil {
			t.Error(err)
		}
		defer s.hold("tools/call")()
		go call()
		wantFault(t, <-done, interop.Timeout)
	})
}

func TestEndpointNegativeTimeoutsAreNone(t *testing.T) {
	t.Parallel()
	r := onFixture(t, nil, config.Timeouts{Connect: noFault, List: noFault, Call: noFault, Total: noFault},
		"-delay", "100ms", "-delay-on", "server/discover,tools/list,tools/call")
	mustOpen(t, r.Endpoint)
	if _, err := r.Tools(t.Context()); err != nil {
		t.Error(err)
	}
	wantReady(t, r.Endpoint)
}

// brokenTransport is a transport of the SDK that does not connect.
type brokenTransport struct{ err error }

func (b brokenTransport) Connect(context.Context) (mcp.Connection, error) { return nil, b.err }

func TestEndpointFaultWhereTheHostOrTheInjectedTransportCannotStart(t *testing.T) {
	broken := brokenTransport{io.ErrNoProgress}
	host := host.New(toolbox.NewBox(nil), nil)
	t.Cleanup(host.Close)
	err := host.Serve(t.Context(), broken)
	wantFault(t, err, interop.Transport)
	if !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
	// No process is started, so the configured command does not matter.
	s := config.Server{ID: "fx", Transport: config.Stdio{Command: "no-such-command"}}
	c := faultCase{kind: interop.Transport, is: []error{io.ErrNoProgress}}
	c.check(t, newEndpoint(t, s, &interop.EndpointOptions{Transport: broken}))
}
