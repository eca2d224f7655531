package schema

import (
	"slices"

	"github.com/indusagi/indus/schema/rule"
)

// collapse replaces a union by one schema, for consumers that accept no unions. Objects become one object with the
// properties of all. Of other branches that cannot be combined, the first is kept.
func (a *adapter) collapse(d *builder, union *node) bool {
	null := d.null
	branches := a.openBranches(d, union)
	if d.hasAny("type", "enum", "const") {
		d.null = null // the schema beside the union refuses null, or null would be set already
	}
	base := d.declared()
	var objects, others []*builder
	for _, b := range branches {
		t := a.impliedTypes(b) & base
		if !b.has("type") && d.has("type") && allowedValues(b.node()) == nil {
			t = base // its keywords for other types have no meaning here
		}
		switch {
		case t.has(typeObject) && (t == typeObject || d.root || b.hasTyped(typeObject)):
			objects = append(objects, b)
		case t != 0 && !d.root:
			others = append(others, b)
		}
	}
	all := a.sketchEach(union, " | ")
	switch {
	case len(objects) > 0:
		lost, narrowed := "which properties go together: "+all, ""
		switch {
		case len(others) > 0:
			narrowed = "what is no object: " + all
		case declareDifferently(objects):
			narrowed = "other values under names that only some branches declare"
		}
		if len(objects) == 1 {
			lost = ""
		}
		a.change(d.original, rule.Keyword, "merged the objects of a union", lost, narrowed)
		if lost != "" || narrowed != "" {
			d.note("one of: " + all)
		}
		before := *d
		before.fields = slices.Clone(d.fields)
		if a.mergeObjects(d, objects) {
			return true
		}
		*d = before
		if len(others) == 0 {
			return false
		}
	case len(others) == 0:
		return false
	}
	first := others[0]
	if t := a.impliedTypes(first); t == everyType && len(others) > 1 { // it has no constraints, but another branch may
		first = others[len(others)-1]
	}
	if common, ok := a.commonSchema(d, others); ok {
		first = common
	} else if len(others) > 1 {
		a.change(d.original, rule.Keyword, "took one schema of a union", "", "all but the first of: "+all)
		d.note("else one of: " + all)
	}
	return a.mergeFields(d, first) && a.combine(d)
}

// declareDifferently reports whether some object declares a property that another object does not declare.
func declareDifferently(objects []*builder) bool {
	declared := map[string]int{}
	for _, o := range objects {
		for _, f := range o.get("properties").Members() {
			declared[f.Name]++
		}
	}
	for _, n := range declared {
		if n < len(objects) {
			return true
		}
	}
	return false
}

// openBranches returns the branches as builders, with their references and combinators merged in. A branch that is a
// union is replaced by its own branches.
func (a *adapter) openBranches(d *builder, union *node) []*builder {
	var out []*builder
	for _, n := range union.Elems {
		b := &builder{original: n, root: d.root}
		if !a.merge(b, n) || !a.rewriteConst(b) {
			continue
		}
		if b.has("oneOf") && !b.has("anyOf") {
			b.rename("oneOf", "anyOf", b.get("oneOf"))
		}
		branchNull := b.declared().has(typeNull)
		accepted, remains := a.withoutNull(b)
		if accepted && !d.root {
			d.null = true
		}
		if !remains {
			continue
		}
		inner := b.get("anyOf")
		if inner == nil || len(out) > maxProduct || a.onlyConstrains(b, inner) {
			out = append(out, b)
			continue
		}
		b.drop("anyOf")
		holder := &builder{original: n, root: d.root}
		for _, i := range a.openBranches(holder, inner) {
			d.null = d.null || holder.null && branchNull
			if a.mergeFields(i, b) {
				out = append(out, i)
			}
		}
	}
	return out
}

// impliedTypes returns the types that a schema states or suggests.
func (a *adapter) impliedTypes(d *builder) typeSet {
	if d.has("type") {
		return d.declared()
	}
	return suggestedTypes(d)
}

// suggestedTypes returns the types suggested by the values or keywords of a schema, or everyType if there are none.
func suggestedTypes(d *builder) typeSet {
	t := typesOfValues(allowedValues(d.node()))
	if t != 0 {
		return t
	}
	for _, f := range d.fields {
		t |= typedWords[f.Name]
	}
	if f := d.get("format"); f != nil && t == 0 {
		switch f.Unquoted() {
		case "int32", "int64":
			t = typeInteger
		case "float", "double":
			t = typeNumber | typeInteger
		default:
			t = typeString
		}
	}
	if t == 0 {
		return everyType
	}
	return t
}

// mergeObjects makes d an object with the properties of all objects.
func (a *adapter) mergeObjects(d *builder, objects []*builder) bool {
	variants := map[string][]*node{}
	var order []field
	required := objects[0].get("required")
	closed := true
	for i, o := range objects {
		if i > 0 {
			required = commonValues(required, o.get("required"))
		}
		if len(objects) > 1 {
			d.conditions = append(d.conditions, o.conditions...)
		}
		closed = closed && o.get("additionalProperties").Is("f")
		for _, f := range o.get("properties").Members() {
			if variants[f.Name] == nil {
				order = append(order, f)
			}
			variants[f.Name] = append(variants[f.Name], f.Value)
		}
	}
	merged := &builder{original: d.original}
	merged.set("type", newString("object"))
	props := &node{Kind: '{'}
	base := d.get("properties")
	for _, f := range order {
		f.Value = unionOf(variants[f.Name])
		if base.Get(f.Name) != nil && len(variants[f.Name]) < len(objects) {
			continue // some branch accepts every value that the base accepts
		}
		props.Fields = append(props.Fields, f)
	}
	merged.set("properties", props)
	if len(required.Elements()) > 0 {
		merged.set("required", required)
	}
	if closed && !d.has("additionalProperties") {
		merged.set("additionalProperties", falseNode)
	}
	if len(objects) == 1 {
		merged = objects[0]
		merged.set("type", newString("object"))
	}
	return a.mergeFields(d, merged) && a.combine(d)
}

// unionOf returns a schema that accepts every value that one of the variants accepts.
func unionOf(variants []*node) *node {
	distinct := distinctNodes(slices.Clone(variants), (*node).Compact)
	if len(distinct) == 1 {
		return distinct[0]
	}
	if values := constants(distinct); values != nil {
		return madeFor(distinct[0], newMember("enum", values))
	}
	return madeFor(distinct[0], newMember("anyOf", newArray(distinct...)))
}

// constants returns the values of schemas that only list values, or nil if a schema has another keyword.
func constants(all []*node) *node {
	out := &node{Kind: '['}
	listing := []string{"type", "const", "enum", "title"}
	for _, n := range all {
		v := allowedValues(n)
		if v == nil || slices.ContainsFunc(n.Fields, func(f field) bool { return !slices.Contains(listing, f.Name) }) {
			return nil
		}
		out = allValues(out, newArray(v...))
	}
	return out
}

// commonSchema returns one schema that accepts every value that one of the branches accepts, if the profile can express
// it. The result is an enum of one type, or a type that contains the others.
func (a *adapter) commonSchema(d *builder, all []*builder) (*builder, bool) {
	common := &builder{original: d.original}
	var t typeSet
	for _, b := range all {
		t |= a.impliedTypes(b)
	}
	if t.single() == "" || t.has(typeObject|typeArray) {
		return nil, false
	}
	common.set("type", newString(t.single()))
	enum := newArray()
	for _, b := range all {
		e := b.get("enum")
		if e == nil {
			enum = nil
			break
		}
		enum = allValues(enum, e)
	}
	if enum != nil {
		common.set("enum", enum)
	}
	lost, description := "", ""
	for _, b := range all {
		if b.hasOther("type", "enum") || b.conditions != nil || enum == nil && b.has("enum") {
			lost = "what each branch says of the values: "
		}
		if text := b.get("description"); text != nil {
			description = joined(description, text.Unquoted())
		}
	}
	if description != "" {
		common.set("description", newString(description))
	}
	if lost != "" {
		var nodes []*node
		for _, b := range all {
			nodes = append(nodes, b.node())
		}
		lost += a.sketchEach(newArray(nodes...), " | ")
		d.note(lost)
	}
	narrowed := ""
	if slices.ContainsFunc(all, func(b *builder) bool { return !b.has("type") && allowedValues(b.node()) == nil }) {
		narrowed = "what is no " + t.single()
	}
	a.change(d.original, rule.Keyword, "made one "+t.single()+" of a union", lost, narrowed)
	return common, true
}
