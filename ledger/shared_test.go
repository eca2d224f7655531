package ledger_test

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
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/testkit/clustertest"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/replica/cluster"
)

// openShared returns the log of a cluster, and archives it every 4 KB.
func openShared(t testing.TB, engine cluster.Engine) *ledger.Shared {
	t.Helper()
	l, err := ledger.OpenShared(t.Context(), engine, cluster.MinLease, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ledger.ArchivedShared(l, 4000)
}

// newShared returns a function that opens the same log in memory again.
func newShared(t testing.TB) func() *ledger.Shared {
	var m clustertest.Memory
	return func() *ledger.Shared { return openShared(t, m.Connect()) }
}

// historyOf returns all entries, after a check of the chain.
func historyOf(t testing.TB, l *ledger.Shared) []ledger.Entry {
	t.Helper()
	all, err := l.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Verify(t.Context())
	if err != nil || len(r.Damage) > 0 || r.Entries != len(all) {
		t.Errorf("%d entries: %+v, %v", len(all), r, err)
	}
	for i, e := range all {
		if e.Seq != uint64(i+1) || i > 0 && e.Prev != all[i-1].Hash {
			t.Fatalf("entry %d is %+v", i+1, e)
		}
	}
	return all
}

// withoutArchives returns the entries that a writer wrote.
func withoutArchives(entries []ledger.Entry) []ledger.Entry {
	return slices.DeleteFunc(entries, func(e ledger.Entry) bool { return e.Op == ledger.Archive })
}

// The log of a cluster has the bytes of a file.
func TestASharedLogIsAFile(t *testing.T) {
	t.Parallel()
	open1, f := newShared(t), open(t, logPath(t))
	l := ledger.ArchivedShared(open1(), 1<<20)
	want := twoRuns(t, f)
	if diff := diffEntries(want, twoRuns(t, l)); diff != "" {
		t.Errorf("as stored (-file +cluster):\n%s", diff)
	}
	for _, l := range []*ledger.Shared{l, open1()} {
		for after := range uint64(len(want) + 1) {
			got, err := l.Read(t.Context(), after)
			if err != nil {
				t.Fatal(err)
			}
			if diff := diffEntries(want[after:], got); diff != "" {
				t.Errorf("after %d (-file +cluster):\n%s", after, diff)
			}
		}
		if diff := diffEntries(history(t, f), historyOf(t, l)); diff != "" {
			t.Errorf("(-file +cluster):\n%s", diff)
		}
	}
	head := verify(t, f).Head
	if r, err := l.Verify(t.Context(), head, ledger.Head{Hash: want[2].Hash}); err != nil || len(r.Damage) > 0 || r.Head != head {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := l.Verify(t.Context(), ledger.Head{Seq: 3, Hash: head.Hash}); err != nil || len(r.Damage) != 1 {
		t.Errorf("another head: %+v, %v", r, err)
	}
}

// After any operations, the present state of a shared log, read from its newest archive, is the state of its history. A
// process that opens it later reads the same.
func TestASharedLogIsTheModel(t *testing.T) {
	t.Parallel()
	for range 20 {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			r, openAgain := rand.New(rand.NewPCG(seed, 1)), newShared(t)
			l, f := openAgain(), ledger.Unsynced(open(t, logPath(t)))
			for run := range 3 {
				appendTo(t, f, appendTo(t, l, ledger.Entry{Op: ledger.Begin, Run: fmt.Sprint("R", run), At: start})...)
			}
			for step := range 80 {
				batch := randomBatch(r, step)
				appendTo(t, f, appendTo(t, l, batch...)...)
				if step%20 == 19 {
					l = openAgain()
				}
			}
			want, got := read(t, f), read(t, openAgain())
			if diff := cmp.Diff(stateText(want), stateText(got)); diff != "" {
				t.Errorf("(-file +cluster):\n%s", diff)
			}
			if diff := cmp.Diff(stateText(got), stateText(historyOf(t, l))); diff != "" {
				t.Errorf("(-archive +history):\n%s", diff)
			}
			if n := len(historyOf(t, l)) - len(withoutArchives(historyOf(t, l))); n < 2 {
				t.Errorf("there are %d archives", n)
			}
		})
	}
}

// randomBatch returns what a run may record.
func randomBatch(r *rand.Rand, step int) (batch []ledger.Entry) {
	run := fmt.Sprintf("R%d", r.IntN(3))
	for range 1 + r.IntN(3) {
		e := enrolled(run, step, capability(fmt.Sprintf("s%d", r.IntN(2)), fmt.Sprintf("t%d", r.IntN(4)), fmt.Sprint("v", r.IntN(3)), anyObject))
		e.Changed = r.IntN(2) == 0
		switch n := r.IntN(12); {
		case n < 3:
			e.Op, e.Changed = ledger.Hold, true
		case n < 4:
			e.Op, e.Changed = ledger.Accept, false
		case n < 6:
			e = retired(step, e)
		case n < 7:
			batch = append(batch, ledger.Entry{Op: ledger.End, Run: run, At: e.At})
			e = ledger.Entry{Op: ledger.Begin, Run: run, At: e.At}
		case n < 8:
			e = ledger.Entry{Op: ledger.Begin, Run: run, At: e.At, Config: "c"}
		}
		batch = append(batch, e)
	}
	return batch
}

// stateText returns what a start needs from a log.
func stateText(entries []ledger.Entry) map[string]string {
	out := ledger.StateOf(entries).Approved()
	for _, e := range ledger.Live(entries) {
		out["live "+e.Run+" "+e.Server+" "+e.Tool] = e.Sum
	}
	for _, e := range ledger.Changed(entries) {
		out["changed "+e.Server+" "+e.Tool] = e.Sum
	}
	return out
}

// Several writers whose steps fail, or whose answers are lost, store each batch once, whole, and in the order of each
// writer. Nothing that was acknowledged is lost.
func TestWritersWithFaults(t *testing.T) {
	t.Parallel()
	const writers, batches = 3, 15
	for range 30 {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			var m clustertest.Memory
			var all sync.WaitGroup
			logs := make([]*ledger.Shared, writers)
			for w := range writers {
				client := m.Connect()
				logs[w] = openShared(t, client)
				r := rand.New(rand.NewPCG(seed, uint64(w)))
				client.SetFaults(func() clustertest.Fault { return clustertest.Fault(max(0, r.IntN(8)-5)) })
				all.Go(func() { writeQueue(t, logs[w], w, batches) })
			}
			all.Wait()
			wantQueues(t, withoutArchives(historyOf(t, openShared(t, m.Connect()))), writers, batches)
		})
	}
}

// writeQueue writes batches as the recorder does: a batch that fails is written again, with the later ones.
func writeQueue(t *testing.T, l *ledger.Shared, writer, batches int) {
	var queue []ledger.Entry
	for i := 0; i < batches || len(queue) > 0; i++ {
		for k := 0; k < 3 && i < batches; k++ {
			queue = append(queue, ledger.Entry{Op: ledger.Health, Run: fmt.Sprint(writer), Server: fmt.Sprint(i), Note: fmt.Sprint(k), At: time.Now()})
		}
		stored, err := l.Append(t.Context(), queue...)
		switch {
		case err == nil && len(stored) == len(queue):
			queue = nil
		case err == nil:
			t.Errorf("%d of %d entries are stored", len(stored), len(queue))
			return
		case !errors.Is(err, cluster.ErrUnavailable) && !errors.Is(err, cluster.ErrConflict):
			t.Error(err)
			return
		default:
			time.Sleep(time.Millisecond) // the recorder pauses longer
		}
	}
}

func wantQueues(t *testing.T, all []ledger.Entry, writers, batches int) {
	t.Helper()
	if len(all) != writers*batches*3 {
		t.Errorf("%d entries are stored, and not %d", len(all), writers*batches*3)
	}
	next := map[string]int{}
	for i, e := range all {
		if want := next[e.Run]; e.Server != fmt.Sprint(want/3) || e.Note != fmt.Sprint(want%3) {
			t.Fatalf("entry %d is %s/%s of writer %s, and not %d/%d", i, e.Server, e.Note, e.Run, want/3, want%3)
		}
		if next[e.Run]++; e.Note != "0" && all[i-1].Run != e.Run {
			t.Fatalf("entry %d of writer %s is within a batch of writer %s", i, all[i-1].Run, e.Run)
		}
	}
}

// A batch over the limit of a message, and a tool of the largest size that is stored, are stored and read whole.
func TestLargeEntriesAreShared(t *testing.T) {
	t.Parallel()
	openAgain := newShared(t)
	var batch []ledger.Entry
	for i := range 5 {
		batch = append(batch, enrolled("A", i, capability("fs", fmt.Sprint("t", i), strings.Repeat(fmt.Sprint(i), 900<<10), anyObject)))
	}
	l := openAgain()
	appendTo(t, l, ledger.Entry{Op: ledger.Begin, Run: "A", At: start})
	appendTo(t, l, batch...)
	for i, e := range withoutArchives(read(t, openAgain()))[1:] {
		if e.Capability == nil || string(e.Capability.Wire.JSON) != string(batch[i].Capability.Wire.JSON) {
			t.Errorf("tool %d is not whole", i)
		}
	}
	historyOf(t, l)
}

// A batch that is too large for one record is stored once, in several, also if a step fails between them.
func TestABatchOfManyRecords(t *testing.T) {
	t.Parallel()
	var m clustertest.Memory
	client := m.Connect()
	l := openShared(t, client)
	var batch []ledger.Entry
	for i := range 40 {
		batch = append(batch, enrolled("A", 1, capability("fs", fmt.Sprint("t", i), strings.Repeat(string(rune('A'+i)), 900<<10), anyObject)))
	}
	steps := 0
	client.SetFaults(func() clustertest.Fault {
		steps++
		return []clustertest.Fault{clustertest.None, clustertest.Lost}[min(1, max(0, steps-60))]
	})
	if _, err := l.Append(t.Context(), batch...); !errors.Is(err, cluster.ErrUnavailable) {
		t.Fatal(err)
	}
	client.SetFaults(nil)
	if stored := appendTo(t, l, batch...); len(stored) != len(batch) {
		t.Errorf("%d entries are stored", len(stored))
	}
	if all := withoutArchives(historyOf(t, l)); len(all) != len(batch) {
		t.Errorf("the log has %d entries", len(all))
	}
}

// If the records were removed, no first listing approves a tool. This does not hold for a cluster that is new.
func TestASharedLogThatWasRemoved(t *testing.T) {
	t.Parallel()
	var m, without clustertest.Memory
	first := openShared(t, m.Connect())
	if second := openShared(t, m.Connect()); first.Removed() || second.Removed() {
		t.Error("a new log counts as removed")
	}
	appendTo(t, first, enrolled("A", 1, capability("fs", "read", "", anyObject)))
	for _, e := range entriesOfKV(t, m.Connect().KV("ledger")) {
		if _, err := without.Connect().KV("ledger").Set(t.Context(), e.Key, e.Value, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	l := openShared(t, without.Connect())
	if got := read(t, l); !l.Removed() || len(got) != 1 || got[0].Op != ledger.Reset {
		t.Errorf("there is %+v", got)
	}
	if stored := appendTo(t, l, enrolled("A", 1, capability("fs", "read", "", anyObject))); len(stored) != 0 {
		t.Errorf("%+v is stored as approved", stored)
	}
}

func entriesOfKV(t *testing.T, kv cluster.KV) []cluster.Entry {
	t.Helper()
	all, err := cluster.Entries(t.Context(), kv)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d entries, %v", len(all), err)
	}
	return all
}

// counted counts the records that are read.
type counted struct {
	*clustertest.Client
	records atomic.Int64
}

func (c *counted) Log(ctx context.Context, name string) (cluster.Log, error) {
	l, err := c.Client.Log(ctx, name)
	return &countedLog{l, c}, err
}

type countedLog struct {
	cluster.Log
	c *counted
}

func (l *countedLog) Read(ctx context.Context, after uint64, limit int) ([]cluster.Record, error) {
	records, err := l.Log.Read(ctx, after, limit)
	l.c.records.Add(int64(len(records)))
	return records, err
}

// A start reads the newest archive and what follows it, also if the process that made the archive could not store its
// place.
func TestAStartDoesNotReadTheHistory(t *testing.T) {
	t.Parallel()
	var m clustertest.Memory
	l := openShared(t, m.Connect())
	for i := range 500 {
		e := enrolled("A", i, capability("fs", "read", fmt.Sprint(i%7), anyObject))
		e.Changed = i > 0
		appendTo(t, l, e)
	}
	c := &counted{Client: m.Connect()}
	if got := read(t, openShared(t, c)); len(got) == 0 || c.records.Load() > 60 {
		t.Errorf("%d records are read for %d entries", c.records.Load(), len(got))
	}
	place := entriesOfKV(t, c.KV("ledger"))[0]
	for _, wrong := range []string{"", "?", `{"after":999999}`, `{"after":-1}`, `{"after":3}`} {
		now, err := c.KV("ledger").Get(t.Context(), place.Key)
		if err == nil {
			_, err = c.KV("ledger").Set(t.Context(), place.Key, []byte(wrong), now.Revision, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := diffEntries(read(t, l), read(t, openShared(t, c))); diff != "" {
			t.Errorf("with the place %q (-want +got):\n%s", wrong, diff)
		}
		if again := entriesOfKV(t, c.KV("ledger"))[0]; string(again.Value) != string(place.Value) {
			t.Errorf("the place %q is corrected to %q, and not %q", wrong, again.Value, place.Value)
		}
	}
}

// Records that no process of indus wrote are reported, and stop nothing.
func TestForeignRecords(t *testing.T) {
	t.Parallel()
	var m clustertest.Memory
	l := openShared(t, m.Connect())
	appendTo(t, l, enrolled("A", 1, capability("fs", "read", "", anyObject)))
	raw, err := cluster.OpenLog(t.Context(), m.Connect(), "ledger")
	if err != nil {
		t.Fatal(err)
	}
	archive := `{"seq":2,"at":"2026-03-01T12:00:00.000Z","op":"archive","prev":"","hash":"` + strings.Repeat("0", 64) + `","body":{"entries":[]}}`
	for i, text := range []string{"", "no entry", "\n\n{}\n", `{"seq":1,"op":"archive","prev":"","hash":"`, archive + "\n"} {
		if _, err := raw.Append(t.Context(), []byte(text), uint64(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if stored := appendTo(t, l, enrolled("A", 2, capability("fs", "new", "", anyObject))); len(stored) > 0 {
		t.Errorf("after a foreign archive, %+v is approved", stored)
	}
	for _, l := range []*ledger.Shared{l, openShared(t, m.Connect())} {
		if got := read(t, l); len(got) != 1 {
			t.Errorf("there is %+v", got)
		}
		if r, err := l.Verify(t.Context()); err != nil || len(r.Damage) == 0 || !strings.HasPrefix(r.Damage[0].String(), "record 3, line 1: torn") {
			t.Errorf("%+v, %v", r, err)
		}
	}
}
