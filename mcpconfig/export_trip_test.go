package mcpconfig_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/mcpconfig"
)

// TestRoundTrip writes random servers for every client and reads them again. Of a
// server about which Export had nothing to say, the same must come back. The seed is
// printed; INDUS_SEED sets it.
func TestRoundTrip(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("INDUS_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &seed); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("INDUS_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	dir := tempDir(t)
	for _, c := range mcpconfig.Clients() {
		if !c.Writes {
			continue
		}
		same := 0
		for range 60 {
			same += roundTrip(t, r, c.Name, dir)
		}
		if same < 5 {
			t.Errorf("%s: only %d servers could be compared", c.Name, same)
		}
	}
}

// roundTrip returns how many servers came back the same.
func roundTrip(t *testing.T, r *rand.Rand, client, dir string) (same int) {
	t.Helper()
	o := &mcpconfig.Options{Dir: dir, Home: filepath.Join(dir, "home"), Env: lookup(nil)}
	var defs []mcpconfig.Definition
	for i := range 1 + r.IntN(4) {
		defs = append(defs, definition(t, fmt.Sprint(pick(r, "s", "a.b", "x y", "é", "true", "1", `q"`, "#"), i), randomRow(r)))
	}
	out, notes, err := mcpconfig.Export(client, defs, nil, o)
	if err != nil {
		t.Fatalf("%s: %v", client, err)
	}
	said := map[string]bool{}
	for _, n := range notes {
		said[n.Server] = true
	}
	path := filepath.Join(dir, "written")
	write(t, path, string(out))
	if len(said) == len(defs) {
		return 0 // there may be nothing in it
	}
	back, err := mcpconfig.Import(path, client, o)
	if err != nil {
		t.Fatalf("%s: %v\n%s", client, err, out)
	}
	got := map[string]json.RawMessage{}
	for _, d := range back.Definitions {
		got[d.ID] = d.JSON
	}
	for _, d := range defs {
		if said[d.ID] {
			continue
		}
		same++
		if diff := cmp.Diff(decoded(t, d.JSON), decoded(t, got[d.ID])); diff != "" {
			t.Fatalf("%s: -want +got:\n%s\n%s\n%s", client, diff, d.JSON, out)
		}
	}
	return same
}

func decoded(t *testing.T, row json.RawMessage) (v any) {
	t.Helper()
	if row == nil {
		return nil
	}
	if err := json.Unmarshal(row, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func maybe(r *rand.Rand) bool { return r.IntN(4) == 0 }

// randomRow is in the form that an import writes, so that it can be compared.
func randomRow(r *rand.Rand) map[string]any {
	row := map[string]any{}
	if maybe(r) {
		return map[string]any{"command": "x", "args": append(randomTexts(r), "a"), "env": map[string]string{"A": "b"}}
	}
	if r.IntN(3) > 0 {
		row["command"] = "x" + randomText(r)
		if args := randomTexts(r); len(args) > 0 {
			row["args"] = args
		}
		if env := randomPairs(r, "A", "TOKEN", "X_1"); len(env) > 0 {
			row["env"] = env
		}
		if maybe(r) {
			row["cwd"] = "/srv/x"
		}
	} else {
		row["url"] = "https://example.com/" + pick(r, "mcp", "a?b=c&d=%20", "x#y")
		if headers := randomPairs(r, "Authorization", "X-Key", "X"); len(headers) > 0 {
			row["headers"] = headers
		}
		if maybe(r) {
			row["type"] = "sse"
		}
	}
	switch r.IntN(6) {
	case 0:
		row["timeout"] = "1m30s"
	case 1:
		row["timeout"] = map[string]any{"call": "500ms"}
	case 2:
		row["timeout"] = map[string]any{"connect": "10s", "list": "10s"}
	case 3:
		row["timeout"] = map[string]any{"connect": "2s"}
	}
	tools := map[string]any{}
	if maybe(r) {
		tools["allow"] = pick(r, []string{"a"}, []string{"b", "c_d"})
	}
	if maybe(r) {
		tools["deny"] = pick(r, []string{"x"}, []string{"y", "z"})
	}
	if len(tools) > 0 {
		row["tools"] = tools
	}
	if maybe(r) {
		row["enabled"] = false
	}
	return row
}

func randomPairs(r *rand.Rand, names ...string) map[string]string {
	out := map[string]string{}
	for _, name := range names {
		switch r.IntN(5) {
		case 0:
			out[name] = "${" + name + "}"
		case 1:
			out[name] = "Bearer ${TOKEN}"
		case 2:
			out[name] = randomText(r)
		}
		if _, ok := out["X-Key"]; ok && out["X-Key"] == "${X-Key}" {
			out["X-Key"] = "${KEY}"
		}
	}
	return out
}

func randomTexts(r *rand.Rand) []string {
	var out []string
	for range r.IntN(4) {
		out = append(out, randomText(r))
	}
	return out
}

// randomText is mostly plain, with what some client or some syntax might stumble over.
func randomText(r *rand.Rand) string {
	s := ""
	for range r.IntN(4) {
		if r.IntN(3) > 0 {
			s += pick(r, "a", "-y", "/srv", "x=1", "b c")
			continue
		}
		s += pick(r, "${VAR}", "${VAR:-d}", "${VAR:-}", "${userHome}", "$${X}", "$HOME", "{env:X}", "%PATH%", "$(x)", "$env:Y", "${file:/etc/x}",
			`"`, `\`, "'", "\n", "\t", "é", "#", ": ", "- ", "*a", "&b", "yes", "null", "1", "~", "[", "{", "}", "$", "\u0001", "\u2028", "", " ")
	}
	return strings.ReplaceAll(s, "${env:", "${") // the same, and the form that an import writes
}
