package interop_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/interop"
)

// bubble runs a test with its own clock and a fleet of the server "a".
func bubble(t *testing.T, s *puppet, opts interop.FleetOptions, run func(t *testing.T, fleet *interop.Fleet, d *eventLog)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		opts.Endpoint = puppets(map[string]*puppet{"a": s})
		fleet, d := newFleet(t, &opts)
		run(t, fleet, d)
		fleet.Close()
	})
}

// wantPause checks the pause before a dial: its nominal length, or shorter by up to a
// half.
func wantPause(t *testing.T, dials []time.Time, n int, nominal time.Duration) {
	t.Helper()
	if got := dials[n].Sub(dials[n-1]); got < nominal/2 || got > nominal {
		t.Errorf("pause %d is %v, want %v or shorter by up to a half", n, got, nominal)
	}
}

func TestBackOffGrowsIsCappedAndJittered(t *testing.T) {
	s := newPuppet()
	s.refuseWith(errors.New("nobody is in"))
	policy := interop.Restart{First: 100 * time.Millisecond, Max: time.Second}
	bubble(t, s, interop.FleetOptions{Restart: policy}, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
		fleet.Apply(serversNamed("a"))
		time.Sleep(time.Minute)
		dials, nominal, odd := s.dials(), policy.First, 0
		if len(dials) < 60 {
			t.Fatalf("%d attempts in a minute", len(dials))
		}
		for n := 1; n < len(dials); n++ {
			wantPause(t, dials, n, nominal)
			if dials[n].Sub(dials[n-1]) != nominal {
				odd++
			}
			nominal = min(2*nominal, policy.Max)
		}
		if odd < len(dials)/2 {
			t.Errorf("of %d pauses only %d are jittered", len(dials), odd)
		}
		if st := fleet.Status()[0]; st.Fault == nil {
			t.Errorf("it is %s without a reason", st.Phase)
		}
	})
}

func TestBackOffDefaults(t *testing.T) {
	s := newPuppet()
	s.refuseWith(errors.New("nobody is in"))
	bubble(t, s, interop.FleetOptions{}, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
		fleet.Apply(serversNamed("a"))
		time.Sleep(5 * time.Minute)
		dials := s.dials()
		wantPause(t, dials, 1, 250*time.Millisecond)
		wantPause(t, dials, 2, 500*time.Millisecond)
		wantPause(t, dials, len(dials)-1, 30*time.Second)
	})
	s = newPuppet()
	s.refuseWith(errors.New("nobody is in"))
	bubble(t, s, interop.FleetOptions{Restart: interop.Restart{First: time.Minute, Max: time.Second}}, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
		fleet.Apply(serversNamed("a"))
		time.Sleep(time.Minute)
		wantPause(t, s.dials(), 1, time.Second) // the cap also applies to the first pause
	})
}

// The pause starts again at First only after a connection that lived long enough. A long
// attempt that failed does not count.
func TestBackOffBeginsAnewAfterAHealthyConnection(t *testing.T) {
	s := newPuppet("t")
	policy := interop.Restart{First: time.Second, Max: time.Hour, Healthy: time.Minute}
	bubble(t, s, interop.FleetOptions{Restart: policy}, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
		servers := serversNamed("a")
		servers[0].Timeouts.Connect = 10 * time.Minute
		fleet.Apply(servers)
		lived := func(n int, life time.Duration) (pause time.Duration) {
			d.wait("a", interop.ServerReady, n)
			time.Sleep(life)
			died := time.Now()
			s.die()
			d.wait("a", interop.ServerReady, n+1)
			return s.dials()[n].Sub(died)
		}
		for n, c := range []struct{ life, nominal time.Duration }{
			{59 * time.Second, time.Second}, {time.Second, 2 * time.Second}, {0, 4 * time.Second},
			{time.Minute, time.Second}, {0, 2 * time.Second},
		} {
			if got := lived(n+1, c.life); got < c.nominal/2 || got > c.nominal {
				t.Errorf("after a life of %v the pause is %v, want %v", c.life, got, c.nominal)
			}
		}
		release := s.hold("initialize")
		s.die()
		time.Sleep(5 * time.Minute) // it is still connecting
		s.die()                     // and fails
		release()
		d.wait("a", interop.ServerReady, 7)
		dials := s.dials()
		if pause := dials[7].Sub(dials[6]) - 5*time.Minute; pause < 0 {
			t.Errorf("an attempt that took long to fail shortens the next pause: %v", pause)
		}
	})
}

func TestGrace(t *testing.T) {
	s := newPuppet("t")
	gone := errors.New("gone")
	steady := interop.Restart{First: time.Second, Max: time.Second}
	bubble(t, s, interop.FleetOptions{Restart: steady}, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
		fleet.Apply(serversNamed("a"))
		d.wait("a", interop.ServerReady, 1)
		withdrawnAfter := func() time.Duration {
			s.refuseWith(gone)
			lost := time.Now()
			s.die()
			snapshotWhen(t, fleet, listsNoTool("a__t"))
			return time.Since(lost)
		}
		// Failed attempts in between do not prolong it.
		if got := withdrawnAfter(); got != 10*time.Second {
			t.Errorf("withdrawn after %v", got)
		}
		s.refuseWith(nil)
		snapshotWhen(t, fleet, listsTool("a__t"))
		// A server that reconnects and is lost again has the whole grace again.
		s.refuseWith(gone)
		s.die()
		time.Sleep(8 * time.Second)
		s.refuseWith(nil)
		d.wait("a", interop.ServerReady, 3)
		if got := withdrawnAfter(); got != 10*time.Second {
			t.Errorf("after another loss withdrawn after %v", got)
		}
	})
	s = newPuppet("t")
	bubble(t, s, interop.FleetOptions{Grace: -1}, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
		fleet.Apply(serversNamed("a"))
		d.wait("a", interop.ServerReady, 1)
		s.die()
		d.wait("a", interop.ServerFaulted, 1)
		if listsTool("a__t")(fleet.Snapshot("")) {
			t.Error("listed without a grace")
		}
		d.wait("a", interop.ServerReady, 2)
		if !listsTool("a__t")(fleet.Snapshot("")) {
			t.Error("not listed again")
		}
	})
}

// A call waits at most for the server's own deadline to connect.
func TestAWaitingCallHasADeadline(t *testing.T) {
	s := newPuppet("t")
	bubble(t, s, interop.FleetOptions{Grace: time.Hour}, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
		servers := serversNamed("a")
		servers[0].Timeouts.Connect = 5 * time.Second
		fleet.Apply(servers)
		d.wait("a", interop.ServerReady, 1)
		s.refuseWith(errors.New("on holiday"))
		s.die()
		synctest.Wait()
		start := time.Now()
		_, err := echoText(t.Context(), fleet, "a__t", "{}")
		wantFleetFault(t, err, interop.NotConnected, "a", "t", "on holiday")
		if waited := time.Since(start); waited != 5*time.Second {
			t.Errorf("it waited %v", waited)
		}
		if n := s.requestCount("call t"); n != 0 {
			t.Errorf("%d calls went out", n)
		}
	})
}

// The phases of one life appear as events.
func TestEventsOfALife(t *testing.T) {
	s := newPuppet("t")
	bubble(t, s, interop.FleetOptions{Restart: interop.Restart{First: time.Second, Max: time.Second}}, func(t *testing.T, fleet *interop.Fleet, d *eventLog) {
		fleet.Apply(serversNamed("a"))
		d.wait("a", interop.ServerReady, 1)
		s.list("t", "u")
		s.notifyChanged()
		d.wait("a", interop.ServerListed, 1)
		s.refuseWith(errors.New("gone"))
		s.die()
		d.wait("a", interop.ServerWithdrawn, 1)
		s.refuseWith(nil)
		d.wait("a", interop.ServerReady, 2)
		fleet.Apply(nil)
		d.wait("a", interop.ServerRemoved, 1)
		d.mu.Lock()
		defer d.mu.Unlock()
		var phases []string
		for _, e := range d.events {
			switch e.Kind {
			case interop.ServerFaulted, interop.ServerWithdrawn:
				if e.Status.Fault == nil {
					t.Errorf("%s without a fault", e.Kind)
				}
			case interop.ServerConnecting:
				if e.Status.Phase != interop.Connecting {
					t.Errorf("connecting while %s", e.Status.Phase)
				}
			default:
				phases = append(phases, fmt.Sprintf("%s %s %d", e.Kind, e.Status.Phase, e.Status.Tools))
			}
		}
		want := "[added  0 ready ready 1 listed ready 2 ready ready 2 removed  0]"
		if got := fmt.Sprint(phases); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
