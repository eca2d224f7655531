package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// definition is a schema that references lead to, where they are kept.
type definition struct {
	name   string
	target *node
	node   *node
	back   *inverse
}

// references follows $ref. It is kept where the consumer takes it and nothing beside it has to be said with it, or where it
// leads back into itself; else what it leads to is merged with what is beside it.
func (a *adapter) references(d *builder) bool {
	a.liftReference(d)
	for slices.ContainsFunc(d.fields, refers) {
		w, ref := firstReference(d)
		target := a.target(ref)
		if target != nil && !a.onlyRefers(target) && !a.unsatisfiable[target] && !d.root && a.parsed.nested.takes("$ref") && a.keeps(d, w, target) {
			return a.keepRef(d, w, target, ref)
		}
		d.drop(w)
		if target == nil || a.onlyRefers(target) {
			a.change(d.from, RuleRef, "dropped a reference that leads nowhere here: "+briefName(ref), "what "+briefName(ref)+" says", "")
			d.note("see " + briefName(ref))
			continue
		}
		if a.unsatisfiable[target] {
			return false
		}
		if !a.enter(d, d.from, target, ref) {
			continue
		}
		a.change(d.from, RuleRef, "inlined "+briefName(ref), "", "")
		if !a.merge(d, target) {
			return false
		}
	}
	return true
}

// liftReference puts a reference in the place of an allOf that has nothing else: before draft 2019-09 a reference could have a
// description only so. Merging the allOf would write the reference out.
func (a *adapter) liftReference(d *builder) {
	all := d.get("allOf").Elements()
	if len(all) != 1 || d.hasOther("allOf") || a.takes(d, "allOf") || !a.parsed.nested.takes("$ref") {
		return
	}
	ref := all[0].Get("$ref")
	if ref == nil || ref.Kind != '"' || len(all[0].Fields) != 1 {
		return
	}
	a.change(d.from, RuleKeyword, "unwrapped allOf", "", "")
	d.rename("allOf", "$ref", ref)
}

// onlyRefers reports a schema that refers to others, in a circle.
func (a *adapter) onlyRefers(n *node) bool {
	for range maxLevels {
		if n = a.refTarget(n); n == nil {
			return false
		}
	}
	return true
}

// firstReference is the first of the references that d has.
func firstReference(d *builder) (w, ref string) {
	i := slices.IndexFunc(d.fields, refers)
	return d.fields[i].Name, d.fields[i].Value.Unquoted()
}

func refers(f field) bool { return referenceWords.has(f.Name) }

// frame is what a reference led to, and the frame that the reference is in.
type frame struct {
	target *node
	up     *frame
	depth  int
	back   *inverse // of what is written for it
}

// around is the frame that n is in, nil for the document. What was merged beside n is none of it.
func (a *adapter) around(n *node) *frame {
	for n.Like != nil {
		n = n.Like
	}
	for i := len(a.inside) - 1; i >= 0; i-- {
		f := a.inside[i]
		for at := n; at != nil; at = at.Up {
			if at == f.target {
				return f
			}
		}
	}
	return nil
}

// enter notes that target is written for the reference that is at from, and reports false, with a note, where that is
// inside of target already, or where too many are inside one another.
func (a *adapter) enter(d *builder, from, target *node, ref string) bool {
	around := a.around(from)
	f := &frame{target: target, up: around, depth: 1, back: &inverse{late: true}}
	if around != nil {
		f.depth = around.depth + 1
	}
	again := f.depth > a.levels
	for ; around != nil; around = around.up {
		if around.target == target {
			again = true
			if !slices.Contains(a.inside[d.mark:], around) {
				d.back = inTurn(d.back, around.back) // which is restored as the one around is
			}
			break
		}
	}
	if !again {
		a.inside = append(a.inside, f)
		return true
	}
	name := lastStep(ref)
	a.change(d.from, RuleRecursion, "cut the reference "+briefName(ref)+", which begins again", "the shape of "+briefName(name)+" at this depth", "")
	d.cut = true
	if name != "" {
		d.note("one more " + briefName(name) + ", of the same shape")
	}
	if t := a.typesFrom(target); t.one() != "" && !d.has("type") {
		d.set("type", newString(t.one()))
	}
	return false
}

// typesFrom are the types that a schema seems to be of, everyType if that is not plain. Each schema is asked once.
func (a *adapter) typesFrom(n *node) typeSet {
	if n.Kind != '{' {
		return everyType
	}
	if t, known := a.typesOf[n]; known {
		return t
	}
	a.typesOf[n] = everyType // what leads back to itself
	a.typesOf[n] = a.typesOfSchema(n)
	return a.typesOf[n]
}

func (a *adapter) typesOfSchema(n *node) typeSet {
	if t := n.Get("type"); t != nil {
		if s := typesOf(t); s != 0 {
			return s
		}
	}
	if target := a.refTarget(n); target != nil {
		return a.typesFrom(target)
	}
	if n.Get("properties") != nil {
		return typeObject
	}
	if n.Get("items") != nil {
		return typeArray
	}
	all := everyType
	for _, b := range n.Get("allOf").Elements() {
		all &= a.typesFrom(b)
	}
	for _, w := range []string{"anyOf", "oneOf"} {
		var some typeSet
		for _, b := range n.Get(w).Elements() {
			some |= a.typesFrom(b)
		}
		if some != 0 {
			all &= some
		}
	}
	return all
}

// keeps reports whether a reference can stay one.
func (a *adapter) keeps(d *builder, w string, target *node) bool {
	loops := a.leadsToLoop(target)
	if loops {
		return !a.rules.NoRecursion
	}
	if a.rules.RefAlone && len(d.fields) > 1 && (!a.alone || d.hasOther(w)) {
		return false
	}
	return a.underDefinitions(target) || a.isShared(target)
}

// sharedSize is the length, as compact JSON, above which a definition and its references are shorter than copies.
const sharedSize = 80

// isShared reports whether a schema outside the definitions moves there: the consumer takes $ref, and a reference leads to
// the schema, so that it is used twice at least.
func (a *adapter) isShared(n *node) bool {
	if n.Kind != '{' || !a.parsed.nested.takes("$ref") || n == a.Root || n.Get("$ref") != nil || !a.isTarget(n) {
		return false
	}
	return !a.underDefinitions(n) && !a.unsatisfiable[n] && !(a.rules.NoRecursion && a.leadsToLoop(n)) && len(n.Compact()) > sharedSize
}

// isTarget reports whether a reference in the document leads to n.
func (a *adapter) isTarget(n *node) bool {
	if a.referenced == nil {
		a.referenced = map[*node]bool{}
		for within := range a.Root.All() {
			for _, f := range within.Fields {
				if refers(f) && f.Value.Kind == '"' {
					a.referenced[a.target(f.Value.Unquoted())] = true
				}
			}
		}
	}
	return a.referenced[n]
}

// moved returns the reference to a shared schema, for the place where the schema stood.
func (a *adapter) moved(n *node) schemaResult {
	ref, back := a.kept(n, "#"+n.Path())
	a.change(n, RuleRef, "moved to "+briefName(ref)+", since it is used more than once", "", "")
	return schemaResult{node: newObject(newMember("$ref", newString(ref))), back: back}
}

func (a *adapter) keepRef(d *builder, w string, target *node, ref string) bool {
	now, back := a.kept(target, ref)
	if a.rules.RefAlone && len(d.fields) > 1 {
		lost := ""
		if d.hasOther(w) {
			lost = "what stands beside " + briefName(ref)
		}
		a.change(d.from, RuleRef, "dropped what stands beside a reference", lost, "")
		d.keepOnly(w)
	}
	if now != ref {
		a.change(d.from, RuleRef, "wrote the reference "+briefName(ref)+" as "+briefName(now), "", "")
	}
	if d.back = back; now != ref || w != "$ref" {
		d.rename(w, "$ref", newString(now))
	}
	return true
}

// kept is how a reference to target is written now, and the inverse of what is there.
func (a *adapter) kept(target *node, ref string) (string, *inverse) {
	if target == a.Root && a.top != nil {
		return "#", a.top
	}
	def := a.definitionOf(target, ref)
	return "#/$defs/" + text.PointerStep(def.name), def.back
}

var definitionName = Grammar{First: "a-zA-Z0-9_.-", Rest: "a-zA-Z0-9_.-", Max: 64}.read()

// definitionOf is the definition of target, made if it is new.
func (a *adapter) definitionOf(target *node, ref string) *definition {
	if def := a.defined[target]; def != nil {
		return def
	}
	name := sanitised(lastStep(ref), &definitionName)
	if name == "" {
		name = "root"
	}
	for base, i := name, 2; a.definitions[name] != nil; i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	def := &definition{name: name, target: target, back: &inverse{late: true}}
	a.defs = append(a.defs, def)
	if a.defined == nil {
		a.defined, a.definitions = map[*node]*definition{}, map[string]*definition{}
	}
	a.defined[target], a.definitions[name] = def, def
	return def
}

// define writes the definitions of what was kept, and of what they keep in turn.
func (a *adapter) define(root *builder) {
	for i := 0; i < len(a.defs); i++ {
		def := a.defs[i]
		a.inside = a.inside[:0]
		r := a.unshared(def.target)
		if r.node == nil {
			a.unsatisfiable[def.target] = true
			a.fail(errDefinition)
		}
		def.node = r.node
		def.back.fill(r.back)
	}
	used := map[string]bool{}
	if len(a.defs) > 0 {
		a.uses(root.node(), used)
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

// uses notes the definitions that n refers to, and those that they refer to.
func (a *adapter) uses(n *node, used map[string]bool) {
	for within := range n.All() {
		ref := within.Get("$ref").Unquoted()
		name, _ := strings.CutPrefix(ref, "#/$defs/")
		if def := a.definitions[name]; ref != "" && def != nil && !used[name] { // no name needs escaping
			used[name] = true
			a.uses(def.node, used)
		}
	}
}

const maxVisited = 100 * DefaultNodes // of a schema whose references lead into one another over and over

// leadsToLoop reports whether following references from target may never end.
func (a *adapter) leadsToLoop(target *node) bool {
	loops, known := a.loops[target]
	if !known {
		a.loops[target] = true // for what leads back to it
		loops = a.holdsLoop(target)
		a.loops[target] = loops
	}
	return loops
}

// holdsLoop reports whether a reference within n leads to a loop.
func (a *adapter) holdsLoop(n *node) bool {
	for within := range n.All() {
		if a.visited++; a.visited > maxVisited {
			return true // be careful
		}
		for _, f := range within.Fields {
			if refers(f) && f.Value.Kind == '"' {
				if target := a.target(f.Value.Unquoted()); target != nil && a.leadsToLoop(target) {
					return true
				}
			}
		}
	}
	return false
}

func (a *adapter) underDefinitions(n *node) bool {
	return n.Up != nil && (n.Up == a.Root.Get("$defs") || n.Up == a.Root.Get("definitions"))
}

// refTarget is what the $ref of a schema leads to, nil if nothing.
func (a *adapter) refTarget(n *node) *node {
	ref := n.Get("$ref")
	if ref == nil || ref.Kind != '"' {
		return nil
	}
	return a.target(ref.Unquoted())
}

// target is what a reference leads to within the document, nil if nothing.
func (a *adapter) target(ref string) *node {
	if n, known := a.targets[ref]; known {
		return n
	}
	if a.targets == nil {
		a.targets = make(map[string]*node)
	}
	n := a.LookUp(ref)
	if n != nil && !isSchema(n) {
		n = nil
	}
	a.targets[ref] = n
	return n
}

func lastStep(ref string) string {
	_, fragment, _ := strings.Cut(ref, "#")
	return fragment[strings.LastIndexByte(fragment, '/')+1:]
}
