package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/schema/rule"
)

// definition is the target of references that are kept.
type definition struct {
	name   string
	target *node
	node   *node
	undo   *inverse
}

// followReferences follows $ref. A reference is kept if the consumer accepts it with the keywords beside it, or if it
// is recursive. Otherwise, the target is merged with the keywords beside the reference.
func (a *adapter) followReferences(d *builder) bool {
	a.liftReference(d)
	for {
		i := slices.IndexFunc(d.fields, isReference)
		if i < 0 {
			return true
		}
		w, ref := d.fields[i].Name, d.fields[i].Value.Unquoted()
		target := a.target(ref)
		if target != nil && !a.isCircular(target) && !a.unsatisfiable[target] && !d.root && a.acceptsInside("$ref") &&
			a.canKeepRef(d, w, target) {
			return a.keepRef(d, w, target, ref)
		}
		d.drop(w)
		if target == nil || a.isCircular(target) {
			a.change(d.original, rule.Ref, "dropped a reference that leads nowhere here: "+briefName(ref),
				"what "+briefName(ref)+" says", "")
			d.note("see " + briefName(ref))
			continue
		}
		if a.unsatisfiable[target] {
			return false
		}
		if !a.inlineTarget(d, d.original, target, ref) {
			continue
		}
		a.change(d.original, rule.Ref, "inlined "+briefName(ref), "", "")
		if !a.merge(d, target) {
			return false
		}
	}
}

// liftReference replaces an allOf that contains only a reference by that reference. Before draft 2019-09 this was the
// only way to put a description beside a reference. Merging the allOf would inline the reference.
func (a *adapter) liftReference(d *builder) {
	all := d.get("allOf").Elements()
	if len(all) != 1 || d.hasOther("allOf") || a.accepts(d, "allOf") || !a.acceptsInside("$ref") {
		return
	}
	ref := all[0].Get("$ref")
	if !ref.Is(`"`) || len(all[0].Fields) != 1 {
		return
	}
	a.change(d.original, rule.Keyword, "unwrapped allOf", "", "")
	d.rename("allOf", "$ref", ref)
}

// isCircular reports whether a schema is part of a circle of references.
func (a *adapter) isCircular(n *node) bool {
	for range maxLevels {
		n = a.refTarget(n)
		if n == nil {
			return false
		}
	}
	return true
}

func isReference(f field) bool { return referenceWords.has(f.Name) }

// frame records the target of an inlined reference and the frame around the reference.
type frame struct {
	target *node
	up     *frame
	depth  int
	undo   *inverse // inverse of the schema that replaces the reference
}

// enclosingFrame returns the frame that contains n, or nil. Schemas merged beside n do not count.
func (a *adapter) enclosingFrame(n *node) *frame {
	for n.Original != nil {
		n = n.Original
	}
	for i := len(a.inlined) - 1; i >= 0; i-- {
		f := a.inlined[i]
		for at := n; at != nil; at = at.Parent {
			if at == f.target {
				return f
			}
		}
	}
	return nil
}

// inlineTarget records that target is inlined for the reference at from. It adds a note and reports false if the
// reference is inside target already, or if too many references are inlined inside one another.
func (a *adapter) inlineTarget(d *builder, from, target *node, ref string) bool {
	enclosing := a.enclosingFrame(from)
	f := &frame{target: target, up: enclosing, depth: 1, undo: &inverse{deferred: true}}
	if enclosing != nil {
		f.depth = enclosing.depth + 1
	}
	repeats := f.depth > a.maxInlined
	for ; enclosing != nil; enclosing = enclosing.up {
		if enclosing.target == target {
			repeats = true
			if !slices.Contains(a.inlined[d.firstInlined:], enclosing) {
				d.undo = chainOf(d.undo, enclosing.undo) // the cut value is restored like the value around it
			}
			break
		}
	}
	if !repeats {
		a.inlined = append(a.inlined, f)
		return true
	}
	name := lastStep(ref)
	a.change(d.original, rule.Recursion, "cut the reference "+briefName(ref)+", which begins again",
		"the shape of "+briefName(name)+" at this depth", "")
	d.cut = true
	if name != "" {
		d.note("one more " + briefName(name) + ", of the same shape")
	}
	t := a.possibleTypes(target)
	if t == everyType {
		t = suggestedTypes(&builder{fields: target.Fields})
	}
	if t.single() != "" && !d.has("type") {
		d.set("type", newString(t.single()))
	}
	return false
}

// possibleTypes returns the types that a schema accepts, as far as its types, values, references and branches show. The
// result is computed once for each schema.
func (a *adapter) possibleTypes(n *node) typeSet {
	if n.Kind != '{' {
		return everyType
	}
	if cached, ok := a.typesOf[n]; ok {
		return cached
	}
	a.typesOf[n] = everyType // assumed for references that lead back to n
	all := everyType
	if t := n.Get("type"); t != nil && typesOf(t) != 0 {
		all = typesOf(t)
	} else if values := allowedValues(n); values != nil && n.Get("$ref") == nil {
		all = typesOfValues(values)
	}
	if target := a.refTarget(n); target != nil {
		all &= a.possibleTypes(target)
	}
	for _, b := range n.Get("allOf").Elements() {
		all &= a.possibleTypes(b)
	}
	for _, w := range []string{"anyOf", "oneOf"} {
		var union typeSet
		for _, b := range n.Get(w).Elements() {
			if b.Kind != 'f' {
				union |= a.possibleTypes(b)
			}
		}
		if len(n.Get(w).Elements()) > 0 {
			all &= union
		}
	}
	a.typesOf[n] = all
	return all
}

// canKeepRef reports whether a reference can stay a reference.
func (a *adapter) canKeepRef(d *builder, keyword string, target *node) bool {
	loops := a.leadsToLoop(target)
	if loops {
		return !a.rules.NoRecursion
	}
	if a.rules.RefAlone && len(d.fields) > 1 && (!a.dropBesideRef || d.hasOther(keyword)) {
		return false
	}
	return a.underDefinitions(target) || a.isShared(target)
}

// sharedSize is the length in bytes of compact JSON above which a definition with references is shorter than copies.
const sharedSize = 80

// isShared reports whether to move a schema into the definitions. The consumer must accept $ref, and a reference must
// lead to the schema, so that the schema is used at least twice.
func (a *adapter) isShared(n *node) bool {
	if n.Kind != '{' || !a.acceptsInside("$ref") || n == a.Root || n.Get("$ref") != nil || !a.isTarget(n) {
		return false
	}
	return !a.underDefinitions(n) && !a.unsatisfiable[n] && !(a.rules.NoRecursion && a.leadsToLoop(n)) &&
		len(n.Compact()) > sharedSize
}

// isTarget reports whether a reference in the document leads to n.
func (a *adapter) isTarget(n *node) bool {
	if a.referenced == nil {
		a.referenced = map[*node]bool{}
		for inner := range a.Root.All() {
			for _, f := range inner.Fields {
				if isReference(f) && f.Value.Kind == '"' {
					a.referenced[a.target(f.Value.Unquoted())] = true
				}
			}
		}
	}
	return a.referenced[n]
}

// moveToDefinitions returns the reference that replaces a shared schema.
func (a *adapter) moveToDefinitions(n *node) schemaResult {
	ref, undo := a.keptReference(n, "#"+n.Path())
	a.change(n, rule.Ref, "moved to "+briefName(ref)+", since it is used more than once", "", "")
	return schemaResult{node: newObject(newMember("$ref", newString(ref))), undo: undo}
}

func (a *adapter) keepRef(d *builder, w string, target *node, ref string) bool {
	newRef, undo := a.keptReference(target, ref)
	if a.rules.RefAlone && len(d.fields) > 1 {
		lost := ""
		if d.hasOther(w) {
			lost = "what stands beside " + briefName(ref)
		}
		a.change(d.original, rule.Ref, "dropped what stands beside a reference", lost, "")
		d.keepOnly(w)
	}
	if newRef != ref {
		a.change(d.original, rule.Ref, "wrote the reference "+briefName(ref)+" as "+briefName(newRef), "", "")
	}
	d.undo = undo
	if newRef != ref || w != "$ref" {
		d.rename(w, "$ref", newString(newRef))
	}
	return true
}

// keptReference returns the new spelling of a reference to target, and the inverse of the target.
func (a *adapter) keptReference(target *node, ref string) (string, *inverse) {
	if target == a.Root && a.rootInverse != nil {
		return "#", a.rootInverse
	}
	def := a.definitionOf(target, ref)
	return "#/$defs/" + text.PointerStep(def.name), def.undo
}

var definitionName = rule.Grammar{First: "a-zA-Z0-9_.-", Rest: "a-zA-Z0-9_.-", Max: 64}

// definitionOf returns the definition of target, and creates it if it is new.
func (a *adapter) definitionOf(target *node, ref string) *definition {
	if def := a.defined[target]; def != nil {
		return def
	}
	name := sanitised(lastStep(ref), definitionName)
	if name == "" {
		name = "root"
	}
	for base, i := name, 2; a.definitions[name] != nil; i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	def := &definition{name: name, target: target, undo: &inverse{deferred: true}}
	a.defs = append(a.defs, def)
	if a.defined == nil {
		a.defined, a.definitions = map[*node]*definition{}, map[string]*definition{}
	}
	a.defined[target], a.definitions[name] = def, def
	return def
}

// define writes the definitions of all kept references, including the references within definitions.
func (a *adapter) define(root *builder) {
	for i := 0; i < len(a.defs); i++ {
		def := a.defs[i]
		a.inlined = a.inlined[:0]
		r := a.unshared(def.target)
		if r.node == nil {
			a.unsatisfiable[def.target] = true
			a.fail(errDefinition)
		}
		def.node = r.node
		def.undo.fill(r.undo)
	}
	used := map[string]bool{}
	if len(a.defs) > 0 {
		a.markUsed(root.node(), used)
	}
	var fields []field
	for _, def := range a.defs {
		if used[def.name] {
			fields = append(fields, newMember(def.name, def.node))
		}
	}
	if len(fields) == 0 {
		root.drop("$defs", "definitions")
		return
	}
	if !root.has("$defs") && root.has("definitions") {
		root.rename("definitions", "$defs", newObject(fields...))
	}
	root.set("$defs", newObject(fields...))
	root.drop("definitions")
}

// markUsed records the definitions that n refers to, directly or through other definitions.
func (a *adapter) markUsed(n *node, used map[string]bool) {
	for inner := range n.All() {
		ref := inner.Get("$ref").Unquoted()
		name, _ := strings.CutPrefix(ref, "#/$defs/")
		if def := a.definitions[name]; ref != "" && def != nil && !used[name] { // names of definitions need no escapes
			used[name] = true
			a.markUsed(def.node, used)
		}
	}
}

const maxVisited = 100 * DefaultNodes // nodes visited in a schema with heavily nested references

// leadsToLoop reports whether following references from target may never end.
func (a *adapter) leadsToLoop(target *node) bool {
	loops, known := a.loops[target]
	if !known {
		a.loops[target] = true // assumed for references that lead back to target
		loops = a.holdsLoop(target)
		a.loops[target] = loops
	}
	return loops
}

// holdsLoop reports whether a reference within n leads to a loop.
func (a *adapter) holdsLoop(n *node) bool {
	for inner := range n.All() {
		a.visited++
		if a.visited > maxVisited {
			return true // too large to search, so assume a loop
		}
		for _, f := range inner.Fields {
			if isReference(f) && f.Value.Kind == '"' {
				if target := a.target(f.Value.Unquoted()); target != nil && a.leadsToLoop(target) {
					return true
				}
			}
		}
	}
	return false
}

func (a *adapter) underDefinitions(n *node) bool {
	return n.Parent != nil && (n.Parent == a.Root.Get("$defs") || n.Parent == a.Root.Get("definitions"))
}

// refTarget returns the target of a schema's $ref, or nil if there is none.
func (a *adapter) refTarget(n *node) *node {
	if ref := n.Get("$ref"); ref.Is(`"`) {
		return a.target(ref.Unquoted())
	}
	return nil
}

// target returns the schema that a reference leads to within the document, or nil if there is none.
func (a *adapter) target(ref string) *node {
	if n, known := a.targets[ref]; known {
		return n
	}
	if a.targets == nil {
		a.targets = make(map[string]*node)
	}
	n := a.LookUp(ref)
	if !isSchema(n) {
		n = nil
	}
	a.targets[ref] = n
	return n
}

func lastStep(ref string) string {
	_, fragment, _ := strings.Cut(ref, "#")
	return fragment[strings.LastIndexByte(fragment, '/')+1:]
}
