package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/cluster"
	"github.com/indusagi/indus/cluster/clustertest"
)

const clients = 6

// memoryLoad runs clients that use a memory with faults, through wrappers.
func memoryLoad(
	t *testing.T, seed uint64, wrapKV func(cluster.KV) cluster.KV, wrapLog func(cluster.Log) cluster.Log,
) *history {
	t.Helper()
	var m clustertest.Memory
	connect := func(i int) *clustertest.Client {
		c, r := m.Connect(), rand.New(rand.NewPCG(seed, 100+uint64(i)))
		var mu sync.Mutex
		c.SetFaults(func() clustertest.Fault {
			mu.Lock()
			defer mu.Unlock()
			return clustertest.Fault(max(0, r.IntN(30)-27))
		})
		return c
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	l := &load{history: &history{}, seed: seed, pause: time.Millisecond, ttl: 5 * time.Millisecond, records: 60}
	l.run(ctx, clients, func(i int) cluster.KV { return wrapKV(connect(i).KV("x")) },
		func(i int) cluster.Log {
			c := connect(i)
			for {
				if log, err := c.Log(ctx, "x"); err == nil {
					return wrapLog(log)
				}
			}
		})
	return l.history
}

func TestMemoryIsLinearizable(t *testing.T) {
	for seed := range uint64(5) {
		memoryLoad(t, seed, sameKV, sameLog).mustHold(t, rules{})
	}
}

func sameKV(k cluster.KV) cluster.KV    { return k }
func sameLog(l cluster.Log) cluster.Log { return l }

// kvDefect is a KV with a defect.
type kvDefect struct {
	cluster.KV
	get    func(ctx context.Context, k cluster.KV, key string) (cluster.Entry, error)
	set    func(ctx context.Context, k cluster.KV, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error)
	remove func(ctx context.Context, k cluster.KV, key string, revision uint64) error
}

func (d kvDefect) Get(ctx context.Context, key string) (cluster.Entry, error) {
	if d.get == nil {
		return d.KV.Get(ctx, key)
	}
	return d.get(ctx, d.KV, key)
}

func (d kvDefect) Set(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	if d.set == nil {
		return d.KV.Set(ctx, key, value, revision, ttl)
	}
	return d.set(ctx, d.KV, key, value, revision, ttl)
}

func (d kvDefect) Delete(ctx context.Context, key string, revision uint64) error {
	if d.remove == nil {
		return d.KV.Delete(ctx, key, revision)
	}
	return d.remove(ctx, d.KV, key, revision)
}

// logDefect is a log with a defect.
type logDefect struct {
	cluster.Log
	append func(ctx context.Context, l cluster.Log, data []byte, after uint64) (uint64, error)
	read   func(ctx context.Context, l cluster.Log, after uint64, limit int) ([]cluster.Record, error)
}

func (d logDefect) Append(ctx context.Context, data []byte, after uint64) (uint64, error) {
	if d.append == nil {
		return d.Log.Append(ctx, data, after)
	}
	return d.append(ctx, d.Log, data, after)
}

func (d logDefect) Read(ctx context.Context, after uint64, limit int) ([]cluster.Record, error) {
	if d.read == nil {
		return d.Log.Read(ctx, after, limit)
	}
	return d.read(ctx, d.Log, after, limit)
}

// The check finds an engine that breaks a promise, also under the weakest rules where they still forbid it.
func TestCheckFindsDefects(t *testing.T) {
	weak := rules{oldReads: true, anyConflict: true}
	kvs := map[string]struct {
		defect kvDefect
		rules  rules
	}{
		"a change ignores the revision": {kvDefect{set: func(
			ctx context.Context, k cluster.KV, key string, value []byte, _ uint64, ttl time.Duration,
		) (uint64, error) {
			e, err := k.Get(ctx, key)
			if err != nil && !errors.Is(err, cluster.ErrNotFound) {
				return 0, err
			}
			return k.Set(ctx, key, value, e.Revision, ttl)
		}}, weak},
		"a deletion ignores the revision": {kvDefect{remove: func(
			ctx context.Context, k cluster.KV, key string, _ uint64,
		) error {
			e, err := k.Get(ctx, key)
			if err != nil {
				return err
			}
			return k.Delete(ctx, key, e.Revision)
		}}, weak},
		"a change is confirmed and not done": {kvDefect{set: func(
			ctx context.Context, k cluster.KV, key string, value []byte, revision uint64, ttl time.Duration,
		) (uint64, error) {
			stored, err := k.Set(ctx, key, value, revision, ttl)
			if err == nil && key == keys[0] && rand.IntN(10) == 0 {
				err = k.Delete(ctx, key, stored)
			}
			return stored, err
		}}, weak},
		"a change is called a conflict and done": {kvDefect{set: func(
			ctx context.Context, k cluster.KV, key string, value []byte, revision uint64, ttl time.Duration,
		) (uint64, error) {
			stored, err := k.Set(ctx, key, value, revision, ttl)
			if errors.Is(err, cluster.ErrUnavailable) {
				err = cluster.ErrConflict
			}
			return stored, err
		}}, weak},
		"a read is old": {kvDefect{get: oldGets()}, rules{}},
		"a change is called a conflict and was possible": {kvDefect{set: func(
			ctx context.Context, k cluster.KV, key string, value []byte, revision uint64, ttl time.Duration,
		) (uint64, error) {
			if key == keys[0] && rand.IntN(5) == 0 {
				return 0, cluster.ErrConflict
			}
			return k.Set(ctx, key, value, revision, ttl)
		}}, rules{}},
	}
	for name, c := range kvs {
		h := memoryLoad(t, 1, func(k cluster.KV) cluster.KV { d := c.defect; d.KV = k; return d }, sameLog)
		if err := h.check(c.rules); err == nil {
			t.Errorf("keys: the check does not find that %s", name)
		}
	}
	logs := map[string]struct {
		defect logDefect
		rules  rules
	}{
		"an append ignores the last sequence": {logDefect{append: func(
			ctx context.Context, l cluster.Log, data []byte, _ uint64,
		) (uint64, error) {
			all, err := l.Read(ctx, 0, 1000)
			if err != nil {
				return 0, err
			}
			return l.Append(ctx, data, uint64(len(all)))
		}}, weak},
		"a read leaves a record out": {logDefect{read: func(
			ctx context.Context, l cluster.Log, after uint64, limit int,
		) ([]cluster.Record, error) {
			all, err := l.Read(ctx, after, limit)
			return append(all[:len(all)/2:len(all)/2], all[min(len(all), len(all)/2+1):]...), err
		}}, weak},
		"a read misses the last record": {logDefect{read: func(
			ctx context.Context, l cluster.Log, after uint64, limit int,
		) ([]cluster.Record, error) {
			all, err := l.Read(ctx, after, limit)
			return all[:max(0, len(all)-1)], err
		}}, rules{}},
	}
	for name, c := range logs {
		h := memoryLoad(t, 1, sameKV, func(l cluster.Log) cluster.Log { d := c.defect; d.Log = l; return d })
		if err := h.check(c.rules); err == nil {
			t.Errorf("logs: the check does not find that %s", name)
		}
	}
}

// oldGets returns a Get that sometimes returns the entry of the Get before.
func oldGets() func(context.Context, cluster.KV, string) (cluster.Entry, error) {
	var mu sync.Mutex
	last := map[string]cluster.Entry{}
	return func(ctx context.Context, k cluster.KV, key string) (cluster.Entry, error) {
		e, err := k.Get(ctx, key)
		mu.Lock()
		defer mu.Unlock()
		if old, ok := last[key]; ok && err == nil && rand.IntN(5) == 0 {
			return old, nil
		}
		last[key] = e
		return e, err
	}
}
