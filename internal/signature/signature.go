package signature

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/indusagi/indus/internal/text"
)

// Style is how much of a schema is written, and how.
type Style struct {
	// Depth is how many levels of schemas are written; "…" stands for what is deeper.
	Depth int
	// Choices is how many values, alternatives or properties are written next to each other; "…" stands for the rest.
	Choices int
	// Object is how many bytes an object within a schema may take; a longer one is "object".
	Object int
	// Bytes is about how long the text may be; 0: any length.
	Bytes int
	// Defaults adds short default values to parameters: limit?: integer = 10.
	Defaults bool
	// Name writes the name of a property; nil is [Name].
	Name func(string) string
}

// Line is the style for one line of a list.
var Line = Style{Depth: 4, Choices: 6, Object: 60, Bytes: 300, Defaults: true}

// Note is the style for a note in a description, or in an error for a model.
var Note = Style{Depth: 3, Choices: 12, Object: 240, Bytes: 240}

// maxValue is how many bytes of one name or value are shown.
const maxValue = 60

// Name is a name that a stranger chose, cut, and quoted where it holds what cannot be printed.
func Name(s string) string {
	s = text.Clip(s, maxValue)
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// Value is a value as JSON, cut.
func Value(n *node) string {
	return text.OneLine(text.Clip(string(n.AppendUpTo(nil, maxValue+4)), maxValue))
}

// Plain is [Value], of a string without its quotes.
func Plain(n *node) string {
	if n.Is(`"`) {
		return Name(n.Content())
	}
	return Value(n)
}

// Signature is the parameters of a tool with this input schema: (path: string, limit?: integer).
func (s Schema) Signature(st Style) string {
	s = s.Resolved()
	all := s.Declarations(st)
	if all == nil {
		if t := s.Type(st); !s.Is("{") || t != "object" && t != "any" {
			all = []string{t}
		}
	}
	size := 2
	for i, one := range all {
		if size += len(one) + 2; i > 0 && st.Bytes > 0 && size > st.Bytes {
			all = append(all[:i:i], "…")
			break
		}
	}
	return "(" + strings.Join(all, ", ") + ")"
}

// Declarations are the [Schema.Parameters], each with its type.
func (s Schema) Declarations(st Style) (all []string) {
	for _, p := range s.Parameters() {
		all = append(all, st.declaration(p, st.Depth-1))
	}
	return all
}

// Type is what the schema takes.
func (s Schema) Type(st Style) string { return st.clip(st.union(st.alternatives(s, st.Depth))) }

// Each writes several schemas with sep between them.
func (s Schema) Each(nodes []*node, sep string, st Style) string {
	return st.clip(st.list(nodes, sep, func(n *node) string { return st.union(st.alternatives(s.At(n), st.Depth-1)) }))
}

// Values writes values with sep between them.
func Values(nodes []*node, sep string, st Style) string {
	return st.clip(st.list(nodes, sep, Value))
}

func (st Style) clip(s string) string {
	if st.Bytes > 0 {
		return text.Clip(s, st.Bytes)
	}
	return s
}

func (st Style) name(s string) string {
	if st.Name != nil {
		return st.Name(s)
	}
	return Name(s)
}

func (st Style) list(nodes []*node, sep string, write func(*node) string) string {
	var all []string
	size := 0
	for i, n := range nodes {
		if i == st.Choices || st.Bytes > 0 && size > st.Bytes {
			all = append(all, "…")
			break
		}
		if one := write(n); !slices.Contains(all, one) {
			size += len(one) + len(sep)
			all = append(all, one)
		}
	}
	return strings.Join(all, sep)
}

func (st Style) union(all []string) string { return strings.Join(all, " | ") }

// alternatives are what would do for s, each without the others.
func (st Style) alternatives(s Schema, depth int) []string {
	switch {
	case s.Is("f"):
		return []string{"nothing"}
	case !s.Is("{"):
		return []string{"any"}
	case depth <= 0:
		return []string{"…"}
	}
	if ref := s.String("$ref"); ref != "" {
		target := s.Resolved()
		if depth == 1 || target.Node == nil || target.Is("n") {
			return []string{Name(ref[strings.LastIndexByte(ref, '/')+1:])}
		}
		return st.alternatives(target, depth)
	}
	if v := s.Get("const"); v != nil {
		return []string{Value(v)}
	}
	if list := s.Get("enum"); list != nil {
		return st.merge(list.Elements(), func(n *node) []string { return []string{Value(n)} })
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		if list := s.Get(k); list != nil && s.Get("properties") == nil {
			return st.merge(list.Elements(), func(n *node) []string { return st.alternatives(s.At(n), depth-1) })
		}
	}
	if list := s.Get("allOf"); list != nil && s.Get("type") == nil && s.Get("properties") == nil {
		return st.all(s, list.Elements(), depth-1)
	}
	types := s.Types()
	if types == nil {
		types = []string{""}
	}
	var all []string
	for _, t := range slices.Compact(types) {
		all = append(all, st.typed(s, t, depth))
	}
	return all
}

func (st Style) merge(nodes []*node, write func(*node) []string) []string {
	var all []string
	for i, n := range nodes {
		if i == st.Choices {
			all = append(all, "…")
			break
		}
		for _, one := range write(n) {
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	if all == nil || slices.Contains(all, "any") {
		return []string{"any"}
	}
	return all
}

// all are the alternatives of what satisfies every schema of an allOf.
func (st Style) all(s Schema, nodes []*node, depth int) []string {
	var parts []string
	var alone []string
	for _, n := range nodes[:min(len(nodes), st.Choices)] {
		each := st.alternatives(s.At(n), depth)
		one := st.union(each)
		if len(each) > 1 {
			one = "(" + one + ")"
		}
		if one != "any" && !slices.Contains(parts, one) {
			parts, alone = append(parts, one), each
		}
	}
	switch len(parts) {
	case 0:
		return []string{"any"}
	case 1:
		return alone
	}
	return []string{strings.Join(parts, " & ")}
}

// typed is a type with what it holds: string[], {x: number, y?: number}.
func (st Style) typed(s Schema, name string, depth int) string {
	switch name {
	case "array":
		return st.array(s, depth)
	case "object", "":
		if text := st.object(s, depth); text != "" {
			return text
		}
	}
	if name == "" {
		return "any"
	}
	return Name(name)
}

func (st Style) array(s Schema, depth int) string {
	tuple := s.List("prefixItems")
	items := s.Get("items")
	if items.Is("[") {
		tuple, items = items.Elements(), nil
	}
	if tuple != nil && depth > 1 {
		return "[" + st.list(tuple, ", ", func(n *node) string { return st.union(st.alternatives(s.At(n), depth-1)) }) + "]"
	}
	if !items.Is("{") || depth <= 1 {
		return "array"
	}
	each := st.alternatives(s.At(items), depth-1)
	if one := st.union(each); len(each) > 1 || strings.Contains(one, " & ") && one[0] != '{' {
		return "(" + one + ")[]"
	} else {
		return one + "[]"
	}
}

// object is an object with its properties; "" where it has none, or they take too much room.
func (st Style) object(s Schema, depth int) string {
	if depth <= 1 {
		return ""
	}
	params := s.Parameters()
	if params == nil && s.Get("required") == nil {
		if more := s.Get("additionalProperties"); more.Is("{") && s.Get("type") != nil {
			return "{[key]: " + st.union(st.alternatives(s.At(more), depth-1)) + "}"
		}
		return ""
	}
	var all []string
	size := 2
	add := func(one string) bool {
		if len(all) == st.Choices || size > st.Object {
			all = append(all, "…")
			return false
		}
		all, size = append(all, one), size+len(one)+2
		return true
	}
	named := map[string]bool{}
	for _, p := range params {
		named[p.Name] = true
		if !add(st.declaration(p, depth-1)) {
			break
		}
	}
	for _, n := range s.List("required") {
		if name := n.Content(); !named[name] && !add(st.name(name)) {
			break
		}
	}
	if len(all) == 0 || depth < st.Depth && size > st.Object {
		return ""
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// declaration is a parameter with its type: limit?: integer.
func (st Style) declaration(p Parameter, depth int) string {
	one := st.name(p.Name)
	if !p.Required {
		one += "?"
	}
	one += ": " + st.union(st.alternatives(p.declared, depth))
	if st.Defaults {
		if v := p.Schema.Get("default"); v != nil && !v.Is("n") {
			if short := string(v.AppendUpTo(nil, 20)); len(short) <= 20 {
				one += " = " + text.OneLine(short)
			}
		}
	}
	return one
}

// Count is "1 item", "2 items".
func Count(n, noun string) string {
	switch {
	case n == "1":
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return n + " " + strings.TrimSuffix(noun, "y") + "ies"
	}
	return n + " " + noun + "s"
}

// bounds are the keywords whose value limits something, in words.
var bounds = map[string]struct{ words, noun string }{
	"minimum": {"at least %s", ""}, "maximum": {"at most %s", ""},
	"exclusiveMinimum": {"greater than %s", ""}, "exclusiveMaximum": {"less than %s", ""},
	"multipleOf": {"a multiple of %s", ""},
	"minLength":  {"at least %s", "character"}, "maxLength": {"at most %s", "character"},
	"minItems": {"at least %s", "item"}, "maxItems": {"at most %s", "item"},
	"minProperties": {"at least %s", "property"}, "maxProperties": {"at most %s", "property"},
	"minContains": {"at least %s", "item"}, "maxContains": {"at most %s", "item"},
	"pattern": {"text matching %s", ""},
}

// Counted is what a keyword counts: "item"; "" where it counts nothing.
func Counted(keyword string) string { return bounds[keyword].noun }

// Bound is what a keyword that limits something asks for, in a few words: "at least 2 characters". It is "" for other keywords.
func Bound(keyword string, value *node) string {
	b, ok := bounds[keyword]
	switch {
	case keyword == "uniqueItems" && value.Is("t"):
		return "unique items"
	case !ok:
		return ""
	}
	words := Plain(value)
	if b.noun != "" {
		words = Count(words, b.noun)
	}
	return fmt.Sprintf(b.words, words)
}
