package interop_test

import (
	"slices"
	"testing"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/interoptest"
	"github.com/indusagi/indus/toolbox"
)

// A server that keeps changed tools back has no tools in a mount that does not know the
// approvals.
func TestAMountThatKnowsNoApprovalsHasNoGuardedTools(t *testing.T) {
	free, held := counters(t, "free", 1), counters(t, "held", 1)
	servers := []config.Server{free.Config(), held.Config()}
	servers[1].Changes = config.HoldChanges
	m := interop.Mount(t.Context(), servers, &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: interoptest.Endpoints(free, held)}})
	defer m.Close()
	s := m.Box.Snapshot("")
	if len(s.Tools) != 1 || s.Tools[0].Server != "free" || !slices.Equal(s.Held, []string{"held__count_000"}) {
		t.Errorf("%v, %v", s.Tools, s.Held)
	}
	call := func(name string) bool {
		r, err := m.Box.Do(t.Context(), toolbox.Call{Name: name, Input: []byte(`{"more": 1}`)})
		return err == nil && !r.IsError()
	}
	if !call("free__count_000") || call("held__count_000") {
		t.Error("it calls what it does not list")
	}
	servers[1].Changes = config.AcceptChanges
	m.Fleet.Apply(servers)
	if !call("held__count_000") || len(m.Box.Snapshot("").Tools) != 2 {
		t.Error("the policy of a later configuration does not count")
	}
}

func TestStrictest(t *testing.T) {
	const a, h, d = config.AcceptChanges, config.HoldChanges, config.DenyChanges
	for _, c := range [][3]config.ChangePolicy{{"", "", a}, {a, h, h}, {h, a, h}, {h, d, d}, {d, "", d}, {"odd", a, d}, {"odd", "", d}} {
		if got := c[0].Strictest(c[1]); got != c[2] {
			t.Errorf("%q and %q: %q", c[0], c[1], got)
		}
	}
}
