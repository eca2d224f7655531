package schema

import (
	"slices"

	"github.com/indusagi/indus/internal/text"
)

// object adapts what an object has: its properties, their names, and which are required.
func (a *adapter) object(d *builder) bool {
	typed := d.has("type")
	if d.done || !typed && !d.hasTyped(typeObject) || typed && !d.declared().has(typeObject) {
		return true
	}
	if more := d.get("unevaluatedProperties"); more != nil && !d.has("additionalProperties") && !a.takes(d, "unevaluatedProperties") {
		d.rename("unevaluatedProperties", "additionalProperties", more)
	}
	if a.rules.Closed && a.isDictionary(d) {
		if all := d.declared(); typed && all != typeObject {
			return a.split(d, all, all.inOrder(d.get("type")))
		}
		return a.dictionary(d)
	}
	if a.rules.Closed && d.root && a.hasOnlyFreeKeys(d) {
		a.fail(errNothing) // wrapped, it can be said
	}
	o := &objectAdapter{adapter: a, builder: d, out: &node{kind: '{'}, back: &inverse{}}
	if !o.properties() || !o.undeclared() {
		return false
	}
	a.patterns(d)
	a.additional(d, o.back)
	if o.out.fields != nil || d.has("properties") || a.wantsProperties(d) {
		if !d.has("properties") {
			a.change(d.from, RuleProperties, "added properties", "", "")
		}
		d.set("properties", o.out)
	}
	o.required()
	o.mentioned()
	o.counted()
	d.back = inTurn(d.back, o.back)
	return true
}

func (a *adapter) wantsProperties(d *builder) bool {
	return d.has("type") && (a.rules.ObjectProperties || d.root && a.rules.RootProperties) ||
		a.rules.RequiredBeside && d.has("required")
}

// objectAdapter is one object's properties while they are adapted.
type objectAdapter struct {
	*adapter
	*builder
	out     *node           // the properties
	taken   map[string]bool // their names, once somebody asks
	needed  []*node         // the names that are required now
	missing []*node         // the required names that are not declared
	back    *inverse
}

// properties adapts each property. It reports false where a required one cannot be.
func (o *objectAdapter) properties() bool {
	required := o.builder.get("required").list()
	o.needed = make([]*node, 0, len(required))
	props := o.builder.get("properties")
	if props == nil {
		o.missing = required
		return true
	}
	if n := len(props.fields); n > 0 {
		o.out.fields = make([]field, 0, n)
	}
	names, isRequired := o.renamed(props), lookUpNames(required)
	o.builder.names = names
	for _, f := range props.fields {
		r := o.schema(f.value)
		if !o.property(f, names, r, isRequired(f.name)) {
			return false
		}
	}
	isDeclared := lookUpFields(props.fields)
	for _, e := range required {
		if !isDeclared(unquote(e.text)) {
			o.missing = append(o.missing, e)
		}
	}
	return true
}

// lookUpNames looks up the names that a list of strings has.
func lookUpNames(list []*node) func(string) bool {
	fields := make([]field, len(list))
	for i, e := range list {
		fields[i].name = unquote(e.text)
	}
	return lookUpFields(fields)
}

// lookUpFields looks up the names of fields.
func lookUpFields(fields []field) func(string) bool {
	if len(fields) <= fewMembers {
		return func(name string) bool { return indexOf(fields, name) >= 0 }
	}
	set := make(map[string]bool, len(fields))
	for i := range fields {
		set[fields[i].name] = true
	}
	return func(name string) bool { return set[name] }
}

// property adds one property. What takes null and cannot say so need not be given: not given is null.
func (o *objectAdapter) property(f field, names map[string]string, r schemaResult, required bool) bool {
	b := propertyInverse{key: f.key, name: f.name, step: r.back}
	if name, ok := names[b.name]; ok {
		o.change(f.value, RuleKey, "renamed to "+briefName(name), "", "")
		f = newMember(name, f.value)
		b.renamed = true
	}
	switch {
	case r.node == nil && r.null: // always null
		b.fillNull = required
		if required {
			o.reversed = true
			b.adapted = f.name
			o.back.properties = append(o.back.properties, b)
		}
		o.change(f.value, RuleType, "left out: it can only be null", o.ifOpen("that it can only be null"), "")
		return true
	case r.node == nil:
		o.change(f.value, RuleBoolean, "left out: nothing satisfies it", o.ifOpen("that it must not be given"), "")
		return !required
	}
	if r.cut && o.rules.Closed && !required {
		o.change(f.value, RuleRecursion, "left out", "", "what is nested deeper")
		o.builder.note("no " + briefName(f.name) + " at this depth")
		return true
	}
	if r.null && required {
		required, b.fillNull = false, true
		o.change(f.value, RuleType, "made optional: what is not given is null", "", "")
	} else if r.null {
		o.change(f.value, RuleType, "left null out: it need not be given", "", nullUnlessDefault(f.value))
	}
	original := f.value
	f.value = r.node
	if o.rules.RequiredAll && !required {
		required, b.dropNull = true, true
		narrowed := ""
		if takesNull(r.node) {
			narrowed = nullUnlessDefault(original)
		} else {
			f.value = withNull(r.node)
		}
		o.change(original, RuleRequired, "made required, with null for what is not given", "", narrowed)
	}
	o.out.fields = append(o.out.fields, f)
	if o.taken != nil {
		o.taken[f.name] = true
	}
	if required {
		o.needed = append(o.needed, &node{kind: '"', text: f.key})
	}
	o.reversed = o.reversed || b.renamed || b.dropNull || b.fillNull
	if b.adapted = f.name; b.matters() {
		o.back.properties = append(o.back.properties, b)
	}
	return true
}

// mentioned gives properties their new names in the other keywords that name them.
func (o *objectAdapter) mentioned() {
	if len(o.builder.names) == 0 {
		return
	}
	for _, w := range []string{"dependentRequired", "dependentSchemas", "dependencies", "propertyOrdering"} {
		if v := o.builder.get(w); v != nil {
			o.builder.set(w, renamedIn(v, o.builder.names))
		}
	}
}

// renamedIn is a list of names, or an object of them, with new ones.
func renamedIn(v *node, names map[string]string) *node {
	out := &node{kind: v.kind, like: v}
	for _, f := range v.fields {
		if name, ok := names[f.name]; ok {
			f.key, f.name = text.Quote(name), name
		}
		if f.value.kind == '[' {
			f.value = renamedIn(f.value, names)
		}
		out.fields = append(out.fields, f)
	}
	for _, e := range v.elems {
		if name, ok := names[e.string()]; ok {
			e = newString(name)
		}
		out.elems = append(out.elems, e)
	}
	return out
}

// counted says what nulls that come and go do to bounds on the number of properties.
func (o *objectAdapter) counted() {
	if !o.builder.hasAny("minProperties", "maxProperties") {
		return
	}
	if slices.ContainsFunc(o.back.properties, func(p propertyInverse) bool { return p.fillNull || p.dropNull }) {
		o.change(o.builder.from, RuleRequired, "counted properties with null for what is not given", "minProperties and maxProperties", "")
	}
}

// nullUnlessDefault is what is narrowed where null can only say that a property is not given.
func nullUnlessDefault(n *node) string {
	if n.kind == '{' {
		if v := n.get("default"); v != nil && isNull(v) {
			return ""
		}
	}
	return "null, where that is not the same as not given"
}

// ifOpen is what is lost where properties that are not declared are taken.
func (o *objectAdapter) ifOpen(lost string) string {
	if o.rules.Closed {
		return ""
	}
	return lost
}

// undeclared declares what is required and has no schema of its own. It reports false where there can be none.
func (o *objectAdapter) undeclared() bool {
	if len(o.missing) == 0 || !o.rules.RequiredDeclared {
		return true
	}
	more := o.builder.get("additionalProperties")
	if o.builder.has("patternProperties") {
		o.change(o.builder.from, RuleRequired, "took what patterns say of required properties for anything", "what patterns say of required properties", "")
		more = nil
	}
	if more != nil && more.kind == 'f' {
		return false
	}
	n := madeFor(o.builder.from)
	if more != nil && more.kind == '{' {
		n = more
	}
	props := newObject()
	for _, e := range o.missing {
		props.fields = append(props.fields, field{key: e.text, name: unquote(e.text), value: n})
	}
	names := o.renamed(props)
	for _, f := range props.fields {
		o.change(o.builder.from, RuleRequired, "declared "+briefName(f.name)+", which is required", "", "")
		r := o.schema(n)
		if !o.property(f, names, r, true) {
			return false
		}
	}
	o.missing = nil
	return true
}

// required writes the names that are required, in their old order.
func (o *objectAdapter) required() {
	d := o.builder
	o.needed = append(o.needed, o.missing...)
	old := d.get("required")
	if !o.rules.RequiredAll && old != nil {
		o.inOldOrder(old)
	}
	switch {
	case len(o.needed) == 0 && old == nil && !(o.rules.RequiredAll && d.has("type")):
	case len(o.needed) == 0 && (o.rules.RequiredFilled || !o.rules.RequiredAll && len(old.elems) > 0):
		d.drop("required")
	default:
		d.set("required", &node{kind: '[', elems: o.needed})
	}
}

// inOldOrder sorts the names that are required as they stood before.
func (o *objectAdapter) inOldOrder(old *node) {
	if slices.EqualFunc(o.needed, old.elems, func(x, y *node) bool { return string(x.text) == string(y.text) }) {
		return
	}
	order := make(map[string]int, len(old.elems))
	for i, e := range old.elems {
		order[e.string()] = i
	}
	original := make(map[string]string, len(o.back.properties))
	for i := range o.back.properties {
		original[o.back.properties[i].adapted] = o.back.properties[i].name
	}
	place := func(n *node) int {
		name := unquote(n.text)
		if before, ok := original[name]; ok {
			name = before
		}
		return order[name]
	}
	slices.SortStableFunc(o.needed, func(x, y *node) int { return place(x) - place(y) })
}

// isNamed reports whether a property is called so already.
func (o *objectAdapter) isNamed(name string) bool {
	if o.taken == nil {
		o.taken = make(map[string]bool, len(o.out.fields))
		for i := range o.out.fields {
			o.taken[o.out.fields[i].name] = true
		}
	}
	return o.taken[name]
}

// takesNull reports whether an adapted schema takes null.
func takesNull(n *node) bool {
	if n.kind != '{' {
		return n.kind == 't'
	}
	if union := n.get("anyOf"); union != nil {
		return slices.ContainsFunc(union.elems, takesNull)
	}
	if n.get("$ref") != nil {
		return false
	}
	if t := n.get("type"); t != nil && !typesOf(t).has(typeNull) {
		return false
	}
	if v := allowedValues(n); v != nil {
		return slices.ContainsFunc(v, isNull)
	}
	return true
}

// withNull is an adapted schema that takes null too.
func withNull(n *node) *node {
	out := &node{kind: '{', fields: slices.Clone(n.fields), like: n}
	alone := newTyped("null")
	if union := n.get("anyOf"); union != nil {
		return out.with("anyOf", newArray(append(slices.Clone(union.elems), alone)...))
	}
	t := n.get("type")
	if t == nil || n.get("const") != nil || typesOf(t)&(typeObject|typeArray) != 0 {
		text := n.get("description")
		union := newObject()
		if text != nil {
			union.fields = append(union.fields, newMember("description", text))
			out = withoutWords(n, setOf("description").has)
		}
		union.fields = append(union.fields, newMember("anyOf", newArray(out, alone)))
		return union
	}
	out = out.with("type", typeNode(typesOf(t)|typeNull))
	if e := n.get("enum"); e != nil {
		out = out.with("enum", newArray(append(slices.Clone(e.elems), nullNode)...))
	}
	return out
}

// patterns takes patternProperties out where it cannot stay: what can be a property's name is not all known.
func (a *adapter) patterns(d *builder) {
	p := d.get("patternProperties")
	if p == nil {
		return
	}
	if !a.takes(d, "patternProperties") {
		text := a.sketchFree(func() string { return a.sketchPatterns(p) })
		a.change(d.from, RuleKeyword, "dropped patternProperties", "properties by pattern: "+text, "")
		d.note("keys by pattern: " + text)
		d.drop("patternProperties")
		if more := d.get("additionalProperties"); more != nil && more.kind == 'f' {
			d.drop("additionalProperties")
		}
		return
	}
	d.set("patternProperties", a.schemasIn(p))
}

// additional adapts additionalProperties.
func (a *adapter) additional(d *builder, back *inverse) {
	more := d.get("additionalProperties")
	if a.rules.Closed {
		if more == nil || more.kind != 'f' {
			a.change(d.from, RuleClosed, "closed", "", "properties that are not declared")
			d.set("additionalProperties", falseNode)
		}
		return
	}
	switch {
	case more == nil:
	case !a.takes(d, "additionalProperties"):
		d.drop("additionalProperties")
		switch text := a.sketchFree(func() string { return a.sketch(more) }); {
		case more.kind == 'f':
			a.change(d.from, RuleKeyword, "dropped additionalProperties", "that no other properties are taken", "")
		case saysNothing(more) && len(d.get("properties").fieldsOf()) > 0:
		case saysNothing(more):
			d.note("takes any keys")
		default:
			a.change(d.from, RuleKeyword, "dropped additionalProperties", "what other properties hold: "+text, "")
			if text != "any" {
				d.note("other keys hold " + text)
			}
		}
	case more.kind == '{':
		r := a.schema(more)
		if r.null {
			a.change(more, RuleType, "left null out", "", "null")
		}
		switch {
		case r.node == nil:
			r.node = falseNode
		case r.back != nil:
			back.others = r.back
		}
		d.set("additionalProperties", r.node)
	}
}

// saysNothing reports a schema that takes everything.
func saysNothing(n *node) bool {
	for i := range n.fields {
		if !isAnnotation(n.fields[i].name) {
			return false
		}
	}
	return n.kind != 'f'
}

// isDictionary reports an object that has no properties of its own, where only declared ones can be said.
func (a *adapter) isDictionary(d *builder) bool {
	if d.root || d.cut {
		return false
	}
	return a.hasFreeKeys(d)
}

func (a *adapter) hasFreeKeys(d *builder) bool {
	props := d.get("properties")
	more := d.get("additionalProperties")
	return (props == nil || len(props.fields) == 0) && (more == nil || more.kind != 'f' || d.has("patternProperties"))
}

// hasOnlyFreeKeys reports an object that says what its free keys hold, and has no others.
func (a *adapter) hasOnlyFreeKeys(d *builder) bool {
	more := d.get("additionalProperties")
	return a.hasFreeKeys(d) && (d.has("patternProperties") || more != nil && more.kind == '{')
}

// dictionary says an object with free keys as a list of entries, which Restore makes an object again.
func (a *adapter) dictionary(d *builder) bool {
	r := a.schema(a.entryValue(d))
	if r.node == nil {
		return false
	}
	lost := "" // of two entries with one key the last is taken, as in an object
	if says := d.saysOfKeys(); says || d.has("patternProperties") || len(d.get("required").list()) > 0 {
		lost = "what the object says of its keys"
		if says || !d.has("patternProperties") {
			d.note("keys: " + a.sketch(d.node()))
		}
	}
	if v := allowedValues(d.node()); v != nil {
		lost = "that it is one of " + sketchValues(v)
		d.note("one of " + sketchValues(v))
		d.drop("enum", "const")
	}
	a.change(d.from, RuleClosed, "wrote free keys as a list of entries", lost, "")
	entry := newObject(
		typeField("object"),
		newMember("properties", newObject(
			newMember("key", newTyped("string")),
			newMember("value", r.node))),
		newMember("required", newArray(newString("key"), newString("value"))),
		newMember("additionalProperties", falseNode),
	)
	d.keep("type")
	d.set("type", newString("array"))
	d.set("items", entry)
	a.reversed = true
	d.back = inTurn(d.back, &inverse{entries: true, others: r.back})
	d.done = true
	return true
}

// saysOfKeys reports whether an object has keywords, beside properties and patterns, that say something of its keys.
func (d *builder) saysOfKeys() bool {
	return slices.ContainsFunc(d.fields, func(f field) bool {
		known := f.name == "properties" || f.name == "additionalProperties" || f.name == "required" || f.name == "patternProperties"
		return typedWords[f.name].has(typeObject) && !known
	})
}

// entryValue is the schema of what is under free keys.
func (a *adapter) entryValue(d *builder) *node {
	more, patterns := d.get("additionalProperties"), d.get("patternProperties")
	if patterns == nil || len(patterns.fields) == 0 {
		if more == nil || more.kind != '{' {
			return madeFor(d.from)
		}
		return more
	}
	d.note("keys by pattern: " + a.sketchPatterns(patterns))
	var values []*node
	for i := range patterns.fields {
		values = append(values, patterns.fields[i].value)
	}
	if more == nil || more.kind == 't' {
		more = madeFor(d.from)
	}
	if more.kind != 'f' {
		values = append(values, more)
	}
	return oneOfEach(values)
}
