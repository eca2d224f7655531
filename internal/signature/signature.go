package signature

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/indusagi/indus/internal/text"
)

// Style selects how much of a schema is written, and in which form.
type Style struct {
	// Depth limits the levels of schemas that are written. "…" stands for deeper levels.
	Depth int
	// Choices limits the values, alternatives or properties that are written beside each other. "…" stands for the
	// rest.
	Choices int
	// Object limits the bytes of an object within a schema. A longer object is written as "object".
	Object int
	// Bytes limits the approximate length of the text. If it is 0, there is no limit.
	Bytes int
	// Defaults adds short default values to parameters: limit?: integer = 10.
	Defaults bool
	// Name writes the name of a property. If it is nil, [Name] is used.
	Name func(string) string

	known map[reference][]string // the types of references that were written; nil if they are not kept
}

// reference is the target of a reference at a depth.
type reference struct {
	target *node
	depth  int
}

// Line is the style for one line of a list.
var Line = Style{Depth: 4, Choices: 6, Object: 60, Bytes: 300, Defaults: true}

// Note is the style for a note in a description, or in an error for a model.
var Note = Style{Depth: 3, Choices: 12, Object: 240, Bytes: 240}

// maxValue limits how many bytes of one name or value are shown.
const maxValue = 60

// Name returns an untrusted name for display. It is cut, and quoted if it has characters that cannot be printed.
func Name(s string) string {
	s = text.Clip(s, maxValue)
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// Value returns a value as JSON, cut.
func Value(n *node) string {
	return text.OneLine(text.Clip(string(n.AppendUpTo(nil, maxValue+4)), maxValue))
}

// Plain is [Value], but without the quotes of a string.
func Plain(n *node) string {
	if n.Is(`"`) {
		return Name(n.Content())
	}
	return Value(n)
}

// Signature returns the parameters of a tool with this input schema: (path: string, limit?: integer).
func (s Schema) Signature(st Style) string {
	s, st.known = s.Resolved(), map[reference][]string{}
	var all []string
	size := 2
	for i, p := range s.Parameters() {
		one := st.declaration(p, st.Depth-1)
		size += len(one) + 2
		if i > 0 && st.Bytes > 0 && size > st.Bytes { // the rest would take quadratic time
			all = append(all, "…")
			break
		}
		all = append(all, one)
	}
	if all == nil {
		if t := s.Type(st); !s.Is("{") || t != "object" && t != "any" {
			all = []string{t}
		}
	}
	return "(" + strings.Join(all, ", ") + ")"
}

// Declarations returns the [Schema.Parameters], each with its type.
func (s Schema) Declarations(st Style) (all []string) {
	st.known = map[reference][]string{}
	for _, p := range s.Parameters() {
		all = append(all, st.declaration(p, st.Depth-1))
	}
	return all
}

// Type returns the type of the values that the schema accepts.
func (s Schema) Type(st Style) string { return st.clip(st.union(st.alternatives(s, st.Depth))) }

// Each returns the types of several schemas with sep between them.
func (s Schema) Each(nodes []*node, sep string, st Style) string {
	return st.clip(st.list(nodes, sep, func(n *node) string { return st.union(st.alternatives(s.At(n), st.Depth-1)) }))
}

// Values returns values with sep between them.
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

// alternatives returns the alternative types that s accepts.
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
		at := reference{target.Node, depth}
		all, isKnown := st.known[at]
		if !isKnown {
			if all = st.alternatives(target, depth); st.known != nil {
				st.known[at] = all
			}
		}
		return all
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
		return st.allOf(s, list.Elements(), depth-1)
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

// allOf returns the alternatives of a value that satisfies every schema of an allOf.
func (st Style) allOf(s Schema, nodes []*node, depth int) []string {
	var parts []string
	var alone []string
	for _, n := range nodes[:min(len(nodes), st.Choices)] {
		alternatives := st.alternatives(s.At(n), depth)
		written := st.union(alternatives)
		if len(alternatives) > 1 {
			written = "(" + written + ")"
		}
		if written != "any" && !slices.Contains(parts, written) {
			parts, alone = append(parts, written), alternatives
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

// typed returns a type with its contents: string[], {x: number, y?: number}.
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
	alternatives := st.alternatives(s.At(items), depth-1)
	if one := st.union(alternatives); len(alternatives) > 1 || strings.Contains(one, " & ") && one[0] != '{' {
		return "(" + one + ")[]"
	} else {
		return one + "[]"
	}
}

// object returns an object with its properties. It returns "" if it has none, or if they are too long.
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

// declaration returns a parameter with its type: limit?: integer.
func (st Style) declaration(p Parameter, depth int) string {
	written := st.name(p.Name)
	if !p.Required {
		written += "?"
	}
	written += ": " + st.union(st.alternatives(p.declared, depth))
	if st.Defaults {
		if v := p.Schema.Get("default"); v != nil && !v.Is("n") {
			if value := string(v.AppendUpTo(nil, 20)); len(value) <= 20 {
				written += " = " + text.OneLine(value)
			}
		}
	}
	return written
}

// Count returns "1 item" or "2 items".
func Count(n, noun string) string {
	switch {
	case n == "1":
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return n + " " + strings.TrimSuffix(noun, "y") + "ies"
	}
	return n + " " + noun + "s"
}

// bounds maps the keywords that limit a value to their texts.
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

// Counted returns the noun for the things that a keyword counts, such as "item", or "" if it counts none.
func Counted(keyword string) string { return bounds[keyword].noun }

// Bound returns the limit of a keyword in a few words: "at least 2 characters". It is "" for keywords without a limit.
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
