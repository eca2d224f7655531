package tree

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/tailscale/hujson"
)

// tables is a TOML document that is being read. It is known to be valid.
type tables struct {
	doc     *Doc
	root    *hujson.Object
	indexes map[*hujson.Object]map[string]int // index of each member
	fault   *Note
}

// Expression is a line of a TOML text, or several lines that belong together.
type Expression struct {
	// Path is the path of the table that a [header] opens, or of the value that a key has.
	Path   []string
	Header bool
	// Start is where its line begins, and End is where the line of the next expression begins. Comments and blank lines
	// behind it are part of it.
	Start, End int
}

// parseTOML reads TOML 1.0. Dates, inf and nan become strings.
func (d *Doc) parseTOML() *Note {
	if err := toml.Unmarshal(d.Text, &map[string]any{}); err != nil {
		return d.tomlSyntax(err)
	}
	t := &tables{doc: d, root: &hujson.Object{}, indexes: map[*hujson.Object]map[string]int{}}
	var p unstable.Parser
	p.Reset(d.Text)
	here, path := t.root, []string(nil)
	for t.fault == nil && p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			here, path = t.header(e), d.expression(e, nil)
		case unstable.KeyValue:
			t.assign(here, e, 1)
			d.expression(e, path)
		}
	}
	d.Root = hujson.Value{Value: t.root}
	return t.fault
}

// expression adds an expression to the list of the text, below the path of its table. It returns the path of the
// expression.
func (d *Doc) expression(e *unstable.Node, table []string) []string {
	key := keyParts(e.Key())
	x := Expression{Path: slices.Clone(table), Header: e.Kind != unstable.KeyValue}
	for _, part := range key {
		x.Path = append(x.Path, part.name)
	}
	x.Start, x.End = bytes.LastIndexByte(d.Text[:key[0].offset], '\n')+1, len(d.Text)
	if n := len(d.Expressions); n > 0 {
		d.Expressions[n-1].End = x.Start
	}
	d.Expressions = append(d.Expressions, x)
	return x.Path
}

// tomlSyntax returns the position of a parser error. The parser's message is not shown, because it may quote a secret.
func (d *Doc) tomlSyntax(err error) *Note {
	var bad *toml.DecodeError
	if !errors.As(err, &bad) {
		return &Note{0, "is not valid TOML", ""}
	}
	row, column := bad.Position()
	at := min(d.lineStarts[min(row, len(d.lineStarts))-1]+column-1, len(d.Text))
	key, reason := bad.Key(), err.Error()
	if len(key) > 0 && strings.Contains(reason, "already") || strings.Contains(reason, "should be a table") {
		return &Note{at, definedTwice(strings.Join(key, ".")), twiceHint}
	}
	if strings.Contains(reason, "escape") {
		return &Note{at, badEscape, backslashHint}
	}
	return &Note{at, "is not valid TOML from here on", "look for a quote, a bracket or a \"=\" that is missing"}
}

func definedTwice(name string) string { return Quote(name) + " is defined twice" }

const twiceHint = "remove or rename one of the two"

func (t *tables) fail(offset int, reason, hint string) {
	if t.fault == nil {
		t.fault = &Note{offset, reason, hint}
	}
}

// keyPart is a step of a key, with its offsets.
type keyPart struct {
	name   string
	offset int
	end    int
}

func keyParts(it unstable.Iterator) []keyPart {
	var out []keyPart
	for it.Next() {
		n := it.Node()
		at := int(n.Raw.Offset)
		out = append(out, keyPart{string(n.Data), at, at + int(n.Raw.Length)})
	}
	return out
}

// header returns the table that a [header] opens, or that a [[header]] adds to its list.
func (t *tables) header(e *unstable.Node) *hujson.Object {
	path := keyParts(e.Key())
	if e.Kind == unstable.Table {
		return t.walk(t.root, path)
	}
	last := path[len(path)-1]
	up, o := t.walk(t.root, path[:len(path)-1]), &hujson.Object{}
	value := hujson.Value{StartOffset: last.offset, Value: o}
	if old, taken := t.member(up, last.name); taken {
		list, ok := old.Value.(*hujson.Array)
		if !ok {
			t.fail(last.offset, definedTwice(last.name), twiceHint)
			return o
		}
		list.Elements = append(list.Elements, value)
	} else {
		t.add(up, last, List(last.offset, []hujson.Value{value}))
	}
	return o
}

// walk goes down a path and makes the missing tables. In a list of tables it takes the last one.
func (t *tables) walk(o *hujson.Object, path []keyPart) *hujson.Object {
	if len(path) > MaxDepth {
		t.fail(path[MaxDepth].offset, tooDeepFault(0).Reason, "")
		return o
	}
	for _, p := range path {
		v, ok := t.member(o, p.name)
		if !ok {
			v = Object(p.offset, nil)
			t.add(o, p, v)
		}
		if list, isList := v.Value.(*hujson.Array); isList && len(list.Elements) > 0 {
			v = list.Elements[len(list.Elements)-1]
		}
		next, ok := v.Value.(*hujson.Object)
		if !ok {
			t.fail(p.offset, definedTwice(p.name), twiceHint)
			return o
		}
		o = next
	}
	return o
}

func (t *tables) member(o *hujson.Object, name string) (hujson.Value, bool) {
	i, ok := t.indexes[o][name]
	if !ok {
		return hujson.Value{}, false
	}
	return o.Members[i].Value, true
}

func (t *tables) add(o *hujson.Object, p keyPart, v hujson.Value) {
	if t.indexes[o] == nil {
		t.indexes[o] = map[string]int{}
	}
	t.indexes[o][p.name] = len(o.Members)
	name := hujson.Value{StartOffset: p.offset, Value: hujson.String(p.name)}
	o.Members = append(o.Members, hujson.ObjectMember{Name: name, Value: v})
}

// assign adds "key = value". The key may be dotted.
func (t *tables) assign(o *hujson.Object, e *unstable.Node, depth int) {
	path := keyParts(e.Key())
	last := path[len(path)-1]
	o = t.walk(o, path[:len(path)-1])
	at := last.end
	for at < len(t.doc.Text) && strings.IndexByte(" \t=", t.doc.Text[at]) >= 0 {
		at++
	}
	t.add(o, last, t.value(e.Value(), at, depth+len(path)))
}

// value converts a value. If the node has no offset, at is used.
func (t *tables) value(n *unstable.Node, offset, depth int) hujson.Value {
	if n.Raw.Length > 0 {
		offset = int(n.Raw.Offset)
	}
	v := hujson.Value{StartOffset: offset}
	if depth > MaxDepth {
		t.fail(offset, tooDeepFault(0).Reason, "")
		v.Value = hujson.Literal("null")
		return v
	}
	switch n.Kind {
	case unstable.Array:
		list := &hujson.Array{}
		for it := n.Children(); it.Next(); {
			list.Elements = append(list.Elements, t.value(it.Node(), offset, depth+1))
		}
		v.Value = list
	case unstable.InlineTable:
		o := &hujson.Object{}
		for it := n.Children(); it.Next(); {
			t.assign(o, it.Node(), depth)
		}
		v.Value = o
	case unstable.Bool:
		v.Value = hujson.Bool(string(n.Data) == "true")
	case unstable.Integer, unstable.Float:
		v.Value = tomlNumber(string(n.Data))
	default:
		v.Value = hujson.String(string(n.Data))
	}
	return v
}

func tomlNumber(text string) hujson.Literal {
	clean := strings.TrimPrefix(strings.ReplaceAll(text, "_", ""), "+")
	if n, err := strconv.ParseInt(clean, 0, 64); err == nil {
		return hujson.Int(n)
	}
	if f, err := strconv.ParseFloat(clean, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		return hujson.Float(f)
	}
	return hujson.String(text)
}
