// Command client is the client that the official conformance suite tests: one interop.Endpoint over
// HTTP. The suite starts it once for each scenario, with the server's URL as the last argument and
// MCP_CONFORMANCE_SCENARIO in the environment. The scenario selects only the tools to call. The
// endpoint alone decides the messages on the wire, including the era.
//
//	MCP_CONFORMANCE_SCENARIO=tools_call client http://localhost:8080/mcp
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

const (
	// limit is less than the 30 s after which the suite kills a blocked client.
	limit = 25 * time.Second
	// callTime limits how long a call may take without any message. The suite's servers respond at
	// once, except for one server that waits until the client resumes the response.
	callTime = 5 * time.Second
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: client URL")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := run(ctx, os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

// run connects, lists the tools, and makes the scenario's calls one after another.
func run(ctx context.Context, url string) error {
	server := config.Server{
		ID:        "conformance",
		Transport: config.HTTP{URL: url},
		Timeouts:  config.Timeouts{Call: callTime},
	}
	scenario, scenarioContext := os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Getenv("MCP_CONFORMANCE_CONTEXT")
	auth, err := newAuth(scenarioContext)
	if err != nil {
		return err
	}
	defer auth.Close()
	e := interop.NewEndpoint(server, &interop.EndpointOptions{
		Capabilities: json.RawMessage(`{"elicitation":{"form":{}}}`), Receive: accept,
		RoundTripper: func(_ config.Server, _ toolbox.Principal, base http.RoundTripper) http.RoundTripper {
			return auth.Transport(base, url, "")
		},
	})
	defer e.Close()
	if err := e.Open(ctx); err != nil {
		return err
	}
	fmt.Println("connected:", e.Status().Era, e.Status().Version)
	tools, err := e.Tools(ctx)
	if err != nil {
		return err
	}
	for _, t := range tools {
		fmt.Println("tool:", t.Tool)
	}
	for _, q := range e.Quarantined() {
		fmt.Println(q)
	}
	todo, err := calls(scenario, scenarioContext, tools)
	if err != nil {
		return err
	}
	var failed error
	for _, c := range todo {
		result, err := e.Invoke(ctx, c.Name, c.Arguments)
		if err != nil {
			fmt.Println("call:", c.Name, err)
			failed = err
			continue
		}
		fmt.Printf("call: %s %s\n", c.Name, result.Wire().JSON)
	}
	return failed
}

// accept answers an elicitation by form with the defaults of its schema (SEP-1034). A boolean
// without a default is true.
func accept(_ context.Context, m interop.Message) (json.RawMessage, error) {
	if m.Method != "elicitation/create" {
		return nil, nil
	}
	var form struct {
		RequestedSchema struct {
			Properties map[string]struct {
				Type    string
				Default json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(m.Params, &form); err != nil {
		return nil, err
	}
	content := map[string]json.RawMessage{}
	for name, p := range form.RequestedSchema.Properties {
		switch {
		case p.Default != nil:
			content[name] = p.Default
		case p.Type == "boolean":
			content[name] = json.RawMessage(`true`)
		}
	}
	return json.Marshal(map[string]any{"action": "accept", "content": content})
}

// call is one tools/call, in the notation of the suite's context.
type call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// calls returns the calls that a scenario expects. They come from its context, or else from its
// description. A scenario that is not named here expects only a listing.
func calls(scenario, context string, tools []toolbox.Descriptor) ([]call, error) {
	empty := json.RawMessage(`{}`)
	if strings.HasPrefix(scenario, "auth/") {
		return callAll(tools, empty), nil
	}
	switch scenario {
	case "tools_call":
		return []call{{"add_numbers", json.RawMessage(`{"a":5,"b":3}`)}}, nil
	case "sse-retry":
		return []call{{"test_reconnection", empty}}, nil
	case "elicitation-sep1034-client-defaults":
		return []call{{"test_client_elicitation_defaults", empty}}, nil
	case "sep-2322-client-request-state":
		return []call{
			{"test_mrtr_echo_state", empty}, {"test_mrtr_no_state", empty},
			{"test_mrtr_unrelated", empty}, {"test_mrtr_no_result_type", empty},
		}, nil
	case "http-custom-headers":
		var expected struct{ ToolCalls []call }
		err := json.Unmarshal([]byte(context), &expected)
		return expected.ToolCalls, err
	case "http-standard-headers":
		return callAll(tools, empty), nil
	case "http-invalid-tool-headers": // "call every tool that was not rejected"
		return callAll(tools, json.RawMessage(`{"region":"us-west1"}`)), nil
	case "json-schema-2020-12-preservation":
		return schemaEcho(tools), nil
	}
	return nil, nil
}

// callAll returns a call of each listed tool, all with the same arguments.
func callAll(tools []toolbox.Descriptor, args json.RawMessage) []call {
	var out []call
	for _, t := range tools {
		out = append(out, call{t.Tool, args})
	}
	return out
}

// schemaEcho returns a call that sends the schema of one tool back, to show how it arrived.
func schemaEcho(tools []toolbox.Descriptor) []call {
	for _, t := range tools {
		if t.Tool == "json_schema_2020_12_tool" {
			args := append(append([]byte(`{"schema":`), t.Schema...), '}')
			return []call{{"json_schema_echo", args}}
		}
	}
	return nil
}
