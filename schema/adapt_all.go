package schema

import (
	"cmp"
	"slices"

	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/schema/rule"
)

// mergeAllOf merges the branches of allOf into the schema that has it.
func (a *adapter) mergeAllOf(d *builder) bool {
	branches := d.get("allOf")
	if branches == nil {
		return true
	}
	if a.accepts(d, "allOf") {
		return a.adaptInPlace(d, "allOf")
	}
	d.drop("allOf")
	if len(branches.Elems) > 1 || len(d.fields) > 0 {
		a.change(d.original, rule.Keyword, "merged allOf", "", "")
	} else {
		a.change(d.original, rule.Keyword, "unwrapped allOf", "", "")
	}
	return a.mergeEach(d, branches)
}

// mergeEach adds the constraints of all branches to d.
func (a *adapter) mergeEach(d *builder, branches *node) bool {
	if d.merged == nil {
		d.merged = map[string]*mergedNames{}
		defer func() { d.merged = nil }()
	}
	return !slices.ContainsFunc(branches.Elements(), func(b *node) bool { return !a.merge(d, b) })
}

// adaptInPlace adapts the branches of a combinator that stays.
func (a *adapter) adaptInPlace(d *builder, w string) bool {
	branches := d.get(w)
	out := &node{Kind: '['}
	var results []schemaResult
	changed := false
	for _, b := range branches.Elems {
		r := a.schema(b)
		changed = changed || r.node == nil || !r.node.Same(b)
		if r.node == nil && w == "allOf" {
			return false
		}
		if r.node == nil {
			continue
		}
		out.Elems = append(out.Elems, r.node)
		if w == "allOf" {
			d.undo = chainOf(d.undo, r.undo)
		}
		results = append(results, schemaResult{node: r.node, undo: r.undo})
	}
	if len(out.Elems) == 0 {
		return false
	}
	if w == "oneOf" && changed && !a.exclusive(branches, d.declared() == typeObject) {
		a.change(d.original, rule.Keyword, "changed the branches of oneOf", "that no two of the branches may hold",
			"what two branches take now")
	}
	d.set(w, out)
	if w != "allOf" {
		d.undo = chainOf(d.undo, a.inverseOfUnion(d, results))
	}
	return true
}

// merge adds the constraints of n to d. It reports false if no value satisfies both.
func (a *adapter) merge(d *builder, n *node) bool {
	if n.Kind == '{' {
		n = a.dereferenced(d, n)
	}
	if n.Kind != '{' {
		return n.Kind != 'f'
	}
	m := &builder{original: n, fields: slices.Clone(n.Fields)}
	a.count(n, m.fields)
	a.repairForms(m)
	inner := m.get("allOf")
	m.drop("allOf", "nullable")
	if m.has("if") {
		d.conditions = append(d.conditions, m.condition())
	}
	if more := m.get("unevaluatedProperties"); more != nil && !m.has("additionalProperties") {
		m.rename("unevaluatedProperties", "additionalProperties", more)
	}
	return a.mergeFields(d, m) && a.mergeEach(d, inner)
}

// dereferenced returns n with the target of its reference as an additional branch of its allOf. If the reference is
// cut, it returns n without the reference.
func (a *adapter) dereferenced(d *builder, n *node) *node {
	ref := cmp.Or(n.Get("$ref"), n.Get("$dynamicRef"))
	if !ref.Is(`"`) {
		return n
	}
	rest := withoutWords(n, referenceWords.has)
	target := a.target(ref.Unquoted())
	if target == nil {
		a.change(n, rule.Ref, "dropped a reference that leads nowhere here: "+briefName(ref.Unquoted()),
			"what "+briefName(ref.Unquoted())+" says", "")
		return rest
	}
	if !a.inlineTarget(d, n, target, ref.Unquoted()) {
		return rest
	}
	if len(rest.Fields) == 0 {
		return a.dereferenced(d, target)
	}
	return withAllOf(rest, append([]*node{target}, rest.Get("allOf").Elements()...)...)
}

// withAllOf returns n with the given branches as its allOf.
func withAllOf(n *node, all ...*node) *node {
	n = withoutWords(n, setOf("allOf").has)
	n.Fields = append(n.Fields, newMember("allOf", newArray(all...)))
	return n
}

func (a *adapter) mergeFields(d, m *builder) bool {
	if refusesProperties(d, m) || refusesProperties(m, d) { // authors of such schemas want both sets of properties
		a.change(d.original, rule.Keyword, "took two closed objects for one that has the properties of both",
			"that the one refuses what the other declares", "")
	}
	d.conditions = append(d.conditions, m.conditions...)
	for _, f := range m.fields {
		old := d.get(f.Name)
		switch {
		case old == nil:
			d.add(f)
		case !isAnnotation(f.Name) && !old.Same(f.Value):
			value, ok := a.mergedValue(d, f, old)
			if !ok {
				return false
			}
			d.set(f.Name, value)
		}
	}
	return true
}

// mergedValue returns a value of the keyword that combines both values. It reports false if there is none.
func (a *adapter) mergedValue(d *builder, f field, old *node) (value *node, ok bool) {
	v := f.Value
	switch f.Name {
	case "type":
		common := typesOf(old) & typesOf(v)
		return typeNode(common), common != 0
	case "properties", "patternProperties", "dependentSchemas":
		return d.mergedProperties(f.Name, old, v), true
	case "required":
		return d.mergedRequired(old, v), true
	case "enum":
		common := commonValues(old, v)
		return common, len(common.Elems) > 0
	case "const":
		return nil, false
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains":
		if isLess(old, v) {
			return v, true
		}
		return old, true
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains":
		if isLess(v, old) {
			return v, true
		}
		return old, true
	case "items", "additionalProperties", "additionalItems", "propertyNames", "unevaluatedItems", "unevaluatedProperties":
		if old.Kind != '[' && v.Kind != '[' {
			return mergedSchemas(old, v), true
		}
	case "uniqueItems":
		return trueNode, true
	case "nullable":
		return falseNode, true
	case "anyOf", "oneOf":
		if product := crossProduct(old, v); product != nil {
			return product, true
		}
	}
	a.change(d.original, rule.Keyword, "kept the first of two "+f.Name, "the second "+f.Name, "")
	d.note(f.Name + " " + signature.Value(v))
	return old, true
}

// mergedSchemas returns a schema that accepts only values that both schemas accept.
func mergedSchemas(x, y *node) *node {
	switch {
	case x.Kind == 'f' || y.Kind == 'f':
		return falseNode
	case x.Kind != '{':
		return y
	case y.Kind != '{':
		return x
	}
	return allOf(x, y)
}

func allOf(x, y *node) *node { return madeFor(x, newMember("allOf", newArray(x, y))) }

// mergedNames is a value with names that mergeEach made, to which it adds the names of further branches. So the time
// for many branches is linear.
type mergedNames struct {
	node   *node
	places map[string]int // of the names in node
}

// namesIn returns the value of a keyword as one that may change: old itself if this call of mergeEach made it, or else
// a copy.
func (d *builder) namesIn(w string, old *node) *mergedNames {
	if m := d.merged[w]; m != nil && (m.node == old || m.node.Original == old) {
		return m
	}
	m := &mergedNames{
		&node{Kind: old.Kind, Fields: slices.Clone(old.Fields), Original: old},
		make(map[string]int, len(old.Fields)+len(old.Elems)),
	}
	for i := range old.Fields {
		m.places[old.Fields[i].Name] = i
	}
	m.addNames(old)
	if d.merged != nil {
		d.merged[w] = m
	}
	return m
}

// addNames adds names of a list, each once, whatever its escapes.
func (m *mergedNames) addNames(list *node) {
	for _, e := range list.Elems {
		name := e.Unquoted()
		if _, ok := m.places[name]; !ok {
			m.places[name] = len(m.node.Elems)
			m.node.Elems = append(m.node.Elems, e)
		}
	}
}

func (d *builder) mergedProperties(w string, x, y *node) *node {
	out := d.namesIn(w, x)
	for _, f := range y.Fields {
		i, ok := out.places[f.Name]
		if !ok {
			out.places[f.Name] = len(out.node.Fields)
			out.node.Fields = append(out.node.Fields, f)
		} else if old := out.node.Fields[i].Value; !old.Same(f.Value) {
			out.node.Fields[i].Value = allOf(old, f.Value)
		}
	}
	return out.node
}

func (d *builder) mergedRequired(x, y *node) *node {
	out := d.namesIn("required", x)
	out.addNames(y)
	return out.node
}

// allValues returns the union of two lists of values.
func allValues(x, y *node) *node {
	return newArray(distinctNodes(slices.Concat(x.Elems, y.Elems), (*node).Compact)...)
}

// commonValues returns the values that are in both lists.
func commonValues(x, y *node) *node {
	if x == nil || y == nil {
		return nil
	}
	common := slices.DeleteFunc(slices.Clone(x.Elems), func(e *node) bool { return !hasSame(y.Elems, e) })
	return newArray(common...)
}

const maxProduct = 16 // branches in the product of two unions

// crossProduct returns the union of all pairs of branches, or nil if it is too large.
func crossProduct(x, y *node) *node {
	if len(x.Elems)*len(y.Elems) > maxProduct {
		return nil
	}
	out := &node{Kind: '['}
	for _, l := range x.Elems {
		for _, r := range y.Elems {
			out.Elems = append(out.Elems, allOf(l, r))
		}
	}
	return out
}

// refusesProperties reports whether x is closed to properties that y declares.
func refusesProperties(x, y *builder) bool {
	if more := x.get("additionalProperties"); more == nil || more.Kind == 't' {
		return false
	}
	own := x.get("properties")
	if own == nil {
		return len(y.get("properties").Members()) > 0
	}
	places := x.namesIn("properties", own).places
	return slices.ContainsFunc(y.get("properties").Members(), func(f field) bool {
		_, ok := places[f.Name]
		return !ok
	})
}

// typeNode returns the value of the keyword type for a set.
func typeNode(t typeSet) *node {
	var names []*node
	for _, member := range t.types() {
		names = append(names, newString(member.single()))
	}
	if len(names) == 1 {
		return names[0]
	}
	return newArray(names...)
}
