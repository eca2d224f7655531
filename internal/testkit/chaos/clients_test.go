package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/replica/cluster"
)

// load is clients that use an engine until the context ends, or until there are enough steps.
type load struct {
	*history
	seed uint64
	// pause is the longest pause between two steps, and refused the one after a step that failed.
	pause, refused time.Duration
	// ttl is how long the keys that expire live.
	ttl time.Duration
	// records limits the log: its check compares all of them.
	records int
	steps   int // 0: no limit
}

// keys are the keys that the clients use. The last one expires.
var keys = []string{"a", "b", "expires"}

// kv uses keys as client.
func (l *load) kv(ctx context.Context, client int, kv cluster.KV) {
	r := rand.New(rand.NewPCG(l.seed, uint64(client)))
	known := map[string]cluster.Entry{}
	for n := 0; ctx.Err() == nil && !l.isEnough(); n++ {
		key := keys[r.IntN(len(keys))]
		err := l.keyStep(ctx, client, kv, known, key, fmt.Sprintf("%d.%d", client, n), r.IntN(10))
		l.rest(ctx, r, err)
	}
}

func (l *load) isEnough() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.steps > 0 && len(l.history.steps) >= l.steps
}

// keyStep does one step with a key. known has the entries that the client knows, which may be old.
func (l *load) keyStep(
	ctx context.Context, client int, kv cluster.KV, known map[string]cluster.Entry, key, value string, dice int,
) error {
	was := known[key]
	s := step{key: key, before: string(was.Value), value: value, mortal: key == keys[len(keys)-1]}
	switch dice {
	case 0, 1, 2, 3:
		s.kind = get
		return l.record(client, s, func(s *step) error {
			e, err := kv.Get(ctx, key)
			if errors.Is(err, cluster.ErrNotFound) {
				e, err = cluster.Entry{}, nil
			}
			s.value = string(e.Value)
			if err == nil {
				known[key] = e
			}
			return err
		})
	case 4:
		if s.kind, s.value = remove, ""; was.Revision == 0 {
			return nil
		}
		return l.record(client, s, func(*step) error {
			delete(known, key)
			return kv.Delete(ctx, key, was.Revision)
		})
	}
	s.kind = set
	return l.record(client, s, func(s *step) error {
		var ttl time.Duration
		if s.mortal {
			ttl = l.ttl
		}
		revision, err := kv.Set(ctx, key, []byte(value), was.Revision, ttl)
		delete(known, key)
		if err == nil {
			known[key] = cluster.Entry{Value: []byte(value), Revision: revision}
		}
		return err
	})
}

// log uses a log as client.
func (l *load) log(ctx context.Context, client int, log cluster.Log) {
	r := rand.New(rand.NewPCG(l.seed, uint64(client)))
	var known []string
	for n := 0; ctx.Err() == nil && !l.isEnough() && len(known) < l.records; n++ {
		s := step{kind: read, key: "log"}
		if r.IntN(3) > 0 {
			s.kind, s.before, s.value = add, strings.Join(known, ""), fmt.Sprintf("%d.%d ", client, n)
		}
		err := l.record(client, s, func(s *step) error {
			if s.kind == read {
				records, err := log.Read(ctx, 0, 10*l.records)
				if err != nil {
					return err
				}
				known = known[:0]
				for i, record := range records {
					if record.Sequence != uint64(i)+1 {
						s.value = fmt.Sprintf("a record %d at %d", record.Sequence, i+1)
					}
					known = append(known, string(record.Data))
				}
				s.value += strings.Join(known, "")
				return nil
			}
			_, err := log.Append(ctx, []byte(s.value), uint64(len(known)))
			if err == nil {
				known = append(known, s.value)
			}
			return err
		})
		l.rest(ctx, r, err)
	}
}

// rest waits until the next step.
func (l *load) rest(ctx context.Context, r *rand.Rand, err error) {
	pause := time.Duration(r.Int64N(int64(l.pause) + 1))
	if err != nil && !errors.Is(err, cluster.ErrConflict) {
		pause += l.refused
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}

// run starts a client of each KV and of each log, and returns when all have ended.
func (l *load) run(ctx context.Context, kvs []cluster.KV, logs []cluster.Log) {
	var running sync.WaitGroup
	for i, kv := range kvs {
		running.Go(func() { l.kv(ctx, i, kv) })
		running.Go(func() { l.log(ctx, len(kvs)+i, logs[i]) })
	}
	running.Wait()
}
