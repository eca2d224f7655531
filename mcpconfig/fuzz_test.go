package mcpconfig_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig"
)

// FuzzRead reads any bytes as a named file and as a discovered one. Every row of the
// text is a row of the outcome. Every row that does not start has a note with the
// reason. Ids are unique, and no variable's value is printed. Both readings are dry,
// because a random text might name any command.
func FuzzRead(f *testing.F) {
	cases, _ := filepath.Glob("testdata/read/*.txtar")
	for _, path := range cases {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if file.Name != "want" {
				f.Add(file.Data)
			}
		}
	}
	f.Add([]byte("\ufeff{\"servers\": []} // ["))
	dir := f.TempDir()
	path := filepath.Join(dir, ".indusvx", "mcp.json")
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		f.Fatal(err)
	}
	const value = "vALUe-0f-a-vAr1able"
	opts := &mcpconfig.Options{Dry: true, Home: filepath.Join(dir, "home"), Env: func(name string) (string, bool) {
		return value, name != "XDG_CONFIG_HOME" && len(name)%2 == 0
	}}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		found, err := mcpconfig.Read(t.Context(), []string{dir}, opts)
		if err != nil {
			t.Fatalf("a discovered file is an error: %v", err)
		}
		named, err := mcpconfig.Read(t.Context(), []string{path}, opts)
		if err != nil {
			if len(found.Notes) != 1 || found.Notes[0].String() != err.Error() || len(found.Rows) != 0 {
				t.Fatalf("named: %v\nfound: %v", err, found.Notes)
			}
			return
		}
		if len(found.Servers()) != 0 || len(found.Held()) != len(named.Servers()) {
			t.Fatalf("%d start without approval, %d are held, %d start with it",
				len(found.Servers()), len(found.Held()), len(named.Servers()))
		}
		if want := countRows(t, data); len(named.Rows) != min(want, 1000) {
			t.Fatalf("%d rows of %d", len(named.Rows), want)
		}
		for _, c := range []*mcpconfig.Config{found, named} {
			checkNotes(t, c)
			checkDefinitions(t, c)
			c.Watched = nil // paths, in which variables are replaced
			text, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			if out := fmt.Sprintf("%s%+v%#v", text, c, c.Notes); strings.Contains(out, value) && !strings.Contains(string(data), value) {
				t.Fatalf("a value is printed: %s", out)
			}
		}
		again, err := mcpconfig.Read(t.Context(), []string{path}, opts)
		if diff := cmp.Diff(named.Servers(), again.Servers()); err != nil || diff != "" {
			t.Fatalf("read again: %v\n%s", err, diff)
		}
	})
}

// countRows counts the rows without the package's help.
func countRows(t *testing.T, data []byte) (n int) {
	t.Helper()
	root, err := hujson.Parse(append([]byte(strings.TrimPrefix(string(data), "\ufeff")), '\n'))
	if err != nil {
		t.Fatalf("not even JSON: %v", err)
	}
	for _, m := range root.Value.(*hujson.Object).Members {
		name := m.Name.Value.(hujson.Literal).String()
		if name != "servers" && name != "mcpServers" {
			continue
		}
		switch list := m.Value.Value.(type) {
		case *hujson.Array:
			n += len(list.Elements)
		case *hujson.Object:
			n += len(list.Members)
		}
	}
	return n
}

func checkNotes(t *testing.T, c *mcpconfig.Config) {
	t.Helper()
	ids := map[string]bool{}
	for _, s := range c.Servers() {
		if s.ID == "" || s.Transport == nil || ids[s.ID] {
			t.Fatalf("server %q: no id, no transport, or a second one", s.ID)
		}
		ids[s.ID] = true
	}
	said := map[string]bool{}
	for _, n := range c.Notes {
		if n.Reason == "" || n.File == "" {
			t.Fatalf("an empty note: %+v", n)
		}
		said[fmt.Sprintf("%d %s %q", n.Row, n.State, n.Server)] = true
	}
	for i, r := range c.Rows {
		if r.State != mcpconfig.Active && (r.Reason == "" || !said[fmt.Sprintf("%d %s %q", i+1, r.State, r.Server.ID)]) {
			t.Fatalf("row %d, %v, has no note in %v", i+1, r, c.Notes)
		}
	}
}

// checkDefinitions checks that every row that counts can be written again.
func checkDefinitions(t *testing.T, c *mcpconfig.Config) {
	t.Helper()
	for _, r := range c.Rows {
		d, ok := c.Definition(r)
		if r.State == mcpconfig.Skipped || r.State == mcpconfig.Shadowed {
			continue
		}
		if !ok || d.ID != r.Server.ID || !json.Valid(d.JSON) || d.JSON[0] != '{' {
			t.Fatalf("row %v is defined as %s, %v", r, d.JSON, ok)
		}
	}
}

// FuzzExpand replaces the variables of any text. Only fetches in the text itself are
// made, whatever the variables hold. Escaped text comes out unchanged.
func FuzzExpand(f *testing.F) {
	for _, s := range []string{
		"", "$", "${A}", "${A:-${B:-c}}", "${env:A:-b}", "${/}", "${file:${A}/b}", "${file:~/a}", "${cmd:a {b} ${C}}", "$${cmd:a}",
		"${A:-${cmd:a}}", "${AA:-${file:x}}", "${cmd:}", "${file:", "${input:a}", "${cmd:}}", "\x00${cmd:a}\x00",
	} {
		f.Add(s, "${cmd:evil}${file:evil}")
		f.Add(s, "")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		env := func(name string) (string, bool) { return value, len(name)%2 == 1 }
		kept, wants, wrong := mcpconfig.Expand(text, env, nil)
		for _, w := range wants {
			if !strings.Contains(text, "${"+w.Kind+":") {
				t.Fatalf("%s %q is fetched, and %q does not say so", w.Kind, w.What, text)
			}
			if w.Kind == "cmd" && !strings.Contains(text, "${cmd:"+w.What+"}") {
				t.Fatalf("%q runs, and does not stand in %q", w.What, text)
			}
		}
		for _, w := range wants {
			if wrong == "" && !strings.Contains(kept, "${"+w.Kind+":") {
				t.Fatalf("%s %q is left as it is, and does not stand in %q", w.Kind, w.What, kept)
			}
		}
		full, again, wrongToo := mcpconfig.Expand(text, env, func(mcpconfig.Fetch) string { return "${cmd:evil}" })
		if wrongToo != wrong || len(again) != len(wants) || strings.Contains(full, "\x00") {
			t.Fatalf("fetched: %q, %q, %v; kept: %q, %q, %v", full, wrongToo, again, kept, wrong, wants)
		}
		if strings.Contains(text, "\x00") {
			return
		}
		escaped := strings.ReplaceAll(text, "${", "$${")
		if got, wants, wrong := mcpconfig.Expand(escaped, env, nil); got != text || len(wants) > 0 || wrong != "" {
			t.Fatalf("%q comes out of %q (%s)", got, escaped, wrong)
		}
	})
}
