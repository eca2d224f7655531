package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
)

// npmEntry is the entry of an npm package. The registry takes an entry only if mcpName of the package is its name.
type npmEntry struct {
	registryEntry
	pkg string // NAME@VERSION
}

// npmEntries returns the entries of the servers among the peers: all packages with mcpName.
func npmEntries(t *testing.T, dir string) (all []npmEntry) {
	t.Helper()
	var pinned struct{ Dependencies map[string]string }
	unmarshalFile(t, filepath.Join(dir, "package.json"), &pinned)
	for name, version := range pinned.Dependencies {
		var installed struct{ MCPName, Version string }
		unmarshalFile(t, filepath.Join(dir, "node_modules", name, "package.json"), &installed)
		if installed.MCPName == "" {
			continue
		}
		if installed.Version != version {
			t.Fatalf("%s is installed in version %s, want %s; run: make peers", name, installed.Version, version)
		}
		raw, err := json.Marshal(map[string]any{"server": map[string]any{
			"name": installed.MCPName, "version": version, "description": "A server of npm",
			"packages": []any{map[string]any{"registryType": "npm", "identifier": name, "version": version,
				"transport": map[string]string{"type": "stdio"}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, npmEntry{registryEntry{installed.MCPName, version, raw}, name + "@" + version})
	}
	return all
}

func unmarshalFile(t *testing.T, file string, to any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatalf("%s: %v; run: make peers", file, err)
	}
}

// TestRowsOfEntriesListTheirTools adds real npm servers from a registry, some at random or all with INDUS_SOAK, and lists the
// tools of each row. npx finds the packages in the directory of the peers. Except for one key that must only be there, no
// row has credentials.
func TestRowsOfEntriesListTheirTools(t *testing.T) {
	dir := filepath.Dir(peers.File(t, "package.json"))
	t.Setenv("PATH", filepath.Dir(peers.Node(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
	entries := npmEntries(t, dir)
	if len(entries) < 16 {
		t.Errorf("%d of the peers are servers with mcpName", len(entries))
	}
	var served []registryEntry
	for _, e := range entries {
		served = append(served, e.registryEntry)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serveEntries(w, r, served) }))
	t.Cleanup(s.Close)
	for _, i := range fixture.Rand(t).Perm(len(entries))[:fixture.Size(t, 4, len(entries))] {
		e := entries[i]
		t.Run(e.pkg, func(t *testing.T) {
			t.Parallel()
			listRow(t, e, s.URL, dir)
		})
	}
}

// listRow writes the row of an entry, and lists its tools.
func listRow(t *testing.T, e npmEntry, registry, dir string) {
	home := t.TempDir()
	file := filepath.Join(home, "mcp.json")
	indus := func(args ...string) string {
		env := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home}
		p := start(t, home, env, "indus", append(args, "--mcp", file)...)
		p.ends(0)
		return p.out.String()
	}
	indus("mcp", "add", "one", "--write", "--registry", registry, "--from", e.name, "--set", "cwd="+dir,
		"--env", "npm_config_offline=true", "--env", "NODE_OPTIONS=--require="+filepath.Join(dir, "offline.cjs"),
		"--env", "AIRTABLE_API_KEY=none")
	var config struct {
		Servers map[string]struct {
			Command string
			Args    []string
		}
	}
	unmarshalFile(t, file, &config)
	if row := config.Servers["one"]; row.Command+" "+strings.Join(row.Args, " ") != "npx -y "+e.pkg {
		t.Errorf("the row is %+v", row)
	}
	var tools []struct{ Name string }
	if err := json.Unmarshal([]byte(indus("mcp", "tools", "--json")), &tools); err != nil || len(tools) == 0 {
		t.Errorf("%v, %d tools", err, len(tools))
	}
	t.Logf("%d tools", len(tools))
}
