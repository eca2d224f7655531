package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/interop"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The record of an item that is hidden from the caller has the item, its server, and the rules or the reason that hide
// it: at each view, in each era, and whatever was listed before. An item that does not exist is an error.
func TestTheRecordOfAHiddenItem(t *testing.T) {
	t.Parallel()
	const rules = `permit(principal, action, resource);
		@id("tool") forbid(principal, action, resource == Tool::"a/secret");
		@id("prompt") forbid(principal, action, resource == Prompt::"a/secret");
		@id("uri") forbid(principal, action, resource) when { resource is Resource && resource has host && resource.host == "secret" };`
	read := func(uri string) func(context.Context, *mcp.ClientSession) {
		return func(ctx context.Context, c *mcp.ClientSession) {
			_, _ = c.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		}
	}
	prompt := func(name string) func(context.Context, *mcp.ClientSession) {
		return func(ctx context.Context, c *mcp.ClientSession) {
			_, _ = c.GetPrompt(ctx, &mcp.GetPromptParams{Name: name})
		}
	}
	tool := func(name string) func(context.Context, *mcp.ClientSession) {
		return func(ctx context.Context, c *mcp.ClientSession) { _, _ = c.CallTool(ctx, call(name)) }
	}
	catalogued := func(ctx context.Context, c *mcp.ClientSession) {
		_, _ = c.CallTool(ctx, &mcp.CallToolParams{
			Name: "call", Arguments: map[string]any{"operation": "a__secret", "input": map[string]any{}},
		})
	}
	complete := func(ref *mcp.CompleteReference) func(context.Context, *mcp.ClientSession) {
		return func(ctx context.Context, c *mcp.ClientSession) {
			_, _ = c.Complete(ctx, &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: "id", Value: "x"}})
		}
	}
	subscribe := func(ctx context.Context, c *mcp.ClientSession) {
		_ = c.Subscribe(ctx, &mcp.SubscribeParams{URI: "a://secret/x"})
	}
	cases := []struct {
		name, view, policy string
		request            func(context.Context, *mcp.ClientSession)
		want               string // server, tool or target, outcome, rules, reason
	}{
		{"tool", "/mcp", rules, tool("a__secret"), "a secret denied [tool] policy"},
		{"tool", "/mcp/a", rules, tool("secret"), "a secret denied [tool] policy"},
		{"tool", "/mcp/@all", rules, tool("a__secret"), "a secret denied [tool] policy"},
		{"tool of call", "/mcp/@catalog", rules, catalogued, "a secret denied [tool] policy"},
		{"no tool", "/mcp", rules, tool("a__none"), " a__none error [] "},
		{"no tool", "/mcp/a", rules, tool("none"), " none error [] "},
		{"tool beside the view", "/mcp/@only", "", tool("a__secret"), "a secret denied [] view"},
		{"tool beside the view", "/mcp/@only", rules, tool("b__open"), "b open denied [] view"},
		{"prompt", "/mcp", rules, prompt("a__secret"), "a secret denied [prompt] policy"},
		{"prompt", "/mcp/a", rules, prompt("secret"), "a secret denied [prompt] policy"},
		{"prompt", "/mcp/@all", rules, prompt("a__secret"), "a secret denied [prompt] policy"},
		{"prompt beside the view", "/mcp/@only", "", prompt("a__secret"), "a secret denied [] view"},
		{"prompt beside the view", "/mcp/@only", rules, prompt("b__open"), "b open denied [] view"},
		{"no prompt", "/mcp", rules, prompt("a__none"), " a__none error [] "},
		{"listed URI", "/mcp", rules, read("a://secret/x"), "a a://secret/x denied [uri] policy"},
		{"listed URI", "/mcp/a", rules, read("a://secret/x"), "a a://secret/x denied [uri] policy"},
		{"URI with its server", "/mcp", rules, read("indus://a/a://secret/x"), "a a://secret/x denied [uri] policy"},
		{"URI of a template", "/mcp", rules, read("a://secret/y"), "a a://secret/y denied [uri] policy"},
		{"URI of a template", "/mcp/a", rules, read("a://secret/y"), "a a://secret/y denied [uri] policy"},
		{"URI that no server lists", "/mcp", rules, read("c://secret/z"), " c://secret/z denied [uri] policy"},
		{"URI beside the view", "/mcp/@only", "", read("a://secret/x"), "a a://secret/x denied [] view"},
		{"completion", "/mcp", rules, complete(&mcp.CompleteReference{Type: "ref/prompt", Name: "a__secret"}), "a secret denied [prompt] policy"},
		{"completion", "/mcp", rules, complete(&mcp.CompleteReference{Type: "ref/resource", URI: "a://secret/{id}"}), "a a://secret/{id} denied [uri] policy"},
		{"subscription", "/mcp", rules, subscribe, "a a://secret/x denied [uri] policy"},
	}
	for _, text := range []string{"", rules} {
		for _, era := range bothEras {
			t.Run(fmt.Sprint(era, " ", text != ""), func(t *testing.T) {
				t.Parallel()
				log, records := recorded(t)
				g, _ := controlled(t, control.Options{Audit: log}, text)
				for _, listed := range []bool{false, true} {
					for _, c := range cases {
						if c.policy != text || c.name == "subscription" && era == interop.Modern { // it is a stream without an answer
							continue
						}
						client := dial(t, g, c.view, era)
						if listed {
							_, _ = client.ListTools(t.Context(), nil)
							_, _ = client.ListPrompts(t.Context(), nil)
							_, _ = client.ListResources(t.Context(), nil)
							_, _ = client.ListResourceTemplates(t.Context(), nil)
						}
						c.request(t.Context(), client)
						all := records()
						r := all[len(all)-1]
						got := fmt.Sprint(r.Server, " ", r.Tool, r.Target, " ", r.Outcome, " ", r.Policies, " ")
						for _, reason := range []string{"view", "policy"} {
							if r.Outcome == "denied" && strings.Contains(r.Reason, reason) {
								got += reason
							}
						}
						if got != c.want {
							t.Errorf("%s %s, listed %v: recorded %q (%s), want %q", c.name, c.view, listed, got, r.Reason, c.want)
						}
					}
				}
			})
		}
	}
}
