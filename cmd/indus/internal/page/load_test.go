package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The sections of activity stay small and complete with 50 servers, 2,000 tools and 300 callers.
func TestActivityOfManyServersToolsAndCallers(t *testing.T) {
	const servers, tools, callers = 50, 40, 300
	o := serving{servers: map[string]*mcp.Server{}, config: &mcpconfig.Config{}, claims: true}
	for i := range servers {
		s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		for n := range tools {
			s.AddTool(&mcp.Tool{Name: fmt.Sprintf("t%d", n), InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "12345678"}}}, nil
				})
		}
		id := fmt.Sprintf("s%d", i)
		o.servers[id] = s
		o.config.Rows = append(o.config.Rows, mcpconfig.Row{Server: config.Server{ID: id}, State: mcpconfig.Active})
	}
	s := o.start(t)
	b := s.operator(t)
	for i := range callers {
		modern(t, s, "user:"+fmt.Sprint(i, evil), "tools/call", fmt.Sprintf("s%d__t%d", i%servers, i/servers))
	}
	type sum struct {
		Name     string
		Requests int
		Tokens   int
		Other    bool
	}
	usage := decode[struct {
		Tools, Servers, Callers []sum
		Total                   sum
	}](t, b, "/usage")
	if usage.Total.Requests != callers || usage.Total.Tokens == 0 {
		t.Errorf("%+v", usage.Total)
	}
	if len(usage.Servers) != servers || len(usage.Tools) != 200 || len(usage.Callers) != 200 {
		t.Error(len(usage.Servers), len(usage.Tools), len(usage.Callers))
	}
	list := decode[struct {
		Total   int
		Servers []struct {
			ID      string
			Tools   int
			CallsMS []float64
		}
	}](t, b, "/servers")
	for _, row := range list.Servers {
		if row.Tools != tools || len(row.CallsMS) != callers/servers {
			t.Errorf("%+v", row)
		}
	}
	if list.Total != servers || len(list.Servers) != servers {
		t.Error(list.Total, len(list.Servers))
	}
	for _, path := range []string{"/servers", "/calls", "/usage"} {
		_, text := b.get(path)
		if strings.Contains(text, "<script>alert") || strings.Contains(text, "<img src=x") || len(text) > 500_000 {
			t.Error(path, len(text))
		}
	}
	if _, text := b.get("/usage"); !strings.Contains(text, fmt.Sprintf("%d requests", callers)) {
		t.Error("the page has another number of requests")
	}
}

// modern sends one request of a modern client.
func modern(t *testing.T, s *served, principal, method, name string) {
	t.Helper()
	const meta = "io.modelcontextprotocol/"
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": map[string]any{
		"name": name, "arguments": map[string]any{}, "_meta": map[string]any{
			meta + "protocolVersion": "2026-07-28", meta + "clientCapabilities": map[string]any{},
			meta + "clientInfo": map[string]any{"name": evil, "version": "1"},
		},
	}})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name, "X-Principal": principal,
	} {
		r.Header.Set(key, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct{ Result json.RawMessage }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.Result == nil {
		t.Fatal(name, res.Status, err)
	}
}

// A server is switched off and on in the file that has it, as by "indus mcp disable" and "enable". The other bytes of the
// file stay.
func TestAServerIsSwitchedInItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mcp.json")
	const before = `{
  // the one of the team
  "servers": {
    "a": {"command": "a-command"}, // stays
    "b": {"command": "b-command"}
  }
}
`
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	config := &mcpconfig.Config{}
	read := func() {
		t.Helper()
		c, err := mcpconfig.Read(t.Context(), []string{file}, &mcpconfig.Options{Dry: true})
		if err != nil {
			t.Fatal(err)
		}
		*config = *c
	}
	text := func() string {
		t.Helper()
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	read()
	s := serving{config: config}.start(t)
	b := s.operator(t)
	post := func(action, server, want string) {
		t.Helper()
		if status, page := b.post("/servers/"+action, url.Values{"server": {server}}); status != http.StatusOK ||
			!strings.Contains(page, want) {
			t.Errorf("%s %s: %d, without %q", action, server, status, want)
		}
	}
	post("enable", "b", "it is so already")
	if text() != before {
		t.Error(text())
	}
	post("disable", "b", "b is off at "+file)
	if off := text(); !strings.Contains(off, `"enabled": false`) || !strings.Contains(off, "// stays") ||
		!strings.Contains(off, "// the one of the team") {
		t.Error(off)
	}
	read()
	if list := decode[struct{ Servers []struct{ ID, State string } }](t, b, "/servers"); list.Servers[1].State != "disabled" {
		t.Errorf("%+v", list)
	}
	post("disable", "b", "it is so already")
	post("enable", "b", "b is on at "+file)
	read()
	if row, _ := config.Find("b", nil); row.State != mcpconfig.Active {
		t.Errorf("%+v", row)
	}
	post("enable", "c"+evil, "there is no such entry")

	// The last action counts, also before the gateway has read the file again.
	post("disable", "b", "b is off at "+file)
	post("enable", "b", "b is on at "+file)
	post("enable", "b", "it is so already")
	post("disable", "b", "b is off at "+file)
	if !strings.Contains(text(), `"enabled": false`) {
		t.Error(text())
	}
}
