package schema

import (
	"slices"

	"github.com/indusagi/indus/internal/text"

	"github.com/indusagi/indus/internal/jsontree"
	"github.com/indusagi/indus/schema/rule"
)

// adaptObject adapts an object: its properties, their names, and the required list.
func (a *adapter) adaptObject(d *builder) bool {
	typed := d.has("type")
	if d.finished || !typed && !d.hasTyped(typeObject) || typed && !d.declared().has(typeObject) {
		return true
	}
	if more := d.get("unevaluatedProperties"); more != nil && !d.has("additionalProperties") &&
		!a.accepts(d, "unevaluatedProperties") {
		d.rename("unevaluatedProperties", "additionalProperties", more)
	}
	if a.rules.Closed && !d.root && !d.cut && d.hasFreeKeys() {
		if all := d.declared(); typed && all != typeObject {
			return a.splitTypes(d, all, all.sortedBy(d.get("type")))
		}
		return a.dictionary(d)
	}
	more := d.get("additionalProperties")
	if a.rules.Closed && d.root && d.hasFreeKeys() && (d.has("patternProperties") || more.Is("{")) {
		a.fail(errNothing) // a wrapped schema can express it
	}
	o := &objectAdapter{adapter: a, builder: d, out: &node{Kind: '{'}, undo: &inverse{}}
	if !o.adaptProperties() || !o.declareRequired() {
		return false
	}
	a.patterns(d)
	a.additional(d, o.undo)
	if o.out.Fields != nil || d.has("properties") || a.wantsProperties(d) {
		if !d.has("properties") {
			a.change(d.original, rule.Properties, "added properties", "", "")
		}
		d.set("properties", o.out)
	}
	o.writeRequired()
	o.renameMentions()
	o.reportCounts()
	d.undo = chainOf(d.undo, o.undo)
	return true
}

func (a *adapter) wantsProperties(d *builder) bool {
	return d.has("type") && (a.rules.ObjectProperties || d.root && a.rules.RootProperties) ||
		a.rules.RequiredBeside && d.has("required")
}

// objectAdapter holds the properties of one object while they are adapted.
type objectAdapter struct {
	*adapter
	*builder
	out     *node   // the properties
	needed  []*node // the names that are required in the result
	missing []*node // the required names that are not declared
	undo    *inverse
}

// adaptProperties adapts each property. It reports false if a required property cannot be adapted.
func (o *objectAdapter) adaptProperties() bool {
	required := o.builder.get("required").Elements()
	o.needed = make([]*node, 0, len(required))
	props := o.builder.get("properties")
	if props == nil {
		o.missing = required
		return true
	}
	if n := len(props.Fields); n > 0 {
		o.out.Fields = make([]field, 0, n)
	}
	names, isRequired := o.newNames(props), lookUpNames(required)
	o.builder.names = names
	for _, f := range props.Fields {
		r := o.schema(f.Value)
		if !o.addProperty(f, names, r, isRequired(f.Name)) {
			return false
		}
	}
	isDeclared := lookUpFields(props.Fields)
	for _, e := range required {
		if !isDeclared(jsontree.Unquote(e.Text)) {
			o.missing = append(o.missing, e)
		}
	}
	return true
}

// lookUpNames returns a function that reports whether a list of strings contains a name.
func lookUpNames(list []*node) func(string) bool {
	fields := make([]field, len(list))
	for i, e := range list {
		fields[i] = field{Name: jsontree.Unquote(e.Text), Value: e}
	}
	return lookUpFields(fields)
}

// lookUpFields returns a function that reports whether fields contain a name.
func lookUpFields(fields []field) func(string) bool {
	find := jsontree.Finder(fields)
	return func(name string) bool { return find(name) != nil }
}

// addProperty adds one property. If the property accepts null but its new schema cannot, it becomes optional, and a
// missing property means null.
func (o *objectAdapter) addProperty(f field, names map[string]string, r schemaResult, required bool) bool {
	b := propertyInverse{key: f.Key, name: f.Name, step: r.undo}
	if name, ok := names[b.name]; ok {
		o.change(f.Value, rule.Key, "renamed to "+briefName(name), "", "")
		f = newMember(name, f.Value)
		b.renamed = true
	}
	switch {
	case r.node == nil && r.null: // the value is always null
		b.fillNull = required
		if required {
			o.reversed = true
			b.adapted = f.Name
			o.undo.properties = append(o.undo.properties, b)
		}
		o.change(f.Value, rule.Type, "left out: it can only be null", o.lostIfOpen("that it can only be null"), "")
		return true
	case r.node == nil:
		o.change(f.Value, rule.Boolean, "left out: nothing satisfies it", o.lostIfOpen("that it must not be given"), "")
		return !required
	}
	if r.cut && o.rules.Closed && !required {
		o.change(f.Value, rule.Recursion, "left out", "", "what is nested deeper")
		o.builder.note("no " + briefName(f.Name) + " at this depth")
		return true
	}
	if r.null && required {
		required, b.fillNull = false, true
		o.change(f.Value, rule.Type, "made optional: what is not given is null", "", "")
	} else if r.null {
		o.change(f.Value, rule.Type, "left null out: it need not be given", "", nullUnlessDefault(f.Value))
	}
	original := f.Value
	f.Value = r.node
	if o.rules.RequiredAll && !required {
		required, b.dropNull = true, true
		narrowed := ""
		if acceptsNull(r.node) {
			narrowed = nullUnlessDefault(original)
		} else {
			f.Value = withNull(r.node)
		}
		o.change(original, rule.Required, "made required, with null for what is not given", "", narrowed)
	}
	o.out.Fields = append(o.out.Fields, f)
	if required {
		o.needed = append(o.needed, &node{Kind: '"', Text: f.Key})
	}
	o.reversed = o.reversed || b.renamed || b.dropNull || b.fillNull
	b.adapted = f.Name
	if b.renamed || b.dropNull || b.fillNull || b.step != nil {
		o.undo.properties = append(o.undo.properties, b)
	}
	return true
}

// renameMentions writes the new names of properties into the other keywords that refer to them.
func (o *objectAdapter) renameMentions() {
	if len(o.builder.names) == 0 {
		return
	}
	for _, w := range []string{"dependentRequired", "dependentSchemas", "dependencies", "propertyOrdering"} {
		if v := o.builder.get(w); v != nil {
			o.builder.set(w, renamedIn(v, o.builder.names))
		}
	}
}

// renamedIn returns a list of names, or an object keyed by names, with the new names.
func renamedIn(v *node, names map[string]string) *node {
	out := &node{Kind: v.Kind, Original: v}
	for _, f := range v.Fields {
		if name, ok := names[f.Name]; ok {
			f.Key, f.Name = text.Quote(name), name
		}
		if f.Value.Kind == '[' {
			f.Value = renamedIn(f.Value, names)
		}
		out.Fields = append(out.Fields, f)
	}
	for _, e := range v.Elems {
		if name, ok := names[e.Unquoted()]; ok {
			e = newString(name)
		}
		out.Elems = append(out.Elems, e)
	}
	return out
}

// reportCounts reports that added or dropped nulls change the counts of minProperties and maxProperties.
func (o *objectAdapter) reportCounts() {
	if !o.builder.hasAny("minProperties", "maxProperties") {
		return
	}
	if slices.ContainsFunc(o.undo.properties, func(p propertyInverse) bool { return p.fillNull || p.dropNull }) {
		o.change(o.builder.original, rule.Required, "counted properties with null for what is not given",
			"minProperties and maxProperties", "")
	}
}

// nullUnlessDefault returns the Narrowed text for a property in which null now means that the property is missing.
func nullUnlessDefault(n *node) string {
	if n.Get("default").Is("n") {
		return ""
	}
	return "null, where that is not the same as not given"
}

// lostIfOpen returns lost, or "" for a profile that closes objects, which loses nothing.
func (o *objectAdapter) lostIfOpen(lost string) string {
	if o.rules.Closed {
		return ""
	}
	return lost
}

// declareRequired declares the required properties that have no schema. It reports false if such a property cannot
// exist.
func (o *objectAdapter) declareRequired() bool {
	if len(o.missing) == 0 || !o.rules.RequiredDeclared {
		return true
	}
	more := o.builder.get("additionalProperties")
	if o.builder.has("patternProperties") {
		o.change(o.builder.original, rule.Required, "took what patterns say of required properties for anything",
			"what patterns say of required properties", "")
		more = nil
	}
	if more.Is("f") {
		return false
	}
	n := madeFor(o.builder.original)
	if more.Is("{") {
		n = more
	}
	props := newObject()
	for _, e := range o.missing {
		props.Fields = append(props.Fields, field{Key: e.Text, Name: jsontree.Unquote(e.Text), Value: n})
	}
	names := o.newNames(props)
	for _, f := range props.Fields {
		o.change(o.builder.original, rule.Required, "declared "+briefName(f.Name)+", which is required", "", "")
		r := o.schema(n)
		if !o.addProperty(f, names, r, true) {
			return false
		}
	}
	o.missing = nil
	return true
}

// writeRequired writes the list of required names, in the old order.
func (o *objectAdapter) writeRequired() {
	d := o.builder
	o.needed = append(o.needed, o.missing...)
	old := d.get("required")
	if !o.rules.RequiredAll && old != nil {
		o.sortRequired(old)
	}
	switch {
	case len(o.needed) == 0 && old == nil && !(o.rules.RequiredAll && d.has("type")):
	case len(o.needed) == 0 && (o.rules.RequiredFilled || !o.rules.RequiredAll && len(old.Elems) > 0):
		d.drop("required")
	default:
		d.set("required", &node{Kind: '[', Elems: o.needed})
	}
}

// sortRequired sorts the required names by their places in the old list.
func (o *objectAdapter) sortRequired(old *node) {
	if slices.EqualFunc(o.needed, old.Elems, func(x, y *node) bool { return string(x.Text) == string(y.Text) }) {
		return
	}
	order := make(map[string]int, len(old.Elems))
	for i, e := range old.Elems {
		order[e.Unquoted()] = i
	}
	original := make(map[string]string, len(o.undo.properties))
	for i := range o.undo.properties {
		original[o.undo.properties[i].adapted] = o.undo.properties[i].name
	}
	place := func(n *node) int {
		name := jsontree.Unquote(n.Text)
		if before, ok := original[name]; ok {
			name = before
		}
		return order[name]
	}
	slices.SortStableFunc(o.needed, func(x, y *node) int { return place(x) - place(y) })
}

// acceptsNull reports whether an adapted schema accepts null.
func acceptsNull(n *node) bool {
	if n.Kind != '{' {
		return n.Kind == 't'
	}
	if union := n.Get("anyOf"); union != nil {
		return slices.ContainsFunc(union.Elems, acceptsNull)
	}
	if n.Get("$ref") != nil {
		return false
	}
	if t := n.Get("type"); t != nil && !typesOf(t).has(typeNull) {
		return false
	}
	if v := allowedValues(n); v != nil {
		return slices.ContainsFunc(v, isNull)
	}
	return true
}

// withNull returns an adapted schema that also accepts null.
func withNull(n *node) *node {
	out := &node{Kind: '{', Fields: slices.Clone(n.Fields), Original: n}
	alone := newTyped("null")
	if union := n.Get("anyOf"); union != nil {
		return withValue(out, "anyOf", newArray(append(slices.Clone(union.Elems), alone)...))
	}
	t := n.Get("type")
	if t == nil || n.Get("const") != nil || typesOf(t)&(typeObject|typeArray) != 0 {
		text := n.Get("description")
		union := newObject()
		if text != nil {
			union.Fields = append(union.Fields, newMember("description", text))
			out = withoutWords(n, setOf("description").has)
		}
		union.Fields = append(union.Fields, newMember("anyOf", newArray(out, alone)))
		return union
	}
	out = withValue(out, "type", typeNode(typesOf(t)|typeNull))
	if e := n.Get("enum"); e != nil {
		out = withValue(out, "enum", newArray(append(slices.Clone(e.Elems), nullNode)...))
	}
	return out
}

// patterns drops patternProperties if the profile does not accept it. It then drops a closed additionalProperties too,
// because the names that the patterns allow are not declared.
func (a *adapter) patterns(d *builder) {
	p := d.get("patternProperties")
	if p == nil {
		return
	}
	if !a.accepts(d, "patternProperties") {
		text := a.sketchFree(func() string { return a.sketchPatterns(p) })
		a.change(d.original, rule.Keyword, "dropped patternProperties", "properties by pattern: "+text, "")
		d.note("keys by pattern: " + text)
		d.drop("patternProperties")
		if d.get("additionalProperties").Is("f") {
			d.drop("additionalProperties")
		}
		return
	}
	d.set("patternProperties", a.schemasIn(p))
}

// additional adapts additionalProperties.
func (a *adapter) additional(d *builder, undo *inverse) {
	more := d.get("additionalProperties")
	if a.rules.Closed {
		if !more.Is("f") {
			a.change(d.original, rule.Closed, "closed", "", "properties that are not declared")
			d.set("additionalProperties", falseNode)
		}
		return
	}
	switch {
	case more == nil:
	case !a.accepts(d, "additionalProperties"):
		d.drop("additionalProperties")
		switch text := a.sketchFree(func() string { return a.sketch(more) }); {
		case more.Kind == 'f':
			a.change(d.original, rule.Keyword, "dropped additionalProperties", "that no other properties are taken", "")
		case isUnconstrained(more) && len(d.get("properties").Members()) > 0:
		case isUnconstrained(more):
			d.note("takes any keys")
		default:
			a.change(d.original, rule.Keyword, "dropped additionalProperties", "what other properties hold: "+text, "")
			if text != "any" {
				d.note("other keys hold " + text)
			}
		}
	case more.Kind == '{':
		r := a.schema(more)
		if r.null {
			a.change(more, rule.Type, "left null out", "", "null")
		}
		switch {
		case r.node == nil:
			r.node = falseNode
		case r.undo != nil:
			undo.others = r.undo
		}
		d.set("additionalProperties", r.node)
	}
}

// isUnconstrained reports whether a schema has no constraints.
func isUnconstrained(n *node) bool {
	return n.Kind != 'f' && !hasOther(n.Fields)
}

// hasFreeKeys reports whether an object has no declared properties but accepts others.
func (d *builder) hasFreeKeys() bool {
	return len(d.get("properties").Members()) == 0 &&
		(!d.get("additionalProperties").Is("f") || d.has("patternProperties"))
}

// dictionary rewrites an object with free keys as a list of entries. Restore makes an object of the list again.
func (a *adapter) dictionary(d *builder) bool {
	r := a.schema(a.entryValue(d))
	if r.node == nil {
		return false
	}
	lost := "" // if two entries have the same key, the last counts, as in an object
	if constrained := d.constrainsKeys(); constrained || d.has("patternProperties") ||
		len(d.get("required").Elements()) > 0 {
		lost = "what the object says of its keys"
		if constrained || !d.has("patternProperties") {
			d.note("keys: " + a.sketch(d.node()))
		}
	}
	if v := allowedValues(d.node()); v != nil {
		lost = "that it is one of " + sketchValues(v)
		d.note("one of " + sketchValues(v))
		d.drop("enum", "const")
	}
	a.change(d.original, rule.Closed, "wrote free keys as a list of entries", lost, "")
	entry := newObject(
		typeField("object"),
		newMember("properties", newObject(
			newMember("key", newTyped("string")),
			newMember("value", r.node))),
		newMember("required", newArray(newString("key"), newString("value"))),
		newMember("additionalProperties", falseNode),
	)
	d.keepAnnotationsAnd("type")
	d.set("type", newString("array"))
	d.set("items", entry)
	a.reversed = true
	d.undo = chainOf(d.undo, &inverse{entries: true, others: r.undo})
	d.finished = true
	return true
}

// constrainsKeys reports whether an object has keywords that constrain its keys, apart from properties and patterns.
func (d *builder) constrainsKeys() bool {
	return slices.ContainsFunc(d.fields, func(f field) bool {
		known := f.Name == "properties" || f.Name == "additionalProperties" || f.Name == "required" ||
			f.Name == "patternProperties"
		return typedWords[f.Name].has(typeObject) && !known
	})
}

// entryValue returns the schema of the values under free keys.
func (a *adapter) entryValue(d *builder) *node {
	more, patterns := d.get("additionalProperties"), d.get("patternProperties")
	if len(patterns.Members()) == 0 && more.Is("{") {
		return more
	} else if len(patterns.Members()) == 0 {
		return madeFor(d.original)
	}
	d.note("keys by pattern: " + a.sketchPatterns(patterns))
	var values []*node
	for i := range patterns.Fields {
		values = append(values, patterns.Fields[i].Value)
	}
	if more == nil || more.Kind == 't' {
		more = madeFor(d.original)
	}
	if more.Kind != 'f' {
		values = append(values, more)
	}
	return unionOf(values)
}
