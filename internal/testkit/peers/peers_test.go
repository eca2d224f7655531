package peers_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
)

const (
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"peers-test","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// serverName initializes a stdio server and returns the server's name for itself.
func serverName(t *testing.T, name string, args ...string) string {
	t.Helper()
	p := fixture.Start(t, fixture.Command{Path: name, Args: args})
	fmt.Fprintln(p.Stdin, initialize)
	var m struct {
		Result struct{ ServerInfo struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(p.Line()), &m); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(p.Stdin, initialized)
	return m.Result.ServerInfo.Name
}

func TestNode(t *testing.T) {
	out, err := exec.Command(peers.Node(t), "--version").Output()
	if err != nil || !strings.HasPrefix(string(out), "v2") {
		t.Errorf("%s, %v", out, err)
	}
}

func TestStdioServers(t *testing.T) {
	name, args := peers.Everything(t, "stdio")
	if got := serverName(t, name, args...); got != "mcp-servers/everything" {
		t.Errorf("everything is %q", got)
	}
	name, args = peers.Filesystem(t, t.TempDir())
	if got := serverName(t, name, args...); got != "secure-filesystem-server" {
		t.Errorf("filesystem is %q", got)
	}
	if got := serverName(t, peers.SDKEverythingServer(t)); got != "mcp-conformance-test-server" {
		t.Errorf("the SDK's is %q", got)
	}
}

func TestHTTPServers(t *testing.T) {
	for name, url := range map[string]string{
		"everything":  peers.EverythingHTTP(t),
		"sdk, legacy": peers.SDKEverythingHTTP(t, false),
	} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(initialize))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != 200 || resp.Header.Get("Mcp-Session-Id") == "" {
			t.Errorf("%s: %s", name, resp.Status)
		}
		resp.Body.Close()
	}
}

func TestSSEServer(t *testing.T) {
	resp, err := http.Get(peers.EverythingSSE(t))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b := make([]byte, len("event: endpoint\n"))
	if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != "event: endpoint\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// inspected lists the tools of a server through the Inspector.
func inspected(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := peers.Inspector(t, append(args, "--quiet", "--method", "tools/list")...)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("%v in %.500s", err, out)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func TestInspectorLists(t *testing.T) {
	name, args := peers.Everything(t, "stdio")
	f := fixture.New(t, "-bare", "-tools", "2")
	modern := fixture.New(t, "-bare", "-tools", "2", "-era", "modern")
	for _, tt := range []struct {
		name, tool string
		args       []string
	}{
		{"everything over stdio", "echo", append([]string{name}, args...)},
		{"everything over HTTP", "echo", []string{peers.EverythingHTTP(t), "--transport", "http"}},
		{"everything over SSE", "echo", []string{peers.EverythingSSE(t), "--transport", "sse"}},
		{"fixture over HTTP", "tool_0001", []string{f.HTTP(), "--transport", "http"}},
		{"modern fixture over HTTP", "tool_0001", []string{modern.HTTP(), "--transport", "http", "--protocol-era", "modern"}},
		{"modern SDK over HTTP", "json_schema_2020_12_tool", []string{peers.SDKEverythingHTTP(t, true), "--transport", "http", "--protocol-era", "modern"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			names := inspected(t, tt.args...)
			if len(names) == 0 || names[0] != tt.tool {
				t.Errorf("tools %v, want %s first", names, tt.tool)
			}
		})
	}
}

// TestConformance runs two scenarios of each kind, to check that the suite itself works. Other
// packages run the whole suite.
func TestConformance(t *testing.T) {
	url := peers.SDKEverythingHTTP(t, true)
	out := t.TempDir()
	report, err := peers.Conformance(t, "server", "--url", url, "--scenario", "tools-call-with-progress",
		"--spec-version", "2026-07-28", "-o", out)
	if err != nil {
		t.Errorf("server: %v\n%s", err, report)
	}
	if found, _ := filepath.Glob(filepath.Join(out, "*", "checks.json")); len(found) != 1 {
		t.Errorf("results in %v", found)
	}
	report, err = peers.Conformance(t, "client", "--command", peers.SDKEverythingClient(t), "--scenario", "tools_call",
		"--spec-version", "2025-11-25")
	if err != nil {
		t.Errorf("client: %v\n%s", err, report)
	}
	report, err = peers.Conformance(t, "client", "--command", "false", "--scenario", "tools_call", "--spec-version",
		"2025-11-25")
	if err == nil {
		t.Errorf("a client that does nothing passes:\n%s", report)
	}
}

func TestMCPorter(t *testing.T) {
	dir := t.TempDir()
	out, err := peers.MCPorter(t, dir, dir, nil, "config", "list", "--json")
	if err != nil || !strings.Contains(out, `"servers": []`) {
		t.Errorf("%s, %v", out, err)
	}
}
