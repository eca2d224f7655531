package schema

import (
	"strings"

	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/internal/text"
)

// maxSketch is the maximum length in bytes of one schema's sketch.
const maxSketch = 240

// sketch returns a schema in a short form for descriptions: {name: string, age?: integer}.
func (a *adapter) sketch(n *node) string { return a.signature(n).Type(a.style()) }

func (a *adapter) signature(n *node) signature.Schema { return signature.New(n, a.target) }

func (a *adapter) style() signature.Style {
	st := signature.Note
	st.Name = a.sketchName
	return st
}

// Marks around a property name in a sketch that the model may know under another name. Both are noncharacters.
const nameBegins, nameEnds = "\uFDD0", "\uFDD1"

var markedName = text.Pattern(nameBegins + "([^" + nameBegins + nameEnds + "]*)" + nameEnds + "?")

// sketchName returns a property's name in a sketch. Under free keys it is the original name, because Restore does not
// rename free keys.
func (a *adapter) sketchName(name string) string {
	if a.freeKeys || a.rules.Key.Accepts(name) && a.keyGrammar(true).Accepts(name) && !a.isNotKey(name) {
		return briefName(name)
	}
	return nameBegins + name + nameEnds
}

// withOriginalNames replaces the marked names in a text by the original names.
func withOriginalNames(text string) string { return replaceNames(text, briefName) }

// replaceNames replaces the marked names in a text.
func replaceNames(text string, by func(name string) string) string {
	if !strings.Contains(text, nameBegins) {
		return text
	}
	return markedName().ReplaceAllStringFunc(text, func(s string) string {
		return by(strings.Trim(s, nameBegins+nameEnds))
	})
}

// resolveNames replaces the marked names in a text by the names that the properties of d have for the model. For
// properties nested deeper, it cannot know which names are taken, so it adds no hash to them.
func (a *adapter) resolveNames(d *builder, text string) string {
	return replaceNames(text, func(name string) string {
		if newName := d.names[name]; newName != "" {
			return newName
		} else if a.keyGrammar(d.root).Accepts(name) || a.rules.Key.Accepts(name) {
			return briefName(name)
		}
		if clean := sanitised(name, a.rules.Key); a.rules.Key.Max > 0 && clean != "" {
			return clean
		}
		return briefName(name)
	})
}

// sketchFree returns a sketch of a schema under keys that the model chooses.
func (a *adapter) sketchFree(sketch func() string) string {
	a.freeKeys = true
	defer func() { a.freeKeys = false }()
	return sketch()
}

// sketchEach returns a sketch of the schemas in a list.
func (a *adapter) sketchEach(list *node, sep string) string {
	return a.signature(list).Each(list.Elems, sep, a.style())
}

func (a *adapter) sketchPatterns(p *node) string {
	st := a.style()
	st.Depth--
	var parts []string
	for i, f := range p.Fields {
		if i == st.Choices {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, briefName(f.Name)+": "+a.signature(f.Value).Type(st))
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
	for _, f := range v.Fields[:min(len(v.Fields), signature.Note.Choices)] {
		needs := ""
		if f.Value.Kind == '[' {
			for i, e := range f.Value.Elems[:min(len(f.Value.Elems), signature.Note.Choices)] {
				if i > 0 {
					needs += ", "
				}
				needs += a.sketchName(e.Unquoted())
			}
		} else {
			needs = a.sketch(f.Value)
		}
		parts = append(parts, a.sketchName(f.Name)+" needs "+needs)
	}
	return text.Clip(strings.Join(parts, ", "), maxSketch)
}

func sketchValues(all []*node) string { return signature.Values(all, ", ", signature.Note) }

// keywordNote returns the text that replaces a keyword in a description, or "" if there is none.
func (a *adapter) keywordNote(f field) string {
	if bound := signature.Bound(f.Name, f.Value); bound != "" {
		return bound
	}
	switch f.Name {
	case "format":
		return "format " + signature.Plain(f.Value)
	case "contentEncoding":
		return "encoded as " + signature.Plain(f.Value)
	case "contentMediaType":
		return "media type " + signature.Plain(f.Value)
	case "default":
		if v := string(f.Value.AppendUpTo(nil, maxSketch)); !isNull(f.Value) && v == signature.Value(f.Value) {
			return "default " + v
		}
	case "example":
		return "for example " + signature.Value(f.Value)
	case "examples":
		if len(f.Value.Elems) > 0 {
			return "for example " + signature.Value(f.Value.Elems[0])
		}
	case "enum":
		return "one of " + sketchValues(f.Value.Elems)
	case "not":
		return "not " + a.sketch(f.Value)
	case "contains":
		return "contains " + a.sketch(f.Value)
	case "propertyNames":
		return "keys: " + a.sketchConstraint(f.Value)
	case "dependentRequired":
		return a.sketchCondition(&builder{fields: []field{f}}, f.Name)
	}
	return ""
}

func (a *adapter) sketchConstraint(n *node) string {
	for _, f := range n.Fields {
		if f.Name == "pattern" || f.Name == "maxLength" || f.Name == "minLength" || f.Name == "enum" {
			return a.keywordNote(f)
		}
	}
	return a.sketch(n)
}

// briefName returns an untrusted name in one line, quoted if necessary.
func briefName(s string) string { return signature.Name(s) }
