package gateway_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tool's questions in several rounds reach the client with the name of the server, in all pairings of eras.
func TestRoundsOfQuestions(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "a", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		next := map[string]string{"": "one", "one": "two"}[r.Params.RequestState]
		if next == "" {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
		}
		return &mcp.CallToolResult{RequestState: next, InputRequests: mcp.InputRequestMap{
			"k": &mcp.ElicitParams{Message: next, RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)},
		}}, nil
	})
	with := shelf{"a": s}
	for _, servers := range []interop.Era{interop.Legacy, interop.Modern} {
		g := gateway.New(t.Context(), []config.Server{{ID: "a", Era: servers}}, &gateway.Options{Ledger: with.options(t)})
		t.Cleanup(g.Close)
		eras(t, func(t *testing.T, era interop.Era) {
			var questions []string
			c := dialWith(t, g, "/mcp", era, &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				questions = append(questions, r.Params.Message)
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
			}})
			r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a__t", Arguments: map[string]any{}})
			if err != nil || !strings.Contains(encoded(t, r), "done") || !slices.Equal(questions, []string{"[a] one", "[a] two"}) {
				t.Errorf("server %s: %s, %v, %q", servers, encoded(t, r), err, questions)
			}
		})
	}
}

// A result with inputRequests that claims to be complete is refused, because it would avoid the server's name: go-sdk's
// clients would answer its questions.
func TestCompleteResultsAskNothing(t *testing.T) {
	t.Parallel()
	s := &raw{answers: map[string]string{
		"server/discover": `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}`,
		"tools/list":      `{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"public"}`,
		"tools/call":      `{"resultType":"complete","content":[],"input\u0052equests":{"k":{"method":"elicitation/create","params":{"message":"who?"}}}}`,
	}}
	web := s.gateway(t, "a", interop.Modern, gateway.Options{})
	if r, failed := post(t, web, "ann", `{"elicitation":{}}`, "tools/call", `{"name":"a__t","arguments":{}}`); failed == nil || !strings.Contains(failed.Message, "inputRequests") {
		t.Errorf("%s, %v", r, failed)
	}
}
