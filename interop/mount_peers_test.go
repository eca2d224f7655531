package interop_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The reference servers are mounted together, over all transports. Every tool that they
// list to an independent client is mounted under its qualified name, and works.
func TestMountRealServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("from a real server"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdio := func(name string, args []string) (config.TransportConfig, mcp.Transport) {
		cmd := exec.Command(name, args...)
		return config.Stdio{Command: name, Args: args}, &mcp.CommandTransport{Command: cmd}
	}
	everything, everythingSDK := stdio(peers.Everything(t, "stdio"))
	files, filesSDK := stdio(peers.Filesystem(t, dir))
	overHTTP, overSSE := peers.EverythingHTTP(t), peers.EverythingSSE(t)
	servers := []config.Server{
		{ID: "everything", Transport: everything},
		{ID: "http", Transport: config.HTTP{URL: overHTTP}},
		{ID: "sse", Transport: config.SSE{URL: overSSE}},
		{ID: "sse by itself", Transport: config.HTTP{URL: overSSE}},
		{ID: "fs", Transport: files},
	}
	var want []string
	for i, client := range []mcp.Transport{
		everythingSDK, &mcp.StreamableClientTransport{Endpoint: overHTTP}, &mcp.SSEClientTransport{Endpoint: overSSE},
		&mcp.SSEClientTransport{Endpoint: overSSE}, filesSDK,
	} {
		tools := toolsOf(t, client)
		if len(tools) < 5 {
			t.Fatalf("%s lists only %v", servers[i].ID, tools)
		}
		for _, name := range tools {
			want = append(want, config.QualifiedName(servers[i].ID, name))
		}
	}

	m := mount(t, t.Context(), servers, nil)
	for _, st := range m.Fleet.Status() {
		if st.Fault != nil || st.Phase != interop.Ready || st.Tools == 0 {
			t.Errorf("%s is %s, %d tools, fault %v", st.Server, st.Phase, st.Tools, st.Fault)
		}
	}
	if q := m.Fleet.Quarantined(); q != nil {
		t.Errorf("quarantined: %v", q)
	}
	var got []string
	for _, d := range m.Box.Descriptors() {
		got = append(got, d.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, s := range servers[:4] {
		name := config.QualifiedName(s.ID, "echo")
		if text, err := echoText(t.Context(), m.Box, name, `{"message":"hi"}`); err != nil || text != "Echo: hi" {
			t.Errorf("%s says %q, %v", name, text, err)
		}
	}
	if !slices.Contains(got, "fs__read_text_file") {
		t.Fatalf("mounted: %v", got)
	}
	r, err := m.Box.Do(t.Context(), toolbox.Call{Name: "fs__read_text_file", Input: json.RawMessage(`{"path":"` + filepath.Join(dir, "note.txt") + `"}`)})
	if err != nil || r.IsError() || len(r.Blocks()) == 0 || *r.Blocks()[0].Text != "from a real server" {
		t.Errorf("the file is %v, %v", r, err)
	}
}

// toolsOf returns the list that the SDK's client receives if it declares no
// capabilities, like us.
func toolsOf(t *testing.T, transport mcp.Transport) []string {
	t.Helper()
	oracle := &mcp.Implementation{Name: "oracle", Version: "1"}
	client, err := mcp.NewClient(oracle, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var names []string
	for tool, err := range client.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}
