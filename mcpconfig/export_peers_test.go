package mcpconfig_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/mcpconfig"
)

// listed is a server as mcporter lists it.
type listed struct {
	Name      string
	Transport string
	Command   string
	Args      []string
	BaseURL   string
	Headers   map[string]string
	Env       map[string]string
	Source    struct{ Kind, Path, ImportKind string }
}

// listing returns the servers that mcporter finds in the files of a directory and a home.
func listing(t *testing.T, dir, home string, args ...string) map[string]listed {
	t.Helper()
	out, err := peers.MCPorter(t, dir, home, nil, append([]string{"config", "list", "--json"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Servers []listed }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	servers := map[string]listed{}
	for _, s := range list.Servers {
		delete(s.Headers, "accept") // added by mcporter
		servers[s.Name] = s
	}
	return servers
}

// TestMCPorterReadsExports writes one server for each client that mcporter imports from, to the
// file of that client. mcporter lists them all.
func TestMCPorterReadsExports(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	project, home := filepath.Join(dir, "project"), filepath.Join(dir, "home")
	mkdir(t, project)
	o := &mcpconfig.Options{Dir: project, Home: home, XDG: filepath.Join(home, ".config"), Env: lookup(nil)}
	for client, file := range map[string]string{
		"cursor": ".cursor/mcp.json", "vscode": ".vscode/mcp.json", "codex": ".codex/config.toml", "opencode": "opencode.json",
		"windsurf": ".codeium/windsurf/mcp_config.json", "claude-code": ".claude.json", "claude-desktop": "Claude/claude_desktop_config.json",
	} {
		entries := []mcpconfig.Entry{{ID: client + "-run", Command: "npx", Args: []string{"-y", "a b", `"c"\`}}}
		if client != "claude-desktop" {
			entries = append(entries, mcpconfig.Entry{ID: client + "-web", URL: "https://example.com/mcp?a=b", Token: "INDUS_TOKEN"})
		}
		var out []byte
		for _, e := range entries {
			var notes []mcpconfig.Note
			var err error
			if out, notes, err = mcpconfig.Export(client, e, out); err != nil || len(notes) > 0 {
				t.Fatal(client, err, notes)
			}
		}
		files := named(client).Files(o)
		i := slices.IndexFunc(files, func(path string) bool { return strings.HasSuffix(filepath.ToSlash(path), file) })
		if i < 0 {
			t.Fatalf("%s keeps nothing in %s, but in %v", client, file, files)
		}
		path := files[i]
		if client == "claude-desktop" { // mcporter looks for it there
			path = filepath.Join(filepath.Dir(path), "settings.json")
		}
		write(t, path, string(out))
	}
	servers := listing(t, project, home, "--source", "import")
	for client, kind := range map[string]string{
		"cursor": "cursor", "vscode": "vscode", "codex": "codex", "opencode": "opencode",
		"windsurf": "windsurf", "claude-code": "claude-code", "claude-desktop": "claude-desktop",
	} {
		run, web := servers[client+"-run"], servers[client+"-web"]
		if run.Source.ImportKind != kind || run.Transport != "stdio" || run.Command != "npx" {
			t.Errorf("%s: %+v", client, run)
		}
		// mcporter does not split opencode's arguments.
		if diff := cmp.Diff([]string{"-y", "a b", `"c"\`}, run.Args); diff != "" {
			t.Errorf("%s: -want +got:\n%s", client, diff)
		}
		if client == "claude-desktop" {
			continue
		}
		if web.Transport != "http" || web.BaseURL != "https://example.com/mcp?a=b" {
			t.Errorf("%s: %+v", client, web)
		}
		// mcporter does not know Codex's bearer_token_env_var.
		if header := web.Headers["Authorization"]; client != "codex" && (!strings.HasPrefix(header, "Bearer ") || !strings.Contains(header, "INDUS_TOKEN")) {
			t.Errorf("%s: %v", client, web.Headers)
		}
	}
}

func named(client string) mcpconfig.Client {
	for _, c := range mcpconfig.Clients() {
		if c.Name == client {
			return c
		}
	}
	return mcpconfig.Client{}
}

// TestMCPorterCallsAnExport starts a server that was exported for mcporter, and lists its tools.
func TestMCPorterCallsAnExport(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	o := &mcpconfig.Options{Dir: dir, Home: filepath.Join(dir, "home"), Env: lookup(nil)}
	out, notes, err := mcpconfig.Export("mcporter", filesystem(t, dir), nil)
	if err != nil || len(notes) > 0 {
		t.Fatal(err, notes)
	}
	write(t, named("mcporter").Files(o)[0], string(out))
	list, err := peers.MCPorter(t, dir, o.Home, nil, "list", "fs", "--json")
	if err != nil || !strings.Contains(list, "read_text_file") {
		t.Fatalf("%v\n%s", err, list)
	}
}

// TestInspectorStartsAnExport does the same with the Inspector, which reads the file of Claude
// Desktop.
func TestInspectorStartsAnExport(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	out, notes, err := mcpconfig.Export("claude-desktop", filesystem(t, dir), nil)
	if err != nil || len(notes) > 0 {
		t.Fatal(err, notes)
	}
	path := filepath.Join(dir, "claude_desktop_config.json")
	write(t, path, string(out))
	list, err := peers.Inspector(t, "--config", path, "--server", "fs", "--method", "tools/list")
	if err != nil || !strings.Contains(list, "read_text_file") {
		t.Fatalf("%v\n%s", err, list)
	}
}

// filesystem returns the entry of a real server.
func filesystem(t *testing.T, dir string) mcpconfig.Entry {
	t.Helper()
	name, args := peers.Filesystem(t, dir)
	return mcpconfig.Entry{ID: "fs", Command: name, Args: args}
}

func definition(t *testing.T, id string, row map[string]any) mcpconfig.Definition {
	t.Helper()
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	return mcpconfig.Definition{ID: id, JSON: text}
}
