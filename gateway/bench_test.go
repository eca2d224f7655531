package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/indusagi/indus/interop"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkRequest sends a request of each kind to one server, in memory on both sides.
func BenchmarkRequest(b *testing.B) {
	const text = "a few words, as an answer may have"
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
	})
	s.AddResource(&mcp.Resource{URI: "file:///r", Name: "r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "file:///r", Text: text}}}, nil
	})
	handler := shelf{"s": s}.openEra(b, interop.Modern, "s").Handler()
	for _, request := range [][3]string{
		{"tools/call", "s__t", `"name":"s__t","arguments":{}`},
		{"prompts/get", "s__p", `"name":"s__p"`},
		{"resources/read", "file:///r", `"uri":"file:///r"`},
	} {
		method, name, params := request[0], request[1], request[2]
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientInfo":{"name":"b","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, method, params)
		b.Run(method, func(b *testing.B) {
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
				r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
					"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}, "Mcp-Name": {name}}
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				if !strings.Contains(w.Body.String(), text) {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}
