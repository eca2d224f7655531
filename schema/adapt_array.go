package schema

import (
	"slices"
	"strconv"

	"github.com/indusagi/indus/schema/rule"
)

// adaptArray adapts the items of an array.
func (a *adapter) adaptArray(d *builder) bool {
	typed := d.has("type")
	if d.finished || !typed && !d.hasTyped(typeArray) || typed && !d.declared().has(typeArray) {
		return true
	}
	if !a.tuple(d) {
		return false
	}
	items := d.get("items")
	if items == nil {
		if !a.rules.ArrayItems || !typed {
			return true
		}
		a.change(d.original, rule.Items, "added items", "", "")
		items = madeFor(d.original)
	}
	r := a.schema(items)
	if r.null {
		a.change(items, rule.Type, "left null out", "", "null")
	}
	if r.node == nil {
		a.change(items, rule.Items, "took what nothing satisfies for anything", "that the array is empty", "")
		d.note("empty")
		r = a.schema(madeFor(d.original))
	}
	d.cut = d.cut || r.cut
	d.set("items", r.node)
	if r.undo != nil {
		d.undo = chainOf(d.undo, &inverse{items: r.undo})
	}
	return true
}

// tuple replaces the separate schemas of a tuple's items by one schema.
func (a *adapter) tuple(d *builder) bool {
	first, rest := d.get("prefixItems"), d.get("items")
	old := rest != nil && rest.Kind == '['
	if old {
		first, rest = rest, d.get("additionalItems")
	}
	if first == nil {
		return true
	}
	if a.accepts(d, "prefixItems") && !a.rules.ArrayItems {
		return a.prefix(d, first, rest, old)
	}
	d.drop("prefixItems", "additionalItems", "items")
	n := len(first.Elems)
	union := &node{Kind: '[', Elems: slices.Clone(first.Elems)}
	closed := rest != nil && rest.Kind == 'f'
	if rest != nil && rest.Kind == '{' || len(union.Elems) == 0 {
		if rest == nil {
			rest = trueNode
		}
		union.Elems = append(union.Elems, rest)
	}
	text := a.sketchEach(first, ", ")
	differs := func(e *node) bool { return !e.Same(union.Elems[0]) }
	equal := closed && len(union.Elems) > 0 && !slices.ContainsFunc(union.Elems, differs)
	lost := "which item is which: " + text
	switch {
	case len(union.Elems) == 1 && !closed:
		lost = "that only the first items are so"
	case equal:
		lost = ""
	}
	narrowed := ""
	if rest == nil || rest.Kind == 't' {
		narrowed = "other items behind the first"
	}
	if d.has("minItems") && d.has("maxItems") || closed {
		text = strconv.Itoa(n) + " items: " + text
	}
	if !equal {
		d.note("in this order: " + text)
	}
	a.change(d.original, rule.Items, "made one schema of the items of a tuple", lost, narrowed)
	if maxItems := d.get("maxItems"); closed && (maxItems == nil || maxItems.Number() > float64(n)) {
		d.set("maxItems", &node{Kind: '0', Text: []byte(strconv.Itoa(n))})
	}
	d.set("items", unionOf(union.Elems))
	return true
}

// prefix adapts a tuple for a profile that accepts prefixItems.
func (a *adapter) prefix(d *builder, first, rest *node, old bool) bool {
	if len(first.Elems) == 0 {
		d.drop("prefixItems")
		return true
	}
	out := &node{Kind: '['}
	undo := &inverse{}
	for _, e := range first.Elems {
		r := a.schema(e)
		if r.node == nil {
			r.node = falseNode
		}
		out.Elems = append(out.Elems, r.node)
		undo.prefix = append(undo.prefix, r.undo)
	}
	if old {
		a.change(d.original, rule.Form, "wrote a list of items as prefixItems", "", "")
		d.drop("additionalItems")
		d.rename("items", "prefixItems", out)
		if rest != nil {
			d.set("items", rest)
		}
	} else {
		d.set("prefixItems", out)
	}
	if !undo.isIdentity() {
		d.undo = chainOf(d.undo, undo)
	}
	return true
}
