package catalog

import (
	"encoding/json"
	"fmt"

	"github.com/indusagi/indus/internal/keyword"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

// maxSpec is how long an answer of schema is that nobody asked for in full: some 800 tokens.
const maxSpec = 3000

// maxNesting is how deep a spec may nest to be shortened: each level is read once for every level
// above it.
const maxNesting = 100

// cuts are the ways to shorten a spec, each after the ones before were not enough: how much is
// left of a description, below which level of a schema nothing is said but the type, and
// whether the output schema stays.
var cuts = []struct {
	description, depth int
	output             bool
}{{600, 64, true}, {300, 64, false}, {120, 64, false}, {60, 8, false}, {60, 5, false}, {40, 3, false}, {0, 3, false}, {0, 2, false}}

// shortened is a spec in at most maxSpec bytes, or as near as the last cut comes, and
// says that it is.
func shortened(spec json.RawMessage) json.RawMessage {
	if len(spec) <= maxSpec {
		return spec
	}
	if _, depth := wire.Finite(spec); depth > maxNesting {
		return bounded(spec)
	}
	hint := json.RawMessage(`"this is shortened; with \"full\": true it is not"`)
	for _, c := range cuts {
		members, err := wire.Members(spec)
		if err != nil {
			return spec
		}
		short := json.RawMessage("{}")
		for _, m := range members {
			switch m.Key {
			case "description":
				prose, _ := wire.Unquote(m.Value)
				m.Value = wire.Quote(text.Clip(protocol.Printable(prose, len(prose)), max(c.description, 300)))
			case "input":
				m.Value = shorten(m.Value, c.description, c.depth, false)
			case "output":
				if !c.output {
					continue
				}
				m.Value = shorten(m.Value, c.description, c.depth, false)
			}
			short = appendValue(short, m.Key, m.Value)
		}
		short = appendValue(short, "note", hint)
		if len(short) <= maxSpec || c == cuts[len(cuts)-1] {
			return bounded(short)
		}
	}
	return spec
}

// bounded is what has more names than fit: only what it is called and how to see it.
func bounded(short json.RawMessage) json.RawMessage {
	if len(short) <= 2*maxSpec {
		return short
	}
	name, _ := wire.Lookup(short, "name")
	input, _ := wire.Lookup(short, "input")
	out := appendValue(json.RawMessage("{}"), "name", name)
	out = appendMember(out, "parameters", wire.Quote(signature.Parse(input).Signature(signature.Line)))
	return appendMember(out, "note", wire.Quote(fmt.Sprintf("its schema has %d bytes even without descriptions; with \"full\": true it is shown", len(input))))
}

// shorten cuts the descriptions in a schema, drops what only illustrates it, and puts the
// type alone in the place of what is deeper. Of an object of names every member is a schema,
// whatever it is called.
func shorten(schema json.RawMessage, description, depth int, names bool) json.RawMessage {
	if len(schema) == 0 || schema[0] != '{' && schema[0] != '[' {
		return schema
	}
	if schema[0] == '[' {
		elements, err := wire.Elements(schema)
		if err != nil {
			return schema
		}
		out := []byte{'['}
		for i, e := range elements {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, shorten(e, description, depth, false)...)
		}
		return append(out, ']')
	}
	members, err := wire.Members(schema)
	if err != nil {
		return schema
	}
	out := json.RawMessage("{}")
	for _, m := range members {
		switch prose, isText := wire.Unquote(m.Value); {
		case names && depth > 0:
			m.Value = shorten(m.Value, description, depth-1, false)
		case m.Key == "description" && isText && description == 0, m.Key == "examples", m.Key == "$schema":
			continue
		case m.Key == "description" && isText:
			m.Value = wire.Quote(text.Clip(prose, description))
		case depth <= 0 && m.Key != "type" && m.Key != "$ref" && m.Key != "enum":
			continue
		default:
			m.Value = shorten(m.Value, description, depth-1, keyword.IsNamed(m.Key))
		}
		out = appendValue(out, m.Key, m.Value)
	}
	return out
}
