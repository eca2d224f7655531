//go:build unix

package nats_test

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/indusagi/indus/internal/testkit/natsserver"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/indusagi/indus/replica/cluster/nats"
)

// leader returns the server that leads the stream of keys.
func leader(t *testing.T, c *natsserver.Cluster) int {
	t.Helper()
	conn, err := client.Connect(c.Servers[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	n := -1
	eventually(t, func() error {
		s, err := js.Stream(t.Context(), "KV_indus")
		if err == nil {
			if n = slices.Index([]string{"n0", "n1", "n2"}, s.CachedInfo().Cluster.Leader); n < 0 {
				err = errors.New("there is no leader")
			}
		}
		return err
	})
	return n
}

// errOld means that a former leader answered a read. It gives up within seconds.
var errOld = errors.New("the value is that of before")

// soon bounds a step that cannot be done. The machine may be busy.
const soon = 10 * time.Second

// wantUnavailable fails the test unless a step ends soon with ErrUnavailable.
func wantUnavailable(t *testing.T, what string, step func() error) {
	t.Helper()
	began := time.Now()
	err := step()
	if took := time.Since(began); !errors.Is(err, cluster.ErrUnavailable) || took > soon {
		t.Errorf("%s: %v after %v", what, err, took)
	}
}

var allPartitions = flag.Bool("all-partitions", false, "TestPartition also cuts one direction only")

// The leader is separated from the two other servers, in both directions or in one. Its clients change nothing and lose
// their lease before the others get it. Both sides decide about one key, and one decision counts.
func TestPartition(t *testing.T) {
	t.Parallel()
	c := natsserver.StartDividable(t, 3)
	ctx := t.Context()
	connect(t, nil, c.Servers...) // it makes the stream
	for name, separate := range map[string]func(server int){
		"both-ways": c.Isolate,
		"to-the-leader": func(server int) {
			for i := range c.Servers {
				if i != server {
					c.Cut(i, server)
				}
			}
		},
		"from-the-leader": func(server int) {
			for i := range c.Servers {
				if i != server {
					c.Cut(server, i)
				}
			}
		},
	} {
		if name != "both-ways" && !*allPartitions {
			continue
		}
		t.Run(name, func(t *testing.T) {
			alone := leader(t, c)
			others := slices.Delete(slices.Clone(c.Servers), alone, alone+1)
			minority, majority := connect(t, nil, c.Servers[alone]), connect(t, nil, others...)
			kv, log := minority.KV(name), mustLog(t, minority)
			revisions := map[string]uint64{}
			for _, key := range []string{"set", "remove"} {
				revision, err := kv.Set(ctx, key, []byte("before"), 0, 0)
				if err != nil {
					t.Fatal(err)
				}
				revisions[key] = revision
			}
			records, err := log.Read(ctx, 0, 10)
			if err != nil {
				t.Fatal(err)
			}
			held, err := cluster.Acquire(ctx, kv, "lease", "minority", 2*cluster.MinLease, nil)
			if err != nil {
				t.Fatal(err)
			}
			separate(alone)
			defer c.Heal()
			var steps sync.WaitGroup
			for what, step := range map[string]func() error{
				"a change": func() error {
					_, err := kv.Set(ctx, "set", []byte("minority"), revisions["set"], 0)
					return err
				},
				"a removal": func() error { return kv.Delete(ctx, "remove", revisions["remove"]) },
				"a record": func() error {
					_, err := log.Append(ctx, []byte("minority"), uint64(len(records)))
					return err
				},
			} {
				steps.Go(func() { wantUnavailable(t, what, step) })
			}
			steps.Wait()
			decided := "majority"
			eventually(t, func() error {
				_, err := majority.KV(name).Set(ctx, "set", []byte("majority"), revisions["set"], 0)
				if errors.Is(err, cluster.ErrConflict) { // the change of the minority arrived, or an earlier attempt
					var e cluster.Entry
					e, err = majority.KV(name).Get(ctx, "set")
					decided = string(e.Value)
				}
				if err == nil && decided == "before" {
					err = errOld
				}
				return err
			})
			var next *cluster.Lease
			eventually(t, func() error {
				next, err = cluster.Acquire(ctx, majority.KV(name), "lease", "majority", cluster.MinLease, nil)
				return err
			})
			if held.Held() {
				t.Error("both sides hold the lease")
			}
			c.Heal()
			eventually(t, func() error {
				_, err := kv.Set(ctx, "after", nil, 0, 0)
				if errors.Is(err, cluster.ErrConflict) { // an attempt without an answer was done
					return nil
				}
				return err
			})
			for _, e := range []*nats.Engine{minority, majority} {
				var got cluster.Entry
				eventually(t, func() (err error) {
					got, err = e.KV(name).Get(ctx, "set")
					if err == nil && string(got.Value) == "before" {
						err = errOld
					}
					return err
				})
				if string(got.Value) != decided {
					t.Errorf("%s was decided, and afterwards it is %q", decided, got.Value)
				}
			}
			_ = next.Release(ctx) // or it has expired
		})
	}
}

func mustLog(t *testing.T, e *nats.Engine) (log cluster.Log) {
	t.Helper()
	eventually(t, func() (err error) {
		log, err = e.Log(t.Context(), "x")
		return err
	})
	return log
}

// A client that is cut off from its server, in one direction, gets an error soon, and continues afterwards.
func TestClientIsCutOff(t *testing.T) {
	t.Parallel()
	s, ctx := natsserver.Start(t), t.Context()
	link := natsserver.NewLink(t, strings.TrimPrefix(s.URL, "nats://"))
	e, err := nats.Connect(ctx, &nats.Options{Servers: "nats://" + link.Address})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	kv := e.KV("x")
	for _, there := range []bool{true, false} {
		link.Cut(there, !there)
		wantUnavailable(t, "a change", func() error { _, err := kv.Set(ctx, "k", nil, 0, 0); return err })
		wantUnavailable(t, "a read", func() error { _, err := kv.Get(ctx, "k"); return err })
		link.Cut(false, false)
		eventually(t, func() error {
			_, err := kv.Set(ctx, fmt.Sprint(there), nil, 0, 0)
			if errors.Is(err, cluster.ErrConflict) { // an attempt without an answer was done
				return nil
			}
			return err
		})
	}
}
