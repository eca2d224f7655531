package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// greeter is an MCP server in this process, made with the official SDK. Each call connects a new session to it and
// returns the client's end.
func greeter(ctx context.Context) mcp.Transport {
	server := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{
		Name:        "greet",
		Description: "Greets somebody.",
		InputSchema: json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"name":{"type":"string","default":"you"}}}`),
	}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in struct{ Name string }
		if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello " + in.Name}}}, nil
	})
	client, end := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, end, nil); err != nil {
		panic(err)
	}
	return client
}

// inProcess gives an endpoint of the server "greeter" that session. All others use their configured transport.
func inProcess(ctx context.Context) func(config.Server) *interop.EndpointOptions {
	return func(s config.Server) *interop.EndpointOptions {
		if s.ID != "greeter" {
			return nil
		}
		return &interop.EndpointOptions{Transport: greeter(ctx)}
	}
}

func ExampleMount() {
	ctx := context.Background()
	mounted := interop.Mount(ctx, []config.Server{
		{ID: "greeter"}, // its transport is given below
		{ID: "typo", Transport: config.Stdio{Command: "no-such-command"}},
	}, &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: inProcess(ctx)}})
	defer mounted.Close()

	for _, d := range mounted.Box.Descriptors() {
		fmt.Println(d.Name+":", d.Description)
	}
	out := mounted.Box.Run(ctx, toolbox.Call{Name: "greeter__greet", Input: json.RawMessage(`{"name":"world"}`)})
	fmt.Println(out.Text())
	for _, st := range mounted.Fleet.Status() {
		if st.Fault != nil {
			fmt.Printf("%s: %s\n", st.Server, st.Fault.Kind)
		}
	}
	// Output:
	// greeter__greet: Greets somebody.
	// hello world
	// typo: spawn_failed
}

// Every provider accepts the schema that the seeds' profile produces.
func ExampleMount_profile() {
	ctx := context.Background()
	for _, profile := range []*schema.Profile{schema.Original, schema.Seed} {
		mounted := interop.Mount(ctx, []config.Server{{ID: "greeter"}}, &interop.MountOptions{
			FleetOptions: interop.FleetOptions{Endpoint: inProcess(ctx)},
			Profile:      profile,
		})
		fmt.Printf("%s: %s\n", profile.Name(), mounted.Box.Descriptors()[0].Parameters)
		mounted.Close()
	}
	// Output:
	// original: {"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"name":{"type":"string","default":"you"}}}
	// seed: {"type":"object","properties":{"name":{"type":"string"}}}
}

func ExampleFleet_Apply() {
	ctx := context.Background()
	fleet := interop.NewFleet(&interop.FleetOptions{Endpoint: inProcess(ctx), Restart: interop.Restart{Off: true}})
	defer fleet.Close()

	show := func() {
		if err := fleet.Settle(ctx); err != nil {
			fmt.Println(err)
		}
		for _, st := range fleet.Status() {
			fmt.Printf("%s: %s, %d tools\n", st.Server, st.Phase, st.Tools)
		}
	}
	fleet.Apply([]config.Server{{ID: "greeter"}})
	show()
	// The greeter keeps its connection.
	fleet.Apply([]config.Server{{ID: "greeter"}, {ID: "typo", Transport: config.Stdio{Command: "no-such-command"}}})
	show()
	fleet.Apply(nil)
	fmt.Println(len(fleet.Status()), "servers")
	// Output:
	// greeter: ready, 1 tools
	// greeter: ready, 1 tools
	// typo: faulted, 0 tools
	// 0 servers
}

func ExampleFleet_Status() {
	fleet := interop.NewFleet(&interop.FleetOptions{Restart: interop.Restart{Off: true}})
	defer fleet.Close()
	fleet.Apply([]config.Server{{ID: "typo", Transport: config.Stdio{Command: "no-such-command"}}})
	if err := fleet.Settle(context.Background()); err != nil {
		fmt.Println(err)
	}
	for _, st := range fleet.Status() {
		fmt.Println(st.Server, "is", st.Phase)
		fmt.Println("what to try:", st.Fault.Advice())
		fmt.Println(errors.Is(st.Fault, interop.SpawnFailed))
	}
	// Output:
	// typo is faulted
	// what to try: the command is not installed, or not in the PATH: install it, or write its full path in "command"
	// true
}

func ExampleFleet_Events() {
	ctx := context.Background()
	fleet := interop.NewFleet(&interop.FleetOptions{Endpoint: inProcess(ctx), Restart: interop.Restart{Off: true}})
	fleet.Events(func(e interop.Event) {
		switch e.Kind {
		case interop.ServerAdded, interop.ServerRemoved:
			fmt.Println(e)
		case interop.ServerFaulted:
			fmt.Println(e.Server, "failed:", e.Status.Fault.Kind)
		}
	})
	fleet.Apply([]config.Server{{ID: "typo", Transport: config.Stdio{Command: "no-such-command"}}})
	if err := fleet.Settle(ctx); err != nil {
		fmt.Println(err)
	}
	fleet.Apply(nil)
	fleet.Close() // waits until all events are delivered
	// Output:
	// typo: added
	// typo failed: spawn_failed
	// typo: removed
}

func ExampleQualifiedName() {
	fmt.Println(config.QualifiedName("fs", "read_file"))
	fmt.Println(config.QualifiedName("my server", "read file")) // no provider accepts spaces
	fmt.Println(config.QualifiedName("a__b", "c"))              // could be taken for "b__c" of "a"
	// Output:
	// fs__read_file
	// my_server__read_file_30e156b4
	// a__b__c_a92700ce
}

// Rules select, rename and describe the tools of a server. They can change while its connection stays open.
func ExampleToolRules() {
	ctx := context.Background()
	rules := config.ToolRules{
		Deny:     []string{"delete_*"},
		Rename:   map[string]string{"greet": "hello"},
		Describe: map[string]string{"greet": "Says hello."},
	}
	mounted := interop.Mount(ctx, []config.Server{{ID: "greeter", Tools: rules}}, &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: inProcess(ctx)}})
	defer mounted.Close()
	for _, d := range mounted.Box.Descriptors() {
		fmt.Println(d.Name+":", d.Description)
	}
	for _, q := range mounted.Fleet.Quarantined() {
		fmt.Println(q)
	}

	mounted.Fleet.Apply([]config.Server{{ID: "greeter", Tools: config.ToolRules{Allow: []string{"read_*"}}}})
	fmt.Println(len(mounted.Box.Descriptors()), "tools")
	// Output:
	// greeter__hello: Says hello.
	// greeter: deny "delete_*": the rule concerns none of its tools
	// 0 tools
}
