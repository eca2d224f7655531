//go:build unix

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callTool calls a tool as the model of a client does, and decodes its structured content into v.
func callTool(ctx context.Context, t *testing.T, cs *mcp.ClientSession, tool, input string, v any) *mcp.CallToolResult {
	t.Helper()
	r, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(input)})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, input, err)
	}
	if v == nil {
		return r
	}
	raw, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatalf("%s %s gives %s: %v", tool, input, raw, err)
	}
	return r
}

// resultText returns the text of a result.
func resultText(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// four are the tools that a client sees in place of all others.
var four = []string{"search", "schema", "call", "batch"}

// TestATaskWithTheFourToolsAlone uses only search, schema, call and batch to copy the text of a file into two others,
// with server-filesystem.
func TestATaskWithTheFourToolsAlone(t *testing.T) {
	doors := map[string]func(*testing.T, map[string]row) *mcp.ClientSession{
		"http": func(t *testing.T, servers map[string]row) *mcp.ClientSession {
			p := startServe(t, servers, "--expose", "gateway", "--addr", "127.0.0.1:0")
			url := p.waitFor(&p.err, `serving at (\S+)\n`)
			p.waitFor(&p.err, `fs: ready`)
			return mcpSession(t, &mcp.StreamableClientTransport{Endpoint: url})
		},
		"stdio": func(t *testing.T, servers map[string]row) *mcp.ClientSession {
			var stderr transcript
			cmd := indusCommand(t, servers, "serve", "--expose=gateway", "--stdio")
			cmd.Stderr = &stderr
			cs := mcpSession(t, &mcp.CommandTransport{Command: cmd})
			stderr.waitFor(t, `fs: ready`, nil)
			return cs
		},
	}
	for door, open := range doors {
		t.Run(door, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "plan.txt"), []byte("rice, then tea\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			node, filesystem := peers.Filesystem(t, dir)
			cs := open(t, map[string]row{"fs": {node, filesystem, nil}})
			if got := listOf(ctx, t, cs); !slices.Equal(got, four) {
				t.Fatalf("the client is shown %q", got)
			}

			// Which tool reads a file?
			var found struct{ Operations []struct{ Name string } }
			for len(found.Operations) == 0 && ctx.Err() == nil { // a ready server is listed a moment later
				callTool(ctx, t, cs, "search", `{"query":"read the text of one file","limit":5}`, &found)
			}
			var read string
			for _, o := range found.Operations {
				if o.Name == "fs__read_text_file" {
					read = o.Name
				}
			}
			if read == "" {
				t.Fatalf("search finds %v", found.Operations)
			}
			// What does it take?
			var spec struct {
				Name  string
				Input struct{ Required []string }
			}
			callTool(ctx, t, cs, "schema", `{"operation":"`+read+`"}`, &spec)
			if spec.Name != read || len(spec.Input.Required) != 1 {
				t.Fatalf("schema gives %+v", spec)
			}
			input := func(args map[string]any) string {
				raw, err := json.Marshal(args)
				if err != nil {
					t.Fatal(err)
				}
				return string(raw)
			}
			text := resultText(callTool(ctx, t, cs, "call", input(map[string]any{
				"operation": read, "input": map[string]any{spec.Input.Required[0]: filepath.Join(dir, "plan.txt")},
			}), nil))
			if text != "rice, then tea\n" {
				t.Fatalf("the file is %q", text)
			}
			// Two copies run at once with a third to a forbidden path. Only the third fails.
			write := func(path string) map[string]any {
				return map[string]any{"operation": "fs__write_file", "input": map[string]any{"path": path, "content": text}}
			}
			var out struct {
				Results []struct {
					Operation string
					Result    *struct{ IsError bool }
					Error     json.RawMessage
				}
			}
			callTool(ctx, t, cs, "batch", input(map[string]any{"calls": []any{
				write(filepath.Join(dir, "a.txt")), write("/nowhere/b.txt"), write(filepath.Join(dir, "c.txt")),
			}}), &out)
			if len(out.Results) != 3 {
				t.Fatalf("batch gives %+v", out)
			}
			for i, want := range []bool{false, true, false} {
				if r := out.Results[i]; (r.Error != nil || r.Result != nil && r.Result.IsError) != want {
					t.Errorf("call %d of the batch: %+v", i, r)
				}
			}
			for _, name := range []string{"a.txt", "c.txt"} {
				if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != text {
					t.Errorf("%s is %q, %v", name, b, err)
				}
			}
			if r := callTool(ctx, t, cs, "call", `{"operation":"fs__read_txt_file"}`, nil); !r.IsError ||
				!strings.Contains(resultText(r), "fs__read_text_file") {
				t.Errorf("a name that is not there: %s", resultText(r))
			}
		})
	}
}

// TestExposeGatewayIsLive checks that search follows added, removed and restored tools, beside the built-in tools. The
// four tools never change.
func TestExposeGatewayIsLive(t *testing.T) {
	t.Parallel()
	f := fixture.New(t)
	slow, held := hangingServer(t)
	cmd := indusCommand(t, map[string]row{"one": {f.Path, f.Args, nil}, "slow": slow}, "serve", "--expose=gateway",
		"--builtins", "--addr", "127.0.0.1:0")
	p := launch(t, cmd)
	url := p.waitFor(&p.err, `serving at (\S+)\n`)
	p.waitFor(&p.err, `one: ready`)
	cs := mcpSession(t, &mcp.StreamableClientTransport{Endpoint: url})
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()

	var found struct {
		Operations []struct{ Name string }
		Pending    []string
	}
	finds := func(query string) (names []string) {
		t.Helper()
		found.Operations, found.Pending = nil, nil
		callTool(ctx, t, cs, "search", `{"query":"`+query+`","limit":50}`, &found)
		for _, o := range found.Operations {
			names = append(names, o.Name)
		}
		return names
	}
	// findsIt searches until a tool is found, or is no longer found. Events are reported a moment earlier.
	findsIt := func(query, name string, wanted bool) {
		t.Helper()
		for slices.Contains(finds(query), name) != wanted {
			if ctx.Err() != nil {
				t.Fatalf("%s is found: %v, for ever", name, !wanted)
			}
		}
	}
	findsIt("", "one__echo", true)
	names := finds("")
	if !slices.Contains(names, "grep") || slices.Contains(names, "slow__echo") || !slices.Contains(found.Pending, "slow") {
		t.Fatalf("found %q, and pending is %q", names, found.Pending)
	}
	releaseServer(held)
	p.waitFor(&p.err, `slow: ready`)
	findsIt("slow echo", "slow__echo", true)
	if got := resultText(callTool(ctx, t, cs, "call", `{"operation":"slow__echo","input":{"message":"here"}}`,
		nil)); got != "here" {
		t.Errorf("it says %q", got)
	}

	// A reload removes one of them.
	configure(t, cmd, map[string]row{"one": {f.Path, f.Args, nil}})
	p.waitFor(&p.err, `the configuration has changed`)
	findsIt("slow echo", "slow__echo", false)
	if r := callTool(ctx, t, cs, "call", `{"operation":"slow__echo"}`, nil); !r.IsError ||
		!strings.Contains(resultText(r), "NOT_FOUND") {
		t.Errorf("a tool that was taken says %s", resultText(r))
	}
	if got := listOf(ctx, t, cs); !slices.Equal(got, four) {
		t.Errorf("the client is shown %q", got)
	}
}
