package schema

import (
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/jsontree"
	"github.com/indusagi/indus/schema/rule"
)

// rewriteConst turns const into an enum of one value.
func (a *adapter) rewriteConst(d *builder) bool {
	c := d.get("const")
	if c == nil || a.accepts(d, "const") && !d.has("enum") {
		return narrowTypes(d)
	}
	if e := d.get("enum"); e != nil {
		if !hasSame(e.Elems, c) {
			return false
		}
		d.drop("enum")
	}
	a.change(d.original, rule.Keyword, "wrote const as enum", "", "")
	d.rename("const", "enum", newArray(c))
	return narrowTypes(d)
}

// narrowTypes removes from a list of types the types that no value of the enum has. It reports false if none is left.
func narrowTypes(d *builder) bool {
	t, e := d.get("type"), d.get("enum")
	if t == nil || e == nil || t.Kind != '[' {
		return true
	}
	var found typeSet
	for _, v := range e.Elems {
		found |= typeOfValue(v)
		if isWhole(v, typeInteger) {
			found |= typeInteger
		}
	}
	declared := d.declared()
	if found.has(typeInteger) && declared.has(typeNumber) {
		found |= typeNumber
	}
	found &= declared
	if found != 0 && found != declared {
		d.set("type", typeNode(found))
	}
	return found != 0
}

// removeNull removes null from a schema if the consumer cannot express it, or writes it as nullable.
func (a *adapter) removeNull(d *builder) bool {
	if union := d.get("anyOf"); union != nil && len(union.Elems) == 1 && !a.staysInPlace(d) {
		return a.unwrap(d) && a.combine(d) // the branch may state whether null is accepted
	}
	expressible := a.acceptedTypes.has(typeNull) && !d.root && (!a.rules.TypeSingle || a.acceptsInside("anyOf"))
	nullable := a.accepts(d, "nullable") && !d.root
	if expressible {
		return true
	}
	accepted, remains := a.withoutNull(d)
	switch {
	case !accepted && d.nullWritten:
		return remains
	case !accepted:
		d.drop("nullable")
		return remains
	case remains && nullable:
		d.nullWritten = true
		d.set("nullable", trueNode)
		return true
	}
	d.null = true
	return remains
}

// withoutNull removes null from type, enum and unions. It reports whether d accepted null, and whether it accepts any
// other value.
func (a *adapter) withoutNull(d *builder) (accepted, remains bool) {
	if !d.hasAny("type", "enum", "const", "anyOf", "oneOf") {
		return false, true
	}
	accepted, remains = true, true
	if t := d.get("type"); t != nil {
		s := d.declared()
		accepted = s.has(typeNull)
		if accepted {
			remains = s != typeNull
			d.set("type", typeNode(s&^typeNull))
		}
	}
	for _, w := range []string{"enum", "anyOf", "oneOf"} {
		v := d.get(w)
		if v == nil {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(v.Elems), func(e *node) bool {
			return w == "enum" && isNull(e) || w != "enum" && onlyNull(e)
		})
		accepted = accepted && len(rest) < len(v.Elems)
		remains = remains && len(rest) > 0
		d.set(w, newArray(rest...))
	}
	if c := d.get("const"); c != nil {
		accepted, remains = accepted && isNull(c), remains && !isNull(c)
	}
	return accepted, remains
}

// onlyNull reports whether a schema accepts null only.
func onlyNull(n *node) bool {
	if n.Kind != '{' {
		return false
	}
	if t := n.Get("type"); t != nil {
		return typesOf(t) == typeNull
	}
	all := allowedValues(n)
	return len(all) == 1 && isNull(all[0])
}

// adaptUnion adapts anyOf and oneOf. They become one anyOf if the consumer accepts it there, and one schema otherwise.
func (a *adapter) adaptUnion(d *builder) bool {
	if d.has("oneOf") && !a.adaptInPlace(d, "oneOf") {
		return false
	}
	union := d.get("anyOf")
	if union == nil {
		return true
	}
	switch {
	case a.staysInPlace(d):
		return a.adaptInPlace(d, "anyOf")
	case len(union.Elems) == 1:
		return a.unwrap(d) && a.combine(d)
	case !a.onlyConstrains(d, union):
		return a.distribute(d, union)
	}
	d.drop("anyOf")
	text := a.sketchEach(union, " | ")
	a.change(d.original, rule.Keyword, "took anyOf out", "that one of these holds: "+text, "")
	d.note("needs one of: " + text)
	return true
}

// staysInPlace reports whether anyOf may stay beside the other keywords of d.
func (a *adapter) staysInPlace(d *builder) bool {
	listed := a.rules.TypeSingle && d.has("type") && d.get("type").Kind == '['
	return a.accepts(d, "anyOf") && !listed && !a.rules.TypeAlways && !a.rules.TypeInBranches && !a.rules.UnionAlone
}

// unwrap merges the only branch of a union into d.
func (a *adapter) unwrap(d *builder) bool {
	branch := d.get("anyOf").Elems[0]
	d.drop("anyOf")
	a.change(d.original, rule.Keyword, "unwrapped a union of one", "", "")
	return a.merge(d, branch)
}

// rewriteOneOf rewrites oneOf as anyOf if the consumer does not accept oneOf.
func (a *adapter) rewriteOneOf(d *builder) bool {
	oneOf := d.get("oneOf")
	if oneOf == nil || a.accepts(d, "oneOf") {
		return true
	}
	lost := ""
	if !a.exclusive(oneOf, d.declared() == typeObject) {
		lost = "that no two of the branches may hold"
	}
	a.change(d.original, rule.Keyword, "wrote oneOf as anyOf", lost, "")
	union := d.get("anyOf")
	if union == nil {
		d.rename("oneOf", "anyOf", oneOf)
		return true
	}
	d.drop("oneOf")
	if product := crossProduct(union, oneOf); product != nil {
		d.set("anyOf", product)
	} else {
		a.change(d.original, rule.Keyword, "dropped oneOf beside anyOf", "oneOf", "")
	}
	return true
}

const maxCompared = 200 // branches that are compared in pairs

// exclusive reports whether no value can satisfy two branches at once, as far as their types and constants show it.
func (a *adapter) exclusive(union *node, objects bool) bool {
	if len(union.Elems) > maxCompared {
		return false
	}
	for i, x := range union.Elems {
		for _, y := range union.Elems[:i] {
			if !areExclusive(a.resolveReference(x), a.resolveReference(y), objects, 0) {
				return false
			}
		}
	}
	return true
}

// resolveReference returns the target of a schema that is only a reference.
func (a *adapter) resolveReference(n *node) *node {
	for range maxFollowed {
		target := a.refTarget(n)
		if target == nil || len(n.Fields) > 1 {
			return n
		}
		n = target
	}
	return n
}

const maxFollowed = 8 // references to a reference

func areExclusive(x, y *node, objects bool, depth int) bool {
	if x.Kind != '{' || y.Kind != '{' || depth > 2 {
		return x.Kind == 'f' || y.Kind == 'f'
	}
	tx, ty := x.Get("type"), y.Get("type")
	if isNullable(x) && isNullable(y) {
		return false
	}
	if tx != nil && ty != nil && typesOf(tx)&typesOf(ty) == 0 {
		return true
	}
	vx, vy := allowedValues(x), allowedValues(y)
	if vx != nil && vy != nil {
		return !slices.ContainsFunc(vx, func(e *node) bool { return hasSame(vy, e) })
	}
	px, py := x.Get("properties"), y.Get("properties")
	if px == nil || py == nil || !objects && (tx == nil || ty == nil) {
		return false
	}
	for _, f := range px.Fields { // both require the property, and its schemas exclude each other
		o := py.Get(f.Name)
		if o != nil && requires(x, f.Name) && requires(y, f.Name) && areExclusive(f.Value, o, false, depth+1) {
			return true
		}
	}
	return false
}

func isNullable(n *node) bool { return n.Get("nullable").Is("t") }

func requires(n *node, name string) bool {
	return slices.ContainsFunc(n.Get("required").Elements(), func(e *node) bool {
		return e.Kind == '"' && jsontree.Unquote(e.Text) == name
	})
}

// constraints lists the keywords that restrict which properties an object has, but not their values.
var constraints = []string{"required", "not", "dependentRequired", "minProperties", "maxProperties"}

// onlyConstrains reports whether the branches of a union beside other keywords only require or forbid properties. No
// adapted schema can express such a union, because its branches describe no values.
func (a *adapter) onlyConstrains(d *builder, union *node) bool {
	return d.hasOther("anyOf") && !slices.ContainsFunc(union.Elems, func(b *node) bool {
		return b.Kind != '{' || hasOther(b.Fields, constraints...)
	})
}

// distribute copies the keywords beside a union into each branch and adapts the branches. If the consumer accepts no
// union, it makes one schema of them.
func (a *adapter) distribute(d *builder, union *node) bool {
	if d.root || !a.accepts(d, "anyOf") {
		d.drop("anyOf")
		return a.collapse(d, union)
	}
	inner := withoutWords(d.node(), func(w string) bool { return isAnnotation(w) || w == "nullable" || w == "anyOf" })
	if len(inner.Fields) > 0 && (a.rules.TypeInBranches || a.rules.UnionAlone || a.rules.TypeAlways) {
		a.change(d.original, rule.Type, "moved what stands beside anyOf into its branches", "", "")
	}
	branches := a.branches(d, union, inner)
	d.keepAnnotationsAnd("nullable", "anyOf")
	branches = a.mergeEqualBranches(d, branches)
	switch len(branches) {
	case 0:
		return false
	case 1:
		d.drop("anyOf")
		a.adoptBranch(d, branches[0])
		return true
	}
	nodes := make([]*node, len(branches))
	for i, b := range branches {
		nodes[i] = b.node
	}
	d.set("anyOf", newArray(nodes...))
	d.undo = chainOf(d.undo, a.inverseOfUnion(d, branches))
	return true
}

// branches adapts the branches of a union, each with inner beside it. A branch that became a union is replaced by its
// own branches.
func (a *adapter) branches(d *builder, union, inner *node) []schemaResult {
	var out []schemaResult
	for _, b := range union.Elems {
		n := b
		if len(inner.Fields) > 0 {
			n = withAllOf(madeFor(b, inner.Fields...), append(slices.Clone(inner.Get("allOf").Elements()), b)...)
		}
		r := a.schema(n)
		d.null = d.null || r.null
		if r.cut && a.rules.Closed && len(union.Elems) > 1 {
			a.change(b, rule.Recursion, "left out", "", "what is nested deeper")
			continue
		}
		if r.node == nil {
			continue
		}
		nested := r.node.Get("anyOf")
		if nested == nil || len(r.node.Fields) > 1 {
			out = append(out, schemaResult{node: r.node, undo: r.undo})
			continue
		}
		for _, e := range nested.Elems {
			out = append(out, schemaResult{node: e, undo: r.undo})
		}
	}
	if d.null && a.accepts(d, "nullable") && len(out) > 0 {
		d.null = false
		if !slices.ContainsFunc(out, func(b schemaResult) bool { return b.node.Get("nullable") != nil }) {
			nullable := &node{Kind: '{', Fields: append(slices.Clone(out[0].node.Fields), newMember("nullable", trueNode))}
			out[0] = schemaResult{node: nullable, undo: out[0].undo}
		}
	}
	return out
}

// mergeEqualBranches removes branches equal to an earlier branch, and merges enums of one type into one branch.
func (a *adapter) mergeEqualBranches(d *builder, all []schemaResult) []schemaResult {
	var out []schemaResult
	known := make(map[string]bool, len(all))
	enums := map[string]int{} // index in out of the enum of each type
	for _, b := range all {
		text := b.node.Compact()
		if known[text] {
			continue
		}
		known[text] = true
		if t := b.node.Get("type"); t != nil && isEnum(b.node) {
			enumType := t.Compact()
			if i, ok := enums[enumType]; ok {
				out[i] = schemaResult{node: a.mergeEnums(d, out[i].node, b.node)}
				continue
			}
			enums[enumType] = len(out)
		}
		out = append(out, b)
	}
	return out
}

// mergeEnums returns an enum with the values of both.
func (a *adapter) mergeEnums(d *builder, x, y *node) *node {
	a.change(d.original, rule.Keyword, "made one enum of several", "", "")
	merged := withoutWords(x, setOf("enum", "description").has)
	merged.Fields = append(merged.Fields, newMember("enum", allValues(x.Get("enum"), y.Get("enum"))))
	if text := joined(x.Get("description").Unquoted(), y.Get("description").Unquoted()); text != "" {
		merged.Fields = append(merged.Fields, newMember("description", newString(text)))
	}
	return merged
}

const maxJoined = 1_000 // length in bytes up to which other descriptions are added

func joined(x, y string) string {
	if x == "" || x == y || strings.Contains(y, x) {
		return y
	}
	if y == "" || len(x) > maxJoined || strings.Contains(x, y) {
		return x
	}
	return x + " " + y
}

// isEnum reports whether a schema only lists values.
func isEnum(n *node) bool {
	isOther := func(f field) bool { return f.Name != "type" && f.Name != "enum" && f.Name != "description" }
	return n.Get("enum") != nil && !slices.ContainsFunc(n.Fields, isOther)
}

// adoptBranch copies the keywords of a branch into d. Annotations of d stay unless the branch has its own.
func (a *adapter) adoptBranch(d *builder, b schemaResult) {
	for _, f := range b.node.Fields {
		if old := d.get(f.Name); f.Name == "description" && old != nil {
			d.set(f.Name, newString(joined(old.Unquoted(), f.Value.Unquoted())))
		} else if old == nil {
			d.add(f)
		}
	}
	if a.rules.RefAlone && d.has("$ref") && len(d.fields) > 1 {
		a.change(d.original, rule.Ref, "dropped what stands beside a reference", "", "")
		d.keepOnly("$ref")
	}
	d.undo = chainOf(d.undo, b.undo)
	d.finished = true
}
