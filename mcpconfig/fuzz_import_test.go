package mcpconfig_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/indusagi/indus/mcpconfig"
)

// good returns a good server in each format, next to the fuzzed part.
func good() map[string]string {
	return map[string]string{
		".json": `{"mcpServers": {"good": {"command": "good"}, "bad": %}}`,
		".toml": "[mcp_servers.good]\ncommand = \"good\"\n[mcp_servers.bad]\nx = %\n",
		".yaml": "extensions:\n  good: {type: stdio, cmd: good}\n  bad: %\n",
	}
}

// FuzzImport imports any bytes, in every syntax and for every client. It never panics.
// Ids are unique, every definition reads as an object, and no note is about a place
// outside the file. A bad row does not affect a good one.
func FuzzImport(f *testing.F) {
	cases, _ := filepath.Glob("testdata/import/*.txtar")
	for _, path := range cases {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if n := slices.Index([]string{".json", ".toml", ".yaml"}, filepath.Ext(file.Name)); n >= 0 {
				f.Add(file.Data, n)
			}
		}
	}
	for _, row := range []string{`5`, `{"command": 5}`, `{"command": {}, "args": "x"}`, `[[]]`, `{"url": "${"}`, `{command: [*a]}`, `{x = 1}`} {
		f.Add([]byte(row), 0)
	}
	clients := []string{""}
	for _, c := range mcpconfig.Clients() {
		clients = append(clients, c.Name)
	}
	dir := f.TempDir()
	opts := &mcpconfig.Options{Dir: dir, Home: filepath.Join(dir, "home"), Env: lookup(nil)}
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		n = max(n, -n, 0)
		ext := []string{".json", ".toml", ".yaml"}[n%3]
		path := filepath.Join(dir, "fuzz"+ext)
		fuzzOne(t, path, data, "", opts)
		fuzzOne(t, path, data, clients[n/3%len(clients)], opts)
		beside := strings.Replace(good()[ext], "%", string(data), 1)
		got := fuzzOne(t, path, []byte(beside), "", opts)
		if got == nil || strings.Contains(string(data), "good") || !enclosed(ext, string(data)) {
			return
		}
		if !slices.ContainsFunc(got.Definitions, func(d mcpconfig.Definition) bool { return d.ID == "good" }) {
			t.Fatalf("the good row is lost: %v\n%s", got.Notes, beside)
		}
	})
}

// enclosed reports whether a text is one value of a syntax, and so affects only the bad
// row. That is easy to check only for JSON, and JSON is YAML.
func enclosed(ext, text string) bool {
	return ext != ".toml" && json.Valid([]byte(text))
}

func fuzzOne(t *testing.T, path string, data []byte, client string, o *mcpconfig.Options) *mcpconfig.Imported {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := mcpconfig.Import(path, client, o)
	if err != nil {
		return nil
	}
	lines := strings.Count(string(data), "\n") + 1
	for _, n := range got.Notes {
		if n.Line < 1 || n.Line > lines || n.Column < 1 || n.Reason == "" {
			t.Fatalf("a note about nowhere: %v", n)
		}
	}
	seen := map[string]bool{}
	for _, d := range got.Definitions {
		var row map[string]any
		if err := json.Unmarshal(d.JSON, &row); err != nil || d.ID == "" || seen[d.ID] {
			t.Fatalf("%v: %s: %s", err, d, d.JSON)
		}
		seen[d.ID] = true
	}
	return got
}

// FuzzExportInto writes entries into any text of each syntax. If it does not fail, the
// entry and everything else is there, and a second export changes nothing.
func FuzzExportInto(f *testing.F) {
	cases, _ := filepath.Glob("testdata/export/merge-*.txtar")
	for _, path := range cases {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(file.Data)
		}
	}
	entries := []mcpconfig.Entry{{ID: "fs", Command: "new", Args: []string{"a"}, Replace: true}, {ID: "a.b", URL: "https://new", Replace: true}}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, client := range []string{"codex", "goose", "continue", "zed"} {
			for _, e := range entries {
				once, _, err := mcpconfig.Export(client, e, data)
				if err != nil {
					continue
				}
				if twice, _, err := mcpconfig.Export(client, e, once); err != nil || string(twice) != string(once) {
					t.Fatalf("%s: %v\n%q\n%q\n%q", client, err, data, once, twice)
				}
			}
		}
	})
}
