package ledger_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/ledger"
)

// versions is a log in which a tool has changed a hundred times.
func versions(t *testing.T, f ledger.Log) []ledger.Entry {
	t.Helper()
	batch := []ledger.Entry{{Op: ledger.Begin, Run: "A", Config: "x", At: start}}
	for i := range 100 {
		e := enrolled("A", i, capability("fs", "read", fmt.Sprintf("version %d %s", i, strings.Repeat("x", 1000)), anyObject))
		e.Changed = i > 0
		batch = append(batch, e)
	}
	return put(t, f, batch...)
}

func TestCompactLosesNoEntry(t *testing.T) {
	path := logPath(t)
	f, other := open(t, path), open(t, path)
	kept := versions(t, f)
	before := len(contents(t, path))
	saved, err := f.Compact(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	after := contents(t, path)
	if int(saved) != before-len(after) || saved < 95_000 {
		t.Errorf("saved %d: from %d to %d bytes", saved, before, len(after))
	}
	// The first version was approved, the last one is live.
	for i, want := range map[int]bool{0: true, 1: false, 50: false, 98: false, 99: true} {
		if got := bytes.Contains(after, fmt.Appendf(nil, "version %d ", i)); got != want {
			t.Errorf("version %d is there: %t", i, got)
		}
	}
	log := read(t, f)
	for i := range kept {
		if i != 1 && i != 100 {
			kept[i].Capability = nil
		}
	}
	if diff := diffEntries(kept, log); diff != "" {
		t.Errorf("(-kept +read):\n%s", diff)
	}
	wantWhole(t, f, 101)
	// Everybody goes on behind it, with the next number and the same chain.
	for i, f := range []*ledger.File{other, f, open(t, path)} {
		if got := put(t, f, ledger.Entry{Op: ledger.Health, Run: "A"}); got[0].Seq != uint64(102+i) {
			t.Errorf("it goes on with %d", got[0].Seq)
		}
	}
	// What went is written again where it comes again.
	put(t, other, enrolled("A", 200, *versionsTool(50)))
	if got := read(t, f); got[len(got)-1].Capability == nil {
		t.Error("the tool that came again is not there")
	}
	wantWhole(t, f, 105)
	again, err := other.Compact(t.Context(), time.Now())
	if err != nil || again != 0 && again < 0 {
		t.Errorf("compacted again: %d, %v", again, err)
	}
	wantWhole(t, f, 105)
}

func versionsTool(i int) *ledger.Capability {
	c := capability("fs", "read", fmt.Sprintf("version %d %s", i, strings.Repeat("x", 1000)), anyObject)
	return &c
}

// A compacted file may have the inode of the one before the last, and be as long as that
// one was: who has read that one sees that it is another.
func TestCompactedFileWithTheSameInode(t *testing.T) {
	path := logPath(t)
	idle, other := open(t, path), open(t, path)
	versions(t, other)
	put(t, idle, ledger.Entry{Op: ledger.Health, Run: "A"}) // it has read all
	long := len(contents(t, path))
	if err := os.Link(path, path+".inode"); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Compact(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	for i := 0; len(contents(t, path)) < long+1000; i++ {
		put(t, other, enrolled("B", i, capability("web", fmt.Sprint("t", i), strings.Repeat("y", 3000), anyObject)))
	}
	whole := contents(t, path)
	write(t, path+".inode", whole)
	if err := os.Rename(path+".inode", path); err != nil {
		t.Fatal(err)
	}
	put(t, idle, enrolled("A", 300, *versionsTool(50))) // which was compacted away
	if d := idle.Damage(); len(d) > 0 {
		t.Errorf("it finds damage where there is none: %v", d)
	}
	log := read(t, other)
	if last := log[len(log)-1]; last.Capability == nil || !strings.HasPrefix(last.Capability.Description, "version 50 ") {
		t.Errorf("the tool that came again is not there: %+v", last)
	}
	wantWhole(t, other, len(log))
}

func TestCompactKeepsWhatIsRecent(t *testing.T) {
	path := logPath(t)
	f := open(t, path)
	versions(t, f)
	if _, err := f.Compact(t.Context(), start.Add(90*time.Second)); err != nil {
		t.Fatal(err)
	}
	there := 0
	for _, e := range read(t, f) {
		if e.Capability != nil {
			there++
		}
	}
	if there != 11 {
		t.Errorf("%d versions are there", there)
	}
}

// Compaction mends nothing: what was damaged still shows.
func TestCompactKeepsDamage(t *testing.T) {
	path := logPath(t)
	f := open(t, path)
	story(t, f)
	write(t, path, bytes.Replace(contents(t, path), []byte("12:00:04"), []byte("12:00:05"), 1))
	want := verify(t, f)
	if _, err := f.Compact(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	got := verify(t, f)
	if len(got.Damage) != 1 || got.Damage[0].Line != want.Damage[0].Line || got.Head != want.Head {
		t.Errorf("before %+v, after %+v", want, got)
	}
}

func TestCompactKeepsTheSnapshot(t *testing.T) {
	f := open(t, logPath(t))
	story(t, f)
	names := func() (out []string) {
		for _, r := range ledger.Runs(read(t, f)) {
			for _, e := range r.Live().Live {
				out = append(out, r.ID+e.Name+string(e.Capability.Wire.JSON))
			}
		}
		return out
	}
	before := names()
	if _, err := f.Compact(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, names()); diff != "" {
		t.Error(diff)
	}
}

// A log with too much text of old versions is compacted by who attaches.
func TestAttachCompacts(t *testing.T) {
	const size = 900 << 10
	for _, c := range []struct {
		versions int
		want     bool
	}{{4, false}, {22, true}} {
		path := logPath(t)
		f := open(t, path)
		for i := range c.versions {
			e := enrolled("A", i, capability("fs", "read", fmt.Sprint(i, strings.Repeat("x", size)), anyObject))
			e.At = time.Now().AddDate(-1, 0, 0)
			put(t, f, e)
		}
		put(t, f, ledger.Entry{Op: ledger.End, Run: "A"})
		before := len(contents(t, path))
		ledger.Attach(t.Context(), ledger.Empty(), nil, &ledger.Options{Log: open(t, path)}).Close()
		if got := len(contents(t, path)) < 3*size; got != c.want {
			t.Errorf("%d versions: from %d to %d bytes", c.versions, before, len(contents(t, path)))
		}
		wantWhole(t, f, c.versions+1)
	}
}
