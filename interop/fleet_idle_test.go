package interop_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// knownTools is FleetOptions.Known for servers that had a tool.
func knownTools(string) []toolbox.Wire { return []toolbox.Wire{legacyRow(rowT)} }

// A lazy server with known tools starts one process at the first call, and all callers share it.
// After a while without calls the process ends. The next call starts it again.
func TestALazyServerIsAProcessWhileItIsNeeded(t *testing.T) {
	t.Parallel()
	f := fixture.New(t, "-era", "legacy")
	fleet, d := newFleet(t, &interop.FleetOptions{Restart: atOnce, Lazy: true, Known: func(string) []toolbox.Wire {
		return []toolbox.Wire{legacyRow(`{"name":"echo","inputSchema":{"type":"object"}}`)}
	}})
	server := childServer("a", f)
	fleet.Apply([]config.Server{server})
	if err := fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.wait("a", interop.ServerIdle, 1)
	s := fleet.Snapshot("")
	if diff := cmp.Diff([]string{"a__echo"}, mountedNames(s)); diff != "" || s.Pending != nil || s.Down != nil {
		t.Errorf("%s, pending %v, down %v", diff, s.Pending, s.Down)
	}
	if st := fleet.Status()[0]; st.Phase != interop.Idle || st.Fault != nil || st.Tools != 1 || !fleet.Idle("a") {
		t.Errorf("an idle server is %+v", st)
	}
	stays := func(idle time.Duration) { // a change that needs no new connection
		server.Idle = idle
		fleet.Apply([]config.Server{server})
	}
	for n := 1; n <= 2; n++ {
		stays(time.Hour)
		var calls sync.WaitGroup
		for i := range 100 {
			calls.Go(func() {
				if got, err := echoText(t.Context(), fleet, "a__echo", fmt.Sprintf(`{"message":"%d"}`, i)); err != nil || got != fmt.Sprint(i) {
					t.Errorf("call %d says %q, %v", i, got, err)
				}
			})
		}
		calls.Wait()
		pid := pidOf(t, f, n)
		if n == 1 {
			if !isAlive(pid) {
				t.Error("it does not run")
			}
			if !listsTool("a__hang")(fleet.Snapshot("")) {
				t.Error("what it has now is not listed")
			}
		}
		stays(time.Millisecond)
		d.wait("a", interop.ServerIdle, n+1)
		f.WaitN("eof", n)
		wantDead(t, pid)
	}
	if diff := cmp.Diff([]string{"added", "idle", "connecting", "ready", "idle", "connecting", "ready", "idle"}, slices.DeleteFunc(d.all("a"), func(k string) bool { return k == "listed" })); diff != "" {
		t.Error(diff)
	}
}

// idleBubble runs a puppet as the server a, which becomes idle after 8 seconds.
func idleBubble(t *testing.T, s *puppet, opts interop.FleetOptions, run func(*testing.T, *interop.Fleet, *eventLog)) {
	opts.Idle = 8 * time.Second
	bubble(t, s, opts, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
		fleet.Apply(serversNamed("a"))
		if err := fleet.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		run(t, fleet, d)
	})
}

// A server becomes idle after its idle time without use, and not before.
func TestWhatKeepsAServer(t *testing.T) {
	s := newPuppet("t")
	idleBubble(t, s, interop.FleetOptions{}, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
		wantIdle := func(want bool) {
			t.Helper()
			synctest.Wait()
			if got := fleet.Idle("a"); got != want || s.connected() == 0 != want {
				t.Fatalf("idle %v, %d connections", got, s.connected())
			}
		}
		release := s.hold("tools/call")
		call := callLater(t.Context(), fleet, "a__t", "{}")
		time.Sleep(30 * time.Second)
		wantIdle(false)
		release()
		awaitOutcome(t, call)
		time.Sleep(7 * time.Second)
		wantIdle(false)
		_, done, err := fleet.Use(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		wantIdle(false)
		done()
		s.notifyChanged() // does not count as use
		time.Sleep(11 * time.Second)
		wantIdle(true)
		time.Sleep(time.Hour)
		if n := len(s.dials()); n != 1 {
			t.Errorf("%d connections were made", n)
		}
		if _, err := echoText(t.Context(), fleet, "a__unknown", "{}"); err == nil {
			t.Error("it has a tool that it does not list")
		}
		wantIdle(true)
		if _, err := fleet.Request(t.Context(), "a", interop.Message{Method: "tools/list"}); err != nil {
			t.Error(err)
		}
		wantIdle(false)
		time.Sleep(time.Minute)
		wantIdle(true)
		if n := s.requestCount("server/discover"); n > 1 {
			t.Errorf("its era was forgotten: asked %d times", n)
		}
	})
}

// A call that arrives while the server ends waits for the next start, without a pause.
func TestACallWhileTheServerEnds(t *testing.T) {
	t.Parallel()
	f := fixture.New(t, "-era", "legacy")
	fleet, d := newFleet(t, &interop.FleetOptions{Idle: time.Millisecond, Restart: interop.Restart{First: time.Hour, Max: time.Hour}})
	fleet.Apply([]config.Server{childServer("a", f)})
	for n := range 5 {
		d.wait("a", interop.ServerIdle, n+1)
		wantEcho(t, fleet, "a")
	}
	if got := d.all("a"); slices.Contains(got, "faulted") || slices.Contains(got, "withdrawn") {
		t.Error(got)
	}
}

// A server that lists other tools after it was idle is listed again before the call is sent.
func TestAServerThatIsAnotherWhenItWakes(t *testing.T) {
	s := newPuppet("t", "u")
	var admitted []string
	idleBubble(t, s, interop.FleetOptions{Admit: func(_ context.Context, _ config.Server, tool string) (string, error) {
		admitted = append(admitted, tool)
		return "", nil
	}}, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
		fleet.Apply([]config.Server{{ID: "a", Changes: config.HoldChanges}})
		time.Sleep(time.Minute)
		s.list("t", "w")
		if diff := cmp.Diff([]string{"a__t", "a__u"}, mountedNames(fleet.Snapshot(""))); diff != "" {
			t.Error(diff)
		}
		if _, err := echoText(t.Context(), fleet, "a__t", "{}"); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"a__t", "a__w"}, mountedNames(fleet.Snapshot(""))); diff != "" || len(admitted) != 1 {
			t.Error(diff, admitted)
		}
	})
}

// If a lazy server cannot be started, its first call receives the fault. Then it behaves like any
// other server.
func TestALazyServerThatCannotBeStarted(t *testing.T) {
	s := newPuppet("t")
	s.refuseWith(fmt.Errorf("nobody is in"))
	opts := interop.FleetOptions{Lazy: true, Known: knownTools, Grace: time.Second, Restart: interop.Restart{First: time.Minute, Max: time.Minute}}
	idleBubble(t, s, opts, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
		if n := len(s.dials()); n != 0 {
			t.Fatalf("it was tried %d times", n)
		}
		_, err := echoText(t.Context(), fleet, "a__t", "{}")
		wantFleetFault(t, err, interop.NotConnected, "a", "t", "its server is down, and is tried again in")
		s.refuseWith(nil)
		time.Sleep(2 * time.Minute)
		if !fleet.Idle("a") || s.connected() != 0 || d.wait("a", interop.ServerReady, 1).Status.Tools != 1 {
			t.Errorf("events: %v", d.all("a"))
		}
	})
}

// A server may have more tools than the ledger knows. A call of an unknown tool starts the server.
func TestACallOfAToolThatIsNotKnownYet(t *testing.T) {
	for i := range 50 { // any goroutine may run first when it is up
		hold, s := i%2 == 0, newPuppet("t", "new")
		idleBubble(t, s, interop.FleetOptions{Lazy: true, Known: knownTools, Hold: hold}, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
			if got, err := echoText(t.Context(), fleet, "a__new", "{}"); got != "new" {
				t.Errorf("it says %q, %v", got, err)
			}
		})
	}
}
