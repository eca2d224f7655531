package ledger_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
)

// archived returns a log that became an archive a few times, and the names of the archives, the oldest first.
func archived(t *testing.T) (path string, f *ledger.File, archives []string) {
	t.Helper()
	path = logPath(t)
	f = ledger.Archived(open(t, path), 3000)
	appendTo(t, f, ledger.Entry{Op: ledger.Begin, Run: "A", Config: "x", At: start})
	for i := range 20 {
		e := enrolled("A", i, capability("fs", "read", fmt.Sprintf("version %d %s", i, strings.Repeat("x", 100)), anyObject))
		e.Changed = i > 0
		appendTo(t, f, e)
	}
	return path, f, filesOf(t, path)
}

// filesOf returns the archives of a log, the oldest first.
func filesOf(t *testing.T, path string) []string {
	t.Helper()
	names, err := filepath.Glob(path + ".[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	return names
}

func damages(t *testing.T, f *ledger.File) (out []string) {
	t.Helper()
	for _, d := range verify(t, f).Damage {
		out = append(out, d.String())
	}
	return out
}

func TestALogBecomesAnArchive(t *testing.T) {
	t.Parallel()
	path, f, archives := archived(t)
	if len(archives) < 2 {
		t.Fatalf("there are %v", archives)
	}
	all := history(t, f)
	for i, e := range all {
		if e.Seq != uint64(i+1) || i > 0 && e.Prev != all[i-1].Hash {
			t.Fatalf("entry %d is %+v", i+1, e)
		}
	}
	wantWhole(t, open(t, path), len(all))
	first, _, _ := bytes.Cut(contents(t, path), []byte("\n"))
	if e, body, err := ledger.ReadLine(first); err != nil || e.Op != ledger.Archive || e.Note != filepath.Base(archives[len(archives)-1]) || !json.Valid(body) {
		t.Errorf("the log begins with %+v, %v", e, err)
	}
	now := read(t, open(t, path))
	if live := ledger.Live(now); len(live) != 1 || !strings.HasPrefix(live[0].Capability.Description, "version 19 ") {
		t.Errorf("live are %+v", live)
	}
	if was, ok := ledger.Approved(now)(ledger.Changed(now)[0]); !ok || !strings.HasPrefix(was.Capability.Description, "version 0 ") {
		t.Errorf("approved is %+v", was)
	}
	if len(now) >= len(all) {
		t.Errorf("%d of %d entries are read", len(now), len(all))
	}
	for after := uint64(1); int(after) < len(all); after++ {
		if got, err := open(t, path).Read(t.Context(), after); err != nil || len(got) != len(all)-int(after) || got[0].Seq != after+1 {
			t.Fatalf("after %d there are %d entries, %v", after, len(got), err)
		}
	}
	for _, name := range append(archives, path) {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// An archive that does not exist is reported. The approved, known and live tools do not depend on it.
func TestAnArchiveThatIsRemoved(t *testing.T) {
	t.Parallel()
	path, f, archives := archived(t)
	want, all := read(t, f), history(t, f)
	last := archives[len(archives)-1]
	if err := os.Remove(last); err != nil {
		t.Fatal(err)
	}
	if diff := diffEntries(want, read(t, open(t, path))); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if diff := diffEntries(want, history(t, open(t, path))); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	gone := strings.TrimPrefix(last, path+".")
	if diff := gocmp.Diff([]string{filepath.Base(last) + ", line 1: missing (entries 1 to " + gone + "): the archive is not there"}, damages(t, f)); diff != "" {
		t.Error(diff)
	}
	if got := appendTo(t, open(t, path), ledger.Entry{Op: ledger.Health}); int(got[0].Seq) != len(all)+1 {
		t.Errorf("it goes on with %d", got[0].Seq)
	}
}

// A change of any byte of an archive is found, and so is a change of any byte of the entry that holds the approvals.
func TestVerifyFindsEveryByteOfAnArchive(t *testing.T) {
	t.Parallel()
	path, f, archives := archived(t)
	first, _, _ := bytes.Cut(contents(t, path), []byte("\n"))
	for name, length := range map[string]int{archives[1]: len(contents(t, archives[1])), path: len(first)} {
		whole := contents(t, name)
		for i := 0; i < length; i += 7 {
			changed := bytes.Clone(whole)
			changed[i] ^= 0x20
			write(t, name, changed)
			if len(damages(t, f)) == 0 {
				t.Fatalf("%s: byte %d of %q", name, i, whole[max(0, i-20):i+20])
			}
		}
		write(t, name, whole)
	}
	wantWhole(t, f, len(history(t, f)))
}

// If the first entry of a log is rewritten with another approval, it does not match the archives.
func TestAForgedFirstEntry(t *testing.T) {
	t.Parallel()
	path, f, _ := archived(t)
	first, _, _ := bytes.Cut(contents(t, path), []byte("\n"))
	e, body, err := ledger.ReadLine(first)
	if err != nil {
		t.Fatal(err)
	}
	now := read(t, f)
	accept := ledger.AppendLine(ledger.Entry{Op: ledger.Accept, Server: "fs", Tool: "read", Sum: now[len(now)-1].Sum, Run: "x", Seq: 2})
	for _, more := range [][]byte{nil, append([]byte(","), accept[:len(accept)-1]...)} {
		e.Capability = &ledger.Capability{Wire: toolbox.Wire{JSON: slices.Concat(body[:len(body)-2], more, []byte("]}"))}}
		write(t, path, ledger.AppendLine(e))
		if got := strings.Join(damages(t, f), "; "); strings.Contains(got, "line 1: altered") != (more != nil) {
			t.Errorf("with %q the damage is %q", more, got)
		}
	}
}

// If the first entry is damaged, the approvals are unknown: a first listing approves no tools.
func TestADamagedFirstEntry(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func([]byte) []byte{
		"its head":  func(b []byte) []byte { return bytes.Replace(b, []byte(`"op":"archive"`), []byte(`"op":"archivf"`), 1) },
		"its body":  func(b []byte) []byte { return bytes.Replace(b, []byte("version 0"), []byte("version x"), 1) },
		"all of it": func(b []byte) []byte { return b[1+bytes.IndexByte(b, '\n'):] },
	} {
		t.Run(name, func(t *testing.T) {
			path, f, _ := archived(t)
			appendTo(t, f, ledger.Entry{Op: ledger.Health, Run: "A"})
			write(t, path, damage(contents(t, path)))
			s := newShelf(t, "other", row("echo", "Echoes."))
			log := ledger.Archived(open(t, path), 1)
			for range 2 { // the same holds in the next log
				a := attach(t, configs(s), &ledger.Options{Log: log, Policy: config.HoldChanges})
				if got := listed(a); got != "" {
					t.Errorf("there is %s", got)
				}
				a.Close()
			}
			if len(damages(t, log)) == 0 {
				t.Error("the damage does not show")
			}
		})
	}
}

// A crash may leave an archive beside the log that it copies, and a part of a new file. The next append goes on.
func TestCrashWhileALogBecomesAnArchive(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	f := ledger.Archived(open(t, path), 1<<20)
	stored := twoRuns(t, f)
	whole := contents(t, path)
	after := ledger.Archived(open(t, path), 1)
	appendTo(t, after, ledger.Entry{Op: ledger.Health})
	archive := contents(t, path+".12")
	fresh := contents(t, path)
	for name, crash := range map[string]func(path string){
		"a part of the archive":     func(path string) { write(t, temporary(path+".12"), archive[:100]) },
		"the archive":               func(path string) { write(t, path+".12", archive) },
		"and a part of the new log": func(path string) { write(t, path+".12", archive); write(t, temporary(path), fresh[:100]) },
		"and the new log":           func(path string) { write(t, path+".12", archive); write(t, temporary(path), fresh) },
	} {
		t.Run(name, func(t *testing.T) {
			at := logPath(t)
			open(t, at)
			write(t, at, archive)
			crash(at)
			f := ledger.Archived(open(t, at), 1)
			wantWhole(t, f, len(stored)+1)
			if got := appendTo(t, f, ledger.Entry{Op: ledger.Health}); got[0].Seq != uint64(len(stored)+2) {
				t.Errorf("it goes on with %d", got[0].Seq)
			}
			wantWhole(t, f, len(stored)+3)
			if diff := diffEntries(stored, history(t, f)[:len(stored)]); diff != "" {
				t.Errorf("(-kept +read):\n%s", diff)
			}
			if f.Removed() {
				t.Error("it is taken for a log that was removed")
			}
		})
	}
	if len(whole) >= len(archive) {
		t.Error("the archive has not all")
	}
}

// temporary returns the path at which a file is written before it has its name.
func temporary(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
}

// If a log cannot become an archive, it grows, and nothing is lost. Another file with the name of the archive is left
// alone.
func TestALogThatCannotBecomeAnArchive(t *testing.T) {
	path := logPath(t)
	f := ledger.Archived(open(t, path), 100)
	write(t, path+".1", []byte("mine"))
	if err := os.Mkdir(path+".2", 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		appendTo(t, f, ledger.Entry{Op: ledger.Health, Note: strings.Repeat("x", 1000)})
		wantWhole(t, f, i+1)
	}
	if got := string(contents(t, path+".1")); got != "mine" {
		t.Errorf("the other file has %q", got)
	}
	appendTo(t, f, ledger.Entry{Op: ledger.Health})
	wantWhole(t, f, 4)
	if _, err := os.Stat(path + ".3"); err != nil {
		t.Error(err)
	}
}

// A log with a long first entry becomes an archive at twice the length of this entry.
func TestALogThatHoldsMuch(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	f := ledger.Archived(open(t, path), 2000)
	for i := range 100 {
		appendTo(t, f, enrolled("A", i, capability("fs", fmt.Sprint("t", i), strings.Repeat("x", 1000), anyObject)))
	}
	before := filesOf(t, path)
	for range 20 {
		appendTo(t, f, ledger.Entry{Op: ledger.Health, Run: "A", Server: "fs"})
	}
	if after := filesOf(t, path); len(before) > 10 || len(after) != len(before) {
		t.Errorf("there are %d archives, and then %d", len(before), len(after))
	}
	wantWhole(t, f, len(history(t, f)))
}

// A new log may have the inode and the length of an earlier file. A process that has read the earlier file notices that
// the log is another.
func TestArchivedFileWithTheSameInode(t *testing.T) {
	path := logPath(t)
	idle, other := open(t, path), open(t, path)
	twoRuns(t, other)
	appendTo(t, idle, ledger.Entry{Op: ledger.Health, Run: "A"}) // idle has read all entries
	long := len(contents(t, path))
	if err := os.Link(path, path+".inode"); err != nil {
		t.Fatal(err)
	}
	appendTo(t, ledger.Archived(other, 1), ledger.Entry{Op: ledger.Health, Run: "A"})
	ledger.Archived(other, 1<<20)
	for i := 0; len(contents(t, path)) < long+1000; i++ {
		appendTo(t, other, enrolled("B", i, capability("web", fmt.Sprint("t", i), strings.Repeat("y", 3000), anyObject)))
	}
	write(t, path+".inode", contents(t, path))
	if err := os.Rename(path+".inode", path); err != nil {
		t.Fatal(err)
	}
	appendTo(t, idle, enrolled("A", 300, capability("fs", "write", "Writes a ☃.", anyObject)))
	if d := idle.Damage(); len(d) > 0 {
		t.Errorf("it finds damage where there is none: %v", d)
	}
	log := history(t, other)
	if last := log[len(log)-1]; last.Capability == nil || last.Capability.Description != "Writes a ☃." {
		t.Errorf("the tool is not there: %+v", last)
	}
	wantWhole(t, other, len(log))
}

// A log that is removed while its archives exist is reported, and begins anew. The archives do not count as its own.
func TestARemovedLogWithArchives(t *testing.T) {
	t.Parallel()
	path, _, archives := archived(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f := ledger.Archived(open(t, path), 1)
	if got := read(t, f); !f.Removed() || got[0].Op != ledger.Reset || got[0].Seq != 1 {
		t.Fatalf("the log begins with %+v", got)
	}
	appendTo(t, f, ledger.Entry{Op: ledger.Health})
	if got := history(t, f); len(got) != 3 || got[2].Op != ledger.Archive {
		t.Errorf("it has %+v", got)
	}
	for _, name := range archives {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

// A log of an earlier version, with a checkpoint and without the text of old versions, goes on. Its approvals stay.
func TestALogFromBeforeArchives(t *testing.T) {
	path := logPath(t)
	open(t, path)
	for _, suffix := range []string{"", ".checkpoint"} {
		write(t, path+suffix, contents(t, "testdata/before-archives/ledger.jsonl"+suffix))
	}
	servers := []config.Server{{ID: "fs"}}
	f := open(t, path)
	want := present(read(t, f), servers)
	wantWhole(t, f, 22)
	appendTo(t, ledger.Archived(f, 1), ledger.Entry{Op: ledger.Accept, Run: "x"})
	if diff := gocmp.Diff(want, present(read(t, open(t, path)), servers)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	wantWhole(t, f, 24)
	changed := ledger.Changed(read(t, f))
	if len(changed) != 1 || changed[0].Tool != "write" || len(want) < 6 {
		t.Errorf("changed are %+v, and there is %v", changed, want)
	}
	for suffix, there := range map[string]bool{".23": true, ".checkpoint": false} {
		if _, err := os.Stat(path + suffix); (err == nil) != there {
			t.Errorf("%s: %v", suffix, err)
		}
	}
}
