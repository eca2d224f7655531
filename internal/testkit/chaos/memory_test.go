package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/clustertest"
	"github.com/indusagi/indus/replica/cluster"
)

const clients = 6

// memoryLoad runs clients that use a memory with faults up to a kind. defect is one of the defects, or "".
func memoryLoad(t *testing.T, seed uint64, upTo clustertest.Fault, defect string) *history {
	t.Helper()
	var m clustertest.Memory
	ctx := t.Context()
	kvs, logs := make([]cluster.KV, clients), make([]cluster.Log, clients)
	for i := range clients {
		c, r := m.Connect(), rand.New(rand.NewPCG(seed, 100+uint64(i)))
		log, err := c.Log(ctx, "x")
		if err != nil {
			t.Fatal(err)
		}
		kvs[i], logs[i] = defectiveKV{c.KV("x"), defect}, defectiveLog{log, defect}
		var mu sync.Mutex
		c.SetFaults(func() clustertest.Fault {
			mu.Lock()
			defer mu.Unlock()
			return max(clustertest.None, clustertest.Fault(r.IntN(20))+upTo-19)
		})
	}
	l := &load{history: &history{}, seed: seed, pause: time.Millisecond, ttl: 5 * time.Millisecond, records: 60,
		steps: 1500}
	l.run(ctx, kvs, logs)
	return l.history
}

// Without old reads, the memory keeps the strict rules, and with them those that every engine keeps.
func TestMemoryIsLinearizable(t *testing.T) {
	for seed := range uint64(5) {
		memoryLoad(t, seed, clustertest.Lost, "").mustHold(t, strict)
		h := memoryLoad(t, seed, clustertest.Old, "")
		h.mustHold(t, promised)
		if h.check(strict) == nil {
			t.Error("the check does not find old reads")
		}
	}
}

// The defects that the check has to find.
const (
	setsAnyRevision    = "a change ignores the revision"
	removesAnyRevision = "a deletion ignores the revision"
	forgets            = "a confirmed change is not kept"
	deniesDone         = "a change that was done is called a conflict"
	deniesPossible     = "a change that is possible is called a conflict"
	appendsAnywhere    = "an append ignores the last sequence"
	readsWithGaps      = "a read leaves a record out"
)

func TestCheckFindsDefects(t *testing.T) {
	for defect, r := range map[string]rules{
		setsAnyRevision: promised, removesAnyRevision: promised, forgets: promised, deniesDone: promised,
		deniesPossible: strict, appendsAnywhere: promised, readsWithGaps: promised,
	} {
		if memoryLoad(t, 1, clustertest.Lost, defect).check(r) == nil {
			t.Errorf("the check does not find that %s", defect)
		}
	}
}

// defectiveKV is a KV that may have a defect.
type defectiveKV struct {
	cluster.KV
	defect string
}

func (d defectiveKV) Set(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	switch {
	case d.defect == setsAnyRevision:
		e, err := d.Get(ctx, key)
		if err != nil && !errors.Is(err, cluster.ErrNotFound) {
			return 0, err
		}
		revision = e.Revision
	case d.defect == deniesPossible && rand.IntN(5) == 0:
		return 0, cluster.ErrConflict
	}
	stored, err := d.KV.Set(ctx, key, value, revision, ttl)
	switch {
	case d.defect == forgets && err == nil && rand.IntN(10) == 0:
		err = d.KV.Delete(ctx, key, stored)
	case d.defect == deniesDone && errors.Is(err, cluster.ErrUnavailable):
		err = cluster.ErrConflict
	}
	return stored, err
}

func (d defectiveKV) Delete(ctx context.Context, key string, revision uint64) error {
	if d.defect == removesAnyRevision {
		e, err := d.Get(ctx, key)
		if err != nil {
			return err
		}
		revision = e.Revision
	}
	return d.KV.Delete(ctx, key, revision)
}

// defectiveLog is a log that may have a defect.
type defectiveLog struct {
	cluster.Log
	defect string
}

func (d defectiveLog) Append(ctx context.Context, data []byte, after uint64) (uint64, error) {
	if d.defect == appendsAnywhere {
		all, err := d.Log.Read(ctx, 0, 1000)
		if err != nil {
			return 0, err
		}
		after = uint64(len(all))
	}
	return d.Log.Append(ctx, data, after)
}

func (d defectiveLog) Read(ctx context.Context, after uint64, limit int) ([]cluster.Record, error) {
	all, err := d.Log.Read(ctx, after, limit)
	if d.defect == readsWithGaps && len(all) > 1 {
		all = all[1:]
	}
	return all, err
}
