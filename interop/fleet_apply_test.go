package interop_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Apply keeps unchanged servers, replaces changed servers in place, and closes removed
// servers with their processes. No call in flight fails because of it.
func TestApply(t *testing.T) {
	kept, changed, removed, added := fixture.New(t, "-era", "legacy"), fixture.New(t, "-era", "legacy"), fixture.New(t), fixture.New(t)
	fleet, d := newFleet(t, nil)
	fleet.Apply([]config.Server{childServer("removed", removed), childServer("changed", changed), childServer("kept", kept)})
	if err := fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	endpoint, err := fleet.Endpoint("kept", "")
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]<-chan callOutcome{}
	for id, f := range map[string]*fixture.Server{"kept": kept, "changed": changed, "removed": removed} {
		calls[id] = callLater(t.Context(), fleet, id+"__hang", `{"key":"k"}`)
		f.Wait("call hang")
	}
	other := childServer("changed", changed)
	other.Timeouts.Call = time.Hour
	fleet.Apply([]config.Server{other, childServer("kept", kept), childServer("added", added)})
	if diff := cmp.Diff([]string{"changed", "kept", "added"}, statusOrder(fleet)); diff != "" {
		t.Error(diff)
	}
	var unknown *toolbox.UnknownTool
	if _, err := echoText(t.Context(), fleet, "removed__echo", "{}"); !errors.As(err, &unknown) {
		t.Errorf("a call to a removed server: %v", err)
	}
	if _, err := fleet.Endpoint("removed", ""); !errors.Is(err, interop.NotConnected) {
		t.Errorf("the endpoint of a removed server: %v", err)
	}
	if err := fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"changed", "kept", "added"}, ownersOf(fleet.Snapshot(""))); diff != "" {
		t.Error(diff)
	}
	if now, err := fleet.Endpoint("kept", ""); now != endpoint || err != nil {
		t.Errorf("what did not change was connected anew (%v)", err)
	}
	wantEcho(t, fleet, "changed")
	for id, f := range map[string]*fixture.Server{"kept": kept, "changed": changed, "removed": removed} {
		if !isAlive(pidOf(t, f, 1)) {
			t.Errorf("%s has a call in flight, and its process is dead", id)
		}
		f.Send("release k")
		if got := awaitOutcome(t, calls[id]); got.text != "released" {
			t.Errorf("the call of %s gives %v", id, got)
		}
	}
	if n := len(kept.Events("start ")); n != 1 {
		t.Errorf("it was started %d times", n)
	}
	d.wait("removed", interop.ServerRemoved, 1)
	if isAlive(pidOf(t, removed, 1)) {
		t.Error("a removed server's process is alive")
	}
	wantDead(t, pidOf(t, changed, 1))
	if !isAlive(pidOf(t, changed, 2)) {
		t.Error("a changed server's new process is not alive")
	}
	want := []string{"added", "connecting", "ready", "removed", "added", "connecting", "ready"}
	if diff := cmp.Diff(want, d.all("changed")); diff != "" {
		t.Error(diff)
	}
}

// wantDead waits for the end of a process. There is no event for it.
func wantDead(t testing.TB, pid int) {
	t.Helper()
	for end := time.Now().Add(giveUp); isAlive(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d is alive", pid)
		}
	}
}

func statusOrder(f *interop.Fleet) []string {
	var ids []string
	for _, st := range f.Status() {
		ids = append(ids, st.Server)
	}
	return ids
}

// A server that does not serve is closed before its successor connects, however often
// it changes. They may share a port or a lock.
func TestSuccessorsWaitForWhoHasNothingToServe(t *testing.T) {
	first := &slowClose{puppet: newPuppet("t"), closed: make(chan struct{})}
	second := &dialAfter{puppet: newPuppet("t"), t: t, closed: first.closed}
	first.hold("initialize")
	fleet, d := newFleet(t, &interop.FleetOptions{Endpoint: func(s config.Server) *interop.EndpointOptions {
		if s.Timeouts.Call == 0 {
			return &interop.EndpointOptions{Transport: first}
		}
		return &interop.EndpointOptions{Transport: second}
	}})
	fleet.Apply(configVersion(0))
	first.awaitRequest(t, "initialize")
	fleet.Apply(configVersion(1))
	fleet.Apply(nil)
	fleet.Apply(configVersion(2))
	fleet.Apply(configVersion(3))
	if got := fleet.Snapshot(""); got.Tools != nil || len(got.Pending) != 1 {
		t.Errorf("meanwhile %v is listed, pending %v", mountedNames(got), got.Pending)
	}
	close(first.closed)
	d.wait("a", interop.ServerReady, 1)
	if n := len(second.dials()); n != 1 {
		t.Errorf("connected %d times for one version", n)
	}
	want := "[added connecting removed added connecting ready]"
	if got := fmt.Sprint(d.all("a")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// configVersion is one server in one of many configurations.
func configVersion(n int) []config.Server {
	return []config.Server{{ID: "a", Timeouts: config.Timeouts{Call: time.Duration(n) * time.Hour}}}
}

// endpointsByVersion gives each version of a server its own puppet.
func endpointsByVersion(by ...*puppet) func(config.Server) *interop.EndpointOptions {
	return func(s config.Server) *interop.EndpointOptions {
		return &interop.EndpointOptions{Transport: by[s.Timeouts.Call/time.Hour]}
	}
}

// slowClose is a puppet with connections that take time to close.
type slowClose struct {
	*puppet
	closed chan struct{}
}

func (s *slowClose) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := s.puppet.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &slowConn{c, s.closed}, nil
}

type slowConn struct {
	mcp.Connection
	closed chan struct{}
}

func (c *slowConn) Close() error {
	err := c.Connection.Close()
	<-c.closed
	return err
}

// dialAfter is a puppet that must not be dialled too early.
type dialAfter struct {
	*puppet
	t      *testing.T
	closed chan struct{}
}

func (s *dialAfter) Connect(ctx context.Context) (mcp.Connection, error) {
	select {
	case <-s.closed:
	default:
		s.t.Error("connected before its predecessor was closed")
	}
	return s.puppet.Connect(ctx)
}

// Of two servers with one id the later is used, at the place of the first.
func TestApplyTakesTheLaterOfTwoWithOneID(t *testing.T) {
	by := map[string]*puppet{"a": newPuppet("a"), "b": newPuppet("b"), "late": newPuppet("late")}
	fleet, d := newFleet(t, &interop.FleetOptions{Endpoint: func(s config.Server) *interop.EndpointOptions {
		if h, ok := s.Transport.(config.HTTP); ok {
			return &interop.EndpointOptions{Transport: by[h.URL]}
		}
		return &interop.EndpointOptions{Transport: by[s.ID]}
	}})
	fleet.Apply([]config.Server{{ID: "a"}, {ID: "b"}, {ID: "a", Transport: config.HTTP{URL: "late"}}})
	if err := fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a__late", "b__b"}, mountedNames(fleet.Snapshot(""))); diff != "" {
		t.Error(diff)
	}
	d.wait("a", interop.ServerReady, 1)
	if n := len(by["a"].dials()); n != 0 {
		t.Error("the one that was superseded was connected")
	}
	if diff := cmp.Diff([]string{"added", "connecting", "ready"}, d.all("a")); diff != "" {
		t.Error(diff)
	}
	if n := len(fleet.Endpoints()); n != 2 {
		t.Errorf("%d endpoints", n)
	}
}

// If only the order changes, the snapshot changes, but no connection does.
func TestApplyReorders(t *testing.T) {
	by := map[string]*puppet{"a": newPuppet("t"), "b": newPuppet("t"), "c": newPuppet("t")}
	fleet, _ := newFleet(t, &interop.FleetOptions{Endpoint: puppets(by)})
	fleet.Apply(serversNamed("a", "b", "c"))
	if err := fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := fleet.Snapshot("")
	fleet.Apply(serversNamed("a", "b", "c"))
	if fleet.Snapshot("") != before {
		t.Error("the same configuration makes a new snapshot")
	}
	fleet.Apply(serversNamed("c", "a", "b"))
	now := fleet.Snapshot("")
	if diff := cmp.Diff([]string{"c__t", "a__t", "b__t"}, mountedNames(now)); diff != "" || now.Version <= before.Version {
		t.Errorf("version %d after %d: %s", now.Version, before.Version, diff)
	}
	for id, s := range by {
		if n := len(s.dials()); n != 1 {
			t.Errorf("%s was connected %d times", id, n)
		}
	}
}

// Restart is spin_up in the seeds. Before any configuration it returns a fault. Later
// it reconnects every server, and tools stay listed meanwhile.
func TestRestart(t *testing.T) {
	by := map[string]*puppet{"a": newPuppet("t"), "b": newPuppet("u")}
	synctest.Test(t, func(t *testing.T) {
		fleet, d := newFleet(t, &interop.FleetOptions{Endpoint: puppets(by)})
		wantFleetFault(t, fleet.Restart(t.Context()), interop.NotConnected, "", "", "no configuration")
		fleet.Apply(serversNamed("a", "b"))
		d.wait("a", interop.ServerReady, 1)
		d.wait("b", interop.ServerReady, 1)
		release := by["a"].hold("initialize")
		restarted := make(chan error)
		go func() { restarted <- fleet.Restart(t.Context()) }()
		synctest.Wait()
		if diff := cmp.Diff([]string{"a__t", "b__u"}, mountedNames(fleet.Snapshot(""))); diff != "" {
			t.Error("meanwhile:", diff)
		}
		call := callLater(t.Context(), fleet, "a__t", "{}")
		synctest.Wait()
		release()
		if err := <-restarted; err != nil {
			t.Error(err)
		}
		if got := awaitOutcome(t, call); got.text != "t" {
			t.Errorf("a call meanwhile gives %v", got)
		}
		for id, s := range by {
			if n := len(s.dials()); n != 2 {
				t.Errorf("%s was connected %d times", id, n)
			}
		}
		synctest.Wait()
		if got := fmt.Sprint(d.all("a")); got != "[added connecting ready removed added connecting ready]" {
			t.Error(got)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		release = by["b"].hold("initialize")
		if err := fleet.Restart(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended: %v", err)
		}
		release()
		d.wait("b", interop.ServerReady, 3)
		fleet.Close()
		wantFleetFault(t, fleet.Restart(t.Context()), interop.NotConnected, "", "", "closed")
	})
}

// RestartServer connects one server again, and leaves the others alone.
func TestRestartServer(t *testing.T) {
	by := map[string]*puppet{"a": newPuppet("t"), "b": newPuppet("u")}
	synctest.Test(t, func(t *testing.T) {
		fleet, d := newFleet(t, &interop.FleetOptions{Endpoint: puppets(by)})
		wantFleetFault(t, fleet.RestartServer("a"), interop.NotConnected, "a", "", "")
		fleet.Apply(serversNamed("a", "b"))
		d.wait("a", interop.ServerReady, 1)
		d.wait("b", interop.ServerReady, 1)
		wantFleetFault(t, fleet.RestartServer("c"), interop.NotConnected, "c", "", "")
		if err := fleet.RestartServer("a"); err != nil {
			t.Fatal(err)
		}
		if got := awaitOutcome(t, callLater(t.Context(), fleet, "a__t", "{}")); got.text != "t" {
			t.Errorf("a call meanwhile gives %v", got)
		}
		d.wait("a", interop.ServerReady, 2)
		if a, b := len(by["a"].dials()), len(by["b"].dials()); a != 2 || b != 1 {
			t.Errorf("a was connected %d times, b %d times", a, b)
		}
	})
}

// The test does everything at once. The race detector and the invariants are the
// checks.
func TestFleetUnderConcurrentUse(t *testing.T) {
	ids := []string{"a", "b", "c", "d", "e", "f"}
	by := map[string]*puppet{}
	for _, id := range ids {
		by[id] = newPuppet("t", "u")
	}
	fleet, d := newFleet(t, &interop.FleetOptions{Endpoint: puppets(by), Restart: atOnce, Hold: true, Grace: 5 * time.Millisecond})
	var wait sync.WaitGroup
	worker := func(rounds int, do func(i int)) {
		wait.Go(func() {
			for i := range rounds {
				do(i)
			}
		})
	}
	stopEvents := fleet.Events(func(e interop.Event) { _ = fleet.Status(); _ = e.String() })
	for range 2 {
		worker(60, func(int) {
			servers := serversNamed(ids[:1+rand.N(len(ids))]...)
			for i := range servers {
				servers[i].Timeouts.List = time.Duration(1+rand.N(2)) * time.Hour
			}
			fleet.Apply(servers)
		})
		worker(200, func(i int) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.N(20))*time.Millisecond)
			defer cancel()
			id := ids[i%len(ids)]
			received, err := echoText(ctx, fleet, id+"__t", "{}")
			var unknown *toolbox.UnknownTool
			switch {
			case err == nil && received == "t":
			case errors.Is(err, interop.NotConnected), errors.Is(err, interop.ToolError), errors.Is(err, interop.Protocol):
			case errors.As(err, &unknown), ctx.Err() != nil:
			default:
				t.Errorf("%s: %q, %v", id, received, err)
			}
		})
	}
	worker(100, func(i int) { by[ids[i%len(ids)]].die() })
	worker(100, func(i int) {
		by[ids[i%len(ids)]].list("t", fmt.Sprint("u", i))
		by[ids[i%len(ids)]].notifyChanged()
	})
	worker(10, func(int) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_ = fleet.Restart(ctx)
	})
	var last *toolbox.Snapshot
	worker(3000, func(int) {
		now := fleet.Snapshot("")
		if last != nil && (now.Version < last.Version || now.Version == last.Version && now != last) {
			t.Errorf("version %d after %d", now.Version, last.Version)
		}
		if !slices.IsSorted(ownersOf(now)) {
			t.Errorf("the order is %v", ownersOf(now))
		}
		last = now
	})
	worker(100, func(int) { fleet.Status(); fleet.Endpoints(); fleet.Quarantined() })
	worker(100, func(int) { fleet.Watch(func() { fleet.Snapshot("") })() })
	wait.Wait()
	stopEvents()

	fleet.Apply(serversNamed(ids...))
	for range 3 {
		wait.Go(fleet.Close)
		wait.Go(func() { fleet.Apply(serversNamed(ids...)) })
		wait.Go(func() { _ = fleet.Settle(t.Context()) })
	}
	wait.Wait()
	for _, st := range fleet.Status() {
		if !st.Phase.Terminal() {
			t.Errorf("%s is %s after Close", st.Server, st.Phase)
		}
	}
	for _, id := range ids { // only one of each id at a time
		n := 0
		for _, kind := range d.all(id) {
			switch kind {
			case "added":
				n++
			case "removed":
				n--
			}
			if n < 0 || n > 1 {
				t.Fatalf("%s: %s", id, strings.Join(d.all(id), " "))
			}
		}
	}
}
