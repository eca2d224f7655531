package gateway_test

import (
	"context"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tool of the program asks the client in its own name: the message has no server at its beginning.
func TestALocalToolAsksThroughAGateway(t *testing.T) {
	local := toolbox.NewRegistry(nil)
	local.Add(toolbox.Define("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
		answer, err := toolbox.Elicit[struct {
			Name string `json:"name"`
		}](ctx, "Who?")
		return answer.Name, err
	}))
	s := shelf{"a": mcp.NewServer(&mcp.Implementation{Name: "a", Version: "1"}, nil)}
	g := s.open(t, gateway.Options{Local: local}, "a")
	for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
		c := dialWith(t, g, "/mcp", era, &mcp.ClientOptions{
			ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "ann, asked " + r.Params.Message}}, nil
			},
		})
		//lint:ignore SA1019 logging is deprecated, and there for as long as its peers are
		if c.InitializeResult().Capabilities.Logging == nil {
			t.Errorf("%s: logging is not declared", era)
		}
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"})
		if err != nil || r.Content[0].(*mcp.TextContent).Text != "ann, asked Who?" {
			t.Errorf("%s: %+v, %v", era, r, err)
		}
	}
}
