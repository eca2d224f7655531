package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// mount returns a mount that ends with the test.
func mount(t testing.TB, ctx context.Context, servers []config.Server, opts *interop.MountOptions) *interop.Mounted {
	t.Helper()
	m := interop.Mount(ctx, servers, opts)
	t.Cleanup(m.Close)
	return m
}

// With any configuration, Mount returns the tools that exist, and reports why the
// others are missing.
func TestMountNeverFailsAsAWhole(t *testing.T) {
	good := fixture.New(t)
	servers := []config.Server{
		{ID: "nothing"},
		{ID: "no command", Transport: config.Stdio{}},
		{ID: "not found", Transport: config.Stdio{Command: "no-such-command-anywhere"}},
		{ID: "no directory", Transport: config.Stdio{Command: good.Path, Dir: "/no/such/directory"}},
		childServer("exits", fixture.New(t, "-exit", "-stderr", "out of order")),
		{ID: "no url", Transport: config.HTTP{}},
		{ID: "bad url", Transport: config.HTTP{URL: "http://[::1]:namedport/"}},
		{ID: "refused", Transport: config.SSE{URL: "http://127.0.0.1:1/sse"}},
		childServer("good", good),
	}
	m := mount(t, t.Context(), servers, &interop.MountOptions{FleetOptions: interop.FleetOptions{Restart: interop.Restart{Off: true}}})
	if diff := cmp.Diff([]string{"good"}, ownersOf(m.Box.Snapshot(""))); diff != "" {
		t.Error(diff)
	}
	wantEcho(t, m.Box, "good")
	for i, st := range m.Fleet.Status() {
		if st.Server != servers[i].ID {
			t.Errorf("status %d is of %q", i, st.Server)
		}
		if down := st.Server != "good"; down != (st.Fault != nil) || down != (st.Phase == interop.Faulted) {
			t.Errorf("%s is %s with fault %v", st.Server, st.Phase, st.Fault)
		}
		if st.Fault != nil && (st.Fault.Server != st.Server || st.Fault.Advice() == "" || !strings.HasPrefix(st.Fault.Message, st.Server+": ")) {
			t.Errorf("%s: an unclear fault %q", st.Server, st.Fault.Message)
		}
	}
	wantFleetFault(t, m.Fleet.Status()[4].Fault, interop.SpawnFailed, "exits", "", "out of order")
	if none := mount(t, t.Context(), nil, nil); len(none.Box.Descriptors()) != 0 || len(none.Fleet.Status()) != 0 {
		t.Error("nothing mounted is something")
	}
}

// Zero waits for all servers, a positive Wait for a while, and a negative Wait not at
// all.
func TestMountWaits(t *testing.T) {
	for _, c := range []struct {
		wait, late, want time.Duration // when the server replies
	}{
		{0, 20 * time.Second, 20 * time.Second},
		{0, time.Hour, 30 * time.Second}, // the deadline to connect
		{5 * time.Second, 2 * time.Second, 2 * time.Second},
		{5 * time.Second, 20 * time.Second, 5 * time.Second},
		{-1, 20 * time.Second, 0},
	} {
		t.Run(fmt.Sprint(c.wait, " late ", c.late), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newPuppet("t")
				release := s.hold("initialize")
				late := time.AfterFunc(c.late, release)
				defer late.Stop()
				start := time.Now()
				m := interop.Mount(t.Context(), serversNamed("good", "a"), &interop.MountOptions{
					FleetOptions: interop.FleetOptions{Restart: interop.Restart{Off: true}, Endpoint: puppets(map[string]*puppet{"a": s, "good": newPuppet("u")})},
					Wait:         c.wait,
				})
				defer m.Close()
				if got := time.Since(start); got != c.want {
					t.Errorf("it waited %v, want %v", got, c.want)
				}
				synctest.Wait()
				now := m.Box.Snapshot("")
				up := c.late <= c.want
				if !listsTool("good__u")(now) || listsTool("a__t")(now) != up || (len(now.Pending) == 0) != (up || c.want == 30*time.Second) {
					t.Errorf("mounted: %v, pending %v", mountedNames(now), now.Pending)
				}
				if c.late < 30*time.Second {
					snapshotWhen(t, m.Box, listsTool("a__t")) // the box is live
				}
			})
		})
	}
}

// A context bounds only the wait.
func TestTheContextOfMountBoundsItsWaitOnly(t *testing.T) {
	s := newPuppet("t")
	release := s.hold("initialize")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := mount(t, ctx, serversNamed("a"), &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: puppets(map[string]*puppet{"a": s})}})
	if diff := cmp.Diff([]string{"a"}, m.Box.Snapshot("").Pending); diff != "" {
		t.Error(diff)
	}
	release()
	snapshotWhen(t, m.Box, listsTool("a__t"))
	if got, err := echoText(t.Context(), m.Box, "a__t", "{}"); got != "t" {
		t.Errorf("it says %q, %v", got, err)
	}
}

// In a library mount, calls to a server that is not ready are NotConnected, as in the
// seeds. If Mount does not wait for servers, calls wait.
func TestCallsToAServerThatIsNotReady(t *testing.T) {
	for _, wait := range []time.Duration{time.Second, -1} {
		synctest.Test(t, func(t *testing.T) {
			by := map[string]*puppet{"slow": newPuppet("t"), "dead": newPuppet("t")}
			by["dead"].refuseWith(errors.New("gone"))
			release := by["slow"].hold("initialize")
			m := interop.Mount(t.Context(), serversNamed("slow", "dead"), &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: puppets(by)}, Wait: wait})
			defer m.Close()
			synctest.Wait()
			if wait > 0 {
				_, err := echoText(t.Context(), m.Box, "slow__t", "{}")
				wantFleetFault(t, err, interop.NotConnected, "slow", "", "not connected")
			} else {
				call, unknown := callLater(t.Context(), m.Box, "slow__t", "{}"), callLater(t.Context(), m.Box, "slow__nope", "{}")
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := echoText(ctx, m.Box, "slow__t", "{}"); err != context.DeadlineExceeded { //nolint:errorlint // it is exactly this
					t.Errorf("a caller's own deadline is %v", err)
				}
				release()
				if got := awaitOutcome(t, call); got.text != "t" {
					t.Errorf("the call that waited gives %v", got)
				}
				var no *toolbox.UnknownTool
				if got := awaitOutcome(t, unknown); !errors.As(got.err, &no) {
					t.Errorf("the call of a tool that is not there gives %v", got)
				}
			}
			_, err := echoText(t.Context(), m.Fleet, "dead__t", "{}")
			wantFleetFault(t, err, interop.NotConnected, "dead", "", "gone")
		})
	}
}

// A held call waits no longer than the server's deadline to connect.
func TestHeldCallsHaveADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPuppet("t")
		s.hold("initialize")
		m := interop.Mount(t.Context(), serversNamed("a"), &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: puppets(map[string]*puppet{"a": s})}, Wait: -1})
		defer m.Close()
		start := time.Now()
		_, err := echoText(t.Context(), m.Box, "a__t", "{}")
		wantFleetFault(t, err, interop.NotConnected, "a", "", "30s")
		if got := time.Since(start); got != 30*time.Second {
			t.Errorf("it waited %v", got)
		}
	})
}

// Around sees every call, Budget bounds the result for a model, and Do is exact.
func TestMountAroundAndBudget(t *testing.T) {
	var seen []string
	f := fixture.New(t)
	m := mount(t, t.Context(), []config.Server{childServer("a", f)}, &interop.MountOptions{
		Budget: 100,
		Around: []func(toolbox.Do) toolbox.Do{func(next toolbox.Do) toolbox.Do {
			return func(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
				seen = append(seen, c.Name)
				return next(ctx, c)
			}
		}},
	})
	call := toolbox.Call{Name: "a__block", Input: json.RawMessage(`{"bytes":1000}`)}
	out := m.Box.Run(t.Context(), call)
	if out.IsError || len(out.Text()) > 100 || out.Cut < 900 {
		t.Errorf("a model is given %d bytes, cut %d", len(out.Text()), out.Cut)
	}
	if got, err := echoText(t.Context(), m.Box, "a__block", `{"bytes":1000}`); err != nil || len(got) != 1000 {
		t.Errorf("the exact door gives %d bytes, %v", len(got), err)
	}
	if diff := cmp.Diff([]string{"a__block", "a__block"}, seen); diff != "" {
		t.Error(diff)
	}
}

// A remote tool cannot use this machine: a request of its server to the client is
// refused.
func TestRemoteToolsRunAgainstNothingLocal(t *testing.T) {
	f := fixture.New(t, "-era", "legacy")
	m := mount(t, t.Context(), []config.Server{childServer("a", f)}, nil)
	got, err := echoText(t.Context(), m.Box, "a__ask", "{}")
	if err != nil || !strings.Contains(got, "-32601") {
		t.Errorf("its question was answered: %s, %v", got, err)
	}
}
