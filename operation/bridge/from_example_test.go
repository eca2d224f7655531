package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/operation/bridge"
	"github.com/indusagi/indus/toolbox"
)

// greetings starts an MCP server with one tool and returns its URL.
func greetings() (url string, closeAll func()) {
	shelf := toolbox.NewRegistry(nil)
	shelf.Add(toolbox.Define("greet", "Says hello.", func(_ context.Context, in struct {
		Name string `json:"name"`
	}) (string, error) {
		return "hello " + in.Name, nil
	}))
	h := host.New(shelf, nil)
	site := httptest.NewServer(h.Handler())
	return site.URL, func() { h.Close(); site.Close() }
}

// welcome returns an operation of this program that calls greet/greet.
func welcome() operation.Registration {
	return operation.Registration{
		Spec: operation.Spec{Name: "welcome", Visibility: operation.External},
		Env:  []string{"greet/greet"},
		Handler: func(ctx context.Context, c *operation.Context, in json.RawMessage) (json.RawMessage, error) {
			greeting := c.Call(ctx, "greet/greet", in)
			if greeting.Err != nil {
				fmt.Println(greeting.Err.Code)
				return nil, greeting.Err
			}
			return greeting.Value, nil
		},
	}
}

// A server's tools become operations that other operations call.
func ExampleFromMCP() {
	url, closeAll := greetings()
	defer closeAll()
	registry := operation.NewRegistry(nil)
	defer registry.Close() // and with it the connection

	ctx := context.Background()
	server := &bridge.FromMCP{Endpoint: url, Namespace: "greet", Prefix: true}
	if err := registry.Import(ctx, "greetings", server); err != nil {
		fmt.Println(err) // operation.Unauthorized, operation.DiscoveryFailed
		return
	}
	if err := registry.Add(welcome()); err != nil {
		fmt.Println(err)
		return
	}
	answer := registry.Call(ctx, operation.Call{
		Operation: "welcome", Input: json.RawMessage(`{"name":"Ada"}`),
		Capabilities: operation.Capabilities{"mcp:greet": operation.NewSecret("Ada's own token")},
	})
	fmt.Println(string(answer.Value))
	registry.Call(ctx, operation.Call{Operation: "welcome", Input: json.RawMessage(`{}`)})
	// Output:
	// [{"type":"text","text":"hello Ada"}]
	// INVALID_INPUT
}

// The operations follow changes of the server's tools.
func ExampleFromMCP_Follow() {
	url, closeAll := greetings()
	defer closeAll()
	registry := operation.NewRegistry(nil)
	defer registry.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	server := &bridge.FromMCP{Endpoint: url, Namespace: "greet"}
	err := server.Follow(ctx, registry, "greetings", func(err error) {
		for _, e := range registry.Snapshot().Operations {
			fmt.Println(e.Spec.Name, e.Spec.Kind, err)
		}
		cancel() // a service runs until the end of its process
	})
	fmt.Println(err)
	// Output:
	// greet mutation <nil>
	// <nil>
}
