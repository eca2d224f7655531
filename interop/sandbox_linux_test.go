package interop_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// boxed gives a server the strict sandbox, with a home below dir.
func boxed(s config.Server, dir string, write ...string) config.Server {
	stdio := s.Transport.(config.Stdio)
	stdio.Sandbox = &config.Sandbox{Home: filepath.Join(dir, s.ID), Write: write}
	if os.Geteuid() == 0 {
		stdio.Sandbox.User = "65534"
	}
	s.Transport = stdio
	return s
}

// openDir returns a directory that servers of another user can find.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sandbox")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The servers of npm list all their tools in the strict sandbox, without a rule of their own.
func TestServersListTheirToolsInAStrictSandbox(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	names := []string{"@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-memory", "time-mcp",
		"@cyanheads/git-mcp-server", "@modelcontextprotocol/server-sequential-thinking", "mcp-server-code-runner",
		"@dangahagan/weather-mcp", "@antv/mcp-server-chart", "airtable-mcp-server", "mcp-searxng", "reddit-mcp-buddy",
		"tavily-mcp", "chrome-devtools-mcp", "next-devtools-mcp", "nx-mcp"}
	names = names[:fixture.Size(t, 1, len(names))]
	env := []config.Pair{
		{Name: "AIRTABLE_API_KEY", Value: config.NewSecret("x")}, {Name: "TAVILY_API_KEY", Value: config.NewSecret("x")},
		{Name: "SEARXNG_URL", Value: config.NewSecret("http://127.0.0.1:9")},
	}
	var servers []config.Server
	for _, name := range names {
		command, args := peers.Command(t, name)
		s := config.Server{ID: filepath.Base(name), Transport: config.Stdio{Command: command, Args: args, Env: env}}
		servers = append(servers, boxed(s, dir))
	}
	command, args := peers.Command(t, "@modelcontextprotocol/server-filesystem", dir)
	servers = append(servers, boxed(config.Server{ID: "fs", Transport: config.Stdio{Command: command, Args: args}}, dir, dir))
	for batch := range slices.Chunk(servers, 4) { // all at once would be too many for two processors
		m := mount(t, t.Context(), batch, nil)
		for _, st := range m.Fleet.Status() {
			if st.Fault != nil || st.Phase != interop.Ready || st.Tools == 0 {
				t.Errorf("%s is %s, %d tools, fault %v", st.Server, st.Phase, st.Tools, st.Fault)
			}
		}
		m.Close()
	}
}
