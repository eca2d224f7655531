package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A read of a URI that no server lists asks all servers, and counts once against a limit.
func TestASearchForAURICountsOnce(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		g, _ := controlled(t, gateway.Control{}, `@rate("3/m") permit(principal, action == Action::"read", resource);`)
		c := dial(t, g, "/mcp", era)
		for i := range 5 {
			_, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "nowhere://x"})
			limited := err != nil && (strings.Contains(err.Error(), "limit of the policy") ||
				strings.Contains(err.Error(), http.StatusText(http.StatusTooManyRequests)))
			if err == nil || limited != (i >= 3) {
				t.Errorf("%s: read %d: %v", era, i, err)
			}
		}
	}
}

// The merged capabilities do not have the capabilities of a server of which nothing is permitted.
func TestCapabilitiesObeyThePolicy(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		for server, want := range map[string]bool{"a": false, "b": true} {
			plainServer := mcp.NewServer(&mcp.Implementation{Name: "a", Version: "1"}, nil)
			mcp.AddTool(plainServer, &mcp.Tool{Name: "open"},
				func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
					return &mcp.CallToolResult{}, nil, nil
				})
			g := shelf{"a": plainServer, "b": newOffice("b").Server}.open(t, gateway.Options{Control: gateway.Control{
				Policy: always(rules(t, `permit(principal, action, resource in Server::"`+server+`");`), false),
			}}, "a", "b")
			for _, tool := range []string{"a__open", "b__open"} {
				if err := g.Attached().Fleet.Await(t.Context(), tool); err != nil {
					t.Fatal(err)
				}
			}
			c := dial(t, g, "/mcp", era)
			if got := c.InitializeResult().Capabilities.Completions != nil; got != want {
				t.Errorf("%s: with %s alone, completions are declared: %v", era, server, got)
			}
			if tools, err := c.ListTools(t.Context(), nil); err != nil || len(tools.Tools) == 0 {
				t.Error(tools, err)
			}
		}
	}
}
