package interop_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// Some ids differ only in characters that no provider accepts, or in their ends. Their tools
// stay separate, and each call reaches its own server.
func TestServersWithNamesAlikeDoNotMeet(t *testing.T) {
	ids := []string{"a.b", "a b", "a/b", "a_b", "a__b", "a_", "a", "ä", "9", "", "-", strings.Repeat("long", 20), strings.Repeat("long", 21)}
	tools := []string{"t", "b__t", "_t", "t.t", "t t", strings.Repeat("x", 80), strings.Repeat("x", 81)}
	by := map[string]*puppet{}
	for _, id := range ids {
		by[id] = newPuppet(tools...)
	}
	m := mount(t, t.Context(), serversNamed(ids...), &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: puppets(by)}})
	all := m.Box.Descriptors()
	if len(all) != len(ids)*len(tools) || m.Fleet.Quarantined() != nil {
		t.Fatalf("%d tools are mounted of %d; quarantined: %v", len(all), len(ids)*len(tools), m.Fleet.Quarantined())
	}
	for i, d := range all {
		id, tool := ids[i/len(tools)], tools[i%len(tools)]
		if d.Server != id || d.Tool != tool || d.Name != config.QualifiedName(id, tool) {
			t.Errorf("%s is %q of %q, want %q of %q", d.Name, d.Tool, d.Server, tool, id)
		}
		before := by[id].requestCount("call " + tool)
		if got, err := echoText(t.Context(), m.Box, d.Name, "{}"); got != tool {
			t.Errorf("%s says %q, %v", d.Name, got, err)
		}
		if by[id].requestCount("call "+tool) != before+1 {
			t.Errorf("the call of %s did not reach %q", d.Name, id)
		}
	}
}

// rivalServers returns two servers. A tool's own name on one makes the mounted name of a tool on the
// other.
func rivalServers() (by map[string]*puppet, name string) {
	name = config.QualifiedName("a.b", "t")
	rival := strings.TrimPrefix(name, "a_b"+config.Qualifier)
	return map[string]*puppet{"a.b": newPuppet("t", "first"), "a_b": newPuppet(rival, "second")}, name
}

// If two tools have one mounted name, the first in the configuration is used, in every order of
// connections. The other is quarantined.
func TestACollisionIsDecidedByTheConfiguration(t *testing.T) {
	for _, order := range [][]string{{"a.b", "a_b"}, {"a_b", "a.b"}} {
		for _, slow := range order {
			synctest.Test(t, func(t *testing.T) {
				by, name := rivalServers()
				release := by[slow].hold("initialize")
				m := interop.Mount(t.Context(), serversNamed(order...), &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: puppets(by)}, Wait: -1})
				defer m.Close()
				synctest.Wait()
				if d := m.Box.Descriptors(); len(d) != 2 || d[0].Name != name || d[0].Server == slow {
					t.Errorf("while %s connects: %v", slow, d)
				}
				release()
				synctest.Wait()
				first, second := order[0], order[1]
				if got := ownersOf(m.Box.Snapshot("")); len(m.Box.Descriptors()) != 3 || cmp.Diff(order, got) != "" {
					t.Errorf("mounted of %v", got)
				}
				if d := m.Box.Descriptors()[0]; d.Name != name || d.Server != first {
					t.Errorf("%s is of %s", d.Name, d.Server)
				}
				q := m.Fleet.Quarantined()
				if len(q) != 1 || q[0].Server != second || q[0].Published || !strings.Contains(q[0].Reason, first) || !strings.Contains(q[0].Reason, name) {
					t.Errorf("quarantined: %v", q)
				}
				if got, err := echoText(t.Context(), m.Box, name, "{}"); err != nil || by[first].requestCount("call "+got) != 1 {
					t.Errorf("%s says %q, %v", name, got, err)
				}
				// The first server is removed: the other takes the name, and is no longer
				// quarantined.
				m.Fleet.Apply(serversNamed(second))
				if d := m.Box.Descriptors(); len(d) != 2 || d[0].Name != name || d[0].Server != second {
					t.Errorf("after %s has gone: %v", first, d)
				}
				if q := m.Fleet.Quarantined(); q != nil {
					t.Errorf("still quarantined: %v", q)
				}
			})
		}
	}
}

// A quarantine that changes without a change of the tools is not lost.
func TestQuarantineFollowsEachListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		by, name := rivalServers()
		rival := strings.TrimPrefix(name, "a_b"+config.Qualifier)
		by["a_b"].list("second")
		m := interop.Mount(t.Context(), serversNamed("a.b", "a_b"), &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: puppets(by)}})
		defer m.Close()
		before := m.Box.Snapshot("")
		for range 2 {
			by["a_b"].list(rival, "second")
			by["a_b"].notifyChanged()
			time.Sleep(time.Second) // in bubble time: a list is not requested again at once
			if q := m.Fleet.Quarantined(); len(q) != 1 || q[0].Tool != rival {
				t.Errorf("quarantined: %v", q)
			}
			by["a_b"].list("second")
			by["a_b"].notifyChanged()
			time.Sleep(time.Second)
			if q := m.Fleet.Quarantined(); q != nil {
				t.Errorf("still quarantined: %v", q)
			}
		}
		if m.Box.Snapshot("") != before {
			t.Error("a tool that is not mounted shows in the snapshot")
		}
	})
}

// A held call finds its server by the name alone, even if the name is cut.
func TestHeldCallsFindTheirServer(t *testing.T) {
	long, longer := "a-server-with-quite-a-long-name", "a-server-with-quite-a-long-name-too"
	for _, c := range []struct{ server, tool string }{
		{"plain", "t"}, {"a.b", "t"}, {"a b", "t"}, {"a__b", "t"}, {"9", "t"}, {"ä", "tool.name"},
		{long, "t"}, {long, strings.Repeat("y", 60)}, {longer, "x__x"}, {longer, strings.Repeat("x", 90)},
	} {
		synctest.Test(t, func(t *testing.T) {
			// All servers that could have a tool of this name are pending, and one of them has
			// it.
			ids := []string{"a.b", "a b", "a__b", "plain", "9", "ä", long, longer}
			by := map[string]*puppet{}
			for _, id := range ids {
				by[id] = newPuppet("other")
				by[id].hold("initialize")
			}
			by[c.server].list(c.tool)
			m := interop.Mount(t.Context(), serversNamed(ids...), &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: puppets(by)}, Wait: -1})
			defer m.Close()
			call := callLater(t.Context(), m.Box, config.QualifiedName(c.server, c.tool), "{}")
			synctest.Wait()
			for _, id := range ids {
				by[id].open("initialize")
			}
			if got := awaitOutcome(t, call); got.text != c.tool {
				t.Errorf("%q of %q: %v", c.tool, c.server, got)
			}
		})
	}
}

// A tool that is unfit for models is hidden from them and listed with the reason. It can be
// called by its name, and the host publishes it.
func TestUnfitToolsArePublishedAndQuarantined(t *testing.T) {
	deep := `{"type":"object","properties":{"a":` + strings.Repeat(`{"type":"array","items":`, 80) + `{}` + strings.Repeat("}", 80) + `}}`
	s := newPuppet()
	s.listRaw(`[{"name":"deep","inputSchema":` + deep + `},{"name":"fit","inputSchema":{"type":"object"}}]`)
	m := mount(t, t.Context(), serversNamed("a"), &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: puppets(map[string]*puppet{"a": s})}})
	if got := m.Box.Descriptors(); len(got) != 1 || got[0].Tool != "fit" {
		t.Errorf("models are shown %v", got)
	}
	all := m.Box.Snapshot("").Tools
	if len(all) != 2 || all[0].Excluded == "" || string(all[0].Schema) != deep {
		t.Errorf("published: %v", mountedNames(&toolbox.Snapshot{Tools: all}))
	}
	q := m.Fleet.Quarantined()
	if len(q) != 1 || q[0].Tool != "deep" || !q[0].Published || q[0].Reason != all[0].Excluded {
		t.Errorf("quarantined: %v", q)
	}
	if got, err := echoText(t.Context(), m.Box, "a__deep", "{}"); got != "deep" {
		t.Errorf("it says %q, %v", got, err)
	}
}
