package mcpconfig_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
)

// TestImportIsWhatReadReads imports each file of testdata/import, writes the result
// as indus's own file, and reads both. The servers are the same.
func TestImportIsWhatReadReads(t *testing.T) {
	cases, err := filepath.Glob("testdata/import/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, path := range cases {
		if cases[i], err = filepath.Abs(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range cases {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			files := given(archive)
			project, home := layOut(t, files)
			o := &mcpconfig.Options{Dir: project, Home: home, XDG: filepath.Join(home, ".config"), Env: func(name string) (string, bool) {
				return "value of " + name, true
			}}
			for _, f := range files {
				compared += sameServers(t, filepath.Join(filepath.Dir(project), f.Name), o)
			}
		})
	}
	if compared < 60 {
		t.Errorf("only %d servers were compared", compared)
	}
}

// sameServers returns the number of servers.
func sameServers(t *testing.T, path string, o *mcpconfig.Options) int {
	t.Helper()
	imported, err := mcpconfig.Import(path, "", o)
	if err != nil {
		return 0 // the golden files cover it
	}
	rows := map[string]json.RawMessage{}
	for _, d := range imported.Definitions {
		rows[d.ID] = d.JSON
	}
	text, err := json.Marshal(map[string]any{"servers": rows})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	if hidden := filepath.Base(dir); strings.HasPrefix(hidden, ".") {
		dir = filepath.Dir(dir)
	}
	native := filepath.Join(dir, "native.json")
	write(t, native, string(text))
	want, got := servers(t, path, o), servers(t, native, o)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: -read +imported:\n%s", path, diff)
	}
	return len(got)
}

// servers returns the servers that start, as text, sorted by name.
func servers(t *testing.T, path string, o *mcpconfig.Options) []string {
	t.Helper()
	c, err := mcpconfig.Read(t.Context(), []string{path}, o)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range c.Servers() {
		if remote, ok := s.Transport.(config.HTTP); ok && remote.URL == "" {
			t.Errorf("%s: %s has no url", path, s.ID)
		}
		out = append(out, revealed(t, s))
	}
	slices.Sort(out)
	return out
}

// Claude Code keeps its history beside its servers. Such a large file can be read in
// place.
func TestALargeFileOfAnotherClientIsRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".claude.json")
	text := `{"numStartups": 3, "history": "` + strings.Repeat("-", 2<<20) + `", "mcpServers": {"a": {"type": "stdio", "command": "a"}}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := mcpconfig.Read(t.Context(), []string{path}, &mcpconfig.Options{Home: filepath.Dir(path)})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Servers(); len(got) != 1 || got[0].ID != "a" {
		t.Errorf("%v, notes %v", got, c.Notes)
	}
}
