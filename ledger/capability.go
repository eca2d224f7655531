package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/chain"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/toolbox"
)

// Capability is a tool of a server.
type Capability struct {
	// Name is the name under which the tool is mounted. Server is the id of its server, and Tool is the server's own
	// name for it.
	Name, Server, Tool string
	// Description is the server's text. [Capabilities] sets it to the text for models.
	Description string
	// Schema is the server's input schema, byte for byte.
	Schema json.RawMessage
	// Parameters is the schema for models. It equals Schema if that was not adapted.
	Parameters json.RawMessage
	// Wire is the server's whole tool object, byte for byte. It is zero if there is none.
	Wire toolbox.Wire

	run func(context.Context, toolbox.Call) toolbox.Outcome
}

// Capabilities returns every tool of a box as models see it, in order. Each runs through the box.
func Capabilities(box *toolbox.Box) []Capability {
	descriptors := box.Descriptors()
	out := make([]Capability, len(descriptors))
	for i, d := range descriptors {
		out[i] = newCapability(d, box.Run)
	}
	return out
}

func newCapability(d toolbox.Descriptor, run func(context.Context, toolbox.Call) toolbox.Outcome) Capability {
	c := Capability{
		Name: d.Name, Server: d.Server, Tool: d.Tool, Description: d.Description,
		Schema: d.Schema, Parameters: d.Parameters, Wire: d.Wire, run: run,
	}
	if c.Parameters == nil {
		c.Parameters = c.Schema
	}
	return c
}

// entry returns an event of the tool, without a number.
func (c *Capability) entry(op Op, at time.Time) Entry {
	e := Entry{Op: op, Server: c.Server, Tool: c.Tool, Name: c.Name, Capability: c, At: at}
	e.Sum = sumOf(c)
	e.Key = e.contentKey()
	return e
}

// sumOf returns the Entry.Sum of a tool.
func sumOf(c *Capability) string {
	raw := c.Wire.JSON
	if len(raw) == 0 {
		raw = c.object()
	}
	return chain.Hash(raw)
}

// object returns a tool object for a tool that came without one.
func (c *Capability) object() json.RawMessage {
	out := wire.Object{}.Raw("name", wire.Quote(c.Tool)).Raw("description", wire.Quote(c.Description))
	if len(c.Schema) > 0 {
		out = out.Raw("inputSchema", c.Schema)
	}
	return out.JSON()
}

// callPrefix precedes the name in the id of a capability's calls.
const callPrefix = "bridge_"

// Run calls the tool for the local user and returns the outcome as [Project] does. It never fails: an error is a result
// that describes it. A capability from a log cannot be run, because its server is not attached.
func (c Capability) Run(ctx context.Context, input json.RawMessage) *toolbox.Result {
	if c.run == nil {
		return toolbox.ErrorResult(c.Name + " is not attached")
	}
	return Project(c.run(ctx, toolbox.Call{ID: callPrefix + c.Name, Name: c.Name, Input: input}))
}

// Project returns an outcome as one block of text. For a string this is its content, for null it is empty, and for any
// other value it is indented JSON. An error stays an error.
func Project(o toolbox.Outcome) *toolbox.Result {
	text := o.Text()
	switch trimmed := bytes.TrimSpace(o.Output); {
	case len(trimmed) == 0 || string(trimmed) == "null":
		text = ""
	case trimmed[0] != '"':
		var indented bytes.Buffer
		if json.Indent(&indented, trimmed, "", "  ") == nil {
			text = indented.String()
		}
	}
	if o.IsError {
		return toolbox.ErrorResult(text)
	}
	return toolbox.NewResult(toolbox.Text(text))
}

// Card describes a tool for help and introspection, beside the built-in tools.
type Card struct {
	Name    string          `json:"name"`
	Server  string          `json:"server"`
	Tool    string          `json:"tool"`
	Summary string          `json:"summary,omitempty"` // the first line of the description
	Schema  json.RawMessage `json:"schema,omitempty"`  // the schema for models
}

// Card returns the card of the tool.
func (c Capability) Card() Card {
	line, _, _ := strings.Cut(strings.TrimSpace(c.Description), "\n")
	return Card{Name: c.Name, Server: c.Server, Tool: c.Tool, Summary: strings.TrimSpace(line), Schema: c.Parameters}
}
