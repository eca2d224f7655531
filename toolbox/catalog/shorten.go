package catalog

import (
	"encoding/json"
	"fmt"

	"github.com/indusagi/indus/internal/jsontree"
	"github.com/indusagi/indus/internal/keyword"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

// maxSpec is the maximum number of bytes of an answer of schema without full. It is some 800
// tokens.
const maxSpec = 3000

// cuts lists the ways to shorten a spec, each stronger than the one before. Descriptions are cut to
// description bytes. Below the level depth of a schema, only the type remains. The output schema
// stays if output is true.
var cuts = []struct {
	description, depth int
	output             bool
}{
	{600, 64, true}, {300, 64, false}, {120, 64, false}, {60, 8, false},
	{60, 5, false}, {40, 3, false}, {0, 3, false}, {0, 2, false},
}

// shortenSpec returns a spec in at most maxSpec bytes, or at most twice as many after the last cut.
// Of a longer spec only the name and the parameters remain. A note reports it.
func shortenSpec(spec json.RawMessage) json.RawMessage {
	if len(spec) <= maxSpec {
		return spec
	}
	whole := jsontree.Parse(spec)
	var short json.RawMessage
	for _, c := range cuts {
		out := &node{Kind: '{'}
		for _, f := range whole.Fields {
			switch {
			case f.Name == "description":
				prose := f.Value.Content()
				f.Value = textNode(text.Clip(protocol.Printable(prose, len(prose)), max(c.description, 300)))
			case f.Name == "output" && !c.output:
				continue
			case f.Name == "input" || f.Name == "output":
				f.Value = shortenSchema(f.Value, c.description, c.depth, false)
			}
			out.Fields = append(out.Fields, f)
		}
		note := wire.Quote(`this is shortened; with "full": true it is not`)
		short, _ = wire.Rewrite(out.Append(nil), wire.Edit{Key: "note", Value: note}) // no key is repeated in a tree
		if len(short) <= maxSpec {
			break
		}
	}
	if len(short) <= 2*maxSpec {
		return short
	}
	// There are too many names. The answer has only the name, the parameters and a hint how to see
	// the schema.
	name, _ := wire.Lookup(short, "name")
	input, _ := wire.Lookup(short, "input")
	note := fmt.Sprintf(`its schema has %d bytes even without descriptions; with "full": true it is shown`, len(input))
	parameters := signature.Parse(input).Signature(signature.Line)
	return wire.Object{}.Raw("name", name).Text("parameters", parameters).Text("note", note).JSON()
}

type node = jsontree.Node

func textNode(s string) *node { return &node{Kind: '"', Text: wire.Quote(s)} }

// shortenSchema cuts the descriptions in a schema and drops its illustrations. Below depth it keeps only
// types, references and enums. If names is true, the schema is an object of named schemas, so every
// member is a schema, regardless of its name.
func shortenSchema(schema *node, description, depth int, names bool) *node {
	if !schema.Is("{[") {
		return schema
	}
	out := &node{Kind: schema.Kind}
	for _, e := range schema.Elems {
		out.Elems = append(out.Elems, shortenSchema(e, description, depth, false))
	}
	for _, f := range schema.Fields {
		isProse := f.Name == "description" && f.Value.Is(`"`)
		switch {
		case names && depth > 0:
			f.Value = shortenSchema(f.Value, description, depth-1, false)
		case isProse && description == 0, f.Name == "examples", f.Name == "$schema":
			continue
		case isProse:
			f.Value = textNode(text.Clip(f.Value.Content(), description))
		case depth <= 0 && f.Name != "type" && f.Name != "$ref" && f.Name != "enum":
			continue
		default:
			f.Value = shortenSchema(f.Value, description, depth-1, keyword.IsNamed(f.Name))
		}
		out.Fields = append(out.Fields, f)
	}
	return out
}
