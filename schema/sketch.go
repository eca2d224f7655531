package schema

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/indusagi/indus/internal/text"
)

// What a description has room for.
const (
	maxSketch = 240 // bytes of a sketch
	maxValue  = 60  // bytes of one value
	maxDeep   = 3   // how far a sketch looks in
	maxShown  = 12  // how many values, properties or branches
)

// sketch is a schema in the few characters that a description has room for: {name: string, age?: integer}.
func (a *adapter) sketch(n *node) string { return briefTo(a.sketched(n, maxDeep), maxSketch) }

func (a *adapter) sketched(n *node, deep int) string {
	if n.kind != '{' || deep == 0 {
		if n.kind == 'f' {
			return "nothing"
		}
		return "any"
	}
	if v := values(n); v != nil {
		return sketchEach(v, " | ", func(e *node) string { return sketchValue(e) })
	}
	for _, w := range []word{wordAnyOf, wordOneOf} {
		if u := n.get(w); u != nil && n.get(wordProperties) == nil {
			return sketchEach(u.elems, " | ", func(e *node) string { return a.sketched(e, deep-1) })
		}
	}
	if all := n.get(wordAllOf); all != nil && n.get(wordType) == nil {
		return sketchEach(all.elems, " & ", func(e *node) string { return a.sketched(e, deep-1) })
	}
	if ref := n.get(wordRef); ref != nil {
		if target := a.target(ref.string()); target != nil && deep > 1 {
			return a.sketched(target, deep-1)
		}
		return brief(lastStep(ref.string()))
	}
	return a.sketchType(n, deep)
}

func (a *adapter) sketchType(n *node, deep int) string {
	t := n.get(wordType)
	var names []string
	if t != nil {
		for _, one := range typesOf(t).each() {
			names = append(names, one.one())
		}
	}
	kind := strings.Join(names, " | ")
	switch {
	case n.get(wordProperties) != nil && (kind == "" || kind == "object"):
		return a.sketchObject(n, deep)
	case kind == "array" && n.get(wordItems) != nil:
		item := a.sketched(n.get(wordItems), deep-1)
		if strings.Contains(item, " | ") && item[0] != '{' {
			item = "(" + item + ")"
		}
		return "list of " + item
	case kind == "object":
		if more := n.get(wordAdditionalProperties); more != nil && more.kind == '{' {
			return "object of " + a.sketched(more, deep-1)
		}
	case kind == "":
		if r := n.get(wordRequired); r != nil && len(r.elems) > 0 {
			return "{" + sketchEach(r.elems, ", ", func(e *node) string { return a.shown(e.string()) }) + "}"
		}
		return "any"
	}
	return kind
}

func (a *adapter) sketchObject(n *node, deep int) string {
	props := n.get(wordProperties)
	var b strings.Builder
	b.WriteByte('{')
	for i := range props.fields {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == maxShown || b.Len() > maxSketch {
			b.WriteString("…")
			break
		}
		f := &props.fields[i]
		b.WriteString(a.shown(string(f.name)))
		if !requires(n, f.name) {
			b.WriteByte('?')
		}
		if text := a.sketched(f.value, deep-1); text != "any" {
			b.WriteString(": " + text)
		}
	}
	for _, e := range n.get(wordRequired).list() {
		if props.member(e.string()) == nil && b.Len() < maxSketch {
			if len(props.fields) > 0 {
				b.WriteString(", ")
			}
			b.WriteString(a.shown(e.string()))
		}
	}
	b.WriteByte('}')
	return b.String()
}

// What a sketch has around a property's name that the model may know under another one. Both are noncharacters.
const nameBegins, nameEnds = "\uFDD0", "\uFDD1"

var sketchedName = regexp.MustCompile(nameBegins + "([^" + nameBegins + nameEnds + "]*)" + nameEnds + "?")

// shown is a property's name in a sketch. Under free keys it is the owner's, as nobody changes it on the way back.
func (a *adapter) shown(name string) string {
	g := &a.shape.key
	if a.free || g.takes([]byte(name)) && a.shape.rootKey.takes([]byte(name)) && !a.isNotKey([]byte(name)) {
		return brief(name)
	}
	return nameBegins + name + nameEnds
}

// owned is a text of sketches with the owner's names.
func owned(text string) string {
	if !strings.Contains(text, nameBegins) {
		return text
	}
	return sketchedName.ReplaceAllStringFunc(text, func(s string) string { return brief(strings.Trim(s, nameBegins+nameEnds)) })
}

// known is a text of sketches with the names that the properties of d have for the model. Of those further inside it is not
// known which are taken, and so which have a hash.
func (a *adapter) known(d *draft, text string) string {
	if !strings.Contains(text, nameBegins) {
		return text
	}
	return sketchedName.ReplaceAllStringFunc(text, func(s string) string {
		name := strings.Trim(s, nameBegins+nameEnds)
		g := &a.shape.key
		if now := d.names[name]; now != "" {
			return now
		} else if d.root && a.shape.rootKey.takes([]byte(name)) || g.takes([]byte(name)) {
			return brief(name)
		}
		if clean := sanitised(name, g); g.max > 0 && clean != "" {
			return clean
		}
		return brief(name)
	})
}

// sketchFree is a sketch of what stands under keys that the model chooses.
func (a *adapter) sketchFree(sketch func() string) string {
	a.free = true
	defer func() { a.free = false }()
	return sketch()
}

func sketchEach(all []*node, between string, one func(*node) string) string {
	var parts []string
	size := 0
	for i, e := range all {
		if i == maxShown || size > maxSketch {
			parts = append(parts, "…")
			break
		}
		if text := one(e); !slices.Contains(parts, text) {
			size += len(text)
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, between)
}

func (a *adapter) sketchUnion(union *node) string {
	return briefTo(sketchEach(union.elems, " | ", func(e *node) string { return a.sketched(e, maxDeep) }), maxSketch)
}

func (a *adapter) sketchTuple(first *node) string {
	var parts []string
	for i, e := range first.elems {
		if i == maxShown {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, a.sketched(e, maxDeep-1))
	}
	return briefTo(strings.Join(parts, ", "), maxSketch)
}

func (a *adapter) sketchPatterns(p *node) string {
	var parts []string
	for i := range p.fields {
		if i == maxShown {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, brief(string(p.fields[i].name))+": "+a.sketched(p.fields[i].value, maxDeep-1))
	}
	return briefTo(strings.Join(parts, ", "), maxSketch)
}

func (a *adapter) sketchCondition(d *draft, w word) string {
	v := d.get(w)
	if w == wordIf {
		text := "if " + a.sketched(v, maxDeep)
		if then := d.get(wordThen); then != nil {
			text += " then " + a.sketched(then, maxDeep)
		}
		if other := d.get(wordElse); other != nil {
			text += " else " + a.sketched(other, maxDeep)
		}
		return briefTo(text, maxSketch)
	}
	var parts []string
	for i := range v.fields {
		if i == maxShown {
			break
		}
		f := &v.fields[i]
		needs := a.sketched(f.value, maxDeep-1)
		if f.value.kind == '[' {
			needs = sketchEach(f.value.elems, ", ", func(e *node) string {
				if name := a.shown(e.string()); name != e.string() {
					return name
				}
				return sketchValue(e)
			})
		}
		parts = append(parts, a.shown(string(f.name))+" needs "+needs)
	}
	return briefTo(strings.Join(parts, ", "), maxSketch)
}

// plainly is a value as one says it: a string without its quotes.
func plainly(v *node) string {
	if v.kind == '"' {
		return brief(v.string())
	}
	return sketchValue(v)
}

// sketchValue is a JSON value, cut.
func sketchValue(v *node) string { return briefTo(string(v.appendUpTo(nil, maxValue+4)), maxValue) }

func sketchValues(all []*node) string {
	return briefTo(sketchEach(all, ", ", sketchValue), maxSketch)
}

// appendUpTo writes n until limit is passed.
func (n *node) appendUpTo(out []byte, limit int) []byte {
	if len(out) > limit {
		return out
	}
	open, end := byte('{'), byte('}')
	switch n.kind {
	case '[':
		open, end = '[', ']'
	case '{':
	default:
		return append(out, n.text[:min(len(n.text), limit+1)]...)
	}
	out = append(out, open)
	for i := range n.fields {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, n.fields[i].key[:min(len(n.fields[i].key), limit)]...), ':')
		if out = n.fields[i].value.appendUpTo(out, limit); len(out) > limit {
			return out
		}
	}
	for i, e := range n.elems {
		if i > 0 {
			out = append(out, ',')
		}
		if out = e.appendUpTo(out, limit); len(out) > limit {
			return out
		}
	}
	return append(out, end)
}

// keywordNote is what a description says in place of a keyword, "" for what it leaves out.
func (a *adapter) keywordNote(f field) string {
	v := sketchValue(f.value)
	switch f.word {
	case wordMinimum:
		return "minimum " + v
	case wordMaximum:
		return "maximum " + v
	case wordExclusiveMinimum:
		return "greater than " + v
	case wordExclusiveMaximum:
		return "less than " + v
	case wordMultipleOf:
		return "a multiple of " + v
	case wordMinLength:
		return "at least " + countOf(v, "character")
	case wordMaxLength:
		return "at most " + countOf(v, "character")
	case wordMinItems:
		return "at least " + countOf(v, "item")
	case wordMaxItems:
		return "at most " + countOf(v, "item")
	case wordMinProperties:
		return "at least " + countOf(v, "key")
	case wordMaxProperties:
		return "at most " + countOf(v, "key")
	case wordUniqueItems:
		if f.value.kind == 't' {
			return "no item twice"
		}
		return ""
	case wordPattern, wordFormat, wordContentEncoding, wordContentMediaType:
		return wordText(f.word) + " " + brief(f.value.string())
	case wordDefault:
		if isNull(f.value) || len(v) > maxValue {
			return ""
		}
		return "default " + v
	case wordExample:
		return "for example " + v
	case wordExamples:
		if len(f.value.elems) == 0 {
			return ""
		}
		return "for example " + sketchValue(f.value.elems[0])
	case wordEnum:
		return "one of " + sketchValues(f.value.elems)
	case wordNot:
		return "not " + a.sketch(f.value)
	case wordContains:
		return "contains " + a.sketch(f.value)
	case wordPropertyNames:
		return "keys: " + a.sketchConstraint(f.value)
	case wordDependentRequired:
		return a.sketchCondition(&draft{fields: []field{f}, has: f.word.set()}, f.word)
	}
	return ""
}

func countOf(n, what string) string {
	if n != "1" {
		what += "s"
	}
	return n + " " + what
}

func (a *adapter) sketchConstraint(n *node) string {
	if n.kind == '{' {
		for i := range n.fields {
			if f := n.fields[i]; f.word == wordPattern || f.word == wordMaxLength || f.word == wordMinLength || f.word == wordEnum {
				return a.keywordNote(f)
			}
		}
	}
	return a.sketch(n)
}

// keywordText names the two keywords under which less is more.
func keywordText(w word) string {
	if w == wordNot {
		return "not"
	}
	return "if"
}

func wordText(w word) string {
	switch w {
	case wordPattern:
		return "pattern"
	case wordFormat:
		return "format"
	case wordContentEncoding:
		return "encoded as"
	}
	return "media type"
}

// brief is a name that a stranger chose, in one line and quoted where it needs to be.
func brief(s string) string {
	s = briefTo(s, maxValue)
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	return s
}

func briefTo(s string, limit int) string {
	return text.Clip(s, limit)
}
