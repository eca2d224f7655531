package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"go.uber.org/goleak"
)

// Every listener receives all events while it is registered, in one order, even if it
// is slow. The fleet does not wait for it.
func TestEventsAreOrderedAndComplete(t *testing.T) {
	ids := []string{"a", "b", "c", "d"}
	by := map[string]*puppet{}
	for _, id := range ids {
		by[id] = newPuppet("t")
	}
	fleet, fast := newFleet(t, &interop.FleetOptions{Endpoint: puppets(by)})
	slow, gate := newEventLog(t), make(chan struct{})
	fleet.Events(func(e interop.Event) { <-gate; slow.record(e) })
	fleet.Apply(serversNamed(ids...))
	if err := fleet.Settle(t.Context()); err != nil { // although nothing is delivered
		t.Fatal(err)
	}
	late := newEventLog(t)
	stop := fleet.Events(late.record)
	fleet.Apply(serversNamed("a", "b", "c"))
	close(gate)
	fleet.Close() // which delivers the rest
	stop()
	if diff := cmp.Diff(fast.all(""), slow.all("")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"d: removed"}, late.all("")); diff != "" {
		t.Error("since it listens:", diff)
	}
	for _, id := range ids[:3] {
		if diff := cmp.Diff([]string{"added", "connecting", "ready"}, slow.all(id)); diff != "" {
			t.Error(diff)
		}
	}
	if got := fast.all("")[:4]; fmt.Sprint(got) != "[a: added b: added c: added d: added]" {
		t.Errorf("connected before all were registered: %v", got)
	}
}

// After stop has returned, a listener is not called. stop waits for a running call.
func TestEventsStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPuppet("t")
		fleet, _ := newFleet(t, &interop.FleetOptions{Endpoint: puppets(map[string]*puppet{"a": s})})
		inside, leave := make(chan struct{}), make(chan struct{})
		calls := 0
		stop := fleet.Events(func(interop.Event) { calls++; close(inside); <-leave })
		fleet.Apply(serversNamed("a"))
		<-inside
		stopped := make(chan struct{})
		go func() { stop(); close(stopped) }()
		time.Sleep(time.Hour)
		select {
		case <-stopped:
			t.Error("stop did not wait")
		default:
		}
		close(leave)
		<-stopped
		s.die()
		time.Sleep(time.Hour)
		if calls != 1 {
			t.Errorf("called %d times", calls)
		}
		stop()
		fleet.Close()
	})
}

// The state after an event is already visible when the event is delivered. A listener
// may use the fleet, because no lock is held.
func TestListenersMayUseTheFleet(t *testing.T) {
	s := newPuppet("t")
	var fleet *interop.Fleet
	look := func() {
		_ = fleet.Status()
		_ = fleet.Endpoints()
		_ = fleet.Quarantined()
		_, _ = fleet.Endpoint("a", "")
	}
	use := func() {
		look()
		fleet.Apply(serversNamed("a"))
	}
	opts := &interop.FleetOptions{
		Restart: atOnce,
		Endpoint: func(config.Server) *interop.EndpointOptions {
			look()
			return &interop.EndpointOptions{Transport: s, Logger: slog.New(slog.DiscardHandler)}
		},
		Known:  func(string) []toolbox.Wire { look(); return nil },
		Logger: slog.New(loggerFunc(use)),
	}
	var seen, ready atomic.Int64
	fleet = interop.NewFleet(opts)
	defer fleet.Close()
	fleet.Watch(func() { use(); seen.Add(1) })
	fleet.Events(func(e interop.Event) {
		use()
		if e.Kind == interop.ServerReady {
			ready.Add(1)
			if !listsTool("a__t")(fleet.Snapshot("")) {
				t.Error("ready, and not listed")
			}
		}
	})
	d := newEventLog(t)
	fleet.Events(d.record)
	fleet.Apply(serversNamed("a"))
	d.wait("a", interop.ServerReady, 1)
	s.die()
	d.wait("a", interop.ServerReady, 2)
	if seen.Load() == 0 || ready.Load() == 0 {
		t.Errorf("%d snapshots and %d events were told", seen.Load(), ready.Load())
	}
}

// loggerFunc is a log handler.
type loggerFunc func()

func (f loggerFunc) Enabled(context.Context, slog.Level) bool  { return true }
func (f loggerFunc) Handle(context.Context, slog.Record) error { f(); return nil }
func (f loggerFunc) WithAttrs([]slog.Attr) slog.Handler        { return f }
func (f loggerFunc) WithGroup(string) slog.Handler             { return f }

// A slow options function delays only its own server.
func TestASlowOptionDelaysItsServerOnly(t *testing.T) {
	by := map[string]*puppet{"slow": newPuppet("t"), "peer": newPuppet("t")}
	gate, asked := make(chan struct{}), make(chan struct{})
	var times atomic.Int64
	fleet, d := newFleet(t, &interop.FleetOptions{Restart: atOnce, Endpoint: func(s config.Server) *interop.EndpointOptions {
		if s.ID == "slow" && times.Add(1) == 2 {
			close(asked)
			<-gate
		}
		return &interop.EndpointOptions{Transport: by[s.ID]}
	}})
	fleet.Apply(serversNamed("slow", "peer"))
	if err := fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	by["slow"].die()
	<-asked
	by["peer"].die()
	d.wait("peer", interop.ServerReady, 2)
	if got, err := echoText(t.Context(), fleet, "peer__t", "{}"); got != "t" {
		t.Errorf("the peer says %q, %v", got, err)
	}
	if n := len(fleet.Status()); n != 2 {
		t.Errorf("status of %d servers", n)
	}
	close(gate)
	d.wait("slow", interop.ServerReady, 2)
}

// A fleet leaves no goroutine behind, in any state of its servers.
func TestCloseLeavesNoGoroutine(t *testing.T) {
	before := goleak.IgnoreCurrent()
	by := map[string]*puppet{"up": newPuppet("t"), "dead": newPuppet("t"), "opening": newPuppet("t"), "listing": newPuppet("t"), "failing": newPuppet()}
	by["dead"].refuseWith(errors.New("gone"))
	by["failing"].listRaw("")
	by["opening"].hold("initialize")
	by["listing"].hold("tools/list")
	fleet := interop.NewFleet(&interop.FleetOptions{Endpoint: puppets(by), Hold: true, Known: func(string) []toolbox.Wire { return []toolbox.Wire{legacyRow(rowT)} }})
	d := newEventLog(t)
	fleet.Events(d.record)
	fleet.Watch(func() {})
	fleet.Apply(serversNamed("up", "dead", "opening", "listing", "failing"))
	d.wait("up", interop.ServerReady, 1)
	d.wait("dead", interop.ServerFaulted, 1)
	d.wait("failing", interop.ServerReady, 1)
	release := by["up"].hold("tools/call")
	defer release()
	calls := []<-chan callOutcome{callLater(t.Context(), fleet, "up__t", "{}"), callLater(t.Context(), fleet, "dead__t", "{}"), callLater(t.Context(), fleet, "opening__t", "{}"), callLater(t.Context(), fleet, "listing__new", "{}")}
	fleet.Close()
	fleet.Close()
	for _, c := range calls {
		if got := awaitOutcome(t, c); got.err == nil {
			t.Errorf("a call to a closed fleet gives %v", got)
		}
	}
	goleak.VerifyNone(t, before)

	for _, st := range fleet.Status() {
		if st.Phase != interop.Closed && st.Phase != interop.Faulted {
			t.Errorf("%s is %s", st.Server, st.Phase)
		}
	}
	for _, name := range []string{"up__t", "opening__other"} {
		if _, err := echoText(t.Context(), fleet, name, "{}"); !errors.Is(err, interop.NotConnected) {
			t.Errorf("a call of %s after Close: %v", name, err)
		}
	}
	events := d.all("")
	fleet.Apply(serversNamed("up", "new"))
	if got := len(fleet.Status()); got != 5 {
		t.Errorf("a closed fleet takes servers: it has %d", got)
	}
	if diff := cmp.Diff(events, d.all("")); diff != "" {
		t.Error("events after Close:", diff)
	}
}

// An endpoint that its user closes is replaced like a lost one.
func TestAnEndpointClosedByItsUserIsReplaced(t *testing.T) {
	fleet, d := newFleet(t, &interop.FleetOptions{Restart: atOnce, Endpoint: puppets(map[string]*puppet{"a": newPuppet("t")})})
	fleet.Apply(serversNamed("a"))
	d.wait("a", interop.ServerReady, 1)
	e, err := fleet.Endpoint("a", "")
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	lost := d.wait("a", interop.ServerFaulted, 1)
	wantFleetFault(t, lost.Status.Fault, interop.NotConnected, "a", "", "closed")
	d.wait("a", interop.ServerReady, 2)
	if got, err := echoText(t.Context(), fleet, "a__t", "{}"); got != "t" {
		t.Errorf("it says %q, %v", got, err)
	}
}

// A call that was sent is never repeated, whatever error it returns.
func TestACallThatWentOutIsNotRepeated(t *testing.T) {
	s := newPuppet("t")
	back := []error{interop.NewFault(interop.NotConnected, "other", "not connected", nil), interop.NewFault(interop.NotConnected, "a", "not connected", nil), interop.NotConnected}
	n := 0
	fleet, d := newFleet(t, &interop.FleetOptions{Endpoint: func(config.Server) *interop.EndpointOptions {
		return &interop.EndpointOptions{Transport: s, Around: []func(interop.Peer) interop.Peer{func(next interop.Peer) interop.Peer {
			return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
				r, err := next(ctx, m)
				if strings.HasSuffix(m.Method, "/call") {
					n++
					return nil, back[n-1]
				}
				return r, err
			}
		}}}
	}})
	fleet.Apply(serversNamed("a"))
	d.wait("a", interop.ServerReady, 1)
	for i, want := range back {
		if _, err := echoText(t.Context(), fleet, "a__t", "{}"); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		if got := s.requestCount("call t"); got != i+1 {
			t.Errorf("%d calls went out for %d", got, i+1)
		}
	}
}
