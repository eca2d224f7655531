package interop_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// Names that are cut and have the same 32-bit hash. They were found by search.
var (
	longTool  = strings.Repeat("x", 60)
	twinsOf   = "srv" // has both
	twinTools = [2]string{longTool + "36750", longTool + "97678"}
	twinsName = "srv__" + strings.Repeat("x", 50) + "_331ec5e1"

	cousinTools = [2][2]string{{"a.b", longTool + "9290"}, {"a b", longTool + "22358"}}
	cousinsName = "a_b__" + strings.Repeat("x", 50) + "_aa442f68"
)

func TestNamesWhoseHashesCollide(t *testing.T) {
	for _, c := range []struct{ server, tool, want string }{
		{twinsOf, twinTools[0], twinsName},
		{twinsOf, twinTools[1], twinsName},
		{cousinTools[0][0], cousinTools[0][1], cousinsName},
		{cousinTools[1][0], cousinTools[1][1], cousinsName},
	} {
		if got := config.QualifiedName(c.server, c.tool); got != c.want || len(got) != 64 {
			t.Errorf("QualifiedName(%q, %q) = %q, want %q", c.server, c.tool, got, c.want)
		}
	}
}

// If two tools of one server have one mounted name, the first in its list is used. The
// other is quarantined with the reason.
func TestATwinInOneListIsQuarantined(t *testing.T) {
	s := newPuppet(twinTools[1], "other", twinTools[0])
	m := mount(t, t.Context(), serversNamed(twinsOf), &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: puppets(map[string]*puppet{twinsOf: s})}})
	all := m.Box.Descriptors()
	if len(all) != 2 || all[0].Name != twinsName || all[0].Tool != twinTools[1] {
		t.Errorf("mounted: %v", mountedNames(m.Box.Snapshot("")))
	}
	q := m.Fleet.Quarantined()
	if len(q) != 1 || q[0].Tool != twinTools[0] || q[0].Server != twinsOf || q[0].Published || !strings.Contains(q[0].Reason, twinsName) {
		t.Errorf("quarantined: %v", q)
	}
	if got, err := echoText(t.Context(), m.Box, twinsName, "{}"); got != twinTools[1] {
		t.Errorf("it says %q, %v", got, err)
	}
	// If a server lists one name twice, the first tool is used, too.
	s.listRaw(`[{"name":"a","inputSchema":{"type":"object"}},{"name":"a","description":"other","inputSchema":{"type":"object"}}]`)
	if err := m.Fleet.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if q := m.Fleet.Quarantined(); len(q) != 1 || q[0].Tool != "a" || !strings.Contains(q[0].Reason, "twice") {
		t.Errorf("quarantined: %v", q)
	}
}

// outcome is everything that any observer can see of a mount.
type outcome struct {
	Tools, Models []toolbox.Descriptor
	Quarantined   []interop.Quarantine
	Pending       []string
}

func outcomeOf(m *interop.Mounted) outcome {
	s := m.Box.Snapshot("")
	return outcome{s.Tools, m.Box.Descriptors(), m.Fleet.Quarantined(), s.Pending}
}

// collidingServers returns servers with tool names that collide in every possible way.
func collidingServers() (ids []string, by map[string]*puppet) {
	rival := strings.TrimPrefix(config.QualifiedName("a.b", "t"), "a_b"+config.Qualifier)
	by = map[string]*puppet{
		cousinTools[0][0]: newPuppet("t", cousinTools[0][1], "first"),
		cousinTools[1][0]: newPuppet(cousinTools[1][1], "t", "second"),
		"a_b":             newPuppet(rival, "third"),
		twinsOf:           newPuppet(twinTools[0], twinTools[1]),
	}
	by[twinsOf].listRaw(`[{"name":"` + twinTools[1] + `","inputSchema":{"type":"object"}},{"name":"` + twinTools[0] +
		`","inputSchema":{"type":"object"}},{"name":"un fit","inputSchema":{"type":"object","properties":` + strings.Repeat(`{"a":`, 80) + "{}" + strings.Repeat("}", 80) + `}}]`)
	return []string{cousinTools[0][0], cousinTools[1][0], "a_b", twinsOf}, by
}

// The mounted tools follow from the configuration and from the servers' lists, not from
// the order of connections.
func TestAMountIsTheSameInWhateverOrderServersConnect(t *testing.T) {
	for _, configured := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}} {
		var first outcome
		for i, order := range permutations(4) {
			synctest.Test(t, func(t *testing.T) {
				ids, by := collidingServers()
				servers := make([]config.Server, len(ids))
				for at, which := range configured {
					servers[at] = serversNamed(ids[which])[0]
				}
				for _, s := range by {
					s.hold("initialize")
				}
				m := interop.Mount(t.Context(), servers, &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: puppets(by)}, Wait: -1})
				defer m.Close()
				for n, which := range order {
					synctest.Wait()
					if pending := m.Box.Snapshot("").Pending; len(pending) != len(order)-n {
						t.Errorf("%v: pending %v", order, pending)
					}
					by[ids[which]].open("initialize")
				}
				synctest.Wait()
				got := outcomeOf(m)
				if i == 0 {
					first = got
				}
				if diff := cmp.Diff(first, got); diff != "" {
					t.Errorf("servers connected in the order %v: %s", order, diff)
				}
			})
		}
		if len(first.Tools) != 8 || len(first.Models) != 7 || len(first.Quarantined) != 4 || first.Pending != nil {
			t.Errorf("%d tools, %d for models, quarantined: %v", len(first.Tools), len(first.Models), first.Quarantined)
		}
		cousin := cousinTools[0][0]
		if configured[0] != 0 { // the other server comes first
			cousin = cousinTools[1][0]
		}
		if i := slices.IndexFunc(first.Tools, func(d toolbox.Descriptor) bool { return d.Name == cousinsName }); i < 0 || first.Tools[i].Server != cousin {
			t.Errorf("the first in the configuration has not the name: %v", first.Tools)
		}
	}
}

func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, rest := range permutations(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(rest), at, n-1))
		}
	}
	return all
}
