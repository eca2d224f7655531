package interoptest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/interoptest"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// forecast is a tool as a test defines it.
func forecast() toolbox.Tool {
	type place struct {
		City string `json:"city"`
	}
	return toolbox.Define("forecast", "Tells tomorrow's weather.", func(_ context.Context, in place) (string, error) {
		return "sun in " + in.City, nil
	})
}

// An agent's tools come from a real server that needs no process.
func ExampleNewServer() {
	weather := interoptest.NewServer("weather", forecast())
	defer weather.Close()
	mounted := interoptest.Mount(context.Background(), weather)
	defer mounted.Close()
	out := mounted.Box.Run(context.Background(), toolbox.Call{Name: "weather__forecast", Input: json.RawMessage(`{"city":"Oslo"}`)})
	fmt.Println(out.Text())
	// Output:
	// sun in Oslo
}

// Several servers in memory make one toolbox, in the given order.
func ExampleMount() {
	weather := interoptest.NewServer("weather", forecast())
	defer weather.Close()
	seas := interoptest.NewServer("seas", toolbox.Tool{Name: "tides", Run: func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
		return toolbox.NewResult(toolbox.Text("low")), nil
	}})
	defer seas.Close()
	seas.Era = interop.Legacy
	mounted := interoptest.Mount(context.Background(), weather, seas)
	defer mounted.Close()
	for _, d := range mounted.Box.Descriptors() {
		fmt.Println(d.Name)
	}
	for _, s := range mounted.Fleet.Status() {
		fmt.Println(s.Server, s.Phase, s.Era)
	}
	// Output:
	// weather__forecast
	// seas__tides
	// weather ready modern
	// seas ready legacy
}

// A client sees your own toolbox.
func ExamplePublish() {
	shelf := toolbox.NewRegistry(nil)
	shelf.Add(forecast())
	server := interoptest.Publish("mine", shelf)
	defer server.Close()

	ctx := context.Background()
	client := server.Endpoint(nil)
	defer client.Close()
	if err := client.Open(ctx); err != nil {
		fmt.Println(err)
		return
	}
	tools, err := client.Tools(ctx)
	fmt.Printf("%s %v\n", tools[0].Wire.JSON, err)
	result, err := client.Invoke(ctx, "forecast", json.RawMessage(`{"city":"Oslo"}`))
	fmt.Println(*result.Blocks()[0].Text, err)
	// Output:
	// {"name":"forecast","description":"Tells tomorrow's weather.","inputSchema":{"properties":{"city":{"type":"string"}},"additionalProperties":false,"type":"object","required":["city"]}} <nil>
	// sun in Oslo <nil>
}

// A client receives the notifications of the server.
func ExampleServer_Endpoint() {
	shelf := toolbox.NewRegistry(nil)
	server := interoptest.Publish("mine", shelf)
	defer server.Close()
	server.Era = interop.Legacy // in this era, notifications need no subscription

	news := make(chan string, 1)
	client := server.Endpoint(&interop.EndpointOptions{
		Receive: func(_ context.Context, m interop.Message) (json.RawMessage, error) {
			news <- m.Method
			return nil, nil
		},
	})
	defer client.Close()
	if err := client.Open(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	// The server has processed the handshake once it replies to a request.
	if _, err := client.Tools(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	shelf.Add(forecast())
	fmt.Println(<-news)
	// Output:
	// notifications/tools/list_changed
}

// A client of another library uses a transport. Here it is the SDK's client.
func ExampleServer_Transport() {
	server := interoptest.NewServer("weather", forecast())
	defer server.Close()
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0"}, nil)
	session, err := client.Connect(ctx, server.Transport(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "forecast", Arguments: map[string]any{"city": "Oslo"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output:
	// sun in Oslo
}

// Servers in memory run beside others, with your own options.
func ExampleEndpoints() {
	weather := interoptest.NewServer("weather", forecast())
	defer weather.Close()
	mounted := interop.Mount(context.Background(), []config.Server{
		weather.Config(),
		{ID: "absent", Transport: config.Stdio{Command: "no-such-program"}},
	}, &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: interoptest.Endpoints(weather), Restart: interop.Restart{Off: true}}})
	defer mounted.Close()
	for _, s := range mounted.Fleet.Status() {
		fmt.Println(s.Server, s.Phase, s.Tools)
	}
	// Output:
	// weather ready 1
	// absent faulted 0
}

// The suite's toolbox is for a server that the suite does not start.
func ExampleTools() {
	for _, d := range interoptest.Tools().Snapshot("").Tools[:3] {
		fmt.Println(d.Name, "-", d.Description)
	}
	// Output:
	// echo - returns the message
	// echo_raw - returns the bytes of the request's params as text
	// fidelity - returns the same odd bytes every time
}

// A test of a transport is one call. Here the transport is the one in memory.
func ExampleTestTransport() {
	_ = func(t *testing.T) { // func TestMyTransport(t *testing.T) {
		interoptest.TestTransport(t, func(t *testing.T, opts *interop.EndpointOptions) *interop.Endpoint {
			server := interoptest.Publish("mine", interoptest.Tools())
			t.Cleanup(server.Close)
			opts.Transport = server.Transport() // your transport
			return interop.NewEndpoint(server.Config(), opts)
		})
	}
}
