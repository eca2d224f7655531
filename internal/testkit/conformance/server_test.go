package conformance_test

import (
	"cmp"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

const legacyRevision, modernRevision = "2025-11-25", "2026-07-28"

// run is one column of a published table: the suite at one revision, against the server at a URL.
type run struct {
	name     string
	revision string
	url      func(t *testing.T) string
	// asker returns the URL for the scenarios of refused. If it is nil, their results are those of the other URL.
	asker func(t *testing.T) string
}

// front returns the URL of a transparent gateway before one server.
type front func(t *testing.T, era interop.Era, via config.TransportConfig) string

// runs returns the runs of one revision against go-sdk's conformance server: the server itself, in the era of the
// revision, and the gateway before it, over both transports in both eras.
func runs(revision string, through front) []run {
	all := []run{{name: "direct", revision: revision, url: func(t *testing.T) string {
		return peers.SDKEverythingHTTP(t, revision == modernRevision)
	}}}
	for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
		for _, stdio := range []bool{true, false} {
			r := run{name: "HTTP, " + string(era), revision: revision, url: func(t *testing.T) string {
				return through(t, era, config.HTTP{URL: peers.SDKEverythingHTTP(t, era == interop.Modern)})
			}}
			if stdio {
				r.name, r.url = "stdio, "+string(era), func(t *testing.T) string {
					return through(t, era, config.Stdio{Command: peers.SDKEverythingServer(t)})
				}
			}
			if revision == legacyRevision && era == interop.Modern {
				r.asker = func(t *testing.T) string { return throughAsker(t, stdio, through) }
			}
			all = append(all, r)
		}
	}
	return all
}

// referenceRuns returns the runs against the TypeScript reference server, which supports the legacy era.
func referenceRuns() []run {
	overStdio := func(t *testing.T) string {
		command, args := peers.Everything(t, "stdio")
		return through(t, interop.Legacy, config.Stdio{Command: command, Args: args})
	}
	return []run{
		{name: "direct, " + legacyRevision, revision: legacyRevision, url: func(t *testing.T) string { return peers.EverythingHTTP(t) }},
		{name: "HTTP, " + legacyRevision, revision: legacyRevision, url: func(t *testing.T) string {
			return through(t, interop.Legacy, config.HTTP{URL: peers.EverythingHTTP(t)})
		}},
		{name: "stdio, " + legacyRevision, revision: legacyRevision, url: overStdio},
		{name: "stdio, " + modernRevision, revision: modernRevision, url: overStdio},
	}
}

// through returns the URL of a transparent gateway before one server. If era is "", the gateway must find a modern
// server.
func through(t *testing.T, era interop.Era, via config.TransportConfig) string {
	t.Helper()
	server := config.Server{ID: "everything", Transport: via, Era: era}
	g := gateway.New(t.Context(), []config.Server{server},
		&gateway.Options{Transparent: server.ID, Ledger: &ledger.Options{
			// The suite abandons questions. Each keeps its connection to a legacy server until it expires.
			Mount: &interop.MountOptions{Wait: -1, FleetOptions: interop.FleetOptions{Lanes: 16}},
		}})
	site := httptest.NewServer(g.Handler())
	t.Cleanup(func() { g.Close(); site.Close() })
	if err := g.Attached().Fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := g.Attached().Status()[0]; s.Phase != interop.Ready || s.Era != cmp.Or(era, interop.Modern) {
		t.Fatalf("%+v", s)
	}
	return site.URL + "/mcp"
}

// results holds the results of runs, by the names of the runs.
type results map[string][]scenario

// perform runs the suite once for each run, in parallel, and passes each result to check.
func perform(t *testing.T, all []run, check func(t *testing.T, of []scenario)) results {
	found := results{}
	var mu sync.Mutex
	t.Run("runs", func(t *testing.T) {
		for _, r := range all {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				of := suite(t, r.url(t), r.revision)
				if r.asker != nil {
					// The whole suite once takes a third of the time of the scenarios one by one.
					asked := suite(t, r.asker(t), r.revision)
					for i, s := range of {
						if _, ok := refused()[s.name]; ok {
							of[i] = named(asked, s.name)
							of[i].scored, of[i].asker = true, true
						}
					}
				}
				mu.Lock()
				found[r.name] = of
				mu.Unlock()
				check(t, of)
				passed, scored := whole(of)
				t.Logf("%d of %d scored scenarios pass", passed, scored)
			})
		}
	})
	return found
}

// keyed is the only scenario that go-sdk's server cannot pass as a legacy server, with or without a gateway. It expects
// the key of the server's question, and in a legacy session a question has no key.
const keyed = "input-required-result-basic-elicitation"

// TestServer runs the suite's server scenarios of both revisions through the gateway. No scored scenario fails.
func TestServer(t *testing.T) {
	for revision, want := range map[string]int{legacyRevision: 30, modernRevision: 37} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			all := runs(revision, through)
			found := perform(t, all, passes(revision, want))
			published(t, "server "+revision, table(all, found, func(scenario) bool { return true }))
		})
	}
}

// passes returns a check that no scored scenario fails.
func passes(revision string, want int) func(*testing.T, []scenario) {
	return func(t *testing.T, of []scenario) {
		if _, scored := whole(of); scored != want {
			t.Errorf("%d scored scenarios, want %d", scored, want)
		}
		for _, s := range of {
			if s.scored && !s.whole() && !(revision == modernRevision && strings.HasSuffix(t.Name(), "legacy") &&
				s.name == keyed) {
				t.Errorf("%s: %d checks passed, %d failed: %s", s.name, s.passed, s.failed, strings.Join(s.faults, "; "))
			}
		}
	}
}

// TestServerOfBothEras runs the legacy scenarios through the gateway before a server of the TypeScript SDK 2. The
// server names only the modern revision in server/discover, and its tools ask only in a legacy session. It has no
// table, because its results depend on the machine: if a new process starts slowly, a response begins as an event
// stream.
func TestServerOfBothEras(t *testing.T) {
	t.Parallel()
	of := suite(t, through(t, "", config.Stdio{Command: peers.Node(t), Args: []string{peers.File(t, "both.mjs")}}),
		legacyRevision)
	for _, s := range of {
		if s.scored && !s.whole() {
			t.Errorf("%s: %d checks passed, %d failed: %s", s.name, s.passed, s.failed, strings.Join(s.faults, "; "))
		}
	}
	if passed, scored := whole(of); passed != 30 {
		t.Errorf("%d of %d scored scenarios pass, want 30", passed, scored)
	}
}

// TestReferenceServer runs the suite against the TypeScript reference server. That server lacks the tools, prompts and
// resources that the suite requests, so many scenarios fail. Scenarios that pass directly must pass through the
// gateway.
func TestReferenceServer(t *testing.T) {
	if !*reference {
		return // adds little and takes as long as all others: make conformance runs it
	}
	t.Parallel()
	all := referenceRuns()
	found := perform(t, all, func(*testing.T, []scenario) {})
	for _, s := range found[all[0].name] {
		for _, r := range all[1:] {
			if s.whole() && r.revision == legacyRevision && !named(found[r.name], s.name).whole() {
				t.Errorf("%s passes directly, and not through the gateway (%s)", s.name, r.name)
			}
		}
	}
	published(t, "reference server", table(all, found, func(s scenario) bool {
		for _, r := range all {
			if named(found[r.name], s.name).whole() {
				return true
			}
		}
		return false
	}))
}
