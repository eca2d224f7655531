package ledger_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/ledger"
)

// Tampering with a log is found, and the line is named.
func TestVerifyFindsTampering(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	f := open(t, path)
	stored := twoRuns(t, f)
	head := ledger.Head{Seq: 11, Hash: stored[10].Hash}
	whole := contents(t, path)
	replace := func(old, by string) func([][]byte) [][]byte {
		return func(lines [][]byte) [][]byte {
			return bytes.SplitAfter(bytes.Replace(bytes.Join(lines, nil), []byte(old), []byte(by), 1), []byte("\n"))
		}
	}
	for _, c := range []struct {
		name   string
		tamper func([][]byte) [][]byte
		want   []string
	}{
		{"nothing", func(l [][]byte) [][]byte { return l }, nil},
		{"a time", replace("12:00:04.000", "12:00:04.001"), []string{"line 7: altered (entry 7)"}},
		{"a server", replace(`"server":"fs"`, `"server":"gs"`), []string{"line 2: altered (entry 2)"}},
		{"a body", replace("Reads a file.", "Reads a life."), []string{"line 2: altered (entry 2)"}},
		{"a body in base64", replace(`"bytes":"eyJ`, `"bytes":"eyK`), []string{"line 6: altered (entry 6)"}},
		{"a body that is taken out", replace(`,"body":{"name":"read","description":"Reads any file.","inputSchema":{"type":"object"}}`, `,"x":1`), []string{"line 8: altered (entry 8)"}},
		{"a hash", replace(stored[3].Hash, strings.Repeat("0", 64)), []string{"line 4: altered (entry 4)", "line 5: altered (entry 5)"}},
		{"a number", replace(`{"seq":4,`, `{"seq":9000,`), []string{"line 4: altered (entry 9000)"}},
		{"a line that is nonsense", replace(`{"seq":4,`, `nonsense`), []string{"line 4: unreadable"}},
		{"a line in between", func(l [][]byte) [][]byte { return slices.Insert(l, 3, []byte("hello\n")) }, []string{"line 4: unreadable"}},
		{"one that is gone", func(l [][]byte) [][]byte { return slices.Delete(l, 4, 5) }, []string{"line 5: missing (entry 5)"}},
		{"three that are gone", func(l [][]byte) [][]byte { return slices.Delete(l, 4, 7) }, []string{"line 5: missing (entries 5 to 7)"}},
		{"the first is gone", func(l [][]byte) [][]byte { return l[1:] }, []string{"line 1: missing (entry 1)"}},
		{"the last is gone", func(l [][]byte) [][]byte { return l[:10] }, []string{"line 11: missing (entry 11)"}},
		{"two that changed places", func(l [][]byte) [][]byte { l[4], l[5] = l[5], l[4]; return l },
			[]string{"line 5: reordered (entry 5)", "line 6: reordered (entry 5)", "line 7: reordered (entry 6)"}},
		{"one that is there twice", func(l [][]byte) [][]byte { return slices.Insert(l, 6, l[2]) },
			[]string{"line 7: reordered (entry 3)", "line 8: reordered (entries 4 to 6)"}},
		{"written anew from the fifth on", func(l [][]byte) [][]byte {
			at := logPath(t)
			twoRuns(t, open(t, at)) // the same log, but then
			forged := open(t, at)
			write(t, at, bytes.Join(bytes.SplitAfter(contents(t, at), []byte("\n"))[:4], nil))
			for range 7 {
				appendTo(t, forged, ledger.Entry{Op: ledger.Health})
			}
			return bytes.SplitAfter(contents(t, at), []byte("\n"))
		}, []string{"line 12: altered (entry 11)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := logPath(t)
			f := open(t, at)
			write(t, at, bytes.Join(c.tamper(bytes.SplitAfter(bytes.Clone(whole), []byte("\n"))), nil))
			var got []string
			for _, d := range verify(t, f, head).Damage {
				what, _, _ := strings.Cut(d.String(), ": ")
				rest := strings.TrimPrefix(d.String(), what+": ")
				kind, _, _ := strings.Cut(rest, ": ")
				got = append(got, what+": "+kind)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			appendTo(t, open(t, at), ledger.Entry{Op: ledger.Health}) // never fatal
		})
	}
}

// A change of any single byte is found.
func TestVerifyFindsEveryByte(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	twoRuns(t, ledger.Unsynced(open(t, path)))
	whole := contents(t, path)
	for i := range whole {
		changed := bytes.Clone(whole)
		changed[i] ^= 0x20
		if len(ledger.VerifyBytes(changed)) == 0 {
			t.Fatalf("byte %d of %q", i, whole[max(0, i-20):i+20])
		}
	}
}

func ExampleDamage_String() {
	fmt.Println(ledger.Damage{Kind: ledger.Missing, Line: 5, Seq: 5, Last: 7, Why: "the line before it is not there"})
	// Output: line 5: missing (entries 5 to 7): the line before it is not there
}
