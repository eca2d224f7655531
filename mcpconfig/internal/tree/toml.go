package tree

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/tailscale/hujson"
)

// tables is a TOML document in the course of being read. The library parses; what
// a table may be extended by, and by what not, is TOML's own and kept here.
type tables struct {
	doc   *Doc
	p     unstable.Parser
	root  *hujson.Object
	known map[*hujson.Object]*table
	names map[*hujson.Object]map[string]int // index of each member
	fault *Note
}

// table is what is known of one besides its members.
type table struct {
	header bool // it has its own [header]
	closed bool // inline: nothing can be added
	dotted bool // made by a dotted key, which a header cannot reopen
	list   *hujson.Array
}

// Expression is a line of a TOML text, or several that belong together.
type Expression struct {
	// Path of the table that a [header] opens, or of the value that a key has.
	Path   []string
	Header bool
	// Start is where its line begins, and End where that of the next one does: comments
	// and blank lines behind it are part of it.
	Start, End int
}

// Expressions are those of a TOML text that can be parsed.
func Expressions(text []byte) []Expression {
	var p unstable.Parser
	var out []Expression
	var here []string
	p.Reset(text)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable && e.Kind != unstable.KeyValue {
			continue
		}
		key := keyParts(e.Key())
		x := Expression{Header: e.Kind != unstable.KeyValue, Start: bytes.LastIndexByte(text[:key[0].at], '\n') + 1, End: len(text)}
		if !x.Header {
			x.Path = slices.Clone(here)
		}
		for _, part := range key {
			x.Path = append(x.Path, part.name)
		}
		if x.Header {
			here = x.Path
		}
		if len(out) > 0 {
			out[len(out)-1].End = x.Start
		}
		out = append(out, x)
	}
	return out
}

// parseTOML reads TOML 1.0; dates become strings, and so do inf and nan.
func (d *Doc) parseTOML() *Note {
	t := &tables{
		doc: d, root: &hujson.Object{},
		known: map[*hujson.Object]*table{}, names: map[*hujson.Object]map[string]int{},
	}
	t.p.Reset(d.Text)
	here := t.root
	for t.fault == nil && t.p.NextExpression() {
		switch e := t.p.Expression(); e.Kind {
		case unstable.Table:
			here = t.header(e)
		case unstable.ArrayTable:
			here = t.element(e)
		case unstable.KeyValue:
			t.assign(here, e, 1)
		}
	}
	if err := t.p.Error(); err != nil && t.fault == nil {
		return t.syntax(err)
	}
	if t.fault != nil {
		return t.fault
	}
	d.Root = hujson.Value{Value: t.root}
	return nil
}

// syntax is where the parser gave up. Its own words may quote what stands there,
// which may be a secret.
func (t *tables) syntax(err error) *Note {
	at := len(t.doc.Text)
	var bad *unstable.ParserError
	if errors.As(err, &bad) && len(bad.Highlight) > 0 {
		at = int(t.p.Range(bad.Highlight).Offset)
	}
	return &Note{at, "is not valid TOML from here on", "look for a quote, a bracket or a \"=\" that is missing"}
}

func (t *tables) fail(at int, reason, hint string) {
	if t.fault == nil {
		t.fault = &Note{at, reason, hint}
	}
}

// keyParts are the steps of a key, and where each stands.
type keyPart struct {
	name string
	at   int
	end  int
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

// header is the table that a [header] opens.
func (t *tables) header(e *unstable.Node) *hujson.Object {
	path := keyParts(e.Key())
	last := path[len(path)-1]
	o := t.walk(t.root, path, false)
	if o == nil {
		return t.root
	}
	if k := t.known[o]; k.header || k.dotted || k.closed || k.list != nil {
		t.fail(last.at, "the table "+Quote(last.name)+" is defined twice", "remove or rename one of the two")
	} else {
		k.header = true
	}
	return o
}

// element is the table that a [[header]] adds to its list.
func (t *tables) element(e *unstable.Node) *hujson.Object {
	path := keyParts(e.Key())
	last := path[len(path)-1]
	up := t.root
	if len(path) > 1 {
		up = t.walk(t.root, path[:len(path)-1], false)
	}
	if up == nil {
		return t.root
	}
	o := &hujson.Object{}
	value := hujson.Value{StartOffset: last.at, Value: o}
	old, taken := t.member(up, last.name)
	if !taken {
		list := &hujson.Array{Elements: []hujson.ArrayElement{value}}
		t.known[o] = &table{header: true, list: list}
		t.add(up, last, hujson.Value{StartOffset: last.at, Value: list})
		return o
	}
	list, ok := old.Value.(*hujson.Array)
	if !ok || len(list.Elements) == 0 || !t.grown(list) {
		t.fail(last.at, "the table "+Quote(last.name)+" is defined twice", "remove or rename one of the two")
		return o
	}
	t.known[o] = &table{header: true, list: list}
	list.Elements = append(list.Elements, value)
	return o
}

// grown reports whether a list is made of [[headers]].
func (t *tables) grown(list *hujson.Array) bool {
	o, ok := list.Elements[len(list.Elements)-1].Value.(*hujson.Object)
	return ok && t.known[o] != nil && t.known[o].list == list
}

// walk goes down a path and makes the tables that are not there; of a list of
// tables it takes the last one.
func (t *tables) walk(o *hujson.Object, path []keyPart, dotted bool) *hujson.Object {
	if len(path) > MaxDepth {
		t.fail(path[MaxDepth].at, tooDeepFault(0).Reason, "")
		return nil
	}
	for _, p := range path {
		v, ok := t.member(o, p.name)
		if !ok {
			next := &hujson.Object{}
			t.known[next] = &table{dotted: dotted}
			t.add(o, p, hujson.Value{StartOffset: p.at, Value: next})
			o = next
			continue
		}
		next, _ := v.Value.(*hujson.Object)
		if list, isList := v.Value.(*hujson.Array); isList && len(list.Elements) > 0 && t.grown(list) && !dotted {
			next = list.Elements[len(list.Elements)-1].Value.(*hujson.Object)
		}
		if next == nil || t.known[next].closed || dotted && t.known[next].header {
			t.fail(p.at, Quote(p.name)+" is defined twice", "remove or rename one of the two")
			return nil
		}
		o = next
	}
	return o
}

func (t *tables) member(o *hujson.Object, name string) (hujson.Value, bool) {
	i, ok := t.names[o][name]
	if !ok {
		return hujson.Value{}, false
	}
	return o.Members[i].Value, true
}

func (t *tables) add(o *hujson.Object, p keyPart, v hujson.Value) {
	if t.names[o] == nil {
		t.names[o] = map[string]int{}
	}
	t.names[o][p.name] = len(o.Members)
	name := hujson.Value{StartOffset: p.at, Value: hujson.String(p.name)}
	o.Members = append(o.Members, hujson.ObjectMember{Name: name, Value: v})
}

// assign adds "key = value", whose key may be dotted.
func (t *tables) assign(o *hujson.Object, e *unstable.Node, depth int) {
	path := keyParts(e.Key())
	last := path[len(path)-1]
	if len(path) > 1 {
		if o = t.walk(o, path[:len(path)-1], true); o == nil {
			return
		}
	}
	if _, taken := t.member(o, last.name); taken {
		t.fail(last.at, Quote(last.name)+" is defined twice", "remove one of the two")
		return
	}
	at := last.end
	for at < len(t.doc.Text) && strings.IndexByte(" \t=", t.doc.Text[at]) >= 0 {
		at++
	}
	t.add(o, last, t.value(e.Value(), at, depth+len(path)))
}

// value converts one; at is where it begins, should it not know.
func (t *tables) value(n *unstable.Node, at, depth int) hujson.Value {
	if n.Raw.Length > 0 {
		at = int(n.Raw.Offset)
	}
	v := hujson.Value{StartOffset: at}
	if depth > MaxDepth {
		t.fail(at, tooDeepFault(0).Reason, "")
		v.Value = hujson.Literal("null")
		return v
	}
	switch n.Kind {
	case unstable.Array:
		list := &hujson.Array{}
		for it := n.Children(); it.Next(); {
			list.Elements = append(list.Elements, t.value(it.Node(), at, depth+1))
		}
		v.Value = list
	case unstable.InlineTable:
		o := &hujson.Object{}
		t.known[o] = &table{}
		for it := n.Children(); it.Next(); {
			t.assign(o, it.Node(), depth)
		}
		t.known[o].closed = true
		v.Value = o
	case unstable.Bool:
		v.Value = hujson.Bool(string(n.Data) == "true")
	case unstable.Integer, unstable.Float:
		v.Value = t.number(string(n.Data), at)
	default:
		v.Value = hujson.String(string(n.Data))
	}
	return v
}

func (t *tables) number(text string, at int) hujson.Literal {
	clean := strings.TrimPrefix(strings.ReplaceAll(text, "_", ""), "+")
	if n, err := strconv.ParseInt(clean, 0, 64); err == nil {
		return hujson.Int(n)
	}
	f, err := strconv.ParseFloat(clean, 64)
	switch {
	case err != nil:
		t.fail(at, "a number that TOML does not know", "")
		return hujson.Int(0)
	case math.IsInf(f, 0) || math.IsNaN(f):
		return hujson.String(text)
	}
	return hujson.Float(f)
}
