package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/internal/text"
)

// conditions takes out what says something under a condition: what it says of properties stays, as optional ones.
func (a *adapter) conditions(d *builder) bool {
	if n := d.get(wordNot); n != nil && saysNothing(n) {
		return false
	}
	if d.has.has(wordIf) && !a.takes(d, wordIf) {
		d.conditions = append([]*builder{d.condition()}, d.conditions...)
	}
	for _, c := range d.conditions {
		a.takeOut(d, c, wordIf, c.get(wordThen), c.get(wordElse))
	}
	d.conditions = nil
	for _, w := range []word{wordDependentSchemas, wordDependencies} {
		v := d.get(w)
		if v == nil || a.takes(d, w) {
			continue
		}
		var branches []*node
		for _, f := range v.fields {
			branches = append(branches, f.value)
		}
		c := &builder{from: d.from}
		c.add(newField(w, v))
		d.drop(w)
		a.takeOut(d, c, w, branches...)
	}
	if !d.has.has(wordIf) {
		d.drop(wordThen, wordElse)
	}
	return true
}

// takeOut reports the condition c, which d has no longer, and declares what it says of properties.
func (a *adapter) takeOut(d, c *builder, w word, branches ...*node) {
	text := a.sketchCondition(c, w)
	before := len(d.get(wordProperties).fieldsOf())
	asked := map[*node]bool{}
	for _, b := range branches {
		a.optionally(d, b, asked)
	}
	narrowed := ""
	if len(d.get(wordProperties).fieldsOf()) > before {
		narrowed = "other values under names that only the condition declares"
	}
	a.change(c.from, RuleKeyword, "took a condition out", text, narrowed)
	d.note(text)
}

// optionally declares the properties of n that d has not, and of what n refers to.
func (a *adapter) optionally(d *builder, n *node, asked map[*node]bool) {
	if n == nil || n.kind != '{' || asked[n] {
		return
	}
	asked[n] = true
	a.optionally(d, a.refTarget(n), asked)
	for _, w := range []word{wordAllOf, wordAnyOf, wordOneOf} {
		for _, b := range n.get(w).list() {
			a.optionally(d, b, asked)
		}
	}
	for _, w := range []word{wordThen, wordElse} {
		a.optionally(d, n.get(w), asked)
	}
	props := n.get(wordProperties)
	if props == nil || props.kind != '{' {
		return
	}
	own := d.get(wordProperties)
	if own == nil {
		own = madeFor(d.from)
	}
	isDeclared := lookUpFields(own.fields)
	merged := &node{kind: '{', fields: slices.Clone(own.fields), like: own}
	for _, f := range props.fields {
		if !isDeclared(f.name) && f.value.kind != 'f' {
			merged.fields = append(merged.fields, f)
		}
	}
	a.count(n, merged.fields[len(own.fields):])
	d.set(wordProperties, merged)
}

// leftovers drops what the consumer does not take, with a note where words can say it.
func (a *adapter) leftovers(d *builder) bool {
	if !d.done {
		a.values(d)
	}
	var room [4]string
	silent := room[:0]
	for i := 0; i < len(d.fields); i++ {
		f := d.fields[i]
		if a.takes(d, f.word) && (f.word != wordOther || a.takesOther(d)) && !a.isMoved(f) {
			continue
		}
		if d.root && (f.word == wordDefs || f.word == wordDefinitions) {
			continue // for define
		}
		if f.word == wordDescription {
			continue // for describe
		}
		d.fields = slices.Delete(d.fields, i, i+1)
		d.has &^= f.word.set()
		i--
		if f.word == wordDefs || f.word == wordDefinitions {
			continue
		}
		note := a.keywordNote(f)
		d.note(note)
		if annotations.has(f.word) {
			silent = append(silent, string(f.name))
			continue
		}
		a.change(d.whence(f), RuleKeyword, "dropped "+string(f.name), string(f.name)+" "+plainValue(f.value), "")
	}
	switch len(silent) {
	case 0:
	case 1:
		a.change(d.from, RuleKeyword, "dropped "+briefName(silent[0]), "", "")
	default:
		a.change(d.from, RuleKeyword, "dropped "+text.Clip(strings.Join(silent, ", "), 80), "", "")
	}
	return true
}

// whence is the schema in which a keyword stood before schemas were merged.
func (d *builder) whence(f field) *node {
	if f.value.up != nil {
		return f.value.up
	}
	return d.from
}

// isMoved reports what is not left where it stands: definitions, which go where they are needed, the name of a draft other than
// the one that is written here, and a null that cannot be given.
func (a *adapter) isMoved(f field) bool {
	switch f.word {
	case wordDefs, wordDefinitions, wordID:
		return true
	case wordSchema:
		return f.value.string() != "https://json-schema.org/draft/2020-12/schema"
	case wordDefault:
		return isNull(f.value) && !a.parsed.types.has(typeNull)
	}
	return false
}

func (a *adapter) takesOther(d *builder) bool {
	if d.root {
		return len(a.rules.Root.Only) == 0
	}
	return len(a.rules.Nested.Only) == 0
}

// values drops the values that the consumer does not take of keywords that it takes, and adapts what else holds schemas.
func (a *adapter) values(d *builder) {
	if f := d.get(wordFormat); f != nil && len(a.rules.Formats) > 0 && a.takes(d, wordFormat) && !slices.Contains(a.rules.Formats, f.string()) {
		a.change(d.from, RuleFormat, "dropped format", "format "+briefName(f.string()), "")
		d.note("format " + briefName(f.string()))
		d.drop(wordFormat)
	}
	if p := d.get(wordPattern); p != nil && a.takes(d, wordPattern) && !a.takesPattern(p.string()) {
		a.change(d.from, RulePattern, "dropped pattern", "pattern "+briefName(p.string()), "")
		d.note(signature.Bound("pattern", p))
		d.drop(wordPattern)
	}
	for _, name := range repeatKeywords {
		w, most := wordsByName[name], a.rules.Limits.repeats(name)
		if v := d.get(w); most > 0 && v != nil && a.takes(d, w) && numberOf(v) > float64(most) {
			note := signature.Bound(name, v)
			a.change(d.from, RuleLimit, "dropped a bound that is too large", note, "")
			d.note(note)
			d.drop(w)
		}
	}
	for name, allowed := range a.rules.Bounds {
		w := wordsByName[name]
		if v := d.get(w); v != nil && a.takes(d, w) && !slices.Contains(allowed, int(numberOf(v))) {
			a.change(d.from, RuleBound, "dropped "+name, name+" "+sketchValue(v), "")
			d.note(signature.Bound(name, v))
			d.drop(w)
		}
	}
	for _, w := range []word{wordNot, wordIf, wordThen, wordElse, wordContains, wordPropertyNames, wordUnevaluatedItems,
		wordUnevaluatedProperties, wordAdditionalItems, wordContentSchema} {
		if v := d.get(w); v != nil && a.takes(d, w) {
			n := a.schemaOrFalse(v)
			if (w == wordNot || w == wordIf) && !n.same(v) {
				a.change(d.from, RuleKeyword, "changed what stands in "+wordNames[w], wordNames[w]+" "+a.sketch(v), "what "+wordNames[w]+" let pass")
			}
			if w == wordNot && saysNothing(n) {
				d.drop(w)
				continue
			}
			d.set(w, n)
		}
	}
	if v := d.get(wordDependentSchemas); v != nil && a.takes(d, wordDependentSchemas) {
		d.set(wordDependentSchemas, a.schemasIn(v))
	}
}

func (a *adapter) takesPattern(p string) bool {
	r := a.rules
	return (!r.PlainPattern || plainPattern(p)) && (!r.RustPattern || rustPattern(p)) &&
		(!r.AnchoredPattern || strings.HasPrefix(p, "^") && len(p) > 1 && strings.HasSuffix(p, "$"))
}

// rustPattern reports a pattern without \0 and, however far its classes go, without more opening brackets than closing ones
// outside of escapes, or one behind another.
func rustPattern(p string) bool {
	open := false
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			if i++; i < len(p) && p[i] == '0' {
				return false
			}
		case '[':
			if open {
				return false
			}
			if open = true; strings.HasPrefix(p[i:], "[]") || strings.HasPrefix(p[i:], "[^]") {
				i += strings.IndexByte(p[i:], ']')
			}
		case ']':
			open = false
		}
	}
	return true
}

// plainPattern reports a pattern without look-around and back-references.
func plainPattern(p string) bool {
	for i := 0; i < len(p); i++ {
		switch {
		case p[i] == '\\' && i+1 < len(p):
			if p[i+1] >= '1' && p[i+1] <= '9' || p[i+1] == 'k' {
				return false
			}
			i++
		case strings.HasPrefix(p[i:], "(?=") || strings.HasPrefix(p[i:], "(?!") || strings.HasPrefix(p[i:], "(?<=") || strings.HasPrefix(p[i:], "(?<!"):
			return false
		}
	}
	return true
}

const maxNotes = 400 // bytes of what one description is given

// describe puts the notes into the description, and reports what the root's has no place for.
func (a *adapter) describe(d *builder) string {
	a.clean(d, wordTitle)
	a.clean(d, wordDescription)
	prose := d.get(wordDescription).string()
	notes := ""
	for i := range d.notes {
		d.notes[i] = a.known(d, d.notes[i])
	}
	d.notes = slices.DeleteFunc(d.notes, func(note string) bool { return saysAlready(prose, note) })
	if len(d.notes) > 0 {
		notes = "(" + cleanText(text.Clip(strings.Join(d.notes, "; "), maxNotes), func(string, ...any) {}) + ")"
	}
	if prose != "" && notes != "" && !strings.Contains(prose, notes) {
		notes = prose + " " + notes
	} else if notes == "" || prose != "" {
		notes = prose
	}
	if !a.takes(d, wordDescription) {
		d.drop(wordDescription)
		return notes
	}
	union := d.get(wordAnyOf)
	if union != nil && a.rules.TypeInBranches {
		d.dropSet(besideUnions)
	}
	if union != nil && a.rules.UnionAlone {
		d.dropSet(annotations)
		if notes != "" {
			first := union.elems[0]
			said := joined(notes, first.get(wordDescription).string())
			elems := slices.Clone(union.elems)
			elems[0] = withDescription(first, said)
			d.set(wordAnyOf, newArray(elems...))
		}
		return ""
	}
	if notes != prose {
		d.set(wordDescription, newString(notes))
	}
	return ""
}

// clean takes out of a text what no reader sees.
func (a *adapter) clean(d *builder, w word) {
	v := d.get(w)
	if v == nil {
		return
	}
	text := v.string()
	cleaned := cleanText(text, func(format string, args ...any) {
		a.change(v, RuleDescription, fmt.Sprintf(format, args...), "", "")
	})
	if cleaned != text {
		d.set(w, newString(cleaned))
	}
}

// saysAlready reports whether a text says already what a note of a default would.
func saysAlready(text, note string) bool {
	value, ok := strings.CutPrefix(note, "default ")
	return ok && strings.Contains(strings.ToLower(text), "default") && strings.Contains(text, strings.Trim(value, `"`))
}

// besideUnions is what may not be beside anyOf where types may not.
var besideUnions = annotations &^ setOf(wordTitle, wordDescription, wordDefault, wordID)

func withDescription(n *node, text string) *node {
	out := &node{kind: '{', fields: slices.Clone(n.fields)}
	if n.get(wordDescription) != nil {
		return out.with(wordDescription, newString(text))
	}
	out.fields = append(out.fields, newField(wordDescription, newString(text)))
	return out
}
