package schema

import "slices"

// collapse makes one schema of a union where the consumer takes none: the properties of all objects in one, or the first of
// what cannot be one.
func (a *adapter) collapse(d *builder, union *node) bool {
	null := d.null
	open := a.opened(d, union)
	if d.hasAny("type", "enum", "const") {
		d.null = null // what is beside the union takes none, or it would be known
	}
	base := d.declared()
	var objects, others []*builder
	for _, b := range open {
		t := a.impliedTypes(b) & base
		if !b.has("type") && d.has("type") && allowedValues(b.node()) == nil {
			t = base // what it says of other types says nothing here
		}
		switch {
		case t.has(typeObject) && (t == typeObject || d.root || b.hasTyped(typeObject)):
			objects = append(objects, b)
		case t != 0 && !d.root:
			others = append(others, b)
		}
	}
	all := a.sketchUnion(union)
	switch {
	case len(objects) > 0:
		lost, narrowed := "which properties go together: "+all, ""
		switch {
		case len(others) > 0:
			narrowed = "what is no object: " + all
		case declareApart(objects):
			narrowed = "other values under names that only some branches declare"
		}
		if len(objects) == 1 {
			lost = ""
		}
		a.change(d.from, RuleKeyword, "merged the objects of a union", lost, narrowed)
		if lost != "" || narrowed != "" {
			d.note("one of: " + all)
		}
		before := *d
		before.fields = slices.Clone(d.fields)
		if a.mergeObjects(d, objects) {
			return true
		}
		if *d = before; len(others) == 0 {
			return false
		}
	case len(others) == 0:
		return false
	}
	first := others[0]
	if t := a.impliedTypes(first); t == everyType && len(others) > 1 { // says nothing, where another may
		first = others[len(others)-1]
	}
	if sum, ok := a.sumOf(d, others); ok {
		first = sum
	} else if len(others) > 1 {
		a.change(d.from, RuleKeyword, "took one schema of a union", "", "all but the first of: "+all)
		d.note("else one of: " + all)
	}
	return a.mergeFields(d, first) && a.combine(d)
}

// declareApart reports whether a property is declared by one object and left open by another.
func declareApart(objects []*builder) bool {
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

// opened are the branches as builders, with what their references and combinators say; a branch that is a union gives its own.
func (a *adapter) opened(d *builder, union *node) []*builder {
	var out []*builder
	for _, n := range union.Elems {
		b := &builder{from: n, root: d.root}
		if !a.merge(b, n) || !a.constants(b) {
			continue
		}
		if b.has("oneOf") && !b.has("anyOf") {
			b.rename("oneOf", "anyOf", b.get("oneOf"))
		}
		takesNull := b.declared().has(typeNull)
		accepted, left := a.withoutNull(b)
		if accepted && !d.root {
			d.null = true
		}
		if !left {
			continue
		}
		inner := b.get("anyOf")
		if inner == nil || len(out) > maxProduct || a.onlyConstrains(b, inner) {
			out = append(out, b)
			continue
		}
		b.drop("anyOf")
		within := &builder{from: n, root: d.root}
		for _, i := range a.opened(within, inner) {
			d.null = d.null || within.null && takesNull
			if a.mergeFields(i, b) {
				out = append(out, i)
			}
		}
	}
	return out
}

// impliedTypes are the types that a schema says or suggests.
func (a *adapter) impliedTypes(d *builder) typeSet {
	if d.has("type") {
		return d.declared()
	}
	return suggestedTypes(d)
}

// suggestedTypes are the types whose keywords or values a schema has, everyType if it has none.
func suggestedTypes(d *builder) typeSet {
	var t typeSet
	for _, v := range allowedValues(d.node()) {
		t |= typeOfValue(v)
	}
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

// mergeObjects makes d an object with the properties of all.
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
		more := o.get("additionalProperties")
		closed = closed && more != nil && more.Kind == 'f'
		for _, f := range o.get("properties").Members() {
			if variants[f.Name] == nil {
				order = append(order, f)
			}
			variants[f.Name] = append(variants[f.Name], f.Value)
		}
	}
	merged := &builder{from: d.from}
	merged.set("type", newString("object"))
	props := &node{Kind: '{'}
	base := d.get("properties")
	for _, f := range order {
		f.Value = oneOfEach(variants[f.Name])
		if base != nil && base.Get(f.Name) != nil && len(variants[f.Name]) < len(objects) {
			continue // some branch takes all that the base takes
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

// oneOfEach is a schema that takes what one of the variants takes.
func oneOfEach(variants []*node) *node {
	kept := withoutSame(slices.Clone(variants), (*node).Compact)
	if len(kept) == 1 {
		return kept[0]
	}
	if values := constants(kept); values != nil {
		return madeFor(kept[0], newMember("enum", values))
	}
	return madeFor(kept[0], newMember("anyOf", newArray(kept...)))
}

// constants are the values of schemas that say nothing but which values there are, nil for others.
func constants(all []*node) *node {
	out := &node{Kind: '['}
	for _, n := range all {
		for i := range n.Fields {
			if w := n.Fields[i].Name; w != "type" && w != "const" && w != "enum" && w != "title" {
				return nil
			}
		}
		v := allowedValues(n)
		if v == nil {
			return nil
		}
		out = allValues(out, newArray(v...))
	}
	return out
}

// sumOf is one schema that takes what any of the branches takes, if that can be said: enums of one type, or a type that
// contains the others.
func (a *adapter) sumOf(d *builder, all []*builder) (*builder, bool) {
	sum := &builder{from: d.from}
	var t typeSet
	for _, b := range all {
		t |= a.impliedTypes(b)
	}
	if t.one() == "" || t.has(typeObject|typeArray) {
		return nil, false
	}
	sum.set("type", newString(t.one()))
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
		sum.set("enum", enum)
	}
	lost, said := "", ""
	for _, b := range all {
		if b.hasOther("type", "enum") || b.conditions != nil || enum == nil && b.has("enum") {
			lost = "what each branch says of the values: "
		}
		if text := b.get("description"); text != nil {
			said = joined(said, text.Unquoted())
		}
	}
	if said != "" {
		sum.set("description", newString(said))
	}
	if lost != "" {
		var nodes []*node
		for _, b := range all {
			nodes = append(nodes, b.node())
		}
		lost += a.sketchUnion(newArray(nodes...))
		d.note(lost)
	}
	narrowed := ""
	if slices.ContainsFunc(all, func(b *builder) bool { return !b.has("type") && allowedValues(b.node()) == nil }) {
		narrowed = "what is no " + t.one()
	}
	a.change(d.from, RuleKeyword, "made one "+t.one()+" of a union", lost, narrowed)
	return sum, true
}

// mayBeObject reports whether a schema takes an object. Each schema is asked once, however many references lead to it.
func (a *adapter) mayBeObject(n *node, asked map[*node]bool) bool {
	if n.Kind != '{' {
		return n.Kind != 'f'
	}
	if may, known := asked[n]; known {
		return may
	}
	asked[n] = true // what leads back to itself
	may := func(e *node) bool { return a.mayBeObject(e, asked) }
	none := func(branches []*node) bool { return len(branches) > 0 && !slices.ContainsFunc(branches, may) }
	asked[n] = !none(n.Get("anyOf").Elements()) && !none(n.Get("oneOf").Elements()) &&
		!slices.ContainsFunc(n.Get("allOf").Elements(), func(e *node) bool { return !may(e) })
	t, ref := n.Get("type"), n.Get("$ref")
	if t != nil && typesOf(t) != 0 && !typesOf(t).has(typeObject) {
		asked[n] = false
	}
	if target := a.refTarget(n); target != nil && !may(target) {
		asked[n] = false
	}
	if all := allowedValues(n); t == nil && ref == nil && all != nil && !slices.ContainsFunc(all, func(v *node) bool { return v.Kind == '{' }) {
		asked[n] = false
	}
	return asked[n]
}
