package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// giveUp is how long an event may take before a test fails. A test that passes never
// waits for it.
const giveUp = 60 * time.Second

// childServer returns the fixture as a server of a fleet.
func childServer(id string, f *fixture.Server) config.Server {
	return config.Server{ID: id, Transport: config.Stdio{Command: f.Path, Args: f.Args}}
}

// newFleet returns a fleet that ends with the test, and a log of its events.
func newFleet(t testing.TB, opts *interop.FleetOptions) (*interop.Fleet, *eventLog) {
	t.Helper()
	f := interop.NewFleet(opts)
	t.Cleanup(f.Close)
	d := newEventLog(t)
	f.Events(d.record)
	return f, d
}

// eventLog keeps all events of a fleet.
type eventLog struct {
	t testing.TB

	mu     sync.Mutex
	events []interop.Event
	more   chan struct{}
}

func newEventLog(t testing.TB) *eventLog { return &eventLog{t: t, more: make(chan struct{})} }

func (d *eventLog) record(e interop.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
	close(d.more)
	d.more = make(chan struct{})
}

// wait blocks until a kind of event has happened to a server n times, and returns the
// nth.
func (d *eventLog) wait(server string, kind interop.EventKind, n int) interop.Event {
	d.t.Helper()
	late := time.After(giveUp)
	for {
		d.mu.Lock()
		more, count := d.more, 0
		for _, e := range d.events {
			if e.Server == server && e.Kind == kind {
				count++
				if count == n {
					d.mu.Unlock()
					return e
				}
			}
		}
		d.mu.Unlock()
		select {
		case <-more:
		case <-late:
			d.t.Fatalf("%s is not %s for the %dth time; there were %v", server, kind, n, d.all(""))
		}
	}
}

// all returns the events of a server, or of all servers, as words.
func (d *eventLog) all(server string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, e := range d.events {
		switch server {
		case "":
			out = append(out, e.String())
		case e.Server:
			out = append(out, string(e.Kind))
		}
	}
	return out
}

// snapshotWhen waits for a snapshot for which ok is true, and returns it.
func snapshotWhen(t testing.TB, src toolbox.Source, ok func(*toolbox.Snapshot) bool) *toolbox.Snapshot {
	t.Helper()
	changed := make(chan struct{}, 1)
	stop := src.Watch(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	defer stop()
	late := time.After(giveUp)
	for {
		if s := src.Snapshot(""); ok(s) {
			return s
		}
		select {
		case <-changed:
		case <-late:
			s := src.Snapshot("")
			t.Fatalf("no such snapshot; the last one has %v, pending %v", mountedNames(s), s.Pending)
		}
	}
}

func listsTool(name string) func(*toolbox.Snapshot) bool {
	return func(s *toolbox.Snapshot) bool { return slices.Contains(mountedNames(s), name) }
}

func listsNoTool(name string) func(*toolbox.Snapshot) bool {
	return func(s *toolbox.Snapshot) bool { return !slices.Contains(mountedNames(s), name) }
}

func mountedNames(s *toolbox.Snapshot) []string {
	var out []string
	for _, d := range s.Tools {
		out = append(out, d.Name)
	}
	return out
}

// ownersOf returns the servers of a snapshot's tools, in order, each once.
func ownersOf(s *toolbox.Snapshot) []string {
	var out []string
	for _, d := range s.Tools {
		out = append(out, d.Server)
	}
	return slices.Compact(out)
}

// echoText calls a tool with Do and returns the text of its result.
func echoText(ctx context.Context, src toolbox.Source, tool, args string) (string, error) {
	r, err := src.Do(ctx, toolbox.Call{Name: tool, Input: json.RawMessage(args)})
	if err != nil {
		return "", err
	}
	if b := r.Blocks(); len(b) == 1 && b[0].Text != nil {
		return *b[0].Text, nil
	}
	return string(r.Wire().JSON), nil
}

// wantEcho calls the echo tool of a server.
func wantEcho(t testing.TB, src toolbox.Source, server string) {
	t.Helper()
	got, err := echoText(t.Context(), src, server+"__echo", `{"message":"hi"}`)
	if err != nil || got != "hi" {
		t.Errorf("%s: echo says %q, %v", server, got, err)
	}
}

// wantFleetFault checks an error's kind, server and tool, and that its message contains
// why.
func wantFleetFault(t testing.TB, err error, kind interop.Kind, server, tool, why string) {
	t.Helper()
	var f *interop.Fault
	if !errors.As(err, &f) {
		t.Errorf("%v is no fault, want %s", err, kind)
		return
	}
	if f.Kind != kind || f.Server != server || f.Tool != tool || !strings.Contains(f.Message, why) {
		t.Errorf("fault %s of %q, tool %q: %v; want %s of %q, tool %q: …%s…", f.Kind, f.Server, f.Tool, f, kind, server, tool, why)
	}
}

// callLater runs a call in its own goroutine.
func callLater(ctx context.Context, src toolbox.Source, tool, args string) <-chan callOutcome {
	c := make(chan callOutcome, 1)
	go func() {
		text, err := echoText(ctx, src, tool, args)
		c <- callOutcome{text, err}
	}()
	return c
}

type callOutcome struct {
	text string
	err  error
}

func (c callOutcome) String() string { return fmt.Sprintf("%q, %v", c.text, c.err) }

// awaitOutcome waits for a call.
func awaitOutcome(t testing.TB, c <-chan callOutcome) callOutcome {
	t.Helper()
	select {
	case got := <-c:
		return got
	case <-time.After(giveUp):
		t.Fatal("the call does not return")
		return callOutcome{}
	}
}

// pidOf returns the process id of the nth start of a fixture.
func pidOf(t testing.TB, f *fixture.Server, n int) int {
	t.Helper()
	var pid int
	if _, err := fmt.Sscanf(f.WaitN("start ", n), "start %d", &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

// kill9 kills one process.
func kill9(t testing.TB, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}
