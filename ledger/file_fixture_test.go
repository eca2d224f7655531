package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/indusagi/indus/internal/testkit/clustertest"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
)

// start is the time at which the tests' logs begin.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// capability returns a tool with a whole tool object.
func capability(server, tool, description, schema string) ledger.Capability {
	raw := fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":%s}`, tool, description, schema)
	return ledger.Capability{
		Name: server + "__" + tool, Server: server, Tool: tool, Description: description,
		Schema: json.RawMessage(schema), Parameters: json.RawMessage(schema),
		Wire: toolbox.Wire{Format: "mcp/modern", JSON: json.RawMessage(raw)},
	}
}

const anyObject = `{"type":"object"}`

// enrolled returns the Enroll of a tool.
func enrolled(run string, second int, c ledger.Capability) ledger.Entry {
	return ledger.Entry{
		Op: ledger.Enroll, Key: ledger.ContentKey(config.QualifiedName(c.Server, c.Tool), c.Schema), Server: c.Server,
		Tool: c.Tool, Name: c.Name, Capability: &c, At: start.Add(time.Duration(second) * time.Second), Run: run,
	}
}

func retired(second int, e ledger.Entry) ledger.Entry {
	e.Op, e.Capability, e.At = ledger.Retire, nil, start.Add(time.Duration(second)*time.Second)
	return e
}

// logPath returns the path of a test's log.
func logPath(t testing.TB) string { return filepath.Join(t.TempDir(), "state", "ledger.jsonl") }

func open(t testing.TB, path string) *ledger.File {
	t.Helper()
	f, err := ledger.OpenFile(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// opener opens the log of a path.
type opener func(t testing.TB, path string) ledger.Log

func openFile(t testing.TB, path string) ledger.Log { return open(t, path) }

// eachLog runs a test with a log in a file, and with the log of a cluster. Both have paths.
func eachLog(t *testing.T, test func(t *testing.T, open opener)) {
	t.Run("file", func(t *testing.T) { t.Parallel(); test(t, openFile) })
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		var mu sync.Mutex
		clusters := map[string]*clustertest.Memory{}
		test(t, func(t testing.TB, path string) ledger.Log {
			mu.Lock()
			defer mu.Unlock()
			if clusters[path] == nil {
				clusters[path] = &clustertest.Memory{}
			}
			return ledger.ArchivedShared(openShared(t, clusters[path].Connect()), 1<<20)
		})
	})
}

func appendTo(t testing.TB, f ledger.Log, entries ...ledger.Entry) []ledger.Entry {
	t.Helper()
	stored, err := f.Append(t.Context(), entries...)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func read(t testing.TB, f ledger.Log) []ledger.Entry {
	t.Helper()
	entries, err := f.Read(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// history returns all entries, including the entries of archives.
func history(t testing.TB, f *ledger.File) []ledger.Entry {
	t.Helper()
	entries, err := f.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func verify(t testing.TB, f ledger.Log, heads ...ledger.Head) *ledger.Report {
	t.Helper()
	r, err := f.(interface {
		Verify(ctx context.Context, heads ...ledger.Head) (*ledger.Report, error)
	}).Verify(t.Context(), heads...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantWhole(t testing.TB, f ledger.Log, entries int) {
	t.Helper()
	if r := verify(t, f); len(r.Damage) > 0 || r.Entries != entries {
		t.Errorf("%d entries, damage %v; want %d and none", r.Entries, r.Damage, entries)
	}
}

func contents(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

var sameEntries = cmp.Options{cmpopts.IgnoreUnexported(ledger.Capability{}), cmpopts.EquateEmpty()}

// diffEntries compares stored entries with the written ones.
func diffEntries(want, got []ledger.Entry) string { return cmp.Diff(want, got, sameEntries) }

// twoRuns writes a log of two runs: 11 entries in 5 batches.
func twoRuns(t testing.TB, f ledger.Log) []ledger.Entry {
	t.Helper()
	a := enrolled("A", 1, capability("fs", "read", "Reads a file.", anyObject))
	b := enrolled("A", 1, capability("fs", "write", "Writes a ☃.", `{"type":"object","properties":{"n":{"const":9007199254740993}}}`))
	c := enrolled("B", 3, capability("web", "get", "line\nbreak", "{\n \"type\" : \"object\"\n}"))
	again := a
	again.Run, again.At = "B", start.Add(3*time.Second)
	changed := enrolled("A", 5, capability("fs", "read", "Reads any file.", anyObject))
	changed.Changed = true
	var stored []ledger.Entry
	for _, batch := range [][]ledger.Entry{
		{{Op: ledger.Begin, Run: "A", Config: "c0ffee", At: start, Note: "one"}, a, b},
		{{Op: ledger.Begin, Run: "B", Config: "c0ffee", At: start.Add(2 * time.Second)}, again, c},
		{retired(4, b)},
		{changed, {Op: ledger.Health, Run: "A", Server: "fs", Note: "lost", At: start.Add(6 * time.Second)}},
		{retired(7, again), {Op: ledger.End, Run: "A", At: start.Add(8 * time.Second)}},
	} {
		stored = append(stored, appendTo(t, f, batch...)...)
	}
	return stored
}
