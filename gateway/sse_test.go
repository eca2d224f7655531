package gateway_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestViewsOverHTTPAndSSE checks that a client that supports only HTTP+SSE can use each view at /sse.
func TestViewsOverHTTPAndSSE(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}}, nil, nil
	})
	g := shelf{"a": server}.open(t, gateway.Options{Views: map[string]gateway.View{"few": {}}}, "a")
	web := httptest.NewServer(g.Handler())
	t.Cleanup(web.Close)
	for path, tool := range map[string]string{"/sse": "a__greet", "/sse/a": "greet", "/sse/@few": "a__greet"} {
		c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		s, err := c.Connect(t.Context(), &mcp.SSEClientTransport{Endpoint: web.URL + path}, nil)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		t.Cleanup(func() { _ = s.Close() })
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
		if err != nil || r.IsError || r.Content[0].(*mcp.TextContent).Text != "hello" {
			t.Errorf("%s: %+v, %v", path, r, err)
		}
	}
}
