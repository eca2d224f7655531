package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/otlp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// attributes maps the names of attributes or labels to values. "*" is any value.
type attributes map[string]string

// with returns a copy with further attributes.
func (a attributes) with(more ...attributes) attributes {
	all := maps.Clone(a)
	for _, m := range more {
		maps.Copy(all, m)
	}
	return all
}

// masked returns attributes in which the values that differ in each run are "*".
func masked(all attributes) attributes {
	for _, name := range []string{"jsonrpc.request.id", "mcp.session.id", "server.port"} {
		if all[name] != "" {
			all[name] = "*"
		}
	}
	return all
}

// TestAttributesFollowTheConventions compares all attributes of spans and metrics with the conventions for MCP. Clients
// of both eras use both transports, and so do the servers.
func TestAttributesFollowTheConventions(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "sum"}, func(
			context.Context, *mcp.CallToolRequest, struct{},
		) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{IsError: true}, nil, nil
		})
		s.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		})
		s.AddResource(&mcp.Resource{Name: "r", URI: "mem://r"}, func(
			context.Context, *mcp.ReadResourceRequest,
		) (*mcp.ReadResourceResult, error) {
			return nil, mcp.ResourceNotFoundError("mem://r")
		})
		return s
	}, nil))
	t.Cleanup(web.Close)
	at, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	collector := otlp.Start(t)
	over := map[string]attributes{
		"http":  {"network.transport": "tcp", "network.protocol.name": "http"},
		"stdio": {"network.transport": "pipe"},
	}
	toWeb := over["http"].with(attributes{"indus.server": "web", "mcp.protocol.version": "2025-11-25"})
	toGood := over["stdio"].with(attributes{"indus.server": "good"})
	call := attributes{"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool"}
	refused := attributes{"rpc.response.status_code": "-32602"}
	uri := attributes{"mcp.resource.uri": "mem://r"}
	requests := map[string]struct {
		common attributes // of all spans and metrics
		sent   attributes // of the request to the server
		failed attributes // likewise
		span   attributes // of spans alone
	}{
		"tools/call echo_raw": {common: call.with(attributes{"gen_ai.tool.name": "echo_raw"}), sent: toGood},
		"tools/call sum": {
			common: call.with(attributes{"gen_ai.tool.name": "sum", "error.type": "tool_error"}), sent: toWeb,
		},
		"prompts/get greet": {
			common: attributes{"mcp.method.name": "prompts/get", "gen_ai.prompt.name": "greet"}, sent: toWeb,
		},
		"resources/read": {
			common: attributes{"mcp.method.name": "resources/read"}.with(refused), sent: toWeb, span: uri,
			failed: attributes{"error.type": "-32602"},
		},
	}
	for _, transport := range []string{"http", "stdio"} {
		for i, revision := range []string{"2025-11-25", "2026-07-28"} {
			cmd := indusCommand(t, map[string]any{
				"good": row{fixture.Build(t), nil, nil}, "web": map[string]any{"url": web.URL},
			}, "serve", "--metrics", "127.0.0.1:0")
			cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_BSP_SCHEDULE_DELAY=50",
				"OTEL_TRACES_SAMPLER=parentbased_always_off") // only the trace of the client
			var stderr transcript
			var to mcp.Transport
			if transport == "http" {
				cmd.Args = append(cmd.Args, "--addr", "127.0.0.1:0")
				cmd.Stderr = &stderr
				launch(t, cmd)
				to = &mcp.StreamableClientTransport{
					Endpoint: stderr.waitFor(t, `serving at (\S+)\n`, nil), DisableStandaloneSSE: true,
				}
			} else {
				cmd.Args = append(cmd.Args, "--stdio")
				cmd.Stderr = &stderr
				to = &mcp.CommandTransport{Command: cmd}
			}
			trace := fmt.Sprintf("4bf92f3577b34da6a3ce929d0e0e473%d", i)
			askForAll(t, to, revision, "00-"+trace+"-00f067aa0ba902b7-01", &stderr)
			metrics := measuredLabels(t, stderr.waitFor(t, `metrics at (\S+)\n`, nil))
			client := over[transport].with(attributes{"mcp.protocol.version": revision, "indus.era": "modern"})
			if revision == "2025-11-25" {
				client = client.with(attributes{"indus.era": "legacy", "mcp.session.id": "*"})
			}
			if transport == "http" {
				client["client.address"] = "127.0.0.1"
			}
			want, got := map[string]attributes{}, map[string]attributes{}
			for name, r := range requests {
				served := r.common.with(over[transport], attributes{
					"mcp.protocol.version": revision, "indus.server": r.sent["indus.server"],
				})
				id := attributes{"jsonrpc.request.id": "*"}
				want["span 2 "+name] = served.with(client, id, r.span)
				sent := r.common.with(attributes{"mcp.protocol.version": revision}, r.sent, r.failed)
				want["span 3 "+name] = sent.with(id, r.span)
				if r.sent["indus.server"] == "web" {
					want["span 3 "+name] = want["span 3 "+name].with(attributes{
						"server.address": at.Hostname(), "server.port": "*",
					})
				}
				want["metric 2 "+name], want["metric 3 "+name] = underlined(served), underlined(sent)
				got["metric 2 "+name] = metrics["mcp_server_operation_duration_seconds "+name]
				got["metric 3 "+name] = metrics["mcp_client_operation_duration_seconds "+name]
			}
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			for range 2 * len(requests) {
				for name, s := range collector.Next(ctx, t, 1) {
					got[fmt.Sprintf("span %d %s", s.Kind, name)] = masked(s.Set())
					if s.TraceID != trace {
						t.Errorf("%s belongs to trace %s", name, s.TraceID)
					}
				}
			}
			cancel()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s:\n%s", transport, revision, diff)
			}
		}
	}
}

// askForAll calls the tools, and asks for the prompt and the resource.
func askForAll(t *testing.T, to mcp.Transport, revision, parent string, stderr *transcript) {
	t.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), to,
		&mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for _, server := range []string{"good", "web"} {
		stderr.waitFor(t, server+`: ready`, nil)
	}
	meta := func() mcp.Meta { return mcp.Meta{"traceparent": parent} }
	for _, name := range []string{"good__echo_raw", "web__sum"} {
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Meta: meta()}); err != nil {
			t.Fatal(name, err)
		}
	}
	if _, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "web__greet", Meta: meta()}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "mem://r", Meta: meta()}); err == nil {
		t.Fatal("the resource is there")
	}
}

// measuredLabels returns the labels of the durations of operations on a page of metrics, by metric and name of the span.
func measuredLabels(t *testing.T, page string) map[string]attributes {
	t.Helper()
	response, err := timedClient.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]attributes{}
	for _, line := range regexp.MustCompile(`(?m)^(mcp_\w+_operation_duration_seconds)_count\{(.*)\}`).FindAllStringSubmatch(string(text), -1) {
		set := attributes{}
		for _, label := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllStringSubmatch(line[2], -1) {
			if !strings.HasPrefix(label[1], "otel_scope_") {
				set[label[1]] = label[2]
			}
		}
		name := strings.TrimSpace(set["mcp_method_name"] + " " + set["gen_ai_tool_name"] + set["gen_ai_prompt_name"])
		all[line[1]+" "+name] = set
	}
	return all
}

// underlined returns the labels of a page of metrics for attributes.
func underlined(a attributes) attributes {
	labels := attributes{}
	for name, value := range a {
		labels[strings.ReplaceAll(name, ".", "_")] = value
	}
	return labels
}
