package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/text"

	"github.com/indusagi/indus/internal/jsontree"
)

// inverse describes the way Restore turns arguments for an adapted schema into arguments for the original. A nil
// inverse changes nothing.
type inverse struct {
	wrapped    bool              // the arguments are the property input of an object
	entries    bool              // the value is a list of entries {key, value}; others applies to each value
	properties []propertyInverse // the steps for declared properties
	others     *inverse          // for all other properties
	items      *inverse          // for all items
	prefix     []*inverse        // for the first items
	union      []schemaResult    // the branches; the inverse of the value's branch applies
	inner      *inverse          // for the arguments inside a wrapped root
	chain      []*inverse        // applied in order
	deferred   bool              // belongs to a definition or inlined schema, and is completed by fill
}

// propertyInverse describes the steps for one property.
type propertyInverse struct {
	adapted  string
	name     string // name in the original
	key      []byte // quoted name in the original
	renamed  bool
	dropNull bool // null means that the property is missing
	fillNull bool // a missing property means null
	step     *inverse
}

func (s *inverse) isIdentity() bool {
	return s == nil || !s.deferred && !s.wrapped && len(s.chain) == 0 && !s.entries && len(s.properties) == 0 &&
		s.others == nil && s.items == nil &&
		len(s.union) == 0 && s.inner == nil && !slices.ContainsFunc(s.prefix, func(p *inverse) bool { return p != nil })
}

// fill completes a late inverse with w.
func (s *inverse) fill(w *inverse) {
	if w != nil {
		s.chain = []*inverse{w}
	}
}

// chainOf returns an inverse that applies x and then y.
func chainOf(x, y *inverse) *inverse {
	switch {
	case x.isIdentity() && y.isIdentity():
		return nil
	case x.isIdentity():
		return y
	case y.isIdentity():
		return x
	}
	return &inverse{chain: []*inverse{x, y}}
}

// inverseOfUnion returns the inverse of a union, or nil if no branch has one.
func (a *adapter) inverseOfUnion(d *builder, all []schemaResult) *inverse {
	if !slices.ContainsFunc(all, func(b schemaResult) bool { return b.undo != nil }) {
		return nil
	}
	if slices.ContainsFunc(all, func(b schemaResult) bool { return !canBeDecided(b.node) }) {
		a.ambiguous = append(a.ambiguous, d.original)
	}
	return &inverse{union: all}
}

// Restore turns arguments that follow the adapted schema into arguments that follow the original. Renamed properties
// get their original names, and a wrapped root is unwrapped. A list of entries becomes an object with free keys again.
// Nulls that stand for missing properties are dropped, and missing properties that stand for null are added. Parts that
// do not follow the adapted schema, and arguments that are not JSON, stay as they are. Restore may return its argument.
func (a *Adapted) Restore(arguments json.RawMessage) json.RawMessage {
	if a.undo == nil || Measure(arguments, Limits{Nodes: -1, Bytes: -1, Depth: maxLevels}) != nil {
		return arguments
	}
	r := restorer{known: map[pairing]bool{}}
	if bytes.Contains(a.Schema, []byte(`"$ref"`)) {
		r.root = jsontree.Parse(a.Schema)
	}
	return r.restore(jsontree.Parse(arguments), a.undo, 0, nil).Append(nil)
}

type restorer struct {
	root  *node            // the adapted schema, if it contains references
	known map[pairing]bool // results of matches
}

// restore applies the inverse s to the value n. It applies each inverse only once to the same value, because references
// may form a loop. used holds the inverses already applied to n.
func (r *restorer) restore(n *node, s *inverse, level int, applied map[*inverse]bool) *node {
	if s == nil || level > maxLevels || applied[s] {
		return n
	}
	if applied == nil && (len(s.chain) > 0 || len(s.union) > 0) {
		applied = map[*inverse]bool{}
	}
	if applied != nil {
		applied[s] = true
	}
	if s.wrapped {
		if inner := r.restore(n, s.inner, level, nil).Get("input"); inner != nil {
			return inner
		}
		return n
	}
	for _, w := range s.chain {
		n = r.restore(n, w, level, applied)
	}
	n = r.restore(n, r.selectBranch(n, s.union, applied), level, applied)
	switch n.Kind {
	case '{':
		if len(s.properties) > 0 || s.others != nil {
			n = r.object(n, s, level)
		}
	case '[':
		n = r.array(n, s, level)
	}
	return n
}

// selectBranch returns the inverse of the branch that a value follows. Of several such branches, it selects the first
// that declares most of the properties. If the value follows no branch, it selects the branch that declares most, so
// that error messages refer to the likely branch.
func (r *restorer) selectBranch(n *node, union []schemaResult, applied map[*inverse]bool) *inverse {
	var best *inverse
	maxDeclared := 0
	for _, b := range union {
		if applied[b.undo] {
			continue
		}
		declared := 0
		if r.matches(n, b.node, 0) {
			declared = 1 + len(n.Fields)
		}
		if props := b.node.Get("properties"); props != nil {
			isDeclared := lookUpFields(props.Fields)
			for i := range n.Fields {
				if isDeclared(n.Fields[i].Name) {
					declared++
				}
			}
		}
		if declared > maxDeclared {
			best, maxDeclared = b.undo, declared
		}
	}
	return best
}

func (r *restorer) object(n *node, s *inverse, level int) *node {
	out := &node{Kind: '{', Fields: make([]field, 0, len(n.Fields))}
	seen := make(map[string]bool, len(n.Fields))
	isGiven := lookUpFields(n.Fields)
	for _, f := range n.Fields {
		p := s.property(f.Name)
		if p == nil {
			f.Value = r.restore(f.Value, s.others, level+1, nil)
			out.Fields = append(out.Fields, f)
			continue
		}
		seen[p.adapted] = true
		if p.dropNull && isNull(f.Value) {
			continue
		}
		if p.renamed && !isGiven(p.name) {
			f.Key, f.Name = p.key, p.name
		}
		f.Value = r.restore(f.Value, p.step, level+1, nil)
		out.Fields = append(out.Fields, f)
	}
	for i := range s.properties {
		if p := &s.properties[i]; p.fillNull && !seen[p.adapted] {
			out.Fields = append(out.Fields, field{Key: p.key, Name: p.name, Value: nullNode})
		}
	}
	return out
}

func (s *inverse) property(name string) *propertyInverse {
	for i := range s.properties {
		if s.properties[i].adapted == name {
			return &s.properties[i]
		}
	}
	return nil
}

func (r *restorer) array(n *node, s *inverse, level int) *node {
	if s.entries {
		return r.entries(n, s, level)
	}
	if s.items == nil && s.prefix == nil {
		return n
	}
	out := &node{Kind: '[', Elems: make([]*node, len(n.Elems))}
	for i, e := range n.Elems {
		if i < len(s.prefix) {
			out.Elems[i] = r.restore(e, s.prefix[i], level+1, nil)
		} else {
			out.Elems[i] = r.restore(e, s.items, level+1, nil)
		}
	}
	return out
}

func (r *restorer) entries(n *node, s *inverse, level int) *node {
	var fields []field
	for _, e := range n.Elems {
		key, value := e.Get("key"), e.Get("value")
		if key == nil || key.Kind != '"' || value == nil || len(e.Fields) != 2 {
			return n
		}
		fields = append(fields, field{Key: key.Text, Name: jsontree.Unquote(key.Text),
			Value: r.restore(value, s.others, level+1, nil)})
	}
	return &node{Kind: '{', Fields: jsontree.WithoutRepeats(fields)}
}

// Path turns a path into the original's arguments (RFC 6901) into the path in the arguments that the model wrote.
// Inside a list of entries, it returns the path of the list.
func (a *Adapted) Path(original string) string {
	if a.undo == nil {
		return original
	}
	s := a.undo
	out := ""
	if s.wrapped {
		_, s, _ = s.inner.forward("input", map[*inverse]bool{})
		out = "/input"
	}
	for _, step := range strings.Split(original, "/")[1:] {
		adapted, next, ok := s.forward(text.FromPointerStep(step), map[*inverse]bool{})
		if !ok {
			return out
		}
		out += "/" + text.PointerStep(adapted)
		s = next
	}
	return out
}

// forward returns the adapted name of one step of an original path, and the inverse below that step.
func (s *inverse) forward(name string, visited map[*inverse]bool) (adapted string, next *inverse, ok bool) {
	if s == nil || visited[s] {
		return name, nil, true
	}
	visited[s] = true
	if s.entries {
		return "", nil, false
	}
	for i := range s.properties {
		if p := &s.properties[i]; p.name == name {
			return p.adapted, p.step, true
		}
	}
	var all []*inverse
	for _, b := range s.union {
		all = append(all, b.undo)
	}
	for _, w := range append(all, s.chain...) {
		adapted, next, ok = w.forward(name, visited)
		if !ok || adapted != name || next != nil {
			return adapted, next, ok
		}
	}
	if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(s.prefix) {
		return name, s.prefix[i], true
	}
	if _, err := strconv.Atoi(name); err == nil && s.items != nil {
		return name, s.items, true
	}
	return name, s.others, true
}
