package interop_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/processes"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// However a server ends, nothing of it remains: neither its process nor a grandchild
// that ignores SIGTERM and holds its pipes.
func TestNoOrphans(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no process groups")
	}
	forks := []string{"-grandchild"}
	for _, c := range []struct {
		name  string
		flags []string
		n     int // processes that it starts
		end   func(t *testing.T, m *interop.Mounted, f *fixture.Server, d *eventLog)
	}{
		{"closed", append(forks, "-stubborn"), 1, func(t *testing.T, m *interop.Mounted, f *fixture.Server, d *eventLog) {
			d.wait("a", interop.ServerReady, 1)
			m.Close()
		}},
		{"closed while it connects", append(forks, "-hang", "server/discover"), 1, func(t *testing.T, m *interop.Mounted, f *fixture.Server, d *eventLog) {
			f.Wait("recv server/discover")
			m.Close()
		}},
		{"closed in a call", forks, 1, func(t *testing.T, m *interop.Mounted, f *fixture.Server, d *eventLog) {
			d.wait("a", interop.ServerReady, 1)
			call := callLater(t.Context(), m.Box, "a__hang", "{}")
			f.Wait("call hang")
			m.Close()
			if got := awaitOutcome(t, call); got.err == nil {
				t.Errorf("the call gives %v", got)
			}
		}},
		{"removed", forks, 1, func(t *testing.T, m *interop.Mounted, f *fixture.Server, d *eventLog) {
			d.wait("a", interop.ServerReady, 1)
			m.Fleet.Apply(nil)
			d.wait("a", interop.ServerRemoved, 1)
		}},
		{"restarted", forks, 2, func(t *testing.T, m *interop.Mounted, f *fixture.Server, d *eventLog) {
			d.wait("a", interop.ServerReady, 1)
			if err := m.Fleet.Restart(t.Context()); err != nil {
				t.Error(err)
			}
			wantGone(t, f, 1) // its successor runs
			m.Close()
		}},
		{"killed", forks, 2, func(t *testing.T, m *interop.Mounted, f *fixture.Server, d *eventLog) {
			d.wait("a", interop.ServerReady, 1)
			kill9(t, pidOf(t, f, 1))
			d.wait("a", interop.ServerReady, 2)
			wantGone(t, f, 1)
			m.Close()
		}},
		{"exits on the probe", []string{"-era", "legacy", "-probe", "exit", "-grandchild"}, 2, func(t *testing.T, m *interop.Mounted, f *fixture.Server, d *eventLog) {
			d.wait("a", interop.ServerReady, 1)
			wantGone(t, f, 1)
			m.Close()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, d := fixture.New(t, c.flags...), newEventLog(t)
			m := mount(t, t.Context(), []config.Server{childServer("a", f)}, &interop.MountOptions{FleetOptions: interop.FleetOptions{Restart: atOnce}, Wait: -1, Events: d.record})
			c.end(t, m, f, d)
			for n := range c.n {
				wantGone(t, f, n+1)
			}
		})
	}
}

// wantGone checks that the nth process of a fixture has ended, with its grandchild. The
// grandchild was sent SIGKILL and may still be about to end, because the kernel does not
// report when.
func wantGone(t *testing.T, f *fixture.Server, n int) {
	t.Helper()
	if pid := pidOf(t, f, n); isAlive(pid) {
		t.Errorf("process %d is alive", pid)
	}
	var grandchild int
	if _, err := fmt.Sscanf(f.WaitN("grandchild ", n), "grandchild %d", &grandchild); err != nil {
		t.Fatal(err)
	}
	wantDead(t, grandchild)
}

// isAlive reports whether there is such a process. A zombie counts as ended, because its
// parent depends on the system's init.
func isAlive(pid int) bool {
	return processes.Alive(pid)
}
