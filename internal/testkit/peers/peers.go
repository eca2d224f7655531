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

// longest limits the time of a run. It is several times the time of the slowest run of the
// conformance suite.
const longest = 10 * time.Minute

// Everything returns the command line of the reference server with all features: tools, prompts,
// resources, and questions to the client. The transport is stdio. Use [EverythingHTTP] and
// [EverythingSSE] for the other transports.
func Everything(t testing.TB, transport string) (name string, args []string) {
	t.Helper()
	return Command(t, everything, transport)
}

// EverythingHTTP starts the server of [Everything] and returns the URL of its streamable HTTP.
func EverythingHTTP(t testing.TB) string {
	t.Helper()
	return serve(t, "/mcp", everything, "streamableHttp")
}

// EverythingSSE starts the server of [Everything] and returns the URL of its HTTP+SSE stream.
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

// Filesystem returns the command line of the reference server for files below dir.
func Filesystem(t testing.TB, dir string) (name string, args []string) {
	t.Helper()
	return Command(t, filesystem, dir)
}

// Inspector runs the Inspector's command line, an independent client, until it ends. The arguments
// are a server's URL or command, then options such as --method tools/list. It returns stdout. The
// error of a failed run contains its stderr. Its home directory is a temporary directory of the
// test.
func Inspector(t testing.TB, args ...string) (stdout string, err error) {
	t.Helper()
	home := t.TempDir()
	name, args := Command(t, inspector, append([]string{"--cli"}, args...)...)
	return run(t, name, args, "HOME="+home, "USERPROFILE="+home)
}

// MCPorter runs mcporter, a client that reads its own configuration and the configurations of
// Cursor, Claude Code, Claude Desktop, Codex, Windsurf, opencode and Visual Studio Code. It runs in
// a project's directory and with its own home:
//
//	peers.MCPorter(t, dir, home, []string{"TOKEN=x"}, "config", "list", "--json")
//
// It returns stdout, as [Inspector] does.
func MCPorter(t testing.TB, dir, home string, env []string, args ...string) (stdout string, err error) {
	t.Helper()
	name, args := Command(t, mcporter, args...)
	env = append([]string{"HOME=" + home, "USERPROFILE=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config")},
		env...)
	return runIn(t, dir, name, args, env...)
}

// Conformance runs the official conformance suite, as in
//
//	peers.Conformance(t, "server", "--url", url, "--requirements", "2026-07-28", "-o", t.TempDir())
//	peers.Conformance(t, "client", "--command", bin, "--requirements", "2026-07-28")
//
// and returns its report. The error is the error of its exit code.
func Conformance(t testing.TB, args ...string) (report string, err error) {
	t.Helper()
	name, args := Command(t, conformance, args...)
	return run(t, name, args)
}

// run runs a peer with its Node first in PATH, also for its child processes.
func run(t testing.TB, name string, args []string, env ...string) (string, error) {
	t.Helper()
	return runIn(t, "", name, args, env...)
}

// runIn is run in a directory. "" is the working directory of the test.
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
