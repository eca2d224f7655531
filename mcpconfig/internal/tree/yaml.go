package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
)

// maxNodes bounds the size of a YAML text with its aliases written out. A few lines of aliases can stand for more than
// any memory holds.
const maxNodes = 100_000

// nodes is a YAML document that is being converted.
type nodes struct {
	doc       *Doc
	remaining int
	expanding map[*yaml.Node]bool // anchors that are being written out
	fault     *Note
}

// parseYAML reads one document of YAML. Names that are not text become text. The values inf, nan, dates and binary data
// become strings. Aliases and "<<" are written out.
func (d *Doc) parseYAML() *Note {
	var root, second yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(d.Text))
	if err := dec.Decode(&root); err != nil {
		return d.yamlSyntax(err)
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return d.yamlSyntax(err)
		}
		return &Note{d.offset(&second), "holds more than one document", `keep one, without "---" between`}
	}
	n := &nodes{doc: d, remaining: maxNodes, expanding: map[*yaml.Node]bool{}}
	root.Line = max(root.Line, 1)
	d.Root = n.value(&root, 0)
	return n.fault
}

// yamlSyntax returns the line of a parser error. The rest of the parser's message is not shown, because it may quote
// the text.
func (d *Doc) yamlSyntax(err error) *Note {
	if errors.Is(err, io.EOF) {
		return &Note{0, "is empty", ""}
	}
	var line int
	if _, e := fmt.Sscanf(err.Error(), "yaml: line %d:", &line); e != nil {
		line = 1
	}
	reason := "is not valid YAML from about this line on"
	hint := "check the indentation, and quote text with : # { [ & *"
	if strings.Contains(err.Error(), "unknown anchor") {
		reason, hint = "has an alias (*…) without its anchor (&…)", `quote text that begins with "*"`
	}
	return &Note{d.lineStarts[min(max(line, 1), len(d.lineStarts))-1], reason, hint}
}

// offset returns the offset at which a node begins. The parser counts characters, and the tree counts bytes.
func (d *Doc) offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(d.lineStarts) {
		return 0
	}
	at := d.lineStarts[n.Line-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(d.Text[at:])
		at += size
	}
	return at
}

func (n *nodes) fail(node *yaml.Node, reason, hint string) hujson.Value {
	if n.fault == nil {
		n.fault = &Note{n.doc.offset(node), reason, hint}
	}
	return hujson.Value{StartOffset: n.doc.offset(node), Value: hujson.Literal("null")}
}

func (n *nodes) value(node *yaml.Node, depth int) hujson.Value {
	n.remaining--
	if n.remaining < 0 {
		return n.fail(node, fmt.Sprintf("has more than %d values, with its aliases written out", maxNodes), "")
	}
	if depth > MaxDepth {
		return n.fail(node, tooDeepFault(0).Reason, "")
	}
	if n.fault != nil {
		return hujson.Value{Value: hujson.Literal("null")}
	}
	v := hujson.Value{StartOffset: n.doc.offset(node)}
	switch node.Kind {
	case yaml.DocumentNode:
		return n.value(node.Content[0], depth)
	case yaml.AliasNode:
		if n.expanding[node.Alias] {
			return n.fail(node, "has an alias that contains itself", "")
		}
		out := n.value(node.Alias, depth)
		out.StartOffset = v.StartOffset
		return out
	case yaml.SequenceNode:
		n.expanding[node] = true
		list := &hujson.Array{}
		for _, e := range node.Content {
			list.Elements = append(list.Elements, n.value(e, depth+1))
		}
		delete(n.expanding, node)
		v.Value = list
	case yaml.MappingNode:
		n.expanding[node] = true
		v.Value = n.mapping(node, depth)
		delete(n.expanding, node)
	default:
		v.Value = scalar(node)
	}
	return v
}

// mapping converts a map. Its own members replace members of "<<".
func (n *nodes) mapping(node *yaml.Node, depth int) *hujson.Object {
	o, here := &hujson.Object{}, map[string]bool{}
	var merged []hujson.Value
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merged = append(merged, n.value(value, depth+1))
			continue
		}
		name := key
		if key.Kind == yaml.AliasNode {
			name = key.Alias
		}
		if name.Kind != yaml.ScalarNode {
			n.fail(key, "has a list or a map as a name", "")
			return o
		}
		if here[name.Value] {
			n.fail(key, "the name "+Quote(name.Value)+" is defined twice", "remove or rename one of the two")
			return o
		}
		here[name.Value] = true
		o.Members = append(o.Members, hujson.ObjectMember{
			Name:  hujson.Value{StartOffset: n.doc.offset(key), Value: hujson.String(name.Value)},
			Value: n.value(value, depth+1),
		})
	}
	for _, m := range merged {
		n.merge(o, m, here, node)
	}
	return o
}

func (n *nodes) merge(o *hujson.Object, from hujson.Value, own map[string]bool, node *yaml.Node) {
	switch from := from.Value.(type) {
	case *hujson.Object:
		for _, m := range from.Members {
			if name := Text(m.Name); !own[name] {
				own[name] = true
				o.Members = append(o.Members, m)
			}
		}
	case *hujson.Array:
		for _, e := range from.Elements {
			if _, nested := e.Value.(*hujson.Array); nested {
				n.fail(node, `has a "<<" that is no map`, "")
				return
			}
			n.merge(o, e, own, node)
		}
	default:
		n.fail(node, `has a "<<" that is no map`, "")
	}
}

func scalar(node *yaml.Node) hujson.Literal {
	switch node.ShortTag() {
	case "!!null":
		return hujson.Literal("null")
	case "!!bool", "!!int", "!!float":
		var v any
		if node.Decode(&v) == nil {
			if raw, err := json.Marshal(v); err == nil { // it fails for inf and nan
				return hujson.Literal(raw)
			}
		}
	}
	return hujson.String(node.Value)
}
