package mcpregistry

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

type entry map[string]any

const (
	schema   = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
	airtable = "io.github.domdomegg/airtable-mcp-server" // recorded in two versions
)

// recorded returns the recorded entries, and their names. A registry takes a version of a name once: the newest is taken.
func recorded(t *testing.T) (entries []entry, names []string) {
	t.Helper()
	text, err := os.ReadFile("../../registry/testdata/servers.json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Servers []struct{ Server entry } }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range list.Servers {
		name, _ := e.Server["name"].(string)
		version, _ := e.Server["version"].(string)
		if seen[name+"@"+version] {
			continue
		}
		seen[name+"@"+version] = true
		e.Server["$schema"] = schema
		entries, names = append(entries, e.Server), append(names, name)
	}
	slices.Sort(names)
	return entries, slices.Compact(names)
}

// user runs indus with a registry.
type user struct {
	t                      *testing.T
	program, home, address string
}

// run returns what indus prints on both outputs.
func (u *user) run(code int, args ...string) string {
	u.t.Helper()
	cmd := exec.Command(u.program, append([]string{"mcp"}, args...)...)
	cmd.Args = append(cmd.Args, "--registry", u.address)
	cmd.Dir = u.home
	cmd.Env = append(os.Environ(), "HOME="+u.home, "XDG_CONFIG_HOME="+u.home, "XDG_STATE_HOME="+u.home)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		u.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		u.t.Fatalf("indus mcp %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
	return string(out)
}

// prints checks that indus prints text that matches.
func (u *user) prints(pattern string, code int, args ...string) {
	u.t.Helper()
	if out := u.run(code, args...); !regexp.MustCompile("(?m)" + pattern).MatchString(out) {
		u.t.Errorf("indus mcp %s prints\n%s, want %s", strings.Join(args, " "), out, pattern)
	}
}

// find returns the names on one page, and the cursor of the next.
func (u *user) find(args ...string) (names []string, cursor string) {
	u.t.Helper()
	var found struct {
		Entries []struct{ Name string }
		Cursor  string
	}
	out := u.run(0, append([]string{"find", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		u.t.Fatal(err, out)
	}
	for _, e := range found.Entries {
		names = append(names, e.Name)
	}
	return names, found.Cursor
}

// TestCommands searches the official registry's server, writes rows of its entries and compares their versions.
func TestCommands(t *testing.T) {
	entries, names := recorded(t)
	s := startServer(t, entries)
	u := &user{t, build(t, "../../..", "./cmd/indus"), t.TempDir(), s.url}

	t.Run("find", func(t *testing.T) {
		u.t = t
		all, cursor := u.find("--limit", "30")
		pages := 1
		for ; cursor != ""; pages++ {
			var page []string
			page, cursor = u.find("--limit", "30", "--cursor", cursor)
			all = append(all, page...)
		}
		slices.Sort(all)
		if !slices.Equal(all, names) || pages != (len(names)+29)/30 {
			t.Errorf("%d pages have %d of %d names", pages, len(all), len(names))
		}
		if one, cursor := u.find("--limit", "1000"); len(one) != len(names) || cursor != "" {
			t.Errorf("one search has %d of %d names", len(one), len(names))
		}
		u.prints(`^`+airtable+` +1\.7\.3 +npm, oci, mcpb +Read and write`, 0, "find", "AIRTABLE", "schemas")
		u.prints(`^indus: nothing was found$`, 0, "find", "airtable", "weather")
	})
	t.Run("add", func(t *testing.T) {
		u.t = t
		u.prints(`"args": \["-y", "airtable-mcp-server@1\.7\.2"\]`, 0, "add", "old", "--from", airtable+"@1.7.2", "--write")
		u.prints(`"docker\.io/domdomegg/airtable-mcp-server:1\.7\.3"`, 0, "add", "new", "--from", airtable, "--kind", "oci", "--write")
		u.prints(`no such entry`, 1, "add", "--from", airtable+"@9.9.9", "--write")
		u.prints(`no such entry`, 1, "add", "--from", "com.example/none", "--write")
		u.prints(`^old +1\.7\.2 +1\.7\.3 +outdated +`+airtable+`$`, 0, "outdated")
		u.prints(`^new +1\.7\.3 +1\.7\.3 +current +`+airtable+`$`, 0, "outdated")
	})
	t.Run("the life of an entry", func(t *testing.T) {
		u.t, s.t = t, t
		const name = "io.modelcontextprotocol.anonymous/weather"
		s.publish(name, "1.0.0")
		u.run(0, "add", "--from", name, "--write")
		u.prints(`^weather +1\.0\.0 +1\.0\.0 +current`, 0, "outdated")
		s.publish(name, "1.1.0-rc.1")
		u.prints(`^weather +1\.0\.0 +1\.1\.0-rc\.1 +outdated`, 0, "outdated")
		u.prints(`"weather@1\.1\.0-rc\.1"`, 0, "add", "weather", "--from", name, "--write", "--force")
		s.setStatus(name, "deprecated")
		u.prints(`^`+name+` +1\.1\.0-rc\.1 +npm +deprecated: Forecasts`, 0, "find", "weather")
		u.prints(`^weather .* deprecated +`+name, 0, "outdated")
		s.setStatus(name, "deleted")
		u.prints(`^indus: nothing was found$`, 0, "find", "weather")
		u.prints(`^weather .* gone +`+name, 0, "outdated")
		u.prints(`no such entry`, 1, "add", "again", "--from", name, "--write")
	})
}
