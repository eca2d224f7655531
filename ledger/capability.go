package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/toolbox"
)

// Capability is a tool that was grafted from a server.
type Capability struct {
	// Name is what it is mounted as, Server and Tool are the owner's id and its own
	// name for it.
	Name, Server, Tool string
	// Description is the owner's text, or of [Capabilities] the text for models.
	Description string
	// Schema is its owner's input schema, byte for byte.
	Schema json.RawMessage
	// Parameters is the schema that models are shown; Schema where nobody adapted it.
	Parameters json.RawMessage
	// Wire is the owner's whole tool object, byte for byte; zero where there is none.
	Wire toolbox.Wire

	run func(context.Context, toolbox.Call) toolbox.Outcome
}

// Capabilities is every tool of a box as models see it, in order; each is run
// through the box.
func Capabilities(box *toolbox.Box) []Capability {
	descriptors := box.Descriptors()
	out := make([]Capability, len(descriptors))
	for i, d := range descriptors {
		out[i] = capability(d, box.Run)
	}
	return out
}

func capability(d toolbox.Descriptor, run func(context.Context, toolbox.Call) toolbox.Outcome) Capability {
	c := Capability{
		Name: d.Name, Server: d.Server, Tool: d.Tool, Description: d.Description,
		Schema: d.Schema, Parameters: d.Parameters, Wire: d.Wire, run: run,
	}
	if c.Parameters == nil {
		c.Parameters = c.Schema
	}
	return c
}

// entry is an event of the tool, without a number.
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
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// object is the tool object of a tool that came without one.
func (c *Capability) object() json.RawMessage {
	out := wire.AppendQuote([]byte(`{"name":`), c.Tool)
	out = wire.AppendQuote(append(out, `,"description":`...), c.Description)
	if len(c.Schema) > 0 {
		out = append(append(out, `,"inputSchema":`...), c.Schema...)
	}
	return append(out, '}')
}

// callPrefix is before the name in the id of a capability's calls.
const callPrefix = "bridge_"

// Run calls the tool for the local user and gives what it said as [Project] does. It
// never fails: whatever goes wrong is a result that says so. A capability that was
// read from a log cannot be run, for its server is not attached.
func (c Capability) Run(ctx context.Context, input json.RawMessage) *toolbox.Result {
	if c.run == nil {
		return toolbox.ErrorResult(c.Name + " is not attached")
	}
	return Project(c.run(ctx, toolbox.Call{ID: callPrefix + c.Name, Name: c.Name, Input: input}))
}

// Project is an outcome as one block of text: a string is its content, null is
// empty, and anything else is its JSON, indented. An error stays one.
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

// Card is a tool for help and introspection, beside those that are built in.
type Card struct {
	Name    string          `json:"name"`
	Server  string          `json:"server"`
	Tool    string          `json:"tool"`
	Summary string          `json:"summary,omitempty"` // the description's first line
	Schema  json.RawMessage `json:"schema,omitempty"`  // what models are shown
}

// Card presents the tool.
func (c Capability) Card() Card {
	line, _, _ := strings.Cut(strings.TrimSpace(c.Description), "\n")
	return Card{Name: c.Name, Server: c.Server, Tool: c.Tool, Summary: strings.TrimSpace(line), Schema: c.Parameters}
}
