package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/operation/bridge"
	"github.com/indusagi/indus/toolbox"
)

// A service offers its operations to models, as four tools for every caller with a token.
func ExampleToMCP() {
	registry := operation.NewRegistry(nil)
	defer registry.Close()
	spec := operation.Spec{
		Name: "stock/count", Description: "How many of an article there are.", Kind: operation.Query, Visibility: operation.External,
		Input:  json.RawMessage(`{"type":"object","properties":{"article":{"type":"string"}},"required":["article"]}`),
		Access: operation.Access{ScopesAll: []string{"stock:read"}},
	}
	err := registry.Add(operation.New(spec, func(_ context.Context, _ *operation.Context, in struct{ Article string }) (int, error) {
		return len(in.Article), nil
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	guard := identity.NewGuard(nil, named("key-of-")) // or identity.NewKeys, identity.NewJWT
	four := bridge.ToMCP(registry, &bridge.ToMCPOptions{
		Identity: func(_ context.Context, p toolbox.Principal) (operation.Identity, error) {
			return operation.Identity{Principal: operation.Principal(p), Grants: operation.Grants{Scopes: []string{"stock:read"}}}, nil
		},
	})
	h := host.New(four, &host.Options{Authenticate: guard.Principal})
	site := httptest.NewServer(h.Handler()) // or http.ListenAndServe("127.0.0.1:7332", h.Handler())
	defer site.Close()
	defer h.Close()

	ctx := context.Background()
	transport := &mcp.StreamableClientTransport{Endpoint: site.URL, HTTPClient: &http.Client{Transport: bearer("key-of-ada")}}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	for _, ask := range []mcp.CallToolParams{
		{Name: "search", Arguments: map[string]any{"query": "how many are left?"}},
		{Name: "call", Arguments: map[string]any{"operation": "stock/count", "input": map[string]any{"article": "chair"}}},
	} {
		answer, err := client.CallTool(ctx, &ask)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(answer.Content[0].(*mcp.TextContent).Text)
	}
	// Output:
	// {"operations":[{"name":"stock/count","description":"How many of an article there are.","kind":"query","parameters":"(article: string)"}]}
	// 5
}
