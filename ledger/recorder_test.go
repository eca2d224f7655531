package ledger_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

// fullDisk is a log that cannot be written for a while.
type fullDisk struct {
	*ledger.File
	failures atomic.Int32
}

var errFull = errors.New("no space left on device")

func (f *fullDisk) Append(ctx context.Context, entries ...ledger.Entry) ([]ledger.Entry, error) {
	if f.failures.Add(-1) >= 0 {
		return nil, errFull
	}
	return f.File.Append(ctx, entries...)
}

// A log that cannot be written delays no call. When it can be written again, nothing is lost.
func TestLogThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	log := &fullDisk{File: open(t, logPath(t))}
	log.failures.Store(1)
	a := attach(t, configs(newShelf(t, "fs", row("echo", ""))), &ledger.Options{Log: log})
	if got := echo(t, a, "fs__echo", "hi"); got != "hi" {
		t.Error(got)
	}
	for err := errFull; err != nil; { // until the next attempt
		err = a.Flush(t.Context())
		if err != nil && !errors.Is(err, errFull) {
			t.Fatal(err)
		}
	}
	if got := strings.Join(recordedWords(t, a, log), ", "); got != "begin, enroll fs echo" {
		t.Error(got)
	}
	log.failures.Store(1 << 30)
	a.Close() // gives up
	wantWhole(t, log.File, 2)
}

// Other processes see by its lease that a run cannot write the log, for as long as it goes on and cannot.
func TestARunThatCannotWriteIsUnwritten(t *testing.T) {
	t.Parallel()
	s, path := newShelf(t, "fs", row("echo", "Echoes.")), logPath(t)
	log, other := &fullDisk{File: open(t, path)}, open(t, path)
	a := attach(t, configs(s), &ledger.Options{Log: log, Policy: config.HoldChanges})
	unwritten := func() string {
		runs, err := other.Unwritten(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(runs, " ")
	}
	for err := error(nil); !errors.Is(err, errFull); err = a.Flush(t.Context()) {
		lease, _ := os.ReadFile(filepath.Join(path+".runs", a.Run))
		if len(lease) > 0 && log.failures.Load() <= 0 {
			if got := unwritten(); got != "" {
				t.Errorf("before: %s", got)
			}
			log.failures.Store(1 << 30)
			s.fill(t, row("echo", "Echoes."), row("read", "Reads."))
			s.Send("change")
		}
		runtime.Gosched()
	}
	if got := unwritten(); got != a.Run {
		t.Errorf("on a full disk: %q, want %s", got, a.Run)
	}
	log.failures.Store(0)
	for err := errFull; err != nil; {
		err = a.Flush(t.Context())
	}
	if got := unwritten(); got != "" {
		t.Errorf("afterwards: %s", got)
	}
}

// The last entries are written at the end, however many.
func TestCloseWritesWhatWaits(t *testing.T) {
	log := &fullDisk{File: open(t, logPath(t))}
	log.failures.Store(1)
	s := newShelf(t, "fs", row("echo", ""))
	a := ledger.Attach(t.Context(), ledger.Ledger{}, configs(s), &ledger.Options{Log: log})
	a.Close()
	a.Close()
	if got := strings.Join(recordedWords(t, a, log), ", "); got != "begin, enroll fs echo, end" {
		t.Error(got)
	}
}
