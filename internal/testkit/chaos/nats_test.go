//go:build unix

package chaos

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/cluster"
	"github.com/indusagi/indus/cluster/nats"
	"github.com/indusagi/indus/internal/testkit/natsserver"
)

var (
	length = flag.Duration("for", 0, "how long faults go on; 0: each fault once")
	seed   = flag.Uint64("seed", 1, "seed of the faults and of the clients")
)

// patience bounds the time in which servers elect a leader again.
const patience = time.Minute

// connect returns a connection to servers, and waits until they have a leader.
func connect(t *testing.T, urls ...string) *nats.Engine {
	t.Helper()
	var e *nats.Engine
	eventually(t, func() (err error) {
		e, err = nats.Connect(t.Context(), &nats.Options{Servers: strings.Join(urls, ","), Replicas: 3})
		return err
	})
	t.Cleanup(e.Close)
	return e
}

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

// urlsFrom returns the URLs of all servers, beginning with one of them: clients are spread.
func urlsFrom(c *natsserver.Cluster, first int) (urls []string) {
	for i := range c.Servers {
		urls = append(urls, c.Servers[(first+i)%len(c.Servers)].URL)
	}
	return urls
}

// fault is something that happens to the servers until its end.
type fault struct {
	name  string
	begin func(c *natsserver.Cluster, victim int) (end func())
}

// faults are all faults. A victim is a server.
var faults = []fault{
	{"kill", func(c *natsserver.Cluster, victim int) func() {
		c.Servers[victim].Kill()
		return c.Servers[victim].Run
	}},
	{"pause", func(c *natsserver.Cluster, victim int) func() {
		c.Servers[victim].Signal(syscall.SIGSTOP)
		return func() { c.Servers[victim].Signal(syscall.SIGCONT) }
	}},
	{"isolate", func(c *natsserver.Cluster, victim int) func() {
		c.Isolate(victim)
		return c.Heal
	}},
	{"one way", func(c *natsserver.Cluster, victim int) func() {
		for i := range c.Servers {
			if i != victim {
				c.Cut(i, victim)
			}
		}
		return c.Heal
	}},
	{"two of three", func(c *natsserver.Cluster, victim int) func() { // both still reach the third one
		other := (victim + 1) % len(c.Servers)
		c.Cut(victim, other)
		c.Cut(other, victim)
		return c.Heal
	}},
	{"restart all", func(c *natsserver.Cluster, _ int) func() {
		for _, s := range c.Servers {
			s.Kill()
		}
		return func() {
			var starting sync.WaitGroup // none is ready alone
			for _, s := range c.Servers {
				starting.Go(s.Run)
			}
			starting.Wait()
		}
	}},
}

// attack does faults until all were done once, or for as long as the flag says. Each is to the leader or another server,
// and longer than a lease. Then it waits until progress returns nil.
func attack(t *testing.T, c *natsserver.Cluster, progress func() error) {
	r := rand.New(rand.NewPCG(*seed, 0))
	for end := time.Now().Add(*length); ; {
		for _, n := range r.Perm(len(faults)) {
			f, victim := faults[n], r.IntN(len(c.Servers))
			t.Logf("%s: %s of n%d", time.Now().Format("05.0"), f.name, victim)
			heal := f.begin(c, victim)
			time.Sleep(time.Duration(1+r.IntN(6)) * time.Second)
			heal()
			eventually(t, progress)
		}
		if time.Now().After(end) {
			return
		}
	}
}

// Keys and a log stay linearizable while servers are killed, paused and separated.
func TestChaosOfKeys(t *testing.T) {
	c := natsserver.StartDividable(t, 3)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l := &load{history: &history{}, seed: *seed, pause: 50 * time.Millisecond, refused: 100 * time.Millisecond,
		ttl: time.Second, records: 400}
	engines := make([]*nats.Engine, clients)
	for i := range engines {
		engines[i] = connect(t, urlsFrom(c, i)...)
	}
	kvs, logs := make([]cluster.KV, clients), make([]cluster.Log, clients)
	for i, e := range engines {
		kvs[i] = e.KV("x")
		eventually(t, func() (err error) {
			logs[i], err = e.Log(ctx, "x")
			return err
		})
	}
	var running sync.WaitGroup
	running.Go(func() { l.run(ctx, kvs, logs) })
	attack(t, c, func() error { return writes(t.Context(), engines[0].KV("progress"), "k") })
	stop()
	running.Wait()
	for _, key := range keys {
		eventually(t, func() error { return writes(t.Context(), kvs[0], key) })
	}
	l.mustHold(t, promised)
}

// writes returns nil if a key can be written.
func writes(ctx context.Context, kv cluster.KV, key string) error {
	e, err := kv.Get(ctx, key)
	if err == nil || errors.Is(err, cluster.ErrNotFound) {
		_, err = kv.Set(ctx, key, fmt.Append(nil, time.Now()), e.Revision, 0)
	}
	return err
}
