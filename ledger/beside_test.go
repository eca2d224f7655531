package ledger_test

import (
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/clustertest"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

// TestTwoVersionsWhileReplicasAreUpgraded accepts the new version of a server beside the former one: a replica with
// either version lists its tools, also after a restart. An acceptance without that, or the end of the time, ends it.
func TestTwoVersionsWhileReplicasAreUpgraded(t *testing.T) {
	t.Parallel()
	var m clustertest.Memory
	former, next := newShelf(t, "fs", row("echo", "One.")), newShelf(t, "fs", row("echo", "Two."), row("read", "New."))
	a := replicate(t, &m, former, config.HoldChanges)
	a.wants(t, "fs__echo")
	b := replicate(t, &m, next, config.HoldChanges)
	b.wants(t, "")
	l := openShared(t, m.Connect())
	changed := func(n int) (all, versions []ledger.Entry) {
		t.Helper()
		waitUntil(t, b.Attachment, "is recorded", func() bool {
			all = read(t, l)
			versions = ledger.Changed(all)
			return len(versions) == n
		})
		return all, versions
	}
	entries, versions := changed(2)
	approve := func(until time.Time) {
		t.Helper()
		var kept []ledger.Entry
		for _, e := range versions {
			kept = append(kept, e.Beside(entries, until))
		}
		if err := ledger.Approve(t.Context(), l, "by me", kept...); err != nil {
			t.Fatal(err)
		}
	}
	approve(time.Now().Add(time.Hour))
	b.wants(t, "fs__echo fs__read")
	a.wants(t, "fs__echo")
	again := replicate(t, &m, former, config.HoldChanges)
	again.wants(t, "fs__echo")
	if left := ledger.Changed(read(t, l)); len(left) > 0 {
		t.Errorf("a version waits: %+v", left)
	}
	approve(time.Now().Add(-time.Minute))
	old := replicate(t, &m, former, config.HoldChanges)
	changed(1) // it is held
	old.wants(t, "")
}
