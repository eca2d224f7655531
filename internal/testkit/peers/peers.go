package peers

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

const (
	everything  = "@modelcontextprotocol/server-everything"
	filesystem  = "@modelcontextprotocol/server-filesystem"
	inspector   = "@modelcontextprotocol/inspector"
	conformance = "@modelcontextprotocol/conformance"
	mcporter    = "mcporter"
)

// longest is the time after which a client is taken for hanging: several times
// what the slowest run of the conformance suite needs.
const longest = 5 * time.Minute

// Everything is the command line of the reference server with one of everything:
// tools, prompts, resources, and questions to the client. The transport is stdio;
// for the others there are [EverythingHTTP] and [EverythingSSE].
func Everything(t testing.TB, transport string) (name string, args []string) {
	t.Helper()
	return Command(t, everything, transport)
}

// EverythingHTTP starts that server and returns the URL of its streamable HTTP.
func EverythingHTTP(t testing.TB) string {
	t.Helper()
	return serve(t, "/mcp", everything, "streamableHttp")
}

// EverythingSSE starts that server and returns the URL of its HTTP+SSE stream.
func EverythingSSE(t testing.TB) string {
	t.Helper()
	return serve(t, "/sse", everything, "sse")
}

// serve starts a peer that listens on the port in PORT.
func serve(t testing.TB, path, pkg string, args ...string) string {
	t.Helper()
	p := fixture.Start(t, fixture.Command{
		Path: Node(t),
		Args: append([]string{"--require", filepath.Join(root(t), "loopback.cjs"), script(t, pkg)}, args...),
		Env:  []string{"PORT=0"},
	})
	p.Drain()
	return "http://127.0.0.1:" + p.WaitStderr("peer listens on port ") + path
}

// Filesystem is the command line of the reference server for files below dir.
func Filesystem(t testing.TB, dir string) (name string, args []string) {
	t.Helper()
	return Command(t, filesystem, dir)
}

// Inspector runs the Inspector's command line, a client nobody here wrote, to its
// end: a server's URL or command, then options such as --method tools/list. It
// returns stdout; the error of a run that failed has its stderr. Its home
// directory is the test's own.
func Inspector(t testing.TB, args ...string) (stdout string, err error) {
	t.Helper()
	home := t.TempDir()
	name, args := Command(t, inspector, append([]string{"--cli"}, args...)...)
	return run(t, name, args, "HOME="+home, "USERPROFILE="+home)
}

// MCPorter runs mcporter, a client that reads its own configuration and those of
// Cursor, Claude Code, Claude Desktop, Codex, Windsurf, opencode and Visual Studio
// Code, in a project's directory and with a home of the test's own:
//
//	peers.MCPorter(t, dir, home, []string{"TOKEN=x"}, "config", "list", "--json")
//
// It returns stdout, as [Inspector] does.
func MCPorter(t testing.TB, dir, home string, env []string, args ...string) (stdout string, err error) {
	t.Helper()
	name, args := Command(t, mcporter, args...)
	env = append([]string{"HOME=" + home, "USERPROFILE=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config")}, env...)
	return runIn(t, dir, name, args, env...)
}

// Conformance runs the official conformance suite, as in
//
//	peers.Conformance(t, "server", "--url", url, "--requirements", "2026-07-28", "-o", t.TempDir())
//	peers.Conformance(t, "client", "--command", bin, "--requirements", "2026-07-28")
//
// and returns its report. The error is that of its exit code.
func Conformance(t testing.TB, args ...string) (report string, err error) {
	t.Helper()
	name, args := Command(t, conformance, args...)
	return run(t, name, args)
}

// run runs a peer with its Node first on PATH, for what it starts in turn.
func run(t testing.TB, name string, args []string, env ...string) (string, error) {
	t.Helper()
	return runIn(t, "", name, args, env...)
}

// runIn does so in a directory; "" is the test's own.
func runIn(t testing.TB, dir, name string, args []string, env ...string) (string, error) {
	t.Helper()
	path := filepath.Dir(name) + string(os.PathListSeparator) + os.Getenv("PATH")
	stdout, stderr, err := fixture.Run(t, fixture.Command{
		Path: name,
		Args: args,
		Dir:  dir,
		Env:  append(env, "PATH="+path, "NO_COLOR=1"),
	}, longest)
	if err != nil {
		return stdout, fmt.Errorf("%s: %w\n%s", filepath.Base(args[0]), err, stderr)
	}
	return stdout, nil
}
