package interop_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// Configurations change at random, one during the other, while servers die, hang, refuse
// and change. Whenever all is quiet, the fleet has the last configuration.
func TestApplyAtRandom(t *testing.T) {
	for range 60 {
		seed := rand.Uint64()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, seed)
			for range 40 {
				w.step()
				synctest.Wait()
				w.check()
				if t.Failed() {
					t.Fatalf("seed %d: %s\nevents %v", seed, strings.Join(w.steps, "; "), w.events.all(""))
				}
			}
			w.finish()
			if t.Failed() {
				t.Fatalf("seed %d: %s", seed, strings.Join(w.steps, "; "))
			}
		})
	}
}

// world is a fleet of puppets, and the random changes that are made to it.
type world struct {
	t            *testing.T
	rand         *rand.Rand
	fleet        *interop.Fleet
	events       *eventLog
	steps        []string
	calls        sync.WaitGroup
	nextConfig   atomic.Pointer[[]config.Server]  // the configuration that the next notified listener applies
	lastSnapshot atomic.Pointer[toolbox.Snapshot] // the snapshot at the last notification of a new one

	mu      sync.Mutex
	puppets map[string]*puppet // by id and version

	applied []config.Server
	denied  map[string]int // by server and denied tool: how often it was called before
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rand: rand.New(rand.NewPCG(seed, 0)), puppets: map[string]*puppet{}}
	w.fleet, w.events = newFleet(t, &interop.FleetOptions{
		Endpoint: func(s config.Server) *interop.EndpointOptions {
			return &interop.EndpointOptions{Transport: w.puppet(s)}
		},
		Grace: []time.Duration{0, -1, time.Minute}[w.rand.IntN(3)],
		Drain: []time.Duration{0, -1, time.Hour}[w.rand.IntN(3)],
		Hold:  w.rand.IntN(2) == 0,
		Idle:  []time.Duration{0, time.Second, 20 * time.Second}[w.rand.IntN(3)],
		Lazy:  w.rand.IntN(2) == 0,
		Known: knownTools,
	})
	next := func() {
		if servers := w.nextConfig.Swap(nil); servers != nil {
			w.fleet.Apply(*servers)
		}
	}
	w.lastSnapshot.Store(w.fleet.Snapshot(""))
	w.fleet.Events(func(interop.Event) { next() })
	w.fleet.Watch(func() {
		now := w.fleet.Snapshot("")
		for old := w.lastSnapshot.Load(); old.Version < now.Version && !w.lastSnapshot.CompareAndSwap(old, now); old = w.lastSnapshot.Load() {
		}
		next()
	})
	return w
}

// puppet returns the puppet for a server of a configuration.
func (w *world) puppet(s config.Server) *puppet {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := fmt.Sprint(s.ID, s.Timeouts.Call)
	if w.puppets[key] == nil {
		w.puppets[key] = newPuppet("t", "u", "v")
	}
	return w.puppets[key]
}

// all returns the puppets of a server in all configurations.
func (w *world) all(id string) []*puppet {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*puppet
	for key, s := range w.puppets {
		if strings.HasPrefix(key, id) {
			out = append(out, s)
		}
	}
	return out
}

// randomPuppet returns a random puppet of the configured servers, except the steady server.
func (w *world) randomPuppet() (*puppet, string) {
	i := w.rand.IntN(len(w.applied) + 1)
	if i == len(w.applied) || w.applied[i].ID == steady {
		return newPuppet(), "nobody"
	}
	s := w.applied[i]
	return w.puppet(s), fmt.Sprint(s.ID, s.Timeouts.Call)
}

// steady is a server with a constant configuration and without errors.
const steady = "z"

func (w *world) config() []config.Server {
	var out []config.Server
	for _, id := range []string{"a", "b", "c"} {
		if w.rand.IntN(5) == 0 {
			continue
		}
		out = append(out, config.Server{
			ID: id, Idle: []time.Duration{0, 0, -1, time.Second, time.Minute}[w.rand.IntN(5)], Lazy: []*bool{nil, new(true), new(false)}[w.rand.IntN(3)], Timeouts: config.Timeouts{Call: time.Duration(100+w.rand.IntN(3)) * time.Hour},
			Tools: []config.ToolRules{
				{}, {}, {Deny: []string{"t"}}, {Allow: []string{"t"}}, {Allow: []string{}}, {Rename: map[string]string{"t": "T"}},
				{Deny: []string{"t"}, Rename: map[string]string{"u": "t"}}, {Rename: map[string]string{"t": "u", "u": "t"}},
			}[w.rand.IntN(8)],
		})
	}
	out = append(out, config.Server{ID: steady, Timeouts: config.Timeouts{Call: 100 * time.Hour}})
	w.rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func (w *world) step() {
	s, who := w.randomPuppet()
	switch w.rand.IntN(18) {
	case 0, 1, 2, 3:
		w.record("apply")
		w.apply(w.config())
	case 4:
		w.record("apply two at once")
		one, other := w.config(), w.config()
		var both sync.WaitGroup
		both.Go(func() { w.fleet.Apply(one) })
		both.Go(func() { w.fleet.Apply(other) })
		both.Wait()
		w.applied = one
		if !slices.EqualFunc(w.fleet.Servers(), one, config.Server.Equal) {
			w.applied = other
		}
		w.denials()
	case 5, 6:
		w.record("die " + who)
		s.die()
	case 7, 8, 9:
		method := []string{"initialize", "tools/list", "tools/call"}[w.rand.IntN(3)]
		w.record("hold " + who + " " + method)
		s.open(method)
		s.hold(method)
	case 10:
		w.record("open " + who)
		releaseAll(s)
	case 11:
		w.record("refuse " + who)
		s.refuseWith(errors.New("nobody is in"))
	case 12:
		w.record("change " + who)
		s.list([][]string{{"t", "u", "v"}, {"u"}, {"w", "t"}, nil}[w.rand.IntN(4)]...)
		s.notifyChanged()
	case 13:
		d := time.Duration(w.rand.IntN(60_000)) * time.Millisecond
		w.record("sleep " + d.String())
		time.Sleep(d)
	case 14:
		w.record("restart")
		w.calls.Go(func() { _ = w.fleet.Restart(w.t.Context()) })
	case 15:
		w.record("apply when told of something")
		servers := w.config()
		w.nextConfig.Store(&servers)
		s.die()
		synctest.Wait()
		if w.nextConfig.Swap(nil) == nil {
			w.applied = servers
			w.denials()
		}
	default:
		w.record("call")
		w.call()
	}
}

func (w *world) record(what string) { w.steps = append(w.steps, what) }

func (w *world) apply(servers []config.Server) {
	w.applied = servers
	w.fleet.Apply(servers)
	w.denials()
}

// denials starts to count the calls of denied tools.
func (w *world) denials() {
	synctest.Wait() // an earlier call may still be in flight
	w.denied = map[string]int{}
	for _, s := range w.applied {
		for _, tool := range []string{"t", "u", "v", "w"} {
			if isDenied(s, tool) {
				w.denied[s.ID+" "+tool] = w.callCount(s.ID, tool)
			}
		}
	}
}

func isDenied(s config.Server, tool string) bool {
	return slices.Contains(s.Tools.Deny, tool) || s.Tools.Allow != nil && !slices.Contains(s.Tools.Allow, tool)
}

func (w *world) callCount(id, tool string) (n int) {
	for _, s := range w.all(id) {
		n += s.requestCount("call " + tool)
	}
	return n
}

func releaseAll(s *puppet) {
	s.refuseWith(nil)
	for _, method := range []string{"initialize", "tools/list", "tools/call"} {
		s.open(method)
	}
}

// call calls a random tool, and a tool of the steady server, which must reply.
func (w *world) call() {
	name := []string{"a", "b", "c"}[w.rand.IntN(3)] + "__" + []string{"t", "T", "u", "v", "w"}[w.rand.IntN(5)]
	w.calls.Go(func() {
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Hour)
		defer cancel()
		_, err := echoText(ctx, w.fleet, name, "{}")
		var f *interop.Fault
		var unknown *toolbox.UnknownTool
		if err != nil && !errors.As(err, &f) && !errors.As(err, &unknown) && ctx.Err() == nil {
			w.t.Errorf("%s: %v", name, err)
		}
	})
	if slices.ContainsFunc(w.fleet.Snapshot("").Tools, func(d toolbox.Descriptor) bool { return d.Server == steady }) {
		if got, err := echoText(w.t.Context(), w.fleet, steady+"__t", "{}"); got != "t" {
			w.t.Errorf("the steady server says %q, %v", got, err)
		}
	}
}

// check compares the fleet with the last configuration.
func (w *world) check() {
	if !slices.EqualFunc(w.fleet.Servers(), w.applied, config.Server.Equal) {
		w.t.Errorf("configured is %+v, want %+v", w.fleet.Servers(), w.applied)
	}
	place := map[string]int{}
	for i, s := range w.applied {
		place[s.ID] = i
		if got := w.fleet.Status()[i].Server; got != s.ID {
			w.t.Errorf("at place %d stands %s, want %s", i, got, s.ID)
		}
	}
	last := 0
	names := map[string]bool{}
	for _, d := range w.fleet.Snapshot("").Tools {
		i, ok := place[d.Server]
		if !ok || i < last || names[d.Name] || isDenied(w.applied[max(0, i)], d.Tool) {
			w.t.Errorf("%s of %s is listed, in %v", d.Tool, d.Server, mountedNames(w.fleet.Snapshot("")))
		}
		last, names[d.Name] = i, true
	}
	for what, before := range w.denied {
		id, tool, _ := strings.Cut(what, " ")
		if n := w.callCount(id, tool); n != before {
			w.t.Errorf("%s is denied, and was called %d times", what, n-before)
		}
	}
	if w.lastSnapshot.Load() != w.fleet.Snapshot("") {
		w.t.Error("nobody was told of the newest snapshot")
	}
	w.checkNotified()
}

// checkNotified checks the order of the events of each server.
func (w *world) checkNotified() {
	may := map[string]string{
		"": "added", "added": "connecting idle removed", "idle": "connecting removed", "connecting": "ready faulted removed withdrawn",
		"ready": "listed idle faulted removed", "listed": "listed idle faulted removed",
		"faulted": "connecting withdrawn removed", "withdrawn": "connecting faulted ready removed", "removed": "added",
	}
	for _, id := range []string{"a", "b", "c", steady} {
		before := ""
		for _, kind := range w.events.all(id) {
			if !slices.Contains(strings.Fields(may[before]), kind) {
				w.t.Errorf("%s: %q after %q: %v", id, kind, before, w.events.all(id))
				return
			}
			before = kind
		}
	}
}

// finish lets everything continue, and checks the configured state. Then it checks that
// nothing is left.
func (w *world) finish() {
	w.apply(w.config())
	for _, id := range []string{"a", "b", "c", steady} {
		for _, s := range w.all(id) {
			releaseAll(s)
			s.list("t", "u", "v")
			s.notifyChanged()
		}
	}
	time.Sleep(3 * time.Hour) // every pause, grace and drain is over
	if err := w.fleet.Settle(w.t.Context()); err != nil {
		w.t.Error(err)
	}
	w.calls.Wait()
	for _, s := range w.applied { // an idle server has no current list
		e, done, err := w.fleet.Use(w.t.Context(), s.ID)
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := e.Tools(w.t.Context()); err != nil {
			w.t.Error(err)
		}
		defer done()
	}
	synctest.Wait() // a caller that waits for a server may continue before listeners are notified
	w.check()
	var want []string
	for _, s := range w.applied {
		for _, tool := range []string{"t", "u", "v"} {
			if isDenied(s, tool) {
				continue
			}
			as := tool
			if s.Tools.Rename[tool] != "" {
				as = s.Tools.Rename[tool]
			}
			want = append(want, s.ID+"__"+as)
			if got, err := echoText(w.t.Context(), w.fleet, s.ID+"__"+as, "{}"); got != tool {
				w.t.Errorf("%s__%s says %q, %v", s.ID, as, got, err)
			}
		}
		if n := w.connected(s.ID); n != 1 {
			w.t.Errorf("%s has %d connections", s.ID, n)
		}
	}
	if diff := cmp.Diff(want, mountedNames(w.fleet.Snapshot(""))); diff != "" {
		w.t.Error(diff)
	}
	w.fleet.Close()
	for _, id := range []string{"a", "b", "c", steady} {
		if n := w.connected(id); n != 0 {
			w.t.Errorf("%s has %d connections after Close", id, n)
		}
	}
}

func (w *world) connected(id string) (n int) {
	for _, s := range w.all(id) {
		n += s.connected()
	}
	return n
}
