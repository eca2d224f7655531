package clustertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/replica/cluster"
)

// suiteWait bounds each wait. The machine may be busy.
const suiteWait = time.Minute

// Run checks the promises of an engine. connect returns another connection to the same engine, which is empty or has
// been used by Run.
func Run(t *testing.T, connect func(*testing.T) cluster.Engine) {
	openDocument(t, connect(t), newName()).Close() // several servers have a leader now
	for name, test := range map[string]func(*testing.T, func(*testing.T) cluster.Engine){
		"keys change by compare-and-set": testKeys, "keys expire, also after a renewal": testExpiry,
		"a key may have any bytes": testKeyBytes, "a watch delivers": testWatch, "values have a limit": testLargeValues,
		"a log keeps the order": testLog, "a bus delivers": testBus, "one process holds a lease": testLease,
		"members join and leave": testMembers, "a document is replaced as a whole": testDocument,
		"a long document is in parts": testLongDocument, "a log has long records": testLongRecords,
	} {
		t.Run(name, func(t *testing.T) { test(t, connect) }) // in turn: three servers on a busy machine take long
	}
}

// newName returns a name that no other test uses.
func newName() string { return "t" + strconv.FormatUint(rand.Uint64(), 36) }

// eventually repeats a step until it succeeds.
func eventually(t *testing.T, step func() error) {
	t.Helper()
	for end := time.Now().Add(suiteWait); ; time.Sleep(20 * time.Millisecond) {
		err := step()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// mustOpen opens a part of an engine. The servers of a busy machine may not have chosen a leader for it in time.
func mustOpen[T any](t *testing.T, open func() (T, error)) (v T) {
	t.Helper()
	eventually(t, func() (err error) {
		if v, err = open(); err != nil && !errors.Is(err, cluster.ErrUnavailable) {
			t.Fatal(err)
		}
		return err
	})
	return v
}

func openDocument(t *testing.T, engine cluster.Engine, name string) *cluster.Document {
	t.Helper()
	return mustOpen(t, func() (*cluster.Document, error) { return cluster.OpenDocument(t.Context(), engine, name) })
}

func openLongLog(t *testing.T, engine cluster.Engine, name string) cluster.Log {
	t.Helper()
	return mustOpen(t, func() (cluster.Log, error) { return cluster.OpenLog(t.Context(), engine, name) })
}

func join(t *testing.T, engine cluster.Engine, name, address string) *cluster.Members {
	t.Helper()
	return mustOpen(t, func() (*cluster.Members, error) {
		return cluster.Join(t.Context(), engine, name, cluster.Member{Address: address}, cluster.MinLease, nil)
	})
}

func openLog(t *testing.T, engine cluster.Engine, name string) cluster.Log {
	t.Helper()
	return mustOpen(t, func() (cluster.Log, error) { return engine.Log(t.Context(), name) })
}

func mustGet[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func testKeys(t *testing.T, connect func(*testing.T) cluster.Engine) {
	ctx, name := t.Context(), newName()
	a, b := connect(t).KV(name), connect(t).KV(name)
	if _, err := a.Get(ctx, "k"); !errors.Is(err, cluster.ErrNotFound) {
		t.Fatalf("an absent key: %v", err)
	}
	first := mustGet[uint64](t)(a.Set(ctx, "k", []byte("1"), 0, 0))
	conflict := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, cluster.ErrConflict) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := b.Set(ctx, "k", []byte("2"), 0, 0)
	conflict("the second creation", err)
	second := mustGet[uint64](t)(b.Set(ctx, "k", []byte("2"), first, 0))
	_, err = a.Set(ctx, "k", []byte("3"), first, 0)
	conflict("an old revision", err)
	conflict("a deletion of an old revision", a.Delete(ctx, "k", first))
	if e := mustGet[cluster.Entry](t)(a.Get(ctx, "k")); string(e.Value) != "2" || e.Revision != second || e.Key != "k" {
		t.Errorf("it is %+v", e)
	}
	if err := a.Delete(ctx, "k", second); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(ctx, "k"); !errors.Is(err, cluster.ErrNotFound) {
		t.Errorf("a deleted key: %v", err)
	}
	_, err = a.Set(ctx, "k", []byte("4"), second, 0)
	conflict("the revision of a deleted key", err)
	if third := mustGet[uint64](t)(b.Set(ctx, "k", nil, 0, 0)); third <= second {
		t.Errorf("the revisions %d, %d, %d do not grow", first, second, third)
	}
	_, err = b.Set(ctx, "k", nil, 0, time.Second)
	conflict("a creation of an empty value that exists", err)
}

// A renewed key expires like a new one. The plain update of NATS drops the time to live.
func testExpiry(t *testing.T, connect func(*testing.T) cluster.Engine) {
	kv, ctx := connect(t).KV(newName()), t.Context()
	gone := make(chan string, 10)
	go kv.Watch(ctx, func(c cluster.Change) { //nolint:errcheck // it ends with the context
		if c.Gone {
			gone <- c.Key
		}
	})
	created := mustGet[uint64](t)(kv.Set(ctx, "k", []byte("1"), 0, time.Second))
	renewed := mustGet[uint64](t)(kv.Set(ctx, "k", []byte("1"), created, time.Second))
	stays := mustGet[uint64](t)(kv.Set(ctx, "stays", []byte("1"), 0, time.Second))
	mustGet[uint64](t)(kv.Set(ctx, "stays", []byte("2"), stays, 0))
	select {
	case key := <-gone:
		if key != "k" {
			t.Errorf("%q is gone", key)
		}
	case <-time.After(suiteWait):
		t.Fatal("a renewed key does not expire")
	}
	if _, err := kv.Set(ctx, "k", []byte("2"), renewed, 0); !errors.Is(err, cluster.ErrConflict) {
		t.Errorf("the revision of an expired key: %v", err)
	}
	if again := mustGet[uint64](t)(kv.Set(ctx, "k", []byte("2"), 0, 0)); again <= renewed {
		t.Errorf("revision %d follows %d", again, renewed)
	}
	if e := mustGet[cluster.Entry](t)(kv.Get(ctx, "stays")); string(e.Value) != "2" {
		t.Errorf("it is %+v", e)
	}
}

func testKeyBytes(t *testing.T, connect func(*testing.T) cluster.Engine) {
	name, ctx := newName(), t.Context()
	kv, other := connect(t).KV(name), connect(t).KV(newName())
	keys := []string{
		"", ".", "..", "a.b", "*", ">", "a.>", " ", "user:ä/x", "=", "=2E", "\x00\xff", "$KV", "A", "a",
		strings.Repeat(".", cluster.MaxKey),
	}
	for i, key := range keys {
		mustGet[uint64](t)(kv.Set(ctx, key, []byte{byte(i)}, 0, 0))
	}
	for i, key := range keys {
		if e := mustGet[cluster.Entry](t)(kv.Get(ctx, key)); e.Value[0] != byte(i) || e.Key != key {
			t.Errorf("%q is %+v", key, e)
		}
		if _, err := other.Get(ctx, key); !errors.Is(err, cluster.ErrNotFound) {
			t.Errorf("%q of another name: %v", key, err)
		}
	}
	watched := map[string]bool{}
	watching, stop := context.WithCancel(ctx)
	_ = kv.Watch(watching, func(c cluster.Change) {
		if c.Current {
			stop()
			return
		}
		watched[c.Key] = true
	})
	if len(watched) != len(keys) {
		t.Errorf("%d of %d keys are watched", len(watched), len(keys))
	}
	if _, err := kv.Set(ctx, strings.Repeat("k", cluster.MaxKey+1), nil, 0, 0); err == nil {
		t.Error("a longer key is accepted")
	}
}

func testWatch(t *testing.T, connect func(*testing.T) cluster.Engine) {
	name, ctx := newName(), t.Context()
	kv := connect(t).KV(name)
	for _, isEmpty := range []bool{true, false} {
		watching, stop := context.WithCancel(ctx)
		changes, ended := make(chan cluster.Change, 100), make(chan error, 1)
		go func() { ended <- connect(t).KV(name).Watch(watching, func(c cluster.Change) { changes <- c }) }()
		next := func() (c cluster.Change) {
			t.Helper()
			select {
			case c = <-changes:
			case <-time.After(suiteWait):
				t.Fatal("no change arrives")
			}
			return c
		}
		if !isEmpty {
			if c := next(); c.Key != "b" || string(c.Value) != "2" {
				t.Errorf("the value of before is %+v", c)
			}
		}
		if c := next(); !c.Current {
			t.Errorf("the values of before end with %+v", c)
		}
		if isEmpty {
			r := mustGet[uint64](t)(kv.Set(ctx, "a", []byte("1"), 0, 0))
			if c := next(); c.Key != "a" || string(c.Value) != "1" || c.Revision != r || c.Gone || c.Stored.IsZero() {
				t.Errorf("the new value is %+v", c)
			}
			if err := kv.Delete(ctx, "a", r); err != nil {
				t.Fatal(err)
			}
			if c := next(); c.Key != "a" || !c.Gone {
				t.Errorf("the deletion is %+v", c)
			}
			mustGet[uint64](t)(kv.Set(ctx, "b", []byte("2"), 0, 0))
			next()
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the watch ends with %v", err)
		}
	}
}

func testLargeValues(t *testing.T, connect func(*testing.T) cluster.Engine) {
	ctx, engine := t.Context(), connect(t)
	kv, log := engine.KV(newName()), openLog(t, engine, newName())
	large := bytes.Repeat([]byte{0}, cluster.MaxValue)
	mustGet[uint64](t)(kv.Set(ctx, "k", large, 0, 0))
	mustGet[uint64](t)(log.Append(ctx, large, 0))
	larger := append(large, 0)
	_, err := kv.Set(ctx, "l", larger, 0, 0)
	_, logErr := log.Append(ctx, larger, 1)
	for _, err := range []error{err, logErr} {
		if err == nil || errors.Is(err, cluster.ErrConflict) || errors.Is(err, cluster.ErrUnavailable) {
			t.Errorf("a value over the limit: %v", err)
		}
	}
}

func testLog(t *testing.T, connect func(*testing.T) cluster.Engine) {
	const writers, each = 3, 10
	name, ctx := newName(), t.Context()
	var all sync.WaitGroup
	stored := make(chan cluster.Record, writers*each)
	for w := range writers {
		log := openLog(t, connect(t), name)
		all.Go(func() {
			last := uint64(0)
			for i := 0; i < each; {
				data := fmt.Appendf(nil, "%d %d", w, i)
				sequence, err := log.Append(ctx, data, last)
				switch {
				case err == nil:
					stored <- cluster.Record{Sequence: sequence, Data: data}
					last, i = sequence, i+1
					continue
				case !errors.Is(err, cluster.ErrConflict):
					t.Error(err)
					return
				}
				for {
					more, err := log.Read(ctx, last, 7)
					if err != nil {
						t.Error(err)
						return
					}
					if len(more) == 0 {
						break
					}
					last = more[len(more)-1].Sequence
				}
			}
		})
	}
	all.Wait()
	close(stored)
	records := mustGet[[]cluster.Record](t)(openLog(t, connect(t), name).Read(ctx, 0, 1000))
	if len(records) != writers*each {
		t.Fatalf("the log has %d records", len(records))
	}
	for s := range stored {
		if r := records[s.Sequence-1]; r.Sequence != s.Sequence || !bytes.Equal(r.Data, s.Data) {
			t.Errorf("%d %q was stored, and %d %q is there", s.Sequence, s.Data, r.Sequence, r.Data)
		}
	}
}

func testBus(t *testing.T, connect func(*testing.T) cluster.Engine) {
	ctx, topic := t.Context(), newName()+" */>"
	a, b := connect(t), connect(t)
	got := make(chan string, 100)
	stop := mustGet[func()](t)(b.Subscribe(topic, func(data []byte) { got <- string(data) }))
	for isKnown := false; !isKnown; { // to the servers of a
		if err := a.Publish(ctx, topic, nil); err != nil {
			t.Fatal(err)
		}
		select {
		case <-got:
			isKnown = true
		case <-time.After(50 * time.Millisecond):
		}
	}
	for i := range 10 {
		if err := a.Publish(ctx, topic, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
		if err := a.Publish(ctx, "other "+topic, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < 10; {
		select {
		case s := <-got:
			if s == "" { // of before
				continue
			}
			if s != fmt.Sprint(i) {
				t.Errorf("%q arrives as number %d", s, i)
			}
			i++
		case <-time.After(suiteWait):
			t.Fatal("a message does not arrive")
		}
	}
	stop()
	stop()
}

func testLease(t *testing.T, connect func(*testing.T) cluster.Engine) {
	ctx, name := t.Context(), newName()
	var mu sync.Mutex
	var leases []*cluster.Lease
	var all sync.WaitGroup
	for i := range 5 {
		kv := connect(t).KV(name)
		all.Go(func() {
			l, err := cluster.Acquire(ctx, kv, "k", fmt.Sprint("holder ", i), cluster.MinLease, nil)
			if _, held := errors.AsType[*cluster.HeldError](err); err != nil && !held {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if l != nil {
				leases = append(leases, l)
			}
		})
	}
	all.Wait()
	if len(leases) != 1 || !leases[0].Held() {
		t.Fatalf("%d processes hold the lease", len(leases))
	}
	kv, first := connect(t).KV(name), leases[0]
	began := first.Revision()
	for first.Held() && first.Revision() < began+2 { // two renewals, which is most of a lease
		time.Sleep(20 * time.Millisecond)
	}
	_, err := cluster.Acquire(ctx, kv, "k", "late", cluster.MinLease, nil)
	if held, ok := errors.AsType[*cluster.HeldError](err); !ok || !strings.HasPrefix(held.Data, "holder ") {
		t.Errorf("a renewed lease: %v", err)
	}
	if err := first.Release(ctx); err != nil || first.Held() {
		t.Errorf("the release: %v", err)
	}
	second, err := cluster.Acquire(ctx, kv, "k", "second", cluster.MinLease, nil)
	if err != nil || second.Revision() <= first.Revision() {
		t.Fatalf("a free lease: %v", err)
	}
	third, err := cluster.Acquire(ctx, kv, "k", "third", cluster.MinLease, func(d string) bool { return d == "second" })
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-second.Done(): // its next renewal finds the revision of the third
	case <-time.After(suiteWait):
		t.Error("a replaced lease is not lost")
	}
	if err := third.Release(ctx); err != nil {
		t.Error(err)
	}
}

func testMembers(t *testing.T, connect func(*testing.T) cluster.Engine) {
	ctx, own, other := t.Context(), newName(), newName()
	a := join(t, connect(t), own, "h:1")
	b := join(t, connect(t), other, "h:2")
	if b.Address(own) != "h:1" || b.Address("none") != "" {
		t.Errorf("the members are %v", b.All())
	}
	address := func(m *cluster.Members, name, want string) {
		t.Helper()
		eventually(t, func() error {
			if got := m.Address(name); got != want {
				return fmt.Errorf("%s is at %q and not at %q", name, got, want)
			}
			return nil
		})
	}
	address(a, other, "h:2")
	// After a crash:
	again := join(t, connect(t), other, "h:2")
	waited := ""
	waits := func(holder string, _ time.Duration) { waited += holder }
	third := cluster.Member{Address: "h:3"}
	_, err := cluster.Join(ctx, connect(t), own, third, cluster.MinLease, &cluster.MembersOptions{Waits: waits})
	if held, ok := errors.AsType[*cluster.HeldError](err); !ok || held.Data != "h:1" || waited != "h:1" {
		t.Errorf("the same name at another address: %v, after waiting for %q", err, waited)
	}
	changed := make(chan struct{}, 100)
	defer a.Watch(func() { changed <- struct{}{} })()
	again.Publish(map[string]string{"version": "2"})
	for a.All()[other].Facts["version"] != "2" {
		select {
		case <-changed:
		case <-time.After(suiteWait):
			t.Fatalf("the members are %+v", a.All())
		}
	}
	if err := b.Leave(ctx); err != nil {
		t.Error(err)
	}
	if err := again.Leave(ctx); err != nil {
		t.Error(err)
	}
	address(a, other, "")
	if err := a.Leave(ctx); err != nil {
		t.Error(err)
	}
}

// increment adds 1 to a number in a document.
func increment(ctx context.Context, d *cluster.Document) error {
	for {
		text, revision, err := d.Load(ctx)
		if err != nil {
			return err
		}
		n, _ := strconv.Atoi(string(text))
		err = d.Replace(ctx, strconv.AppendInt(nil, int64(n+1), 10), revision)
		if !errors.Is(err, cluster.ErrConflict) {
			return err
		}
	}
}

func testDocument(t *testing.T, connect func(*testing.T) cluster.Engine) {
	ctx, name := t.Context(), newName()
	reader := openDocument(t, connect(t), name)
	defer reader.Close()
	if text, revision := reader.Read(); text != nil || revision != 0 {
		t.Errorf("a new document is %q, %d", text, revision)
	}
	changed := make(chan struct{}, 100)
	defer reader.Watch(func() { changed <- struct{}{} })()
	var all sync.WaitGroup
	for range 3 {
		d := openDocument(t, connect(t), name)
		all.Go(func() {
			defer d.Close()
			for range 10 {
				if err := increment(ctx, d); err != nil {
					t.Error(err)
				}
			}
			if text, _ := d.Read(); len(text) == 0 {
				t.Error("a process does not read its own text")
			}
		})
	}
	all.Wait()
	for end := time.After(suiteWait); ; {
		if text, _ := reader.Read(); string(text) == "30" {
			return
		}
		select {
		case <-changed:
		case <-end:
			t.Fatal("the last text does not arrive")
		}
	}
}

// tooLong returns a text over the limit. There is one for all tests, because the race detector marks each byte.
var tooLong = sync.OnceValue(func() []byte { return make([]byte, 64<<20+1) })

func testLongDocument(t *testing.T, connect func(*testing.T) cluster.Engine) {
	ctx, name, engine := t.Context(), newName(), connect(t)
	d := openDocument(t, engine, name)
	defer d.Close()
	parts := func() (n int) {
		watching, stop := context.WithCancel(ctx)
		_ = engine.KV("part-"+name).Watch(watching, func(c cluster.Change) {
			if c.Current {
				stop()
			} else if !c.Gone {
				n++
			}
		})
		return n
	}
	for i, size := range []int{2 << 20, 1100 << 10, 0, 1 << 20} {
		text := bytes.Repeat([]byte{byte('a' + i)}, size)
		_, revision := d.Read()
		if err := d.Replace(ctx, text, revision); err != nil {
			t.Fatal(err)
		}
		if err := d.Replace(ctx, []byte("late"), revision); !errors.Is(err, cluster.ErrConflict) {
			t.Errorf("an old revision: %v", err)
		}
		other := openDocument(t, connect(t), name)
		if got, _ := other.Read(); !bytes.Equal(got, text) || got == nil {
			t.Errorf("%d bytes are read as %d", size, len(got))
		}
		other.Close()
		awaitParts(t, parts, []int{4, 3, 0, 2}[i])
	}
	_, revision := d.Read()
	if err := d.Replace(ctx, tooLong(), revision); err == nil {
		t.Error("a text over the limit is accepted")
	}
	for _, head := range []string{"", "?", "+", "+{}", `+{"size":-1}`, `+{"size":99999999999,"parts":190735}`} {
		foreign := newName()
		mustGet[uint64](t)(engine.KV("doc-"+foreign).Set(ctx, "head", []byte(head), 0, 0))
		if d, err := cluster.OpenDocument(ctx, engine, foreign); err == nil {
			d.Close()
			t.Errorf("the head %q is accepted", head)
		}
	}
}

// awaitParts waits for a number of parts: a server may answer a read with the state of a moment before.
func awaitParts(t *testing.T, parts func() int, want int) {
	t.Helper()
	eventually(t, func() error {
		if n := parts(); n != want {
			return fmt.Errorf("there are %d parts, want %d", n, want)
		}
		return nil
	})
}

func testLongRecords(t *testing.T, connect func(*testing.T) cluster.Engine) {
	ctx, name, engine := t.Context(), newName(), connect(t)
	log := openLongLog(t, engine, name)
	parts := func() int { return len(mustGet[[]cluster.Entry](t)(cluster.Entries(ctx, engine.KV("part-log-"+name)))) }
	var want []string
	for i, size := range []int{0, 1, 2 << 20, 100} {
		text := bytes.Repeat([]byte{byte('a' + i)}, size)
		mustGet[uint64](t)(log.Append(ctx, text, uint64(i)))
		want = append(want, string(text))
	}
	awaitParts(t, parts, 4)
	if _, err := log.Append(ctx, make([]byte, 1<<20), 1); !errors.Is(err, cluster.ErrConflict) {
		t.Errorf("a late record: %v", err)
	}
	awaitParts(t, parts, 4)
	foreign := openLog(t, engine, name)
	for i, text := range []string{"", "?", "+{}"} {
		mustGet[uint64](t)(foreign.Append(ctx, []byte(text), uint64(4+i)))
		want = append(want, text)
	}
	other := openLongLog(t, connect(t), name)
	for i, r := range mustGet[[]cluster.Record](t)(other.Read(ctx, 0, 100)) {
		if r.Sequence != uint64(i+1) || string(r.Data) != want[i] {
			t.Errorf("record %d of %d bytes is read as %d with %d bytes", i+1, len(want[i]), r.Sequence, len(r.Data))
		}
	}
	if _, err := log.Append(ctx, tooLong(), 7); err == nil || errors.Is(err, cluster.ErrUnavailable) {
		t.Errorf("a record over the limit: %v", err)
	}
}
