package ledger

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/indusagi/indus/internal/filelock"
)

// TestOtherProcessesAreWaitedForWithoutTheMutex checks that while another process holds the file, only callers that
// need the file wait.
func TestOtherProcessesAreWaitedForWithoutTheMutex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	synctest.Test(t, func(t *testing.T) {
		f, err := OpenFile(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		unlock, err := filelock.Lock(t.Context(), path+".lock")
		if err != nil {
			t.Fatal(err)
		}
		var waiting sync.WaitGroup
		defer waiting.Wait()
		defer unlock()
		for what, wait := range map[string]func() error{
			"an append": func() error { _, err := f.Append(context.Background(), Entry{Op: Begin, Run: "r"}); return err },
			"a reader":  func() error { _, err := f.History(context.Background()); return err },
		} {
			waiting.Go(func() {
				if err := wait(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			})
			synctest.Wait()
			if !f.mu.TryLock() {
				t.Fatalf("%s holds the mutex while it waits", what)
			}
			f.mu.Unlock()
		}
	})
}
