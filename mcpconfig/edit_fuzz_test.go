package mcpconfig_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/indusagi/indus/mcpconfig"
)

// For any file, editing does not fail and loses no row. The row that was set is in
// the file.
func FuzzEdit(f *testing.F) {
	cases, err := filepath.Glob("testdata/edit/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range cases {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(file.Data, "a")
			f.Add(bytes.ReplaceAll(file.Data, []byte("\n"), []byte("\r\n")), "b")
		}
	}
	path := filepath.Join(f.TempDir(), "mcp.json")
	f.Fuzz(func(t *testing.T, text []byte, id string) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := mcpconfig.Open(path)
		if err != nil {
			return
		}
		ids := e.IDs()
		if len(ids) > 0 {
			id = ids[len(id)%len(ids)]
		}
		others := slices.DeleteFunc(slices.Clone(ids), func(s string) bool { return s == id })
		if err := e.Set(mcpconfig.Definition{ID: id, JSON: []byte(`{"command":"x","args":["/*"]}`)}); err != nil {
			if len(ids) > 0 {
				t.Fatal(err)
			}
			return // not a valid id
		}
		if wrong, unset := e.Check(id, &mcpconfig.Options{Env: lookup(nil)}); len(wrong)+len(unset) > 0 && len(ids) == 0 {
			t.Errorf("the row is wrong: %v %v", wrong, unset)
		}
		for _, on := range []bool{false, true} {
			if err := e.Enable(id, on); err != nil && len(ids) == 0 {
				t.Errorf("enable %v: %v", on, err)
			}
		}
		if err := e.Remove(id); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(others, e.IDs()); len(others)+len(e.IDs()) > 0 && diff != "" {
			t.Errorf("others: %s\n%s", diff, e.Text())
		}
	})
}
