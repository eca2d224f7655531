package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
)

// TestAHeldLedgerIsNotWaitedForForEver checks that the wait ends, because the process that holds the ledger may be
// stopped.
func TestAHeldLedgerIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	if _, err := command.OpenLedger(t.Context(), path, time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(path+".lock", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	_, err = command.OpenLedger(t.Context(), path, time.Millisecond, nil)
	if err == nil || !strings.HasPrefix(err.Error(), path+": another process keeps it locked") {
		t.Errorf("it says %v", err)
	}
}
