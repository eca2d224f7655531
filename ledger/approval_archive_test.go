package ledger_test

import (
	"os"
	"testing"
	"time"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

// An Accept by another process is noticed, also after the log became an archive, and after it was removed and begun
// anew.
func TestAnAcceptAfterTheLogIsAnother(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, path string){
		"it is the same": func(*testing.T, string) {},
		"it became an archive": func(t *testing.T, path string) {
			appendTo(t, ledger.Archived(open(t, path), 1), ledger.Entry{Op: ledger.Health})
		},
		"it was removed": func(t *testing.T, path string) {
			before := read(t, open(t, path))
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			appendTo(t, open(t, path), ledger.Changed(before)...) // as a run that starts now would write it
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, path := changedShelf(t, openFile)
			a := attach(t, configs(s), &ledger.Options{Log: open(t, path), Policy: config.HoldChanges, Poll: time.Millisecond})
			if err := a.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			change(t, path)
			other := open(t, path)
			held := ledger.Changed(read(t, other))
			if len(held) != 1 || held[0].Tool != "echo" {
				t.Fatalf("held are %+v", held)
			}
			if err := ledger.Approve(t.Context(), other, "me", held...); err != nil {
				t.Fatal(err)
			}
			waitUntil(t, a, "accepted", func() bool { return listed(a) == "fs__echo fs__read" })
		})
	}
}
