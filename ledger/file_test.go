package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
)

func TestFileKeepsWhatWasWritten(t *testing.T) {
	path := logPath(t)
	f := open(t, path)
	stored := twoRuns(t, f)
	for i, e := range stored {
		if e.Seq != uint64(i+1) || e.Hash == "" || (i > 0 && e.Prev != stored[i-1].Hash) {
			t.Errorf("entry %d is %+v", i+1, e)
		}
	}
	for _, from := range []*ledger.File{f, open(t, path)} {
		if diff := diffEntries(stored, read(t, from)); diff != "" {
			t.Errorf("(-written +read):\n%s", diff)
		}
		wantWhole(t, from, 11)
	}
	some, err := f.Read(t.Context(), 9)
	if err != nil || len(some) != 2 || some[0].Seq != 10 {
		t.Errorf("after 9 there is %v, %v", some, err)
	}
	some, err = f.Read(t.Context(), 11)
	if err != nil || len(some) > 0 {
		t.Errorf("after 11 there is %v, %v", some, err)
	}
	appendTo(t, open(t, path), ledger.Entry{Op: ledger.Health})
	some, err = f.Read(t.Context(), 11)
	if err != nil || len(some) != 1 {
		t.Errorf("after 11 there is %v, %v", some, err)
	}
	if lines := bytes.Count(contents(t, path), []byte("\n")); lines != 12 {
		t.Errorf("%d lines", lines)
	}
	// An object is in the log once, however often it is enrolled.
	if n := bytes.Count(contents(t, path), []byte("Reads a file.")); n != 1 {
		t.Errorf("one tool object is written %d times", n)
	}
}

func TestFileIsItsOwnersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	path := logPath(t)
	appendTo(t, open(t, path), ledger.Entry{Op: ledger.Begin, Run: "A"})
	for file, want := range map[string]os.FileMode{filepath.Dir(path): 0o700, path: 0o600, path + ".lock": 0o600} {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has %v, %v; want %v", file, info.Mode().Perm(), err, want)
		}
	}
}

func TestRunsAreApart(t *testing.T) {
	f := open(t, logPath(t))
	twoRuns(t, f)
	runs := ledger.Runs(read(t, f))
	if len(runs) != 2 || runs[0].ID != "A" || runs[0].By != "one" || runs[0].Ended.IsZero() || !runs[1].Ended.IsZero() {
		t.Fatalf("runs %+v", runs)
	}
	if got := runs[0].Live().Names(); len(got) != 0 {
		t.Errorf("A has ended, and has %v", got)
	}
	// "fs read" was retired by B itself. The end of A does not affect it.
	if diff := cmp.Diff([]string{"web__get"}, runs[1].Live().Names()); diff != "" {
		t.Error(diff)
	}
}

func TestAtATime(t *testing.T) {
	f := open(t, logPath(t))
	twoRuns(t, f)
	log := read(t, f)
	for second, want := range map[int]string{
		-1: "", 0: "", 1: "fs__read fs__write", 3: "fs__read fs__write web__get", 4: "fs__read web__get",
		5: "fs__read fs__read web__get", 7: "fs__read web__get", 8: "web__get", 100: "web__get",
	} {
		var names []string
		for _, e := range ledger.Live(ledger.Until(log, start.Add(time.Duration(second)*time.Second))) {
			names = append(names, e.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("at %d s there is %q, want %q", second, got, want)
		}
	}
}

// Texts are read back unchanged if JSON can represent them, and are bounded.
func TestFileTakesHostileEntries(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	f := open(t, path)
	huge := strings.Repeat("x", ledger.MaxBody)
	for _, raw := range []string{
		`{"name":"a","hash":"` + strings.Repeat("0", 64) + `"}`, "", "null", "\x00\xff", `{"a":1}` + "\n", " {} ", "{\r\n}", `{"a":`,
		`{"a":"` + huge + `"}`, `{"a":` + strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + "}",
	} {
		c := ledger.Capability{Server: huge, Tool: "\xff\x00\u2028\n", Name: `","hash":"`, Wire: toolbox.Wire{Format: huge, JSON: []byte(raw)}}
		appendTo(t, f, ledger.Entry{Op: "\xff", Note: huge}, enrolled(`","hash":"`, 1, c))
		log := read(t, f)
		got := log[len(log)-1]
		if got.Name != c.Name || got.Run != c.Name {
			t.Errorf("%q came back as %q", c.Name, got.Name)
		}
		switch stored := len(raw) > 0 && len(raw) <= ledger.MaxBody; {
		case stored && (got.Capability == nil || string(got.Capability.Wire.JSON) != raw):
			t.Errorf("%.40q came back as %+v", raw, got.Capability)
		case !stored && got.Capability != nil:
			t.Errorf("%.40q was kept", raw)
		}
	}
	wantWhole(t, open(t, path), 20)
	if n := len(contents(t, path)); n > 1<<20 {
		t.Errorf("it takes %d bytes", n)
	}
}

// Foreign lines of any length, and empty lines, are skipped.
func TestFileReadsOverForeignLines(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	appendTo(t, open(t, path), ledger.Entry{Op: ledger.Begin, Run: "A"})
	foreign := "\n\x00\x00\n" + strings.Repeat("y", 2*ledger.MaxLine) + "\n{}\nnull\n" + `{"seq":-1,"hash":"` + strings.Repeat("0", 64) + "\"}\n"
	write(t, path, append(contents(t, path), foreign...))
	f := ledger.Archived(open(t, path), 1<<30)
	if got := appendTo(t, f, ledger.Entry{Op: ledger.End, Run: "A"}); got[0].Seq != 2 {
		t.Errorf("it goes on with %d", got[0].Seq)
	}
	if got := read(t, f); len(got) != 2 {
		t.Errorf("%d entries", len(got))
	}
	r := verify(t, f)
	if len(r.Damage) != 6 || r.Damage[0].Line != 2 || r.Damage[2].Kind != "unreadable" {
		t.Errorf("damage %v", r.Damage)
	}
}

func TestAppendThatFailsKeepsNothing(t *testing.T) {
	path := logPath(t)
	f := open(t, path)
	appendTo(t, f, ledger.Entry{Op: ledger.Begin, Run: "A"})
	before := contents(t, path)
	full := errors.New("no space left")
	ledger.Broken(f, full)
	if _, err := f.Append(t.Context(), ledger.Entry{Op: ledger.End, Run: "A"}); !errors.Is(err, full) {
		t.Errorf("append: %v", err)
	}
	if got := contents(t, path); !bytes.Equal(got, before) {
		t.Errorf("it left %q", got)
	}
	if got := appendTo(t, open(t, path), ledger.Entry{Op: ledger.End, Run: "A"}); got[0].Seq != 2 {
		t.Errorf("it goes on with %d", got[0].Seq)
	}
}

func TestOpenFileSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	if _, err := ledger.OpenFile(t.Context(), dir, nil); err == nil || !strings.HasPrefix(err.Error(), "ledger: ") {
		t.Errorf("a directory: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f := open(t, filepath.Join(dir, "l"))
	cancel()
	if _, err := f.Append(ctx, ledger.Entry{}); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A log that was removed begins anew, without an error for processes that have it open.
func TestFileThatWasRemoved(t *testing.T) {
	path := logPath(t)
	f := open(t, path)
	appendTo(t, f, ledger.Entry{Op: ledger.Begin, Run: "A"})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := appendTo(t, f, ledger.Entry{Op: ledger.Begin, Run: "B"}); got[0].Seq != 1 {
		t.Errorf("%+v", got)
	}
	wantWhole(t, f, 1)
}
