package schema

import (
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/internal/text"
)

// maxSketch is how many bytes of a description go to what one schema says.
const maxSketch = 240

// sketch is a schema in the few characters that a description has room for: {name: string, age?: integer}.
func (a *adapter) sketch(n *node) string { return a.signature(n).Type(a.style()) }

func (a *adapter) signature(n *node) signature.Schema {
	return signature.New(n, func(ref string) signature.Node { return orNil(a.target(ref)) })
}

func (a *adapter) style() signature.Style {
	st := signature.Note
	st.Name = a.shown
	return st
}

// What of a sketch is a property's name that the model may know under another one. Both are noncharacters.
const nameBegins, nameEnds = "\uFDD0", "\uFDD1"

var markedName = regexp.MustCompile(nameBegins + "([^" + nameBegins + nameEnds + "]*)" + nameEnds + "?")

// shown is a property's name in a sketch. Under free keys it is the owner's, as nobody changes it on the way back.
func (a *adapter) shown(name string) string {
	g := &a.parsed.key
	if a.free || g.takes(name) && a.parsed.rootKey.takes(name) && !a.isNotKey(name) {
		return briefName(name)
	}
	return nameBegins + name + nameEnds
}

// withOwnersNames is a text of sketches with the owner's names.
func withOwnersNames(text string) string {
	if !strings.Contains(text, nameBegins) {
		return text
	}
	return markedName.ReplaceAllStringFunc(text, func(s string) string { return briefName(strings.Trim(s, nameBegins+nameEnds)) })
}

// known is a text of sketches with the names that the properties of d have for the model. Of those further inside it is not
// known which are taken, and so which have a hash.
func (a *adapter) known(d *builder, text string) string {
	if !strings.Contains(text, nameBegins) {
		return text
	}
	return markedName.ReplaceAllStringFunc(text, func(s string) string {
		name := strings.Trim(s, nameBegins+nameEnds)
		g := &a.parsed.key
		if now := d.names[name]; now != "" {
			return now
		} else if d.root && a.parsed.rootKey.takes(name) || g.takes(name) {
			return briefName(name)
		}
		if clean := sanitised(name, g); g.max > 0 && clean != "" {
			return clean
		}
		return briefName(name)
	})
}

// sketchFree is a sketch of what is under keys that the model chooses.
func (a *adapter) sketchFree(sketch func() string) string {
	a.free = true
	defer func() { a.free = false }()
	return sketch()
}

func (a *adapter) sketchUnion(union *node) string {
	return a.signature(union).Each(slices.Collect(union.Elements()), " | ", a.style())
}

func (a *adapter) sketchTuple(first *node) string {
	return a.signature(first).Each(slices.Collect(first.Elements()), ", ", a.style())
}

func (a *adapter) sketchPatterns(p *node) string {
	st := a.style()
	st.Depth--
	var parts []string
	for i, f := range p.fields {
		if i == st.Choices {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, briefName(f.name)+": "+a.signature(f.value).Type(st))
	}
	return text.Clip(strings.Join(parts, ", "), maxSketch)
}

func (a *adapter) sketchCondition(d *builder, w string) string {
	v := d.get(w)
	if w == "if" {
		condition := "if " + a.sketch(v)
		if then := d.get("then"); then != nil {
			condition += " then " + a.sketch(then)
		}
		if other := d.get("else"); other != nil {
			condition += " else " + a.sketch(other)
		}
		return text.Clip(condition, maxSketch)
	}
	var parts []string
	for _, f := range v.fields[:min(len(v.fields), signature.Note.Choices)] {
		needs := ""
		if f.value.kind == '[' {
			for i, e := range f.value.elems[:min(len(f.value.elems), signature.Note.Choices)] {
				if i > 0 {
					needs += ", "
				}
				needs += a.shown(e.string())
			}
		} else {
			needs = a.sketch(f.value)
		}
		parts = append(parts, a.shown(f.name)+" needs "+needs)
	}
	return text.Clip(strings.Join(parts, ", "), maxSketch)
}

// plainValue is a value as one says it: a string without its quotes.
func plainValue(v *node) string { return signature.Plain(v) }

// sketchValue is a JSON value, cut.
func sketchValue(v *node) string { return signature.Value(v) }

func sketchValues(all []*node) string {
	return signature.Values(slices.Collect(newArray(all...).Elements()), ", ", signature.Note)
}

// keywordNote is what a description says in place of a keyword, "" for what it leaves out.
func (a *adapter) keywordNote(f field) string {
	if bound := signature.Bound(f.name, f.value); bound != "" {
		return bound
	}
	switch f.name {
	case "format":
		return "format " + plainValue(f.value)
	case "contentEncoding":
		return "encoded as " + plainValue(f.value)
	case "contentMediaType":
		return "media type " + plainValue(f.value)
	case "default":
		if v := string(f.value.appendUpTo(nil, maxSketch)); !isNull(f.value) && v == sketchValue(f.value) {
			return "default " + v
		}
	case "example":
		return "for example " + sketchValue(f.value)
	case "examples":
		if len(f.value.elems) > 0 {
			return "for example " + sketchValue(f.value.elems[0])
		}
	case "enum":
		return "one of " + sketchValues(f.value.elems)
	case "not":
		return "not " + a.sketch(f.value)
	case "contains":
		return "contains " + a.sketch(f.value)
	case "propertyNames":
		return "keys: " + a.sketchConstraint(f.value)
	case "dependentRequired":
		return a.sketchCondition(&builder{fields: []field{f}}, f.name)
	}
	return ""
}

func (a *adapter) sketchConstraint(n *node) string {
	for _, f := range n.fields {
		if f.name == "pattern" || f.name == "maxLength" || f.name == "minLength" || f.name == "enum" {
			return a.keywordNote(f)
		}
	}
	return a.sketch(n)
}

// briefName is a name that a stranger chose, in one line and quoted where it needs to be.
func briefName(s string) string { return signature.Name(s) }

// A node is a [signature.Node].
var _ signature.Node = (*node)(nil)

func (n *node) Kind() byte { return n.kind }

func (n *node) Member(name string) signature.Node { return orNil(n.get(name)) }

func orNil(n *node) signature.Node {
	if n == nil {
		return nil
	}
	return n
}

func (n *node) Members() iter.Seq2[string, signature.Node] {
	return func(yield func(string, signature.Node) bool) {
		for i := range n.fields {
			if f := &n.fields[i]; !yield(f.name, f.value) {
				return
			}
		}
	}
}

func (n *node) Elements() iter.Seq[signature.Node] {
	return func(yield func(signature.Node) bool) {
		for _, e := range n.elems {
			if !yield(e) {
				return
			}
		}
	}
}

func (n *node) JSON(limit int) string { return string(n.appendUpTo(nil, limit)) }

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
