package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os/exec"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// weather is an MCP server in this process, built on the official SDK.
func weather() mcp.Transport {
	s := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	s.AddTool(&mcp.Tool{
		Name: "forecast", Description: "tomorrow's weather",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args struct{ City string }
		if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
			return nil, err
		}
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: "asking the satellite"})
		if args.City == "Atlantis" {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such city"}}}, nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "rain in " + args.City}}}, nil
	})
	client, server := mcp.NewInMemoryTransports()
	if _, err := s.Connect(context.Background(), server, nil); err != nil {
		log.Fatal(err)
	}
	return client
}

func ExampleNewEndpoint() {
	// Usually no transport is injected, and the server is a command or a URL.
	e := interop.NewEndpoint(config.Server{ID: "weather"}, &interop.EndpointOptions{Transport: weather()})
	fmt.Println(e.Phase())
	if err := e.Open(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Phase(), e.Era())
	e.Close()
	fmt.Println(e.Phase())
	// Output:
	// idle
	// ready modern
	// closed
}

func ExampleEndpoint_Open() {
	e := interop.NewEndpoint(config.Server{ID: "weather", Transport: config.Stdio{Command: "weather-server"}}, nil)
	defer e.Close()
	err := e.Open(context.Background())
	fmt.Println(err)

	fmt.Println(errors.Is(err, interop.SpawnFailed), errors.Is(err, exec.ErrNotFound))
	if fault, ok := errors.AsType[*interop.Fault](err); ok {
		fmt.Println(fault.Advice())
	}
	fmt.Println(e.Phase(), err == e.Open(context.Background()))
	// Output:
	// weather: connect: start weather-server: executable file not found in $PATH
	// true true
	// the command is not installed, or not in the PATH: install it, or write its full path in "command"
	// faulted true
}

func ExampleEndpoint_Tools() {
	e := interop.NewEndpoint(config.Server{ID: "weather"}, &interop.EndpointOptions{Transport: weather()})
	defer e.Close()
	if err := e.Open(context.Background()); err != nil {
		log.Fatal(err)
	}
	tools, err := e.Tools(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range tools {
		fmt.Println(d.Tool, "is mounted as", d.Name)
		fmt.Println(string(d.Schema)) // the server's own bytes
	}
	// Output:
	// forecast is mounted as weather__forecast
	// {"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}
}

func ExampleEndpoint_Invoke() {
	e := interop.NewEndpoint(config.Server{ID: "weather"}, &interop.EndpointOptions{Transport: weather()})
	defer e.Close()
	if err := e.Open(context.Background()); err != nil {
		log.Fatal(err)
	}
	for _, args := range []string{`{"city":"Pune"}`, `{"city":"Atlantis"}`} {
		result, err := e.Invoke(context.Background(), "forecast", json.RawMessage(args))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(*result.Blocks()[0].Text, result.IsError())
	}
	_, err := e.Invoke(context.Background(), "earthquake", nil)
	fmt.Println(err)
	// Output:
	// rain in Pune false
	// no such city true
	// weather: tools/call earthquake: unknown tool "earthquake" (-32602)
}

func ExampleEndpoint_Do() {
	e := interop.NewEndpoint(config.Server{ID: "weather"}, &interop.EndpointOptions{
		Transport: weather(),
		Receive: func(_ context.Context, m interop.Message) (json.RawMessage, error) {
			fmt.Println("told:", m.Method, "of", m.Of)
			return nil, nil
		},
		Around: []func(interop.Peer) interop.Peer{func(next interop.Peer) interop.Peer {
			return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
				fmt.Println("sent:", m.Method)
				return next(ctx, m)
			}
		}},
	})
	defer e.Close()
	if err := e.Open(context.Background()); err != nil {
		log.Fatal(err)
	}
	params := json.RawMessage(`{"name":"forecast","arguments":{"city":"Pune"}}`)
	result, err := e.Do(context.Background(), interop.Message{Method: "tools/call", Params: params, Of: 7})
	if err != nil {
		log.Fatal(err)
	}
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(result, &r); err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Content[0].Text)
	// Output:
	// sent: tools/call
	// told: notifications/progress of 7
	// rain in Pune
}

func ExampleEndpoint_Status() {
	e := interop.NewEndpoint(config.Server{ID: "weather"}, &interop.EndpointOptions{Transport: weather()})
	defer e.Close()
	if err := e.Open(context.Background()); err != nil {
		log.Fatal(err)
	}
	if _, err := e.Tools(context.Background()); err != nil {
		log.Fatal(err)
	}
	s := e.Status()
	fmt.Println(s.Server, s.Phase, s.Version, s.Tools, s.Fault)
	// Output:
	// weather ready 2026-07-28 1 <nil>
}

func ExampleFleet_Subscribe() {
	none := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	board := mcp.NewServer(&mcp.Implementation{Name: "board", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler: none, UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	board.AddResource(&mcp.Resource{URI: "news:today", Name: "today"}, nil)
	client, server := mcp.NewInMemoryTransports()
	if _, err := board.Connect(context.Background(), server, nil); err != nil {
		log.Fatal(err)
	}
	fleet := interop.NewFleet(&interop.FleetOptions{Endpoint: func(config.Server) *interop.EndpointOptions {
		return &interop.EndpointOptions{Transport: client}
	}})
	defer fleet.Close()
	fleet.Apply([]config.Server{{ID: "board", Era: interop.Legacy}})

	updates := make(chan interop.Message, 1)
	if err := fleet.Settle(context.Background()); err != nil {
		log.Fatal(err)
	}
	stop, err := fleet.Subscribe(context.Background(), "board", "news:today", "", func(m interop.Message) { updates <- m })
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	if err := board.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: "news:today"}); err != nil {
		log.Fatal(err)
	}
	m := <-updates
	fmt.Println(m.Method, string(m.Params))
	// Output: notifications/resources/updated {"uri":"news:today"}
}
