package schema

import (
	"math"
	"slices"
	"strconv"
)

// all merges allOf into what stands beside it.
func (a *adapter) all(d *draft) bool {
	if a.takes(d, wordAllOf) {
		return a.inPlace(d, wordAllOf)
	}
	branches := d.get(wordAllOf)
	if branches == nil {
		return true
	}
	d.drop(wordAllOf)
	if len(branches.elems) > 1 || len(d.fields) > 0 {
		a.change(d.from, RuleKeyword, "merged allOf", "", "")
	} else {
		a.change(d.from, RuleKeyword, "unwrapped allOf", "", "")
	}
	for _, branch := range branches.elems {
		if !a.meet(d, branch) {
			return false
		}
	}
	return true
}

// inPlace adapts the branches of a combinator that stays.
func (a *adapter) inPlace(d *draft, w word) bool {
	branches := d.get(w)
	if branches == nil {
		return true
	}
	out := &node{kind: '['}
	var backs []*branch
	changed := false
	for _, b := range branches.elems {
		r := a.schema(b)
		changed = changed || r.node == nil || !r.node.same(b)
		if r.node == nil && w == wordAllOf {
			return false
		}
		if r.node == nil {
			continue
		}
		out.elems = append(out.elems, r.node)
		if r.back != nil || w != wordAllOf {
			backs = append(backs, &branch{r.node, r.back})
		}
	}
	if len(out.elems) == 0 {
		return false
	}
	if w == wordOneOf && changed && !a.exclusive(branches, d.declared() == typeObject) {
		a.change(d.from, RuleKeyword, "changed the branches of oneOf", "that no two of the branches may hold", "what two branches take now")
	}
	d.set(w, "", out)
	if w == wordAllOf {
		for _, b := range backs {
			d.back = both(d.back, b.back)
		}
		return true
	}
	d.back = both(d.back, a.either(d, backs))
	return true
}

// meet makes d say what n says too. It reports false where nothing satisfies both.
func (a *adapter) meet(d *draft, n *node) bool {
	if n.kind == '{' {
		n = a.dereferenced(d, n)
	}
	switch n.kind {
	case 'f':
		return false
	case '{':
	default:
		return true
	}
	m := &draft{from: n, fields: slices.Clone(n.fields)}
	for i := range m.fields {
		m.has |= m.fields[i].word.set()
	}
	if a.count(n, m.fields); a.err != nil {
		return true
	}
	a.forms(m)
	inner := m.get(wordAllOf)
	m.drop(wordAllOf, wordNullable)
	if m.has.has(wordIf) {
		d.conditions = append(d.conditions, m.condition())
	}
	if more := m.get(wordUnevaluatedProperties); more != nil && !m.has.has(wordAdditionalProperties) {
		m.rename(wordUnevaluatedProperties, wordAdditionalProperties, "additionalProperties", more)
	}
	if !a.meetFields(d, m) {
		return false
	}
	if inner != nil {
		for _, branch := range inner.elems {
			if a.err != nil {
				return true
			}
			if !a.meet(d, branch) {
				return false
			}
		}
	}
	return true
}

// dereferenced is n with what its reference leads to as one more branch of its allOf, unless that was cut.
func (a *adapter) dereferenced(d *draft, n *node) *node {
	ref := n.get(wordRef)
	if ref == nil {
		ref = n.get(wordDynamicRef)
	}
	if ref == nil || ref.kind != '"' {
		return n
	}
	rest := without(n, referenceWords)
	target := a.target(ref.string())
	if target == nil {
		a.change(n, RuleRef, "dropped a reference that leads nowhere here: "+brief(ref.string()), "what "+brief(ref.string())+" says", "")
		return rest
	}
	if !a.enter(d, n, target, ref.string()) {
		return rest
	}
	if len(rest.fields) == 0 {
		return a.dereferenced(d, target)
	}
	if inner := rest.get(wordAllOf); inner != nil && inner.kind == '[' {
		rest = without(rest, wordAllOf.set())
		rest.fields = append(rest.fields, newField(wordAllOf, "allOf", newArray(append([]*node{target}, inner.elems...)...)))
		return rest
	}
	rest.fields = append(rest.fields, newField(wordAllOf, "allOf", newArray(target)))
	return rest
}

func (a *adapter) meetFields(d, m *draft) bool {
	a.meetClosed(d, m)
	d.conditions = append(d.conditions, m.conditions...)
	for i := range m.fields {
		f := m.fields[i]
		if f.word == wordOther || f.word == wordNote {
			if indexOf(d.fields, f.name) < 0 {
				d.add(f)
			}
			continue
		}
		old := d.get(f.word)
		if old == nil {
			d.add(f)
			continue
		}
		value, ok := a.meetValues(d, f, old)
		if !ok {
			return false
		}
		if value != nil {
			d.set(f.word, string(f.name), value)
		}
	}
	return true
}

// meetValues is the value of a keyword that says what both values say, nil for the old one.
func (a *adapter) meetValues(d *draft, f field, old *node) (value *node, ok bool) {
	v := f.value
	if annotations.has(f.word) || old.same(v) {
		return nil, true
	}
	switch f.word {
	case wordType:
		both := typesOf(old) & typesOf(v)
		return typeNode(both), both != 0
	case wordProperties, wordPatternProperties, wordDependentSchemas:
		return meetProperties(old, v), true
	case wordRequired:
		return namesOf(old, v), true
	case wordEnum:
		common := &node{kind: '['}
		for _, e := range old.elems {
			if slices.ContainsFunc(v.elems, func(o *node) bool { return e.same(o) }) {
				common.elems = append(common.elems, e)
			}
		}
		return common, len(common.elems) > 0
	case wordConst:
		return nil, false
	case wordMinimum, wordExclusiveMinimum, wordMinLength, wordMinItems, wordMinProperties, wordMinContains:
		if less(old, v) {
			return v, true
		}
		return nil, true
	case wordMaximum, wordExclusiveMaximum, wordMaxLength, wordMaxItems, wordMaxProperties, wordMaxContains:
		if less(v, old) {
			return v, true
		}
		return nil, true
	case wordItems, wordAdditionalProperties, wordAdditionalItems, wordPropertyNames, wordUnevaluatedItems, wordUnevaluatedProperties:
		if old.kind != '[' && v.kind != '[' {
			return a.meetSchemas(old, v), true
		}
	case wordUniqueItems:
		return trueNode, true
	case wordNullable:
		return falseNode, true
	case wordAnyOf, wordOneOf:
		if crossed := crossed(old, v); crossed != nil {
			return crossed, true
		}
	}
	a.change(d.from, RuleKeyword, "kept the first of two "+string(f.name), "the second "+string(f.name), "")
	d.note(string(f.name) + " " + sketchValue(v))
	return nil, true
}

// meetSchemas is a schema that says what both say.
func (a *adapter) meetSchemas(x, y *node) *node {
	switch {
	case x.kind == 'f' || y.kind == 'f':
		return falseNode
	case x.kind != '{':
		return y
	case y.kind != '{':
		return x
	}
	return at(x, newField(wordAllOf, "allOf", newArray(x, y)))
}

func meetProperties(x, y *node) *node {
	out := &node{kind: '{', fields: slices.Clone(x.fields), like: x}
	at_ := make(map[string]int, len(out.fields))
	for i := range out.fields {
		at_[string(out.fields[i].name)] = i
	}
	for _, f := range y.fields {
		i, ok := at_[string(f.name)]
		if !ok {
			out.fields = append(out.fields, f)
			continue
		}
		if o := out.fields[i].value; !o.same(f.value) {
			out.fields[i].value = at(o, newField(wordAllOf, "allOf", newArray(o, f.value)))
		}
	}
	return out
}

func unionOf(x, y *node) *node {
	out := &node{kind: '[', elems: slices.Clone(x.elems)}
	for _, e := range y.elems {
		if !slices.ContainsFunc(out.elems, func(o *node) bool { return e.same(o) }) {
			out.elems = append(out.elems, e)
		}
	}
	return out
}

// namesOf are the names that one list has or the other, however they are spelled.
func namesOf(x, y *node) *node {
	out := &node{kind: '[', elems: slices.Clone(x.elems)}
	seen := make(map[string]bool, len(x.elems)+len(y.elems))
	for _, e := range x.elems {
		seen[e.string()] = true
	}
	for _, e := range y.elems {
		if name := e.string(); !seen[name] {
			seen[name] = true
			out.elems = append(out.elems, e)
		}
	}
	return out
}

const maxCrossed = 16 // branches that two unions may make of one another

// crossed is the union that two unions make together, nil if it is too large.
func crossed(x, y *node) *node {
	if len(x.elems)*len(y.elems) > maxCrossed {
		return nil
	}
	out := &node{kind: '['}
	for _, l := range x.elems {
		for _, r := range y.elems {
			out.elems = append(out.elems, at(l, newField(wordAllOf, "allOf", newArray(l, r))))
		}
	}
	return out
}

// meetClosed says that a schema which closes its object refuses what the other declares. People who write so mean that both
// are declared.
func (a *adapter) meetClosed(d, m *draft) {
	lost := closes(d, m) || closes(m, d)
	if !lost {
		return
	}
	a.change(d.from, RuleKeyword, "took two closed objects for one that has the properties of both", "that the one refuses what the other declares", "")
}

func closes(x, y *draft) bool {
	if more := x.get(wordAdditionalProperties); more == nil || more.kind == 't' {
		return false
	}
	theirs := y.get(wordProperties)
	if theirs == nil {
		return false
	}
	own := x.get(wordProperties)
	for _, f := range theirs.fields {
		if own == nil || own.member(string(f.name)) == nil {
			return true
		}
	}
	return false
}

// typeNode is the value of type for a set.
func typeNode(t types) *node {
	var names []*node
	for _, one := range t.each() {
		names = append(names, newString(one.one()))
	}
	if len(names) == 1 {
		return names[0]
	}
	return newArray(names...)
}

func number(n *node) float64 {
	f, err := strconv.ParseFloat(string(n.text), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0
	}
	return f
}
