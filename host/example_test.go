package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// greeter returns a toolbox with one tool.
func greeter() toolbox.Source {
	reg := toolbox.NewRegistry(nil)
	reg.Add(toolbox.Define("greet", "Says hello.", func(_ context.Context, in struct {
		Name string `json:"name"`
	}) (string, error) {
		return "hello " + in.Name, nil
	}))
	return reg
}

// A host publishes a toolbox on one URL, to clients of both eras.
func ExampleNew() {
	host := host.New(greeter(), &host.Options{Info: interop.Info{Name: "greeter", Version: "1.0"}})
	site := httptest.NewServer(host.Handler()) // or http.ListenAndServe("127.0.0.1:7332", host.Handler())
	defer site.Close()
	defer host.Close()

	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0"}, nil)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: site.URL},
			&mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			fmt.Println(err)
			return
		}
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": "world"}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(version, result.Content[0].(*mcp.TextContent).Text)
		_ = session.Close()
	}
	// Output:
	// 2025-11-25 hello world
	// 2026-07-28 hello world
}

// Piped requests are answered before ServeIO returns.
func ExampleHost_ServeIO() {
	host := host.New(greeter(), nil)
	defer host.Close()
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if err := host.ServeIO(context.Background(), in, struct{ io.Writer }{os.Stdout}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{}}
}

// An in-memory client and host need neither a process nor a network.
func ExampleHost_Serve() {
	host := host.New(greeter(), nil)
	defer host.Close()
	ctx := context.Background()
	near, far := mcp.NewInMemoryTransports()
	served := make(chan error, 1)
	go func() { served <- host.Serve(ctx, far) }()

	session, err := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0"}, nil).Connect(ctx, near, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(list.Tools[0].Name, "-", list.Tools[0].Description)
	_ = session.Close()
	fmt.Println(<-served)
	// Output:
	// greet - Says hello.
	// <nil>
}

// prompts is a backend that has a prompt and no tools.
type prompts struct{}

func (prompts) Handle(_ context.Context, m interop.Message, _ interop.Peer) (json.RawMessage, error) {
	switch m.Method {
	case "server/discover":
		return json.RawMessage(`{"capabilities":{"prompts":{}}}`), nil
	case "prompts/list":
		return json.RawMessage(`{"prompts":[{"name":"haiku"}]}`), nil
	}
	return nil, &interop.RPCError{Code: interop.CodeMethodNotFound, Message: "method not found: " + m.Method}
}

func (prompts) Watch(func(interop.Message)) (stop func()) { return func() {} }

// A front publishes any answer of a backend, in the era of the client.
func ExampleNewFront() {
	host := host.NewFront(prompts{}, nil)
	defer host.Close()
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	if err := host.ServeIO(context.Background(), in, struct{ io.Writer }{os.Stdout}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"indus-provider-host","version":"0.1.0"}},"prompts":[{"name":"haiku"}]}}
}

// The backend of New may be used in a backend of the program.
func ExampleTools() {
	backend := host.Tools(greeter(), nil)
	result, err := backend.Handle(context.Background(), interop.Message{Method: "tools/list", Era: interop.Legacy}, nil)
	fmt.Println(string(result), err)
	// Output:
	// {"tools":[{"name":"greet","description":"Says hello.","inputSchema":{"properties":{"name":{"type":"string"}},"additionalProperties":false,"type":"object","required":["name"]}}]} <nil>
}
