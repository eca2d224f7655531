package validate

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/jsontree"
	"github.com/indusagi/indus/internal/text"
)

const (
	maxRefs    = 100 // references followed in a row for one value
	maxInteger = 25  // bytes of a number that is written as an integer: enough for 64 bits
)

// Complete adds the defaults of missing properties to arguments. It also writes whole numbers (1.0, 1e2) as integers if
// the schema requires an integer. It follows properties, items, $ref and allOf. The defaults themselves are not
// completed. If the arguments need no change or are too large to check, Complete returns them unchanged.
func (v *Validator) Complete(arguments json.RawMessage) json.RawMessage {
	if v == nil {
		return arguments
	}
	value, err := readValue(arguments, argumentLimits)
	if err != nil {
		return arguments
	}
	c := &completion{}
	value = c.complete(v.root, value, 0)
	if !c.changed || c.work > maxWork {
		return arguments
	}
	return value.Append(nil)
}

// completion is the state of one call of [Validator.Complete].
type completion struct {
	changed bool
	work    int
}

func (c *completion) complete(r *rule, v *node, refs int) *node {
	c.work++
	if r == nil || refs > maxRefs || c.work > maxWork {
		return v
	}
	v = c.complete(r.ref, v, refs+1)
	for _, sub := range r.allOf {
		v = c.complete(sub, v, refs+1)
	}
	switch v.Kind {
	case '{':
		return c.object(r, v)
	case '[':
		out := &node{Kind: '[', Elems: make([]*node, len(v.Elems))}
		for i, item := range v.Elems {
			out.Elems[i] = c.complete(r.item(i), item, 0)
		}
		return out
	case '0':
		return c.integer(r, v)
	}
	return v
}

func (c *completion) object(r *rule, v *node) *node {
	out := &node{Kind: '{', Fields: slices.Clone(v.Fields)}
	for i := range out.Fields {
		f := &out.Fields[i]
		sub := r.properties[f.Name]
		if sub == nil {
			sub = r.additional
		}
		f.Value = c.complete(sub, f.Value, 0)
	}
	for _, name := range slices.Sorted(maps.Keys(r.properties)) {
		if preset := r.properties[name].preset; preset != nil && v.Get(name) == nil {
			out.Fields = append(out.Fields, jsontree.Field{Key: text.Quote(name), Name: name, Value: preset})
			c.changed = true
		}
	}
	return out
}

// integer returns n written as an integer if r requires an integer.
func (c *completion) integer(r *rule, n *node) *node {
	if len(r.types) != 1 || r.types[0] != "integer" || !strings.ContainsAny(string(n.Text), ".eE") {
		return n
	}
	whole := rational(n)
	if whole == nil || !whole.IsInt() {
		return n
	}
	if digits := whole.Num().String(); len(digits) <= maxInteger {
		c.changed = true
		return &node{Kind: '0', Text: []byte(digits)}
	}
	return n
}
