package ledger_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

// runSee connects to servers as a command does, and stores the tools that it saw.
func runSee(t *testing.T, log *ledger.File, servers []config.Server) {
	t.Helper()
	m := interop.Mount(t.Context(), servers, &interop.MountOptions{Wait: giveUp})
	defer m.Close()
	if err := log.See(t.Context(), m.Fleet); err != nil {
		t.Fatal(err)
	}
}

// recalled returns the tools that a log knows of a server.
func recalled(t *testing.T, log *ledger.File, servers []config.Server) (names []string) {
	t.Helper()
	for _, w := range ledger.StateOf(read(t, log)).Known(servers)(servers[0].ID) {
		names = append(names, w.Format+" "+string(w.JSON))
	}
	return names
}

// The tools that a command saw are known at the next start. They are not live, not approved, and enroll no server.
func TestWhatACommandSaw(t *testing.T) {
	t.Parallel()
	s, path := newShelf(t, "fs", row("echo", "Echoes.")), logPath(t)
	log, servers := open(t, path), configs(s)
	runSee(t, log, servers)
	if got := recalled(t, open(t, path), servers); !slices.Equal(got, []string{"mcp/modern " + row("echo", "Echoes.")}) {
		t.Errorf("it knows %q", got)
	}
	if all := read(t, log); len(ledger.Live(all)) != 0 || len(ledger.Changed(all)) != 0 || len(all) != 1 || all[0].Op != ledger.Describe {
		t.Errorf("the log has %+v", all)
	}
	runSee(t, log, servers)
	if n := len(read(t, log)); n != 1 {
		t.Errorf("the same was written again: %d entries", n)
	}
	s.fill(t, row("echo", "Echoes otherwise."), row("read", "Reads."))
	a := attach(t, servers, &ledger.Options{Log: log, Policy: config.HoldChanges})
	if got := listed(a); got != "fs__echo fs__read" {
		t.Errorf("the first enrolment has %s", got)
	}
	if a.Describe("fs", []byte(`{"lists":{"prompts/list":[1]}}`)); len(a.Changed()) != 0 {
		t.Errorf("changed are %+v", a.Changed())
	}
	a.Close()
	if got := recalled(t, log, servers); len(got) != 2 {
		t.Errorf("it knows %q", got)
	}
	s.fill(t, row("hang", "Hangs."))
	runSee(t, log, servers) // later than the run
	if got := recalled(t, log, servers); !slices.Equal(got, []string{"mcp/modern " + row("hang", "Hangs.")}) {
		t.Errorf("it knows %q", got)
	}
	if got := string(contents(t, path)); len(read(t, log)) != 7 || !strings.Contains(got, `"prompts/list":[1]`) {
		t.Errorf("the log has %s", got)
	}
	a = attach(t, servers, &ledger.Options{Log: log, Policy: config.HoldChanges})
	if got := listed(a); got != "" {
		t.Errorf("a tool that a command saw is approved: %s", got)
	}
	a.Close()
	if r, err := log.Verify(t.Context()); err != nil || len(r.Damage) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// If a command saw a server without tools, the server has no known tools at the next start.
func TestACommandSawNoTools(t *testing.T) {
	s, path := newShelf(t, "fs", row("echo", "Echoes.")), logPath(t)
	log, servers := open(t, path), configs(s)
	runSee(t, log, servers)
	s.fill(t)
	runSee(t, log, servers)
	if got := recalled(t, log, servers); len(got) != 0 {
		t.Errorf("it knows %q", got)
	}
}
