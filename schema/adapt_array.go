package schema

import (
	"slices"
	"strconv"
)

// array adapts what an array holds.
func (a *adapter) array(d *builder) bool {
	typed := d.has.has(wordType)
	if d.done || !typed && d.has&arrayWords == 0 || typed && !d.declared().has(typeArray) {
		return true
	}
	if !a.tuple(d) {
		return false
	}
	items := d.get(wordItems)
	if items == nil {
		if !a.rules.ArrayItems || !typed {
			return true
		}
		a.change(d.from, RuleItems, "added items", "", "")
		items = madeFor(d.from)
	}
	r := a.schema(items)
	if r.null {
		a.change(items, RuleType, "left null out", "", "null")
	}
	if r.node == nil {
		a.change(items, RuleItems, "took what nothing satisfies for anything", "that the array is empty", "")
		d.note("empty")
		r = a.schema(madeFor(d.from))
	}
	d.cut = d.cut || r.cut
	d.set(wordItems, r.node)
	if r.back != nil {
		d.back = inTurn(d.back, &inverse{items: r.back})
	}
	return true
}

// tuple makes one schema of items that have one each.
func (a *adapter) tuple(d *builder) bool {
	first, rest := d.get(wordPrefixItems), d.get(wordItems)
	old := rest != nil && rest.kind == '['
	if old {
		first, rest = rest, d.get(wordAdditionalItems)
	}
	if first == nil {
		return true
	}
	if a.takes(d, wordPrefixItems) && !a.rules.ArrayItems {
		return a.prefix(d, first, rest, old)
	}
	d.drop(wordPrefixItems, wordAdditionalItems, wordItems)
	n := len(first.elems)
	union := &node{kind: '[', elems: slices.Clone(first.elems)}
	closed := rest != nil && rest.kind == 'f'
	if rest != nil && rest.kind == '{' || len(union.elems) == 0 {
		if rest == nil {
			rest = trueNode
		}
		union.elems = append(union.elems, rest)
	}
	text := a.sketchTuple(first)
	equal := closed && len(union.elems) > 0 && !slices.ContainsFunc(union.elems, func(e *node) bool { return !e.same(union.elems[0]) })
	lost := "which item is which: " + text
	switch {
	case len(union.elems) == 1 && !closed:
		lost = "that only the first items are so"
	case equal:
		lost = ""
	}
	narrowed := ""
	if rest == nil || rest.kind == 't' {
		narrowed = "other items behind the first"
	}
	if d.has.has(wordMinItems) && d.has.has(wordMaxItems) || closed {
		text = strconv.Itoa(n) + " items: " + text
	}
	if !equal {
		d.note("in this order: " + text)
	}
	a.change(d.from, RuleItems, "made one schema of the items of a tuple", lost, narrowed)
	if most := d.get(wordMaxItems); closed && (most == nil || numberOf(most) > float64(n)) {
		d.set(wordMaxItems, &node{kind: '0', text: []byte(strconv.Itoa(n))})
	}
	d.set(wordItems, oneOfEach(union.elems))
	return true
}

// prefix adapts a tuple that stays one.
func (a *adapter) prefix(d *builder, first, rest *node, old bool) bool {
	if len(first.elems) == 0 {
		d.drop(wordPrefixItems)
		return true
	}
	out := &node{kind: '['}
	back := &inverse{}
	for _, e := range first.elems {
		r := a.schema(e)
		if r.node == nil {
			r.node = falseNode
		}
		out.elems = append(out.elems, r.node)
		back.prefix = append(back.prefix, r.back)
	}
	if old {
		a.change(d.from, RuleForm, "wrote a list of items as prefixItems", "", "")
		d.drop(wordAdditionalItems)
		d.rename(wordItems, wordPrefixItems, out)
		if rest != nil {
			d.set(wordItems, rest)
		}
	} else {
		d.set(wordPrefixItems, out)
	}
	if !back.isNothing() {
		d.back = inTurn(d.back, back)
	}
	return true
}
