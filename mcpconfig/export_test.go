package mcpconfig_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/indusagi/indus/mcpconfig"
)

// TestExport runs each case of testdata/export. Its comment has lines "export: CLIENT
// [FILE]", FILE being what the servers are merged into; its file in.json has them in
// indus's own form. What was written is imported again: "back" is what came of it.
func TestExport(t *testing.T) { golden(t, "testdata/export", exportCase) }

func exportCase(t *testing.T, comment string, files []txtar.File) string {
	t.Helper()
	_, home := layOut(t, files)
	opts := &mcpconfig.Options{Home: home, Env: lookup(nil)}
	in, err := mcpconfig.Import("in.json", "indus", opts)
	if err != nil || slices.ContainsFunc(in.Notes, func(n mcpconfig.Note) bool { return n.State == mcpconfig.Skipped }) {
		t.Fatal(err, in)
	}
	var b strings.Builder
	for line := range strings.Lines(comment) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), "export: ")
		if !ok {
			continue
		}
		client, path, merge := strings.Cut(value, " ")
		var into []byte
		if merge {
			if into, err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
		out, notes, err := mcpconfig.Export(client, in.Definitions, into, opts)
		fmt.Fprintf(&b, "# export %s\n", value)
		if err != nil {
			fmt.Fprintf(&b, "error: %v\n", err)
			continue
		}
		b.Write(out)
		for _, n := range notes {
			fmt.Fprintf(&b, "%-8s %s\n", n.State, n)
		}
		b.WriteString(back(t, client, out, in.Definitions, opts))
	}
	return strings.ReplaceAll(b.String(), home, "$HOME")
}

// back imports what was written, and says what differs from the definitions.
func back(t *testing.T, client string, out []byte, defs []mcpconfig.Definition, o *mcpconfig.Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "written")
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := mcpconfig.Import(path, client, o)
	if err != nil {
		return "back: " + strings.ReplaceAll(err.Error(), path, "written") + "\n"
	}
	want, got := map[string]string{}, map[string]string{}
	for _, d := range defs {
		want[d.ID] = string(d.JSON)
	}
	var b strings.Builder
	for _, d := range again.Definitions {
		if got[d.ID] = string(d.JSON); want[d.ID] != got[d.ID] {
			fmt.Fprintf(&b, "back: %s %s\n", d.ID, d.JSON)
		}
	}
	for _, d := range defs {
		if got[d.ID] == "" {
			fmt.Fprintf(&b, "back: no %s\n", d.ID)
		}
	}
	for _, n := range again.Notes {
		n.File = ""
		fmt.Fprintf(&b, "back: %s\n", n)
	}
	return b.String()
}

// TestExportLeavesTheRest merges into files of every client and finds all that was
// there again: reading the file before and after gives the same servers beside the new one.
func TestExportLeavesTheRest(t *testing.T) {
	dir := tempDir(t)
	o := &mcpconfig.Options{Home: filepath.Join(dir, "home"), Env: lookup(nil)}
	first := []mcpconfig.Definition{{ID: "one", JSON: []byte(`{"command":"a"}`)}, {ID: "two", JSON: []byte(`{"command":"b","args":["c"]}`)}}
	second := []mcpconfig.Definition{{ID: "three", JSON: []byte(`{"command":"d"}`)}}
	for _, c := range mcpconfig.Clients() {
		if !c.Writes {
			continue
		}
		text, _, err := mcpconfig.Export(c.Name, first, nil, o)
		if err != nil {
			t.Fatal(c.Name, err)
		}
		if text, _, err = mcpconfig.Export(c.Name, second, text, o); err != nil {
			t.Fatal(c.Name, err)
		}
		path := filepath.Join(dir, c.Name)
		write(t, path, string(text))
		got, err := mcpconfig.Import(path, c.Name, o)
		if err != nil {
			t.Fatal(c.Name, err)
		}
		rows := map[string]string{}
		for _, d := range got.Definitions {
			rows[d.ID] = string(d.JSON)
		}
		want := map[string]string{"one": `{"command":"a"}`, "two": `{"command":"b","args":["c"]}`, "three": `{"command":"d"}`}
		if diff := cmp.Diff(want, rows); diff != "" {
			t.Errorf("%s: -want +got:\n%s\n%s", c.Name, diff, text)
		}
	}
}
