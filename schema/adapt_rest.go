package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/schema/rule"
)

// dropConditions removes conditional keywords that the profile does not accept. The properties that they declare stay,
// as optional properties.
func (a *adapter) dropConditions(d *builder) bool {
	if n := d.get("not"); n != nil && isUnconstrained(n) {
		return false
	}
	if d.has("if") && !a.accepts(d, "if") {
		d.conditions = append([]*builder{d.condition()}, d.conditions...)
	}
	for _, c := range d.conditions {
		a.declareBranches(d, c, "if", c.get("then"), c.get("else"))
	}
	d.conditions = nil
	for _, w := range []string{"dependentSchemas", "dependencies"} {
		v := d.get(w)
		if v == nil || a.accepts(d, w) {
			continue
		}
		var branches []*node
		for _, f := range v.Fields {
			branches = append(branches, f.Value)
		}
		c := &builder{original: d.original}
		c.add(newMember(w, v))
		d.drop(w)
		a.declareBranches(d, c, w, branches...)
	}
	if !d.has("if") {
		d.drop("then", "else")
	}
	return true
}

// declareBranches reports that the condition c was removed from d, and declares the properties of its branches.
func (a *adapter) declareBranches(d, c *builder, w string, branches ...*node) {
	text := a.sketchCondition(c, w)
	before := len(d.get("properties").Members())
	visited := map[*node]bool{}
	for _, b := range branches {
		a.declareOptional(d, b, visited)
	}
	narrowed := ""
	if len(d.get("properties").Members()) > before {
		narrowed = "other values under names that only the condition declares"
	}
	a.change(c.original, rule.Keyword, "took a condition out", text, narrowed)
	d.note(text)
}

// declareOptional declares in d the properties of n, and of the schemas that n refers to, that d does not have yet.
func (a *adapter) declareOptional(d *builder, n *node, visited map[*node]bool) {
	if n == nil || n.Kind != '{' || visited[n] {
		return
	}
	visited[n] = true
	a.declareOptional(d, a.refTarget(n), visited)
	for _, w := range []string{"allOf", "anyOf", "oneOf"} {
		for _, b := range n.Get(w).Elements() {
			a.declareOptional(d, b, visited)
		}
	}
	for _, w := range []string{"then", "else"} {
		a.declareOptional(d, n.Get(w), visited)
	}
	props := n.Get("properties")
	if props == nil || props.Kind != '{' {
		return
	}
	own := d.get("properties")
	if own == nil {
		own = madeFor(d.original)
	}
	isDeclared := lookUpFields(own.Fields)
	merged := &node{Kind: '{', Fields: slices.Clone(own.Fields), Original: own}
	for _, f := range props.Fields {
		if !isDeclared(f.Name) && f.Value.Kind != 'f' {
			merged.Fields = append(merged.Fields, f)
		}
	}
	a.count(n, merged.Fields[len(own.Fields):])
	d.set("properties", merged)
}

// dropUnaccepted drops the keywords that the consumer does not accept, and adds a note to the description if words can
// express the keyword.
func (a *adapter) dropUnaccepted(d *builder) bool {
	if !d.finished {
		a.values(d)
	}
	var buffer [4]string
	annotations := buffer[:0]
	for i := 0; i < len(d.fields); i++ {
		f := d.fields[i]
		if a.accepts(d, f.Name) && !a.isMoved(f) {
			continue
		}
		if d.root && (f.Name == "$defs" || f.Name == "definitions") {
			continue // define writes them
		}
		if f.Name == "description" {
			continue // describe handles it
		}
		d.fields = slices.Delete(d.fields, i, i+1)
		i--
		if f.Name == "$defs" || f.Name == "definitions" {
			continue
		}
		note := a.keywordNote(f)
		d.note(note)
		if isAnnotation(f.Name) {
			annotations = append(annotations, f.Name)
			continue
		}
		a.change(d.origin(f), rule.Keyword, "dropped "+f.Name, f.Name+" "+signature.Plain(f.Value), "")
	}
	switch len(annotations) {
	case 0:
	case 1:
		a.change(d.original, rule.Keyword, "dropped "+briefName(annotations[0]), "", "")
	default:
		a.change(d.original, rule.Keyword, "dropped "+text.Clip(strings.Join(annotations, ", "), 80), "", "")
	}
	return true
}

// origin returns the schema that contained a keyword before schemas were merged.
func (d *builder) origin(f field) *node {
	if f.Value.Parent != nil {
		return f.Value.Parent
	}
	return d.original
}

// isMoved reports whether a keyword does not stay in place. These are definitions, which move to the root, $id, the
// $schema of another draft, and a default of null if null is not accepted.
func (a *adapter) isMoved(f field) bool {
	switch f.Name {
	case "$defs", "definitions", "$id":
		return true
	case "$schema":
		return f.Value.Unquoted() != "https://json-schema.org/draft/2020-12/schema"
	case "default":
		return isNull(f.Value) && !a.acceptedTypes.has(typeNull)
	}
	return false
}

// values drops the values that the consumer does not accept from keywords that it accepts. It also adapts the remaining
// keywords that hold schemas.
func (a *adapter) values(d *builder) {
	if f := d.get("format"); f != nil && len(a.rules.Formats) > 0 && a.accepts(d, "format") &&
		!slices.Contains(a.rules.Formats, f.Unquoted()) {
		a.change(d.original, rule.Format, "dropped format", "format "+briefName(f.Unquoted()), "")
		d.note("format " + briefName(f.Unquoted()))
		d.drop("format")
	}
	if p := d.get("pattern"); p != nil && a.accepts(d, "pattern") && !a.acceptsPattern(p.Unquoted()) {
		a.change(d.original, rule.Pattern, "dropped pattern", "pattern "+briefName(p.Unquoted()), "")
		d.note(signature.Bound("pattern", p))
		d.drop("pattern")
	}
	for _, name := range []string{"minLength", "maxLength", "minItems", "maxItems"} {
		limit := a.rules.Limits.Repeat(name)
		if v := d.get(name); limit > 0 && v != nil && a.accepts(d, name) && v.Number() > float64(limit) {
			note := signature.Bound(name, v)
			a.change(d.original, rule.Limit, "dropped a bound that is too large", note, "")
			d.note(note)
			d.drop(name)
		}
	}
	for name, allowed := range a.rules.Bounds {
		if v := d.get(name); v != nil && a.accepts(d, name) && !slices.Contains(allowed, int(v.Number())) {
			a.change(d.original, rule.Bound, "dropped "+name, name+" "+signature.Value(v), "")
			d.note(signature.Bound(name, v))
			d.drop(name)
		}
	}
	for _, w := range []string{"not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems",
		"unevaluatedProperties", "additionalItems", "contentSchema"} {
		if v := d.get(w); v != nil && a.accepts(d, w) {
			n := a.schemaOrFalse(v)
			if (w == "not" || w == "if") && !n.Same(v) {
				a.change(d.original, rule.Keyword, "changed what stands in "+w, w+" "+a.sketch(v), "what "+w+" let pass")
			}
			if w == "not" && isUnconstrained(n) {
				d.drop(w)
				continue
			}
			d.set(w, n)
		}
	}
	if v := d.get("dependentSchemas"); v != nil && a.accepts(d, "dependentSchemas") {
		d.set("dependentSchemas", a.schemasIn(v))
	}
}

func (a *adapter) acceptsPattern(p string) bool {
	r := a.rules
	return r.Unsupported(p) == "" &&
		(!r.AnchoredPattern || strings.HasPrefix(p, "^") && len(p) > 1 && strings.HasSuffix(p, "$"))
}

const maxNotes = 400 // bytes of notes in one description

// describe adds the notes to the description. If the root cannot have a description, describe returns the text.
func (a *adapter) describe(d *builder) string {
	a.clean(d, "title")
	a.clean(d, "description")
	prose := d.get("description").Unquoted()
	notes := ""
	for i := range d.notes {
		d.notes[i] = a.resolveNames(d, d.notes[i])
	}
	d.notes = slices.DeleteFunc(d.notes, func(note string) bool { return mentionsDefault(prose, note) })
	if len(d.notes) > 0 {
		notes = "(" + cleanText(text.Clip(strings.Join(d.notes, "; "), maxNotes), func(string, ...any) {}) + ")"
	}
	if prose != "" && notes != "" && !strings.Contains(prose, notes) {
		notes = prose + " " + notes
	} else if notes == "" || prose != "" {
		notes = prose
	}
	if !a.accepts(d, "description") {
		d.drop("description")
		return notes
	}
	union := d.get("anyOf")
	if union != nil && a.rules.TypeInBranches {
		d.dropIf(func(w string) bool { return isAnnotation(w) && !besideUnions.has(w) })
	}
	if union != nil && a.rules.UnionAlone {
		d.dropIf(isAnnotation)
		if notes != "" {
			first := union.Elems[0]
			merged := joined(notes, first.Get("description").Unquoted())
			elems := slices.Clone(union.Elems)
			elems[0] = withDescription(first, merged)
			d.set("anyOf", newArray(elems...))
		}
		return ""
	}
	if notes != prose {
		d.set("description", newString(notes))
	}
	return ""
}

// clean removes invisible characters from a text.
func (a *adapter) clean(d *builder, w string) {
	v := d.get(w)
	if v == nil {
		return
	}
	text := v.Unquoted()
	cleaned := cleanText(text, func(format string, args ...any) {
		a.change(v, rule.Description, fmt.Sprintf(format, args...), "", "")
	})
	if cleaned != text {
		d.set(w, newString(cleaned))
	}
}

// mentionsDefault reports whether a text already mentions the default that a note gives.
func mentionsDefault(text, note string) bool {
	value, ok := strings.CutPrefix(note, "default ")
	return ok && strings.Contains(strings.ToLower(text), "default") && strings.Contains(text, strings.Trim(value, `"`))
}

// besideUnions lists the annotations that stay beside anyOf if the profile accepts no types there.
var besideUnions = setOf("title", "description", "default", "$id")

func withDescription(n *node, text string) *node {
	out := &node{Kind: '{', Fields: slices.Clone(n.Fields)}
	if n.Get("description") != nil {
		return withValue(out, "description", newString(text))
	}
	out.Fields = append(out.Fields, newMember("description", newString(text)))
	return out
}
