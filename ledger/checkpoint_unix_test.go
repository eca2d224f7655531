//go:build unix

package ledger_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/indusagi/indus/ledger"
)

// What is no file in a checkpoint's place holds nobody up, and is neither read nor followed.
func TestSomethingElseForACheckpoint(t *testing.T) {
	path := logPath(t)
	f := ledger.Checkpointed(open(t, path))
	other := path + ".other"
	write(t, other, []byte("mine"))
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".checkpoint.new")
	for _, name := range []string{path + ".checkpoint", temp} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
		put(t, f, ledger.Entry{Op: ledger.Health})
		if _, err := f.State(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantWhole(t, open(t, path), len(read(t, f)))
	}
	if err := os.Symlink(other, temp); err != nil {
		t.Fatal(err)
	}
	put(t, f, ledger.Entry{Op: ledger.Health})
	if _, err := f.State(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := string(contents(t, other)); got != "mine" || len(contents(t, path+".checkpoint")) == 0 {
		t.Errorf("the other file has %q", got)
	}
}
