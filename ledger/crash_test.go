package ledger_test

import (
	"bytes"
	"testing"

	"github.com/indusagi/indus/ledger"
)

// A crash may leave any part of the bytes that were being written. In each case, all entries are there for which Append
// had returned. Nothing is fatal, and the log goes on.
func TestCrashAtEveryByte(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	f := ledger.Unsynced(open(t, path))
	stored := twoRuns(t, f)[:6]
	whole := contents(t, path)
	whole = whole[:bytes.Index(whole, []byte(`{"seq":7,`))]
	at := logPath(t)
	open(t, at)
	for n := range len(whole) + 1 {
		write(t, at, whole[:n])
		lines := bytes.Count(whole[:n], []byte("\n"))
		f, err := ledger.OpenFile(t.Context(), at, nil)
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		ledger.Unsynced(f)
		torn := n > 0 && whole[n-1] != '\n'
		if d := f.Damage(); torn != (len(d) == 1) || torn && d[0].Kind != ledger.Torn {
			t.Fatalf("cut at %d: damage %v", n, d)
		}
		if n%16 > 0 && torn {
			continue
		}
		if diff := diffEntries(stored[:lines], read(t, f)); diff != "" {
			t.Fatalf("cut at %d (-kept +read):\n%s", n, diff)
		}
		if next := appendTo(t, f, ledger.Entry{Op: ledger.Begin, Run: "C"}); next[0].Seq != uint64(lines+1) {
			t.Fatalf("cut at %d: it goes on with %d", n, next[0].Seq)
		}
		wantWhole(t, f, lines+1)
	}
}

// A block that never reached the disk reads as zeros.
func TestCrashThatLeavesZeros(t *testing.T) {
	path := logPath(t)
	stored := twoRuns(t, open(t, path))
	write(t, path, append(contents(t, path), make([]byte, 5000)...))
	f := open(t, path)
	if d := f.Damage(); len(d) != 1 || d[0].Kind != ledger.Torn {
		t.Errorf("damage %v", d)
	}
	appendTo(t, f, ledger.Entry{Op: ledger.Begin, Run: "C"})
	wantWhole(t, f, len(stored)+1)
}

// A process that has the log open finds the torn end that another process left, and cuts it.
func TestAppendBehindATornLine(t *testing.T) {
	path := logPath(t)
	f := open(t, path)
	stored := twoRuns(t, f)
	write(t, path, append(contents(t, path), `{"seq":12,"at":"2026-`...))
	if r := verify(t, f); len(r.Damage) != 1 || r.Damage[0].Kind != ledger.Torn || r.Damage[0].Line != 12 {
		t.Errorf("damage %v", r.Damage)
	}
	if got := read(t, f); len(got) != len(stored) {
		t.Errorf("%d entries", len(got))
	}
	appendTo(t, f, ledger.Entry{Op: ledger.Begin, Run: "C"})
	wantWhole(t, f, len(stored)+1)
	if d := f.Damage(); len(d) != 1 {
		t.Errorf("damage %v", d)
	}
}
