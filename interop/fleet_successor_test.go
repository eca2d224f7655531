package interop_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
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

// wantListed checks the list of a source.
func wantListed(t testing.TB, src toolbox.Source, when string, names ...string) {
	t.Helper()
	if diff := cmp.Diff(names, mountedNames(src.Snapshot(""))); diff != "" {
		t.Errorf("%s: %s", when, diff)
	}
}

// While a successor connects beside it, the old server serves, and no listener sees the
// successor. Then everything changes in one step.
func TestASuccessorConnectsBesideWhoServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, next := newPuppet("t", "old"), newPuppet("t", "new")
		release := next.hold("tools/list")
		fleet, d := newFleet(t, &interop.FleetOptions{Endpoint: endpointsByVersion(old, next)})
		fleet.Apply(configVersion(0))
		d.wait("a", interop.ServerReady, 1)
		before := fleet.Snapshot("")
		let := old.hold("tools/call")
		inFlight := callLater(t.Context(), fleet, "a__t", "{}")
		synctest.Wait()

		fleet.Apply(configVersion(1))
		settled := make(chan error, 1)
		go func() { settled <- fleet.Settle(t.Context()) }()
		synctest.Wait()
		if fleet.Snapshot("") != before {
			t.Error("a successor that is not there yet shows in the snapshot")
		}
		select {
		case <-settled:
			t.Error("Settle does not wait for a successor")
		default:
		}
		st := fleet.Status()[0]
		if st.Phase != interop.Ready || st.Tools != 2 || !st.Replacing || st.Fault != nil {
			t.Errorf("meanwhile the status is %+v", st)
		}
		if got := fleet.Servers(); len(got) != 1 || !got[0].Equal(configVersion(1)[0]) {
			t.Errorf("the configuration is %+v", got)
		}
		e, err := fleet.Endpoint("a", "")
		if err != nil || !e.Server().Equal(configVersion(0)[0]) {
			t.Errorf("its endpoint is %+v, %v", e.Server(), err)
		}
		if got := fmt.Sprint(d.all("a")); got != "[added connecting ready]" {
			t.Errorf("meanwhile %s", got)
		}
		meanwhile := callLater(t.Context(), fleet, "a__old", "{}")
		synctest.Wait()
		release()
		if err := <-settled; err != nil {
			t.Fatal(err)
		}
		wantListed(t, fleet, "then", "a__t", "a__new")
		if got, err := echoText(t.Context(), fleet, "a__t", "{}"); got != "t" || next.requestCount("call t") != 1 {
			t.Errorf("a new call gives %q, %v, and the successor heard %d", got, err, next.requestCount("call t"))
		}
		if st := fleet.Status()[0]; st.Replacing || st.Phase != interop.Ready {
			t.Errorf("then the status is %+v", st)
		}
		if e.Phase() != interop.Ready {
			t.Error("it was closed with calls in flight")
		}
		let()
		for text, call := range map[string]<-chan callOutcome{"t": inFlight, "old": meanwhile} {
			if got := awaitOutcome(t, call); got.text != text {
				t.Errorf("what was in flight gives %v", got)
			}
		}
		<-e.Done() // nothing else holds it open
		synctest.Wait()
		if got := fmt.Sprint(d.all("a")); got != "[added connecting ready removed added connecting ready]" {
			t.Error(got)
		}
	})
}

// A successor that cannot be reached still takes the place, because that is the
// configuration. The old list stays for the grace, and the successor is tried again.
func TestASuccessorThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, next := newPuppet("t"), newPuppet("t", "new")
		next.refuseWith(errors.New("not today"))
		fleet, d := newFleet(t, &interop.FleetOptions{Endpoint: endpointsByVersion(old, next), Grace: time.Minute})
		fleet.Apply(configVersion(0))
		d.wait("a", interop.ServerReady, 1)
		fleet.Apply(configVersion(1))
		if err := fleet.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.wait("a", interop.ServerFaulted, 1)
		wantFleetFault(t, fleet.Status()[0].Fault, interop.Transport, "a", "", "not today")
		wantListed(t, fleet, "within the grace", "a__t")
		call := callLater(t.Context(), fleet, "a__t", "{}")
		time.Sleep(5 * time.Second) // in bubble time
		next.refuseWith(nil)
		if got := awaitOutcome(t, call); got.text != "t" || next.requestCount("call t") != 1 {
			t.Errorf("a call that waited gives %v", got)
		}
		next.refuseWith(errors.New("nor tomorrow"))
		next.die()
		time.Sleep(time.Hour)
		synctest.Wait()
		wantListed(t, fleet, "after it")
	})
}

// exclusiveServer is a server with an exclusive resource: while it is connected, no other
// server can connect.
type exclusiveServer struct {
	*puppet
	mu   *sync.Mutex
	held *int
}

func (s *exclusiveServer) Connect(ctx context.Context) (mcp.Connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *s.held > 0 {
		return nil, errors.New("address already in use")
	}
	c, err := s.puppet.Connect(ctx)
	if err == nil {
		*s.held++
		c = &exclusiveConn{Connection: c, server: s}
	}
	return c, err
}

type exclusiveConn struct {
	mcp.Connection
	server *exclusiveServer
	once   sync.Once
}

func (c *exclusiveConn) Close() error {
	c.once.Do(func() {
		c.server.mu.Lock()
		defer c.server.mu.Unlock()
		*c.server.held--
	})
	return c.Connection.Close()
}

// A successor that needs its predecessor's resource fails once, and is up as soon as
// the predecessor has gone. No call fails, and a pause that is due is skipped.
func TestASuccessorThatNeedsWhatIsHeld(t *testing.T) {
	for _, busy := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			held := 0
			old := &exclusiveServer{newPuppet("t"), &mu, &held}
			next := &exclusiveServer{newPuppet("t"), &mu, &held}
			fleet, d := newFleet(t, &interop.FleetOptions{
				Restart: interop.Restart{First: time.Hour, Max: time.Hour},
				Endpoint: func(s config.Server) *interop.EndpointOptions {
					if s.Timeouts.Call == 0 {
						return &interop.EndpointOptions{Transport: old}
					}
					return &interop.EndpointOptions{Transport: next}
				}})
			fleet.Apply(configVersion(0))
			d.wait("a", interop.ServerReady, 1)
			let := func() {}
			var inFlight <-chan callOutcome
			if busy {
				let = old.hold("tools/call")
				inFlight = callLater(t.Context(), fleet, "a__t", "{}")
				synctest.Wait()
			}
			fleet.Apply(configVersion(1))
			d.wait("a", interop.ServerFaulted, 1)
			call := callLater(t.Context(), fleet, "a__t", "{}")
			synctest.Wait()
			let()
			if busy {
				if got := awaitOutcome(t, inFlight); got.text != "t" {
					t.Errorf("what was in flight gives %v", got)
				}
			}
			if got := awaitOutcome(t, call); got.text != "t" || next.requestCount("call t") != 1 {
				t.Errorf("busy %t: a call meanwhile gives %v", busy, got)
			}
			synctest.Wait() // the successor is notified after waiting callers
			if got := fmt.Sprint(d.all("a")); got != "[added connecting ready removed added connecting faulted connecting ready]" {
				t.Errorf("busy %t: %s", busy, got)
			}
		})
	}
}

// Of many configurations the newest wins, and the ones between cause no event.
func TestTheNewestSuccessorWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		by := []*puppet{newPuppet("v0"), newPuppet("v1"), newPuppet("v2"), newPuppet("v3")}
		by[1].hold("initialize")
		by[2].hold("tools/list")
		release := by[3].hold("initialize")
		fleet, d := newFleet(t, &interop.FleetOptions{Endpoint: endpointsByVersion(by...)})
		other := config.Server{ID: "b", Timeouts: config.Timeouts{Call: time.Hour}}
		fleet.Apply(configVersion(0))
		d.wait("a", interop.ServerReady, 1)
		for n := 1; n <= 3; n++ {
			fleet.Apply(append(configVersion(n), other))
			synctest.Wait()
			wantListed(t, fleet, "meanwhile", "a__v0")
		}
		fleet.Apply(append([]config.Server{other}, configVersion(3)...)) // only the order
		release()
		d.wait("a", interop.ServerReady, 2)
		synctest.Wait()
		wantListed(t, fleet, "then", "a__v3")
		if diff := cmp.Diff([]string{"b", "a"}, statusOrder(fleet)); diff != "" {
			t.Error(diff)
		}
		for n, s := range by[2:] {
			if len(s.dials()) != 1 {
				t.Errorf("version %d was connected %d times", n+2, len(s.dials()))
			}
		}
		if got := fmt.Sprint(d.all("a")); got != "[added connecting ready removed added connecting ready]" {
			t.Error(got)
		}
		for _, s := range by[:3] {
			if n := s.connected(); n != 0 && s != by[1] { // server b uses this puppet
				t.Errorf("%d connections are left", n)
			}
		}
	})
}

// If the old configuration is restored, the server keeps its connection. If the server
// is removed, its successor is removed too.
func TestASuccessorThatIsNotWantedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		by := []*puppet{newPuppet("v0"), newPuppet("v1")}
		by[1].hold("initialize")
		fleet, d := newFleet(t, &interop.FleetOptions{Endpoint: endpointsByVersion(by...)})
		fleet.Apply(configVersion(0))
		d.wait("a", interop.ServerReady, 1)
		fleet.Apply(configVersion(1))
		synctest.Wait()
		fleet.Apply(configVersion(0))
		if err := fleet.Settle(t.Context()); err != nil || fleet.Status()[0].Replacing {
			t.Errorf("%v, %+v", err, fleet.Status())
		}
		synctest.Wait()
		if len(by[0].dials()) != 1 || by[1].connected() != 0 {
			t.Errorf("connected %d times, and %d connections of the successor are left", len(by[0].dials()), by[1].connected())
		}
		fleet.Apply(configVersion(1))
		synctest.Wait()
		fleet.Apply(nil)
		wantListed(t, fleet, "then")
		d.wait("a", interop.ServerRemoved, 1)
		synctest.Wait()
		if n := by[0].connected() + by[1].connected(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
		if got := fmt.Sprint(d.all("a")); got != "[added connecting ready removed]" {
			t.Error(got)
		}
	})
}

// A server that is added again while calls to its predecessor are in flight does not
// wait for them. It is added when the predecessor was removed.
func TestAServerThatComesAgainDoesNotWaitForCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		by := []*puppet{newPuppet("t"), newPuppet("t")}
		fleet, d := newFleet(t, &interop.FleetOptions{Endpoint: endpointsByVersion(by...)})
		fleet.Apply(configVersion(0))
		d.wait("a", interop.ServerReady, 1)
		let := by[0].hold("tools/call")
		inFlight := callLater(t.Context(), fleet, "a__t", "{}")
		synctest.Wait()
		fleet.Apply(nil)
		synctest.Wait()
		if got := fmt.Sprint(d.all("a")); got != "[added connecting ready]" {
			t.Errorf("while it drains: %s", got)
		}
		fleet.Apply(configVersion(1))
		d.wait("a", interop.ServerReady, 2)
		let()
		if got := awaitOutcome(t, inFlight); got.text != "t" {
			t.Errorf("what was in flight gives %v", got)
		}
		synctest.Wait()
		if got := fmt.Sprint(d.all("a")); got != "[added connecting ready removed added connecting ready]" {
			t.Error(got)
		}
	})
}

// Calls may continue for the duration of Drain, and Close waits for none.
func TestDrain(t *testing.T) {
	for _, c := range []struct {
		drain, want time.Duration
		close       bool
	}{
		{0, 30 * time.Second, false},
		{5 * time.Second, 5 * time.Second, false},
		{-1, 0, false},
		{time.Hour, 0, true},
	} {
		for _, next := range [][]config.Server{nil, configVersion(1)} {
			synctest.Test(t, func(t *testing.T) {
				by := []*puppet{newPuppet("t"), newPuppet("t")}
				fleet, d := newFleet(t, &interop.FleetOptions{Endpoint: endpointsByVersion(by...), Drain: c.drain})
				fleet.Apply(configVersion(0))
				d.wait("a", interop.ServerReady, 1)
				by[0].hold("tools/call")
				call := callLater(t.Context(), fleet, "a__t", "{}")
				synctest.Wait()
				start := time.Now()
				fleet.Apply(next)
				if c.close {
					synctest.Wait()
					fleet.Close()
				}
				wantFleetFault(t, awaitOutcome(t, call).err, interop.ToolError, "a", "t", "closed")
				if took := time.Since(start); took != c.want {
					t.Errorf("Drain %v, %d servers then: cut off after %v", c.drain, len(next), took)
				}
			})
		}
	}
}

// The important case: a server's configuration changes again and again, with real
// processes, and no caller notices.
func TestNoCallFailsWhileConfigurationsChange(t *testing.T) {
	t.Parallel()
	f := fixture.New(t, "-era", "legacy")
	fleet := interop.NewFleet(nil)
	defer fleet.Close()
	configured := func(n int) []config.Server {
		s := childServer("a", f)
		stdio := s.Transport.(config.Stdio)
		stdio.Env = []config.Pair{{Name: "N", Value: config.NewSecret(strconv.Itoa(n))}}
		s.Transport = stdio
		return []config.Server{s}
	}
	fleet.Apply(configured(0))
	if err := fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	var wait sync.WaitGroup
	calls := make([]int, 4)
	for i := range calls {
		wait.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if got, err := echoText(t.Context(), fleet, "a__echo", `{"message":"hi"}`); got != "hi" {
					t.Errorf("call %d gives %q, %v", calls[i], got, err)
					return
				}
				calls[i]++
			}
		})
	}
	hanging := callLater(t.Context(), fleet, "a__hang", `{"key":"first"}`)
	f.Wait("call hang")
	for n := 1; n <= 20; n++ {
		fleet.Apply(configured(n))
		if n%3 == 0 { // otherwise the next change comes during a connection attempt
			if err := fleet.Settle(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	if err := fleet.Settle(t.Context()); err != nil {
		t.Error(err)
	}
	close(over)
	wait.Wait()
	f.Send("release first")
	if got := awaitOutcome(t, hanging); got.text != "released" {
		t.Errorf("a call of before all changes gives %v", got)
	}
	for i, n := range calls {
		if n == 0 {
			t.Errorf("caller %d has called nothing", i)
		}
	}
	started := f.Events("start ")
	fleet.Close()
	for i := range started {
		if pid := pidOf(t, f, i+1); isAlive(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
}

// A real server with a lock file: two processes cannot run side by side. Calls still
// succeed, because they wait until the lock is free.
func TestNoCallFailsThoughTheServerHoldsALock(t *testing.T) {
	t.Parallel()
	f := fixture.New(t, "-era", "legacy")
	lock := filepath.Join(t.TempDir(), "lock")
	const locked = `mkdir "$0" || exit 1; trap 'rmdir "$0"' EXIT; "$@"`
	configured := func(n int) []config.Server {
		return []config.Server{{ID: "a", Transport: config.Stdio{
			Command: "sh", Args: append([]string{"-c", locked, lock, f.Path}, f.Args...),
			Env: []config.Pair{{Name: "N", Value: config.NewSecret(strconv.Itoa(n))}},
		}}}
	}
	fleet, d := newFleet(t, nil)
	fleet.Apply(configured(0))
	d.wait("a", interop.ServerReady, 1)
	stop := make(chan struct{})
	called := make(chan int)
	go func() {
		n := 0
		for ; ; n++ {
			select {
			case <-stop:
				called <- n
				return
			default:
			}
			if got, err := echoText(t.Context(), fleet, "a__echo", `{"message":"hi"}`); got != "hi" {
				t.Errorf("call %d gives %q, %v", n, got, err)
			}
		}
	}()
	for n := 1; n <= 3; n++ {
		fleet.Apply(configured(n))
		d.wait("a", interop.ServerFaulted, n)
		d.wait("a", interop.ServerReady, n+1)
	}
	close(stop)
	if n := <-called; n == 0 {
		t.Error("nothing was called")
	}
}
