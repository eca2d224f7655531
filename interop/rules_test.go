package interop_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// mountRules mounts one server with tools that are selected by rules.
func mountRules(t testing.TB, rules config.ToolRules, tools ...string) (*interop.Mounted, *puppet) {
	t.Helper()
	s := newPuppet(tools...)
	servers := []config.Server{{ID: "a", Tools: rules}}
	return mount(t, t.Context(), servers, &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: puppets(map[string]*puppet{"a": s})}}), s
}

// reasonsOf returns quarantines as text, without the server.
func reasonsOf(all []interop.Quarantine) []string {
	var out []string
	for _, q := range all {
		out = append(out, strings.TrimPrefix(q.String(), "a: "))
	}
	return out
}

func TestPatterns(t *testing.T) {
	tools := []string{"read_file", "read_dir", "write", "rm", "r.m", "[a]", "größe"}
	for _, c := range []struct {
		allow, deny []string
		want        string
	}{
		{nil, nil, "read_file read_dir write rm r.m [a] größe"},
		{[]string{}, nil, ""},
		{[]string{"read_*"}, nil, "read_file read_dir"},
		{[]string{"*"}, []string{"*_*"}, "write rm r.m [a] größe"},
		{[]string{"read_file", "write"}, []string{"read_file"}, "write"},
		{nil, []string{"read_*", "write"}, "rm r.m [a] größe"},
		{[]string{"r?m"}, nil, "r.m"},
		{[]string{"r.m"}, nil, "r.m"}, // a dot matches only a dot
		{[]string{"[a]", "[a-z]*"}, nil, "[a]"},
		{[]string{"gr??e"}, nil, "größe"}, // a character, not a byte
		{[]string{"*e*_*e"}, nil, "read_file"},
		{[]string{"**"}, nil, "read_file read_dir write rm r.m [a] größe"},
		{[]string{"READ_*", "rea", "ead_file", ""}, nil, ""},
		{[]string{"*d*r*"}, nil, "read_dir"},
	} {
		m, _ := mountRules(t, config.ToolRules{Allow: c.allow, Deny: c.deny}, tools...)
		var got []string
		for _, d := range m.Box.Snapshot("").Tools {
			got = append(got, d.Tool)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("allow %q, deny %q: %q, want %q", c.allow, c.deny, got, c.want)
		}
	}
}

// A tool that the configuration leaves out is not listed, and no method can call it. The
// error explains the reason. That is not a problem, but a rule that matches nothing is.
func TestRulesLeaveOut(t *testing.T) {
	rules := config.ToolRules{
		Allow: []string{"read_*", "delete_*", "list"}, Deny: []string{"delete_*", "delte_*"},
		Rename: map[string]string{"lsit": "ls"}, Describe: map[string]string{"read_x": "X."},
	}
	m, s := mountRules(t, rules, "read_file", "delete_file", "write_file")
	wantListed(t, m.Box, "mounted", "a__read_file")
	want := []string{
		`tool "delete_file" is left out: denied by the configuration: "delete_*"`,
		`tool "write_file" is left out: not among the tools that the configuration allows`,
		`allow "list": the rule concerns none of its tools`,
		`deny "delte_*": the rule concerns none of its tools`,
		`rename "lsit": the rule concerns none of its tools`,
		`describe "read_x": the rule concerns none of its tools`,
	}
	if diff := cmp.Diff(want, reasonsOf(m.Fleet.Quarantined())); diff != "" {
		t.Error(diff)
	}
	for i, q := range m.Fleet.Quarantined() {
		if q.Denied != (i < 2) || (q.Rule != "") != (i >= 2) || q.Published {
			t.Errorf("%d: %+v", i, q)
		}
	}
	e, err := m.Fleet.Endpoint("a", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"delete_file", "write_file", "delete_other"} {
		var unknown *toolbox.UnknownTool
		if _, err := echoText(t.Context(), m.Box, "a__"+tool, "{}"); !errors.As(err, &unknown) {
			t.Errorf("Do of %s: %v", tool, err)
		}
		if out := m.Box.Run(t.Context(), toolbox.Call{Name: "a__" + tool}); !errors.As(out.Err, &unknown) {
			t.Errorf("Run of %s: %+v", tool, out)
		}
		_, err := e.Invoke(t.Context(), tool, nil)
		wantFleetFault(t, err, interop.ToolError, "a", tool, "configuration")
		_, err = e.Do(t.Context(), interop.Message{Method: "tools/call", Params: json.RawMessage(fmt.Sprintf(`{"name":%q}`, tool))})
		wantFleetFault(t, err, interop.ToolError, "a", tool, "configuration")
	}
	if n := s.requestCount("tools/call"); n != 0 {
		t.Errorf("the server heard of %d calls", n)
	}
}

// A single endpoint follows the rules as a fleet does, because they are applied to its
// list.
func TestAnEndpointKeepsToTheRules(t *testing.T) {
	s := newPuppet("read", "write")
	e := interop.NewEndpoint(config.Server{ID: "a", Tools: config.ToolRules{Deny: []string{"write"}, Rename: map[string]string{"read": "get"}}},
		&interop.EndpointOptions{Transport: s})
	defer e.Close()
	if _, err := e.Invoke(t.Context(), "write", nil); !strings.Contains(fmt.Sprint(err), "denied") {
		t.Errorf("before it is open: %v", err)
	}
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	tools, err := e.Tools(t.Context())
	if err != nil || len(tools) != 1 || tools[0].Name != "a__get" || tools[0].Tool != "read" || e.Status().Tools != 1 {
		t.Errorf("%+v, %v", tools, err)
	}
	if diff := cmp.Diff([]string{`tool "write" is left out: denied by the configuration: "write"`}, reasonsOf(e.Quarantined())); diff != "" {
		t.Error(diff)
	}
	if r, err := e.Invoke(t.Context(), "read", nil); err != nil || r.IsError() {
		t.Errorf("by the server's own name: %v", err)
	}
	if _, err := e.Invoke(t.Context(), "write", nil); err == nil {
		t.Error("a denied tool was called")
	}
}

// The configuration sets names and descriptions. Calls are sent with the owner's name,
// and of the owner's bytes only the description changes.
func TestRulesRenameAndDescribe(t *testing.T) {
	const row = `{ "name" : "list_issues",` + "\t" + `"x":1.0,"descripti\u006fn":"Long.","inputSchema":{"type":"object","properties":{"n":{"maximum":9007199254740993}}},"_meta":{"a":null} }`
	m, s := mountRules(t, config.ToolRules{
		Rename:   map[string]string{"list_issues": "issues", "bare": "a name that no provider takes"},
		Describe: map[string]string{"list_issues": "Short: \"<é>\".", "bare": "Now it has one."},
	})
	s.listRaw(`[` + row + `,{"name":"bare","inputSchema":{"type":"object"}},{"name":"same","description":"As it is.","inputSchema":{"type":"object"}}]`)
	if err := m.Fleet.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	hashed := config.QualifiedName("a", "a name that no provider takes")
	wantListed(t, m.Box, "mounted", "a__issues", hashed, "a__same")
	tools, models := m.Box.Snapshot("").Tools, m.Box.Descriptors()
	if d := tools[0]; d.Tool != "list_issues" || d.Description != "Short: \"<é>\"." || models[0].Description != d.Description {
		t.Errorf("%+v, for models %q", d, models[0].Description)
	}
	want := []string{
		strings.Replace(row, `"Long."`, `"Short: \"<é>\"."`, 1),
		`{"name":"bare","inputSchema":{"type":"object"},"description":"Now it has one."}`,
		`{"name":"same","description":"As it is.","inputSchema":{"type":"object"}}`,
	}
	for i, d := range tools {
		if string(d.Wire.JSON) != want[i] {
			t.Errorf("the tool object is\n%s\nwant\n%s", d.Wire.JSON, want[i])
		}
	}
	for name, own := range map[string]string{"a__issues": "list_issues", hashed: "bare", "a__same": "same"} {
		if got, err := echoText(t.Context(), m.Box, name, "{}"); got != own {
			t.Errorf("%s says %q, %v", name, got, err)
		}
	}
	var unknown *toolbox.UnknownTool
	if _, err := echoText(t.Context(), m.Box, "a__list_issues", "{}"); !errors.As(err, &unknown) {
		t.Errorf("the old name: %v", err)
	}
}

// If two tools would have one name, the first in the list is used. Names may be swapped.
func TestRenamesMeet(t *testing.T) {
	m, _ := mountRules(t, config.ToolRules{Rename: map[string]string{"b": "a", "c": "d", "d": "c"}}, "a", "b", "c", "d")
	wantListed(t, m.Box, "mounted", "a__a", "a__d", "a__c")
	if diff := cmp.Diff([]string{`tool "b" is quarantined: its tool "a" is mounted as a__a`}, reasonsOf(m.Fleet.Quarantined())); diff != "" {
		t.Error(diff)
	}
	for name, own := range map[string]string{"a__a": "a", "a__d": "c", "a__c": "d"} {
		if got, err := echoText(t.Context(), m.Box, name, "{}"); got != own {
			t.Errorf("%s says %q, %v", name, got, err)
		}
	}
}

// Before the server has replied, a denied tool is unknown at once, although calls of
// other tools wait. A denied tool from FleetOptions.Known is not listed.
func TestADeniedToolIsUnknownWhileItsServerConnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPuppet("good", "bad", "own")
		release := s.hold("initialize")
		known := func(string) (out []toolbox.Wire) {
			for _, name := range []string{"bad", "own"} {
				out = append(out, toolbox.Wire{JSON: json.RawMessage(`{"name":"` + name + `","inputSchema":{"type":"object"}}`)})
			}
			return out
		}
		m := interop.Mount(t.Context(), []config.Server{{ID: "a", Tools: config.ToolRules{
			Deny: []string{"bad", "b?d*"}, Rename: map[string]string{"own": "new"},
		}}}, &interop.MountOptions{FleetOptions: interop.FleetOptions{Known: known, Endpoint: puppets(map[string]*puppet{"a": s})}, Wait: -1})
		defer m.Close()
		wantListed(t, m.Box, "known", "a__new")
		if q := reasonsOf(m.Fleet.Quarantined()); len(q) != 1 || !strings.Contains(q[0], `"bad" is left out`) {
			t.Errorf("of what is known %v", q)
		}
		start := time.Now()
		for _, name := range []string{"bad", "own"} { // the latter has another name
			var unknown *toolbox.UnknownTool
			if _, err := echoText(t.Context(), m.Box, "a__"+name, "{}"); !errors.As(err, &unknown) || time.Since(start) > 0 {
				t.Errorf("%s: %v after %v", name, err, time.Since(start))
			}
		}
		good, renamed := callLater(t.Context(), m.Box, "a__good", "{}"), callLater(t.Context(), m.Box, "a__new", "{}")
		synctest.Wait()
		release()
		if got := awaitOutcome(t, good); got.text != "good" {
			t.Errorf("another tool says %v", got)
		}
		if got := awaitOutcome(t, renamed); got.text != "own" {
			t.Errorf("the renamed one says %v", got)
		}
	})
}

// Other rules are applied to the current list at once, without a connection or a list
// request. A running listing uses the new rules.
func TestOtherRulesNeedNoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPuppet("x", "y")
		fleet, d := newFleet(t, &interop.FleetOptions{Endpoint: puppets(map[string]*puppet{"a": s})})
		apply := func(rules config.ToolRules) { fleet.Apply([]config.Server{{ID: "a", Tools: rules}}) }
		apply(config.ToolRules{})
		d.wait("a", interop.ServerReady, 1)
		e, _ := fleet.Endpoint("a", "")
		apply(config.ToolRules{Deny: []string{"y"}})
		wantListed(t, fleet, "denied", "a__x")
		if tools, err := e.Tools(t.Context()); err != nil || len(tools) != 1 {
			t.Errorf("its endpoint lists %v, %v", tools, err)
		}
		if got := e.Server().Tools.Deny; len(got) != 1 {
			t.Errorf("its endpoint's rules are %v", got)
		}
		listed := d.wait("a", interop.ServerListed, 1)
		if q := reasonsOf(listed.Quarantined); len(q) != 1 || !strings.Contains(q[0], "denied") {
			t.Errorf("the event has %v", q)
		}
		asked := s.requestCount("tools/list")
		release := s.hold("tools/list")
		s.list("x", "y", "z")
		s.notifyChanged()
		time.Sleep(time.Second)
		apply(config.ToolRules{Rename: map[string]string{"y": "why"}, Deny: []string{"z"}})
		wantListed(t, fleet, "renamed", "a__x", "a__why")
		release()
		d.wait("a", interop.ServerListed, 3)
		wantListed(t, fleet, "listed anew", "a__x", "a__why")
		apply(config.ToolRules{})
		wantListed(t, fleet, "without rules", "a__x", "a__y", "a__z")
		if n := len(s.dials()); n != 1 || s.requestCount("tools/list") != asked+1 {
			t.Errorf("connected %d times, listed %d times", n, s.requestCount("tools/list"))
		}
		if now, _ := fleet.Endpoint("a", ""); now != e {
			t.Error("there is another endpoint")
		}
		before := fleet.Snapshot("")
		apply(config.ToolRules{})
		if fleet.Snapshot("") != before {
			t.Error("the same rules make a new snapshot")
		}
	})
}

// A tool that a new configuration denies is denied at once, even while the old
// connection serves. This also holds for the list of a server that cannot be reached any
// more.
func TestNewRulesHoldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		by := []*puppet{newPuppet("x", "y"), newPuppet("x", "y")}
		release := by[1].hold("initialize")
		fleet, d := newFleet(t, &interop.FleetOptions{Endpoint: endpointsByVersion(by...)})
		fleet.Apply(configVersion(0))
		d.wait("a", interop.ServerReady, 1)
		next := configVersion(1)
		next[0].Tools.Deny = []string{"y"}
		fleet.Apply(next)
		wantListed(t, fleet, "while the old one serves", "a__x")
		synctest.Wait()
		by[1].refuseWith(errors.New("gone"))
		by[1].die()
		release()
		d.wait("a", interop.ServerFaulted, 1)
		wantListed(t, fleet, "after the new one has failed", "a__x")
		last := configVersion(2)
		last[0].Tools.Allow = []string{"y"}
		last[0].Timeouts = next[0].Timeouts
		fleet.Apply(last)
		wantListed(t, fleet, "with other rules", "a__y")
	})
}

// Servers are equal only if their rules and profiles are. A later change to applied
// values has no effect.
func TestServersDifferByTheirRules(t *testing.T) {
	base := func() config.Server {
		return config.Server{ID: "a", Profile: schema.OpenAI, Tools: config.ToolRules{
			Allow: []string{"x"}, Deny: []string{"y"}, Rename: map[string]string{"x": "z"}, Describe: map[string]string{"x": "X."},
		}}
	}
	if !base().Equal(base()) {
		t.Error("a server is not equal to itself")
	}
	for i, change := range []func(*config.Server){
		func(s *config.Server) { s.Profile = nil },
		func(s *config.Server) { s.Tools.Allow = nil },
		func(s *config.Server) { s.Tools.Allow = []string{} },
		func(s *config.Server) { s.Tools.Deny[0] = "z" },
		func(s *config.Server) { s.Tools.Rename["x"] = "w" },
		func(s *config.Server) { delete(s.Tools.Describe, "x") },
	} {
		s := base()
		change(&s)
		if s.Equal(base()) {
			t.Errorf("change %d does not show", i)
		}
	}
	if (config.Server{Tools: config.ToolRules{Allow: []string{}}}).Equal(config.Server{}) {
		t.Error("to allow nothing is to allow everything")
	}
	s := newPuppet("x", "y")
	servers := []config.Server{base()}
	m := mount(t, t.Context(), servers, &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: puppets(map[string]*puppet{"a": s})}})
	servers[0].Tools.Deny[0], servers[0].Tools.Rename["x"] = "x", "other"
	if err := m.Fleet.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantListed(t, m.Box, "mounted", "a__z")
}

// A server's profile applies to its tools if the mount has none.
func TestProfileOfAServer(t *testing.T) {
	const input = `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"default":"b"}},"required":["a"]}`
	s := newPuppet()
	s.listRaw(`[{"name":"t","inputSchema":` + input + `}]`)
	parameters := func(profile, own *schema.Profile) string {
		m := mount(t, t.Context(), []config.Server{{ID: "a", Profile: own}}, &interop.MountOptions{
			FleetOptions: interop.FleetOptions{Endpoint: puppets(map[string]*puppet{"a": s})},
			Profile:      profile,
		})
		return string(m.Box.Descriptors()[0].Parameters)
	}
	for _, c := range []struct{ mount, server, want *schema.Profile }{
		{nil, nil, schema.Universal},
		{nil, schema.Original, schema.Original},
		{nil, schema.Seed, schema.Seed},
		{schema.Original, schema.Seed, schema.Original},
		{schema.Universal, schema.Original, schema.Universal},
	} {
		adapted, err := schema.Adapt(json.RawMessage(input), c.want)
		if err != nil {
			t.Fatal(err)
		}
		if got := parameters(c.mount, c.server); got != string(adapted.Schema) {
			t.Errorf("mount %s, server %s: %s", c.mount.Name(), c.server.Name(), got)
		}
	}
	// It can be changed without a connection, and the tools follow.
	m := mount(t, t.Context(), serversNamed("a"), &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: puppets(map[string]*puppet{"a": s})}})
	dials := len(s.dials())
	m.Fleet.Apply([]config.Server{{ID: "a", Profile: schema.Original}})
	if got := string(m.Box.Descriptors()[0].Parameters); got != input || len(s.dials()) != dials {
		t.Errorf("%s, connected %d times", got, len(s.dials())-dials)
	}
}
