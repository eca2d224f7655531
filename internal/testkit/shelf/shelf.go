// Package shelf has a toolbox for tests of hosts, whose tools and calls a test decides.
package shelf

import (
	"context"
	"encoding/json"

	"github.com/indusagi/indus/toolbox"
)

// Shelf is a [toolbox.Source]. Its functions may be called from any goroutine.
type Shelf struct {
	toolbox.Watchers
	Tools func(toolbox.Principal) *toolbox.Snapshot
	Call  func(context.Context, toolbox.Call) (*toolbox.Result, error)
}

// Snapshot implements [toolbox.Source].
func (s *Shelf) Snapshot(p toolbox.Principal) *toolbox.Snapshot { return s.Tools(p) }

// Do implements [toolbox.Source].
func (s *Shelf) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	return s.Call(ctx, c)
}

// OneTool returns a toolbox with the tool "t", which runs call.
func OneTool(call func(context.Context, toolbox.Call) (*toolbox.Result, error)) *Shelf {
	snap := &toolbox.Snapshot{Tools: []toolbox.Descriptor{{Name: "t", Schema: json.RawMessage(`{"type":"object"}`)}}}
	return &Shelf{Tools: func(toolbox.Principal) *toolbox.Snapshot { return snap }, Call: call}
}

// WireDescriptor returns a tool of a server, with its raw object.
func WireDescriptor(name, raw string) toolbox.Descriptor {
	var t struct{ InputSchema json.RawMessage }
	if err := json.Unmarshal([]byte(raw), &t); err != nil {
		panic(err)
	}
	return toolbox.Descriptor{Name: name, Server: "s", Tool: "own", Schema: t.InputSchema,
		Wire: toolbox.Wire{Format: "mcp/legacy", JSON: json.RawMessage(raw)}}
}

// WireResult returns the result of a server's tool.
func WireResult(raw string) *toolbox.Result {
	return toolbox.WireResult(toolbox.Wire{Format: "mcp/modern", JSON: json.RawMessage(raw)},
		func(toolbox.Wire) toolbox.Decoded { return toolbox.Decoded{} })
}

// Media returns a block in the grammar of MCP.
func Media(raw string) toolbox.Block {
	return toolbox.Block{Wire: toolbox.Wire{Format: "mcp/modern", JSON: json.RawMessage(raw)}}
}
