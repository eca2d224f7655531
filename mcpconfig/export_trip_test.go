package mcpconfig_test

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/mcpconfig"
)

// TestRoundTrip writes random entries for every client and reads them again. If Export
// returns no note about an entry, the same entry must come back. The seed is printed;
// INDUS_SEED sets it.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	r := fixture.Rand(t)
	dir := tempDir(t)
	for _, c := range mcpconfig.Clients() {
		same := 0
		for range 60 {
			same += roundTrip(t, r, c.Name, dir)
		}
		if same < 5 {
			t.Errorf("%s: only %d entries could be compared", c.Name, same)
		}
	}
}

// roundTrip returns the number of entries that came back the same.
func roundTrip(t *testing.T, r *rand.Rand, client, dir string) (same int) {
	t.Helper()
	o := &mcpconfig.Options{Dir: dir, Home: filepath.Join(dir, "home"), Env: lookup(nil)}
	e := randomEntry(r)
	out, notes, err := mcpconfig.Export(client, e, nil)
	if err != nil && (client == "claude-desktop" || client == "indusagi") && e.URL != "" || len(notes) > 0 {
		return 0
	}
	if err != nil {
		t.Fatalf("%s: %v", client, err)
	}
	path := filepath.Join(dir, "written")
	write(t, path, string(out))
	back, err := mcpconfig.Import(path, client, o)
	if err != nil || len(back.Definitions) != 1 || back.Definitions[0].ID != e.ID {
		t.Fatalf("%s: %v %v\n%s", client, err, back, out)
	}
	if diff := cmp.Diff(decoded(t, rowOf(t, e)), decoded(t, back.Definitions[0].JSON)); diff != "" {
		t.Fatalf("%s: -want +got:\n%s\n%s", client, diff, out)
	}
	return 1
}

// rowOf returns an entry as a row of indus's own files, in which "${" begins a
// variable.
func rowOf(t *testing.T, e mcpconfig.Entry) json.RawMessage {
	t.Helper()
	row := map[string]any{}
	literal := func(s string) string { return strings.ReplaceAll(s, "${", "$${") }
	if e.Command != "" {
		row["command"] = literal(e.Command)
	} else {
		row["url"] = literal(e.URL)
	}
	var args []string
	for _, arg := range e.Args {
		args = append(args, literal(arg))
	}
	if args != nil {
		row["args"] = args
	}
	if e.Token != "" {
		row["headers"] = map[string]string{"Authorization": "Bearer ${" + e.Token + "}"}
	}
	return definition(t, e.ID, row).JSON
}

func decoded(t *testing.T, row json.RawMessage) (v any) {
	t.Helper()
	if err := json.Unmarshal(row, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func randomEntry(r *rand.Rand) mcpconfig.Entry {
	e := mcpconfig.Entry{ID: pick(r, "s", "a.b", "x y", "é", "true", "1", `q"`, "#")}
	if r.IntN(3) > 0 {
		e.Command, e.Args = "x"+randomText(r), randomTexts(r)
		return e
	}
	e.URL, e.Token = "https://example.com/"+pick(r, "mcp", "a?b=c&d=%20", "x#y"), pick(r, "", "INDUS_TOKEN")
	return e
}

func randomTexts(r *rand.Rand) []string {
	var out []string
	for range r.IntN(4) {
		out = append(out, randomText(r))
	}
	return out
}

// randomText returns mostly plain text. Some parts are special in some client or
// syntax.
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
	return s
}
