package ledger_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

// While the log is being opened, the servers are pending, and calls of their tools wait. Then the entries of the log
// apply from the first tool on.
func TestAttachWhileTheLogIsOpened(t *testing.T) {
	t.Parallel()
	s, path := changedShelf(t, openFile)
	opens := make(chan struct{})
	a := attach(t, configs(s), &ledger.Options{
		Open: func(context.Context) ledger.Log { <-opens; return open(t, path) }, Policy: config.HoldChanges, Mount: &interop.MountOptions{},
	})
	if got := a.Snapshot(""); len(got.Tools) > 0 || !slices.Equal(got.Pending, []string{"fs"}) {
		t.Errorf("before: %v, pending %v", got.Tools, got.Pending)
	}
	said := make(chan string)
	go func() { said <- echo(t, a, "fs__echo", "hi") }()
	close(opens)
	if got := <-said; !strings.Contains(got, "held back") || len(s.Events("call echo")) != 0 {
		t.Errorf("a held tool says %q", got)
	}
	if err := a.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := listed(a); got != "fs__read" {
		t.Errorf("there is %q", got)
	}
}

// Close ends an attachment even if its log never opens.
func TestCloseWhileTheLogIsOpened(t *testing.T) {
	a := ledger.Attach(t.Context(), ledger.Ledger{}, nil, &ledger.Options{
		Open: func(ctx context.Context) ledger.Log { <-ctx.Done(); return nil },
	})
	a.Close()
}
