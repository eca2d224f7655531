package validate

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/jsontree"
	"github.com/indusagi/indus/internal/keyword"
	"github.com/indusagi/indus/internal/signature"
)

// rule is a compiled schema. A missing keyword is nil and accepts every value.
type rule struct {
	at          *node // the schema
	order       int   // number of rules compiled before this one
	never       bool  // the schema is false
	partial     bool  // a keyword of it, or of a schema below it, is not checked, so it accepts too much
	shared      bool  // a reference leads here
	unevaluable bool  // a keyword is left out that might have evaluated any property or item
	err         error // the reason why it cannot be used
	draft       int   // the draft of which the value must be a schema; 0: none
	preset      *node // the value of default; nil if there is none

	types                  []string
	constant, values       map[string]bool // by their canonical form
	bounds                 []bound
	pattern                *pattern
	unique                 bool
	required               []string
	needs                  map[string][]string
	minContains            int
	maxContains            int
	properties, dependents map[string]*rule
	patterns               []namePattern
	anyName                bool // a name pattern cannot be used, and may match any name
	tuple                  []*rule
	allOf, anyOf, oneOf    []*rule

	ref, not, condition, then, otherwise   *rule
	additional, propertyNames              *rule
	items, contains                        *rule // items applies to the items after the tuple
	unevaluatedProperties, unevaluatedItem *rule
}

// bound is a keyword that bounds a number, a length or a count.
type bound struct {
	keyword string
	n       *big.Rat
}

type namePattern struct {
	*pattern
	rule *rule
}

// subrules returns every schema that r refers to or contains.
func (r *rule) subrules() []*rule {
	all := slices.Concat(r.allOf, r.anyOf, r.oneOf, r.tuple)
	all = append(all, r.ref, r.not, r.condition, r.then, r.otherwise, r.additional, r.propertyNames, r.items, r.contains,
		r.unevaluatedProperties, r.unevaluatedItem)
	all = slices.AppendSeq(all, maps.Values(r.properties))
	all = slices.AppendSeq(all, maps.Values(r.dependents))
	for _, p := range r.patterns {
		all = append(all, p.rule)
	}
	return slices.DeleteFunc(all, func(r *rule) bool { return r == nil })
}

// item returns the schema of an item in the keywords of r itself, or nil if they state nothing about it.
func (r *rule) item(i int) *rule {
	if i < len(r.tuple) {
		return r.tuple[i]
	}
	return r.items
}

const (
	maxFaulty = 1_000 // keywords that are left out; a schema with more is refused
	maxNotes  = 20
)

// compiler compiles one document as one draft.
type compiler struct {
	draft       int
	doc         *document
	known       map[*node]*rule     // by schema
	patterns    map[string]*pattern // by text; a nil entry cannot be used
	patternSize int                 // of all patterns
	notes       []string
	faulty      []invalidValue
	tracks      bool // unevaluatedProperties or unevaluatedItems occurs
}

func newCompiler(doc *node, draft int) *compiler {
	return &compiler{draft: draft, doc: newDocument(doc, draft), known: map[*node]*rule{},
		patterns: map[string]*pattern{}}
}

// knownDrafts lists the supported drafts, newest first.
var knownDrafts = []struct {
	draft     int
	uri, name string
}{
	{2020, "json-schema.org/draft/2020-12/schema", "draft 2020-12"},
	{2019, "json-schema.org/draft/2019-09/schema", "draft 2019-09"},
	{7, "json-schema.org/draft-07/schema", "draft 7"},
	{6, "json-schema.org/draft-06/schema", "draft 6"},
	{4, "json-schema.org/draft-04/schema", "draft 4"},
}

// draftAt returns the index in knownDrafts of the draft that a $schema names, or -1 if it is unknown.
func draftAt(uri string) int {
	_, name, _ := strings.Cut(strings.TrimSuffix(uri, "#"), "://")
	for i, d := range knownDrafts {
		if d.uri == name {
			return i
		}
	}
	return -1
}

// compile reads a document as the draft that it names. If that draft refuses the document, the newest draft that
// accepts it is used. If all drafts refuse it, the document is read as the first draft in this order, and the refused
// keywords are left out.
func compile(doc *node) (*rule, *compiler, error) {
	order := slices.Clone(knownDrafts)
	if at := draftAt(doc.Get("$schema").Content()); at > 0 {
		order = slices.Insert(slices.Delete(order, at, at+1), 0, knownDrafts[at])
	}
	var first *compiler
	for _, d := range order {
		c := newCompiler(doc, d.draft)
		if c.doc.size > maxBases {
			return nil, nil, errLong
		}
		root := c.rule(doc)
		if first == nil {
			first = c
		}
		if len(c.faulty) > 0 {
			continue
		}
		if c != first {
			c.notes = append([]string{"it is no valid " + order[0].name + ", and is read as " + d.name}, c.notes...)
		}
		return root, c, c.finish(root)
	}
	if root := first.known[doc]; len(first.faulty) < maxFaulty && first.faulty[0].at != doc {
		return root, first, first.finish(root)
	}
	return nil, nil, errors.New("it is no valid schema: " + first.faultTexts()[0])
}

// finish drops keywords that would refuse valid values because a schema below them accepts too much. It returns an
// error if a schema that root leads to cannot be used.
func (c *compiler) finish(root *rule) error {
	parents := map[*rule][]*rule{}
	seen := map[*rule]bool{root: true}
	var partial []*rule
	for queue := []*rule{root}; len(queue) > 0; {
		r := queue[0]
		queue = queue[1:]
		if r.err != nil {
			return r.err
		}
		if r.partial {
			partial = append(partial, r)
		}
		for _, sub := range r.subrules() {
			parents[sub] = append(parents[sub], r)
			if !seen[sub] {
				seen[sub] = true
				queue = append(queue, sub)
			}
		}
	}
	for ; len(partial) > 0; partial = partial[1:] {
		for _, r := range parents[partial[0]] {
			if !r.partial {
				r.partial = true
				partial = append(partial, r)
			}
		}
	}
	c.relax(root)
	for r := range parents {
		c.relax(r)
	}
	slices.Sort(c.notes)
	c.notes = slices.Compact(c.notes)
	c.notes = c.notes[:min(len(c.notes), maxNotes)]
	return nil
}

func (c *compiler) relax(r *rule) {
	if r.not != nil && r.not.partial {
		r.not = nil
		c.note("a not whose schema is not checked in full is skipped")
	}
	if r.condition != nil && r.condition.partial {
		r.condition, r.then, r.otherwise = nil, nil, nil
		r.unevaluable = true
		c.note("an if whose schema is not checked in full is skipped")
	}
	if r.contains != nil && r.contains.partial {
		r.maxContains = math.MaxInt
	}
	if slices.ContainsFunc(r.oneOf, func(sub *rule) bool { return sub.partial }) {
		r.allOf = append(r.allOf, &rule{at: r.at, order: r.order, anyOf: r.oneOf})
		r.oneOf = nil
	}
	if r.unevaluable && c.tracks {
		r.allOf = append(r.allOf, &rule{at: r.at, anyName: true, items: &rule{at: r.at}})
		r.unevaluable = false
	}
}

func (c *compiler) note(format string, a ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, a...))
}

// leaveOut records a keyword that is left out, because this draft does not accept its value or a part of it.
func (c *compiler) leaveOut(r *rule, value *node, expected string) {
	r.partial, r.unevaluable = true, true
	if len(c.faulty) < maxFaulty {
		c.faulty = append(c.faulty, invalidValue{value, expected})
	}
}

// invalidValue is a value that a draft does not accept.
type invalidValue struct {
	at       *node
	expected string
}

// faultTexts describes the keywords that are left out.
func (c *compiler) faultTexts() (all []string) {
	for _, m := range c.faulty[:min(len(c.faulty), maxNotes)] {
		path := shorten(shownPath(m.at.Path()), 200)
		all = append(all, fmt.Sprintf("%s is left out: expected %s, got %s", path, m.expected, signature.Value(m.at)))
	}
	return all
}

// rule compiles a schema. A value that is not a schema accepts every value.
func (c *compiler) rule(n *node) *rule {
	if r := c.known[n]; r != nil {
		return r
	}
	r := &rule{at: n, order: len(c.known), maxContains: math.MaxInt, minContains: 1}
	c.known[n] = r
	switch {
	case n.Is("tf"):
		r.never = n.Is("f")
	case n.Is("{"):
		c.object(r)
	default:
		c.leaveOut(r, n, "object or boolean")
	}
	return r
}

func (c *compiler) object(r *rule) {
	if ref := r.at.Get("$ref"); ref.Is(`"`) {
		r.ref, r.err = c.reference(ref)
		if c.draft < 2019 {
			return // all other keywords are ignored
		}
	}
	r.preset = r.at.Get("default")
	for _, f := range byName(r.at) {
		if c.draft >= keywordSince[f.Name] {
			c.keyword(r, f.Name, f.Value)
		}
	}
}

// byName returns the members of an object, sorted by name.
func byName(object *node) []jsontree.Field {
	members := slices.Clone(object.Members())
	slices.SortFunc(members, func(a, b jsontree.Field) int { return strings.Compare(a.Name, b.Name) })
	return members
}

func (c *compiler) reference(ref *node) (*rule, error) {
	target, draft, err := c.doc.resolve(ref)
	if err != nil {
		return nil, err
	}
	if draft != 0 {
		return &rule{at: ref.Parent, draft: draft, partial: true}, nil
	}
	r := c.rule(target)
	r.shared = true
	return r, nil
}

// keywordSince maps keywords to the draft that introduced them. Keywords of draft 4 are not listed.
var keywordSince = map[string]int{
	"const": 6, "contains": 6, "propertyNames": 6, "examples": 6, "$id": 6, "if": 7, "then": 7, "else": 7, "readOnly": 7,
	"writeOnly": 7, "$comment": 7, "contentEncoding": 7, "contentMediaType": 7,
	"dependentRequired": 2019, "dependentSchemas": 2019, "unevaluatedProperties": 2019, "unevaluatedItems": 2019,
	"$defs":       2019,
	"minContains": 2019, "maxContains": 2019, "$recursiveRef": 2019, "$anchor": 2019, "deprecated": 2019,
	"prefixItems": 2020, "$dynamicRef": 2020,
}

// keyword compiles one keyword of r.
func (c *compiler) keyword(r *rule, name string, value *node) {
	switch keyword.ContentOf(name) {
	case keyword.None:
		if expected := c.assertion(r, name, value); expected != "" {
			c.leaveOut(r, value, expected)
		}
	case keyword.List:
		if len(value.Elems) == 0 {
			c.leaveOut(r, value, "array of at least 1 item")
		} else {
			lists := map[string]*[]*rule{"allOf": &r.allOf, "anyOf": &r.anyOf, "oneOf": &r.oneOf, "prefixItems": &r.tuple}
			*lists[name] = c.list(r, value)
		}
	case keyword.Named, keyword.NamedOrNames:
		c.namedSchemas(r, name, value)
	default:
		if value.Is("[") && name == "items" && c.draft < 2020 {
			r.tuple = c.list(r, value)
			if rest := r.at.Get("additionalItems"); rest != nil {
				r.items = c.schema(r, rest, true)
			}
			return
		}
		c.tracks = c.tracks || strings.HasPrefix(name, "unevaluated")
		if sub := c.schema(r, value, strings.HasPrefix(name, "additional")); r.field(name) != nil {
			*r.field(name) = sub
		}
	}
}

// field returns the field for a keyword that holds one schema. It returns nil if the keyword does not constrain
// values.
func (r *rule) field(name string) **rule {
	return map[string]**rule{
		"not": &r.not, "if": &r.condition, "then": &r.then, "else": &r.otherwise,
		"additionalProperties": &r.additional, "propertyNames": &r.propertyNames,
		"unevaluatedProperties": &r.unevaluatedProperties,
		"items":                 &r.items, "contains": &r.contains, "unevaluatedItems": &r.unevaluatedItem,
	}[name]
}

// schema compiles a schema inside r. A value that is not a schema accepts every value. Draft 4 accepts booleans for few
// keywords, for which orBoolean is set.
func (c *compiler) schema(r *rule, n *node, orBoolean bool) *rule {
	if n.Is("{") || n.Is("tf") && (c.draft > 4 || orBoolean) {
		return c.rule(n)
	}
	c.leaveOut(r, n, "object or boolean")
	return &rule{at: n, partial: true}
}

func (c *compiler) list(r *rule, list *node) []*rule {
	all := make([]*rule, len(list.Elems))
	for i, elem := range list.Elems {
		all[i] = c.schema(r, elem, false)
	}
	return all
}

// namedSchemas compiles a keyword with an object of schemas as its value.
func (c *compiler) namedSchemas(r *rule, name string, value *node) {
	if !value.Is("{") {
		c.leaveOut(r, value, "object")
		return
	}
	rules := map[string]*rule{}
	for _, f := range byName(value) {
		if f.Value.Is("[") && name == "dependencies" {
			c.addNeeds(r, f.Name, f.Value)
			continue
		}
		rules[f.Name] = c.schema(r, f.Value, false)
	}
	switch name {
	case "properties":
		r.properties = rules
	case "dependentSchemas", "dependencies":
		if r.dependents == nil {
			r.dependents = map[string]*rule{}
		}
		maps.Copy(r.dependents, rules)
	case "patternProperties":
		for _, key := range slices.Sorted(maps.Keys(rules)) {
			if re := c.pattern(key); re != nil {
				r.patterns = append(r.patterns, namePattern{re, rules[key]})
				continue
			}
			r.anyName, r.partial = true, true
			c.note("the patternProperties of %s are skipped: %s", shorten(key, 80), notRE2)
		}
	}
}

func (c *compiler) addNeeds(r *rule, name string, list *node) {
	if r.needs == nil {
		r.needs = map[string][]string{}
	}
	r.needs[name] = append(r.needs[name], c.strings(r, list)...)
}

// strings returns the strings of a list, each once. Other elements are left out.
func (c *compiler) strings(r *rule, list *node) (all []string) {
	for _, elem := range list.Elems {
		switch {
		case !elem.Is(`"`):
			c.leaveOut(r, elem, "string")
		case slices.Contains(all, elem.Unquoted()):
			c.leaveOut(r, list, "unique items")
		default:
			all = append(all, elem.Unquoted())
		}
	}
	return all
}

const notRE2 = "RE2 does not know it or reads it as something else, or it is too large"

// assertion compiles a keyword that contains no schemas. If the value is not valid, it returns a description of the
// expected value.
func (c *compiler) assertion(r *rule, name string, value *node) (expected string) {
	nullable := r.at.Get("nullable").Is("t") // not a keyword of JSON Schema
	switch name {
	case "type":
		r.partial = r.partial || nullable
		return c.types(r, value, nullable)
	case "const":
		r.constant = map[string]bool{canonical(value): true}
	case "enum":
		if !value.Is("[") {
			return "array"
		}
		r.values = make(map[string]bool, len(value.Elems))
		for _, v := range value.Elems {
			r.values[canonical(v)] = true
		}
		if nullable && r.at.Get("type").Is(`"`) {
			r.values["null"] = true
		}
	case "required":
		if !value.Is("[") || len(value.Elems) == 0 && c.draft == 4 {
			return "array of strings"
		}
		r.required = c.strings(r, value)
	case "dependentRequired":
		if !value.Is("{") {
			return "object"
		}
		for _, f := range byName(value) {
			if f.Value.Is("[") {
				c.addNeeds(r, f.Name, f.Value)
			} else {
				c.leaveOut(r, f.Value, "array of strings")
			}
		}
	case "uniqueItems":
		r.unique = value.Is("t")
	case "pattern":
		if s := value.Content(); value.Is(`"`) {
			r.pattern = c.pattern(s)
			if r.pattern == nil {
				r.partial = true
				c.note("the pattern %s is skipped: %s", shorten(s, 80), notRE2)
			}
		}
	case "format":
		r.partial = true // an annotation in every draft here
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems",
		"maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return c.bound(r, name, value)
	case "$dynamicRef", "$recursiveRef":
		r.err = errors.New("$dynamicRef and $recursiveRef are not followed")
	}
	if kind := valueTypes[name]; kind != "" && !isType(value, kind) {
		return kind
	}
	return ""
}

// valueTypes maps keywords to the types of their values, for keywords that need no other check.
var valueTypes = map[string]string{
	"title": "string", "description": "string", "$comment": "string", "$id": "string", "$anchor": "string",
	"$ref":            "string",
	"contentEncoding": "string", "contentMediaType": "string", "format": "string", "pattern": "string",
	"readOnly": "boolean", "writeOnly": "boolean", "deprecated": "boolean", "uniqueItems": "boolean", "examples": "array",
}

var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

func (c *compiler) types(r *rule, value *node, nullable bool) (expected string) {
	list := value.Elems
	if !value.Is("[") {
		list = []*node{value}
	}
	for _, elem := range list {
		name := elem.Content()
		if !slices.Contains(typeNames, name) || slices.Contains(r.types, name) {
			r.types = nil
			return "a type, or several of " + strings.Join(typeNames, ", ")
		}
		r.types = append(r.types, name)
	}
	if nullable && !value.Is("[") && !slices.Contains(r.types, "null") {
		r.types = append(r.types, "null") // OpenAPI 3.0's meaning
	}
	if len(list) == 0 {
		return "at least one type"
	}
	return ""
}

// bound compiles a keyword that bounds a number. Draft 4 writes exclusiveMinimum and exclusiveMaximum as booleans, and
// many generators do so in newer drafts too.
func (c *compiler) bound(r *rule, name string, value *node) (expected string) {
	n := rational(value)
	switch {
	case value.Is("tf") && strings.HasPrefix(name, "exclusive"):
		n = rational(r.at.Get(strings.ToLower(name[9:10]) + name[10:]))
		if n == nil || value.Is("f") {
			return ""
		}
	case c.draft == 4 && strings.HasPrefix(name, "exclusive"):
		return "boolean"
	case n == nil:
		return "number"
	case name == "multipleOf" && n.Sign() <= 0:
		return "number greater than 0"
	case name[3:] != "imum" && name[0] == 'm' && name != "multipleOf" && (!n.IsInt() || n.Sign() < 0):
		return "integer of at least 0"
	case r.at.Get("exclusive" + strings.ToUpper(name[:1]) + name[1:]).Is("t"):
		return ""
	}
	switch name {
	case "minContains":
		r.minContains = clampInt(n)
	case "maxContains":
		r.maxContains = clampInt(n)
	default:
		r.bounds = append(r.bounds, bound{name, n})
	}
	return ""
}

// clampInt returns a whole number as an int, limited to math.MaxInt32. No number of items exceeds that limit.
func clampInt(n *big.Rat) int {
	if n.Num().IsInt64() {
		return int(min(n.Num().Int64(), math.MaxInt32))
	}
	return math.MaxInt32
}

// isSchema reports whether a value is a schema of the draft.
func isSchema(v *node, draft int) bool {
	c := newCompiler(v, draft)
	c.patterns = nil // patterns are not compiled, because any text is valid: format is an annotation
	if c.doc.size <= maxBases {
		c.rule(v)
	}
	return len(c.faulty) == 0
}
