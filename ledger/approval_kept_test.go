package ledger_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

// slowLog delays the polls: a poll that has read the log continues after a receive from next.
type slowLog struct {
	*ledger.File
	read, next chan struct{}
	over       <-chan struct{}
}

func (l *slowLog) Read(ctx context.Context, after uint64) ([]ledger.Entry, error) {
	s, err := l.File.Read(ctx, after)
	if after > 0 {
		select {
		case l.read <- struct{}{}:
			<-l.next
		case <-l.over:
		}
	}
	return s, err
}

// A poll that read the log before a tool was accepted does not revoke the approval.
func TestAPollBesideAnAccept(t *testing.T) {
	t.Parallel()
	s, path := changedShelf(t, openFile)
	log := &slowLog{open(t, path), make(chan struct{}), make(chan struct{}), t.Context().Done()}
	a := attach(t, configs(s), &ledger.Options{Log: log, Policy: config.HoldChanges, Poll: time.Millisecond})
	<-log.read
	if err := a.Accept(t.Context(), "fs", "echo", "me"); err != nil {
		t.Fatal(err)
	}
	log.next <- struct{}{}
	time.Sleep(20 * time.Millisecond) // nothing is held, so that no other poll follows
	if err := a.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(recordedWords(t, a, log.File), "; "); listed(a) != "fs__echo fs__read" || strings.Count(got, "hold") != 1 {
		t.Errorf("there is %s after %s", listed(a), got)
	}
}

// An Accept by another process does not make a tool live that is denied in this run.
func TestADeniedToolIsAcceptedElsewhere(t *testing.T) {
	t.Parallel()
	eachLog(t, func(t *testing.T, open opener) {
		s, path := changedShelf(t, open)
		a := attach(t, configs(s), &ledger.Options{Log: open(t, path), Policy: config.DenyChanges, Poll: time.Millisecond})
		elsewhere := open(t, path)
		if err := a.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := ledger.Approve(t.Context(), elsewhere, "somebody", ledger.Changed(read(t, elsewhere))...); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // there is no event to wait for
		if got := echo(t, a, "fs__echo", "hi"); !strings.Contains(got, "held back") || listed(a) != "fs__read" {
			t.Errorf("it says %q, and there is %s", got, listed(a))
		}
	})
}

// A tool with a name that the log has shortened is held like any other.
func TestALongNameIsHeld(t *testing.T) {
	t.Parallel()
	eachLog(t, func(t *testing.T, open opener) {
		name := "echo" + strings.Repeat("x", 1100)
		s := newShelf(t, "fs", row(name, "Echoes."))
		path := logPath(t)
		ledger.Attach(t.Context(), ledger.Ledger{}, configs(s), &ledger.Options{Log: open(t, path)}).Close()
		s.fill(t, row(name, "Echoes otherwise."))
		a := attach(t, configs(s), &ledger.Options{Log: open(t, path), Policy: config.HoldChanges})
		if got := listed(a); got != "" {
			t.Errorf("there is %s", got)
		}
	})
}
