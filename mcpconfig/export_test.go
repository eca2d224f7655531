package mcpconfig_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/indusagi/indus/mcpconfig"
)

// TestExport runs each case of testdata/export. Its comment has lines "export: CLIENT [FILE]". The entries in
// in.json are merged into FILE, one after the other. The written file is imported again, and "back" has the
// result.
func TestExport(t *testing.T) { golden(t, "testdata/export", exportCase) }

func exportCase(t *testing.T, comment string, files []txtar.File) string {
	t.Helper()
	_, home := layOut(t, files)
	opts := &mcpconfig.Options{Home: home, Env: lookup(nil)}
	text, err := os.ReadFile("in.json")
	if err != nil {
		t.Fatal(err)
	}
	var entries []mcpconfig.Entry
	if err := json.Unmarshal(text, &entries); err != nil {
		t.Fatal(err)
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
		fmt.Fprintf(&b, "# export %s\n", value)
		for _, e := range entries {
			out, notes, err := mcpconfig.Export(client, e, into)
			if err != nil {
				fmt.Fprintf(&b, "error: %v\n", err)
				continue
			}
			into = out
			for _, n := range notes {
				fmt.Fprintf(&b, "note: %s\n", n)
			}
		}
		if into != nil {
			b.Write(into)
			b.WriteString(back(t, client, into, opts))
		}
	}
	return strings.ReplaceAll(b.String(), home, "$HOME")
}

// back imports the written file.
func back(t *testing.T, client string, out []byte, o *mcpconfig.Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "written")
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := mcpconfig.Import(path, client, o)
	if err != nil {
		return "back: " + strings.ReplaceAll(err.Error(), path, "written") + "\n"
	}
	var b strings.Builder
	for _, d := range again.Definitions {
		fmt.Fprintf(&b, "back: %s %s\n", d.ID, d.JSON)
	}
	return b.String()
}

// TestExportReplaces checks that another server of the name stays unless it is to be replaced. An entry that
// is there already is written again without a change.
func TestExportReplaces(t *testing.T) {
	for _, c := range mcpconfig.Clients() {
		other, entry := mcpconfig.Entry{ID: "indus", Command: "theirs", Args: []string{"x"}}, mcpconfig.Entry{ID: "indus", Command: "indus", Args: []string{"serve"}}
		there, _, err := mcpconfig.Export(c.Name, other, nil)
		if err != nil {
			t.Fatal(c.Name, err)
		}
		if _, _, err := mcpconfig.Export(c.Name, entry, there); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", c.Name, err)
		}
		entry.Replace = true
		once, _, err := mcpconfig.Export(c.Name, entry, there)
		if err != nil {
			t.Fatal(c.Name, err)
		}
		entry.Replace = false
		twice, _, err := mcpconfig.Export(c.Name, entry, once)
		if diff := cmp.Diff(string(once), string(twice)); err != nil || diff != "" {
			t.Errorf("%s: %v -once +twice:\n%s", c.Name, err, diff)
		}
	}
}

// TestExportLeavesTheRest merges into files of every client. A reading before and after gives the same
// servers, and the new one.
func TestExportLeavesTheRest(t *testing.T) {
	dir := tempDir(t)
	o := &mcpconfig.Options{Home: filepath.Join(dir, "home"), Env: lookup(nil)}
	entries := []mcpconfig.Entry{{ID: "one", Command: "a"}, {ID: "two", Command: "b", Args: []string{"c"}}, {ID: "three", Command: "d"}}
	for _, c := range mcpconfig.Clients() {
		var text []byte
		for _, e := range entries {
			var err error
			if text, _, err = mcpconfig.Export(c.Name, e, text); err != nil {
				t.Fatal(c.Name, err)
			}
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

// TestExportRemoves removes servers from a file of every client, in one step with a new entry and alone. The others
// stay, and a file without servers is valid and takes an entry again.
func TestExportRemoves(t *testing.T) {
	dir := tempDir(t)
	o := &mcpconfig.Options{Home: filepath.Join(dir, "home"), Env: lookup(nil)}
	for _, c := range mcpconfig.Clients() {
		path := filepath.Join(dir, c.Name)
		export := func(e mcpconfig.Entry, into []byte) []byte {
			t.Helper()
			out, _, err := mcpconfig.Export(c.Name, e, into)
			if err != nil {
				t.Fatalf("%s: %v\n%s", c.Name, err, into)
			}
			return out
		}
		ids := func(text []byte) []string {
			t.Helper()
			write(t, path, string(text))
			in, err := mcpconfig.Import(path, c.Name, o)
			if errors.Is(err, mcpconfig.ErrNoServer) {
				return nil
			} else if err != nil && len(bytes.TrimSpace(text)) > 0 {
				t.Fatalf("%s: %v\n%s", c.Name, err, text)
			}
			var out []string
			if err != nil { // the file is empty
				return nil
			}
			for _, d := range in.Definitions {
				out = append(out, d.ID)
			}
			slices.Sort(out)
			return out
		}
		var text []byte
		for _, id := range []string{"one", "two", "three"} {
			text = export(mcpconfig.Entry{ID: id, Command: "c", Args: []string{"a"}}, text)
		}
		text = []byte(strings.ReplaceAll(string(text), "\n", "\r\n"))
		for _, text := range [][]byte{text, []byte(strings.ReplaceAll(string(text), "\r", ""))} {
			text = export(mcpconfig.Entry{ID: "indus", Command: "i", Remove: []string{"one", "three", "none"}}, text)
			if diff := cmp.Diff([]string{"indus", "two"}, ids(text)); diff != "" {
				t.Errorf("%s: -want +got:\n%s\n%s", c.Name, diff, text)
			}
			text = export(mcpconfig.Entry{ID: "indus", Remove: []string{"indus", "two"}}, text)
			if got := ids(text); got != nil {
				t.Errorf("%s: %v are left:\n%s", c.Name, got, text)
			}
			text = export(mcpconfig.Entry{ID: "new", Command: "n"}, text)
			if diff := cmp.Diff([]string{"new"}, ids(text)); diff != "" {
				t.Errorf("%s: -want +got:\n%s\n%s", c.Name, diff, text)
			}
		}
	}
}

// TestExportRemovesCleanly checks the layout that a removal leaves in each syntax.
func TestExportRemovesCleanly(t *testing.T) {
	for _, c := range []struct{ client, text, want string }{
		{
			"codex", "# mine\n[mcp_servers.a]\ncommand = \"a\"\n[mcp_servers.a.env]\nX = \"1\"\n\n# two\n[mcp_servers.b]\ncommand = \"b\"\n",
			"# mine\n\n# two\n[mcp_servers.b]\ncommand = \"b\"\n",
		},
		{"codex", "mcp_servers = {a = {command = \"a\"}, b = {command = \"b\"}}\n", "[mcp_servers.b]\ncommand = \"b\"\n"},
		{
			"goose", "# mine\nextensions:\n  # about a\n  a:\n    type: stdio\n    cmd: a\n\nother: 1\n",
			"# mine\nextensions: {}\n  # about a\n\nother: 1\n",
		},
		{
			"continue", "mcpServers:\n- name: a\n  command: a\n- name: b\n  command: b\n", "mcpServers:\n- name: b\n  command: b\n",
		},
		{"cursor", "{\"mcpServers\": {\"a\": {\"command\": \"a\"}, \"a\": {\"command\": \"b\"}}} // x\n", "{\"mcpServers\": {}} // x\n"},
	} {
		got, _, err := mcpconfig.Export(c.client, mcpconfig.Entry{ID: "a", Remove: []string{"a"}}, []byte(c.text))
		if diff := cmp.Diff(c.want, string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v -want +got:\n%s", c.client, err, diff)
		}
	}
	for client, text := range map[string]string{
		"goose": "extensions: {a: {type: stdio, cmd: a}}\n", "cursor": "{", "codex": "[",
	} {
		if got, _, err := mcpconfig.Export(client, mcpconfig.Entry{ID: "a", Remove: []string{"a"}}, []byte(text)); err == nil {
			t.Errorf("%s: %q became %q", client, text, got)
		}
	}
}
