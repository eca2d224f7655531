//go:build unix

package chaos

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/natsserver"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/indusagi/indus/replica/cluster/nats"
)

var (
	length = flag.Duration("for", 0, "how long all faults go on; 0: a few faults once")
	seed   = flag.Uint64("seed", 1, "seed of the faults and of the clients")
)

const (
	// patience bounds the time in which servers elect a leader again.
	patience = time.Minute
	// lease is that of a cluster without a setting. A sign-in is safe while a replica is cut off for twice as long.
	lease = 10 * time.Second
)

func eventually(t *testing.T, step func() error) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err := step()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// replicas is the number of replicas: each has a connection.
const replicas = 10

// world is servers, and the connections of replicas to them.
type world struct {
	*natsserver.Cluster
	engines []cluster.Engine
	links   [][]*natsserver.Link // of each replica, to each server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Cluster: natsserver.StartDividable(t, 3)}
	for i := range replicas {
		var links []*natsserver.Link
		var urls []string
		for n := range w.Servers { // replicas begin with different servers
			s := w.Servers[(i+n)%len(w.Servers)]
			link := natsserver.NewLink(t, strings.TrimPrefix(s.URL, "nats://"))
			links, urls = append(links, link), append(urls, "nats://"+link.Address)
		}
		w.links = append(w.links, links)
		var e *nats.Engine
		eventually(t, func() (err error) { // once the servers have a leader
			e, err = nats.Connect(t.Context(), &nats.Options{Servers: strings.Join(urls, ","), Replicas: 3})
			return err
		})
		t.Cleanup(e.Close)
		w.engines = append(w.engines, e)
	}
	return w
}

// faults are what happens to a server until the end.
var faults = []struct {
	name  string
	begin func(w *world, server int) (end func())
}{
	{"kill", func(w *world, server int) func() {
		w.Servers[server].Kill()
		return w.Servers[server].Run
	}},
	{"pause", func(w *world, server int) func() {
		w.Servers[server].Signal(syscall.SIGSTOP)
		return func() { w.Servers[server].Signal(syscall.SIGCONT) }
	}},
	{"isolate", func(w *world, server int) func() {
		w.Isolate(server)
		return w.Heal
	}},
	{"deafen", func(w *world, server int) func() { // the others hear it
		for i := range w.Servers {
			if i != server {
				w.Cut(i, server)
			}
		}
		return w.Heal
	}},
	{"separate two", func(w *world, server int) func() { // both reach the third one
		other := (server + 1) % len(w.Servers)
		w.Cut(server, other)
		w.Cut(other, server)
		return w.Heal
	}},
	{"cut off replicas", func(w *world, server int) func() {
		cut := func(there, back bool) {
			for i := server; i < len(w.links); i += len(w.Servers) {
				for _, l := range w.links[i] {
					l.Cut(there, back)
				}
			}
		}
		cut(server > 0, true)
		return func() { cut(false, false) }
	}},
	{"restart all", func(w *world, _ int) func() {
		for _, s := range w.Servers {
			s.Kill()
		}
		return func() {
			var starting sync.WaitGroup // none is ready alone
			for _, s := range w.Servers {
				starting.Go(s.Run)
			}
			starting.Wait()
		}
	}},
}

// normal are the faults of a run without the flag. The pauses are short then.
var normal = []string{"kill", "deafen", "cut off replicas", "restart all"}

// attack does a few faults once, or all again and again for as long as the flag says. After each it waits until every
// replica can write.
func (w *world) attack(t *testing.T) {
	r, longest := rand.New(rand.NewPCG(*seed, 0)), 6
	if *length == 0 {
		longest = 2
	}
	for end := time.Now().Add(*length); ; {
		for _, n := range r.Perm(len(faults)) {
			if *length == 0 && !slices.Contains(normal, faults[n].name) {
				continue
			}
			f, server, pause := faults[n], r.IntN(len(w.Servers)), time.Duration(1+r.IntN(longest))*time.Second
			began := time.Now()
			heal := f.begin(w, server)
			time.Sleep(pause)
			heal()
			for _, e := range w.engines {
				eventually(t, func() error { return writes(t.Context(), e.KV("progress"), "k") })
			}
			t.Logf("%s n%d for %v: all is well after %v", f.name, server, pause, time.Since(began).Round(time.Second/10))
		}
		if time.Now().After(end) {
			return
		}
	}
}

// writes returns nil if a key can be written.
func writes(ctx context.Context, kv cluster.KV, key string) error {
	e, err := kv.Get(ctx, key)
	if err == nil || errors.Is(err, cluster.ErrNotFound) {
		_, err = kv.Set(ctx, key, fmt.Append(nil, time.Now()), e.Revision, 0)
	}
	return err
}

// Servers are killed, paused and separated. Keys and a log stay linearizable, and nothing that was confirmed is lost. No
// refresh token and no grant is used twice.
func TestChaos(t *testing.T) {
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	l := &load{history: &history{}, seed: *seed, pause: 50 * time.Millisecond, refused: 100 * time.Millisecond,
		ttl: time.Second, records: 300}
	kvs, logs := make([]cluster.KV, clients), make([]cluster.Log, clients)
	for i := range clients {
		kvs[i] = w.engines[i].KV("x")
		eventually(t, func() (err error) {
			logs[i], err = w.engines[i].Log(ctx, "x")
			return err
		})
	}
	a, s := newApprovals(t, w.engines[:clients]...), newSignIns(t, lease, w.engines...)
	running.Go(func() { l.run(ctx, kvs, logs) })
	running.Go(func() { a.run(ctx) })
	running.Go(func() { s.run(ctx) })
	w.attack(t)
	eventually(t, a.granted) // on a busy machine the faults may have left no time
	stop()
	running.Wait()
	for _, key := range keys {
		eventually(t, func() error { return writes(t.Context(), kvs[0], key) })
	}
	l.mustHold(t, promised)
	a.check(newApprovals(t, w.engines[0]).books[0])
	s.check()
}
