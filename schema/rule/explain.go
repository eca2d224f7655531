package rule

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// ruleTexts lists every rule with its requirement, in the order of the documentation.
var ruleTexts = []struct {
	rule  Rule
	about string
}{
	{JSON, "A schema is one JSON object, in UTF-8 and without halves of surrogate pairs."},
	{Size, "A schema is within the bounds of this bridge, before it is adapted and after."},
	{Keyword, "No keyword stands where the provider refuses it."},
	{Unlisted, "Only keywords stand in a place that the provider lists for it."},
	{Root, "The root is of type object."},
	{Type, "Types are given, single, and known, where the provider wants that."},
	{Boolean, "No true or false stands for a schema."},
	{Form, "The value of a keyword has the form that JSON Schema gives it."},
	{Properties, "The root has properties."},
	{Objects, "Every other object has properties."},
	{Items, "An array has items, which are one schema."},
	{Required, "required names properties that are declared."},
	{Closed, "Every object says additionalProperties: false."},
	{Enum, "An enum has values of the types that the provider takes."},
	{Format, "format is one that the provider knows."},
	{Pattern, "pattern is one that the provider can read."},
	{Bound, "The number of a keyword is one that the provider takes."},
	{Ref, "A $ref has the form that the provider takes, and leads to a schema."},
	{Recursion, "No schema leads to itself."},
	{Key, "The names of properties follow the provider's grammar."},
	{Limit, "A schema, or all of a request, is not larger than the provider takes."},
	{Name, "The tool's name follows the provider's grammar."},
	{Description, "The tool's description is neither too short nor too long, and UTF-8."},
	{Count, "One request has no more tools than the provider takes."},
	{Request, "The schemas of all tools of one request are not larger, together, than the provider takes."},
	{Hidden, "No text has what no reader sees and a model reads. " +
		"No provider asks for that: it is a warning of this bridge."},
	{Unchecked, "Arguments can be checked against the schema before a call leaves. " +
		"No provider asks for that: it is a warning of this bridge."},
}

// All returns every rule, in the order of the documentation. The caller owns the slice.
func All() []Rule {
	var all []Rule
	for _, t := range ruleTexts {
		all = append(all, t.rule)
	}
	return all
}

// About returns the requirement of the rule in one sentence, or "" if r is not a rule.
func (r Rule) About() string {
	for _, t := range ruleTexts {
		if t.rule == r {
			return t.about
		}
	}
	return ""
}

// Accepts describes in a few words the values that are accepted under a rule, with names between backquotes. It returns
// "" if the rule is not set.
func (r Set) Accepts(rule Rule) string {
	var bounds, limits, all []string
	for _, name := range slices.Sorted(maps.Keys(r.Bounds)) {
		bounds = append(bounds, fmt.Sprintf("`%s` is one of %v", name, r.Bounds[name]))
	}
	for i, v := 0, reflect.ValueOf(r.Limits); i < len(limitTexts); i++ {
		if n := v.Field(i).Int(); n > 0 {
			limits = append(limits, fmt.Sprintf(limitTexts[i], n))
		}
	}
	for _, clause := range []struct {
		rule Rule
		text string
	}{
		{Keyword, byPosition(r.Root.Never, r.Nested.Never, "never ")},
		{Keyword, textIf(r.RootListed, "at the root "+quotedNames(r.Root.Only)+" alone")},
		{Keyword, textIf(r.TypeInBranches || r.UnionAlone,
			"nothing beside `anyOf`"+textIf(!r.UnionAlone, " but what describes"))},
		{Keyword, textIf(r.TypedKeywords, "keywords of one type beside that type only")},
		{Unlisted, textIf(r.RootListed, "inside "+quotedNames(r.Nested.Only))},
		{Unlisted, textIf(!r.RootListed,
			byPosition(r.Root.Only, r.Nested.Only, "")+textIf(r.Ignores, "; others are dropped in silence"))},
		{Root, textIf(r.Sources[Root].At != "", "is of type `object`")},
		{Type, quotedNames(r.Types)},
		{Type, textIf(r.TypeAlways, "always given, or `anyOf` whose branches have one")},
		{Type, textIf(r.TypeSingle, "one name, no list")},
		{Type, textIf(r.TypeInBranches || r.UnionAlone, "none beside `anyOf`")},
		{Boolean, textIf(!r.Booleans, "no `true` or `false` for a schema")},
		{Form, textIf(r.Sources[Form].At != "", "as draft 2020-12 has it")},
		{Properties, textIf(r.RootProperties, "the root has `properties`")},
		{Objects, textIf(r.ObjectProperties, "every object has `properties`")},
		{Items, textIf(r.ArrayItems, "every array has `items`, one schema")},
		{Required, textIf(r.RequiredDeclared, "names properties that are declared, each once")},
		{Required, textIf(r.RequiredBeside, "`properties` is beside it")},
		{Required, textIf(r.RequiredFilled, "not an empty list")},
		{Required, textIf(r.RequiredAll, "names every property")},
		{Closed, textIf(r.Closed, "every object says `additionalProperties: false`")},
		{Enum, textIf(len(r.Enum) > 0, "values of type "+quotedNames(r.Enum))},
		{Enum, textIf(r.EnumFilled, "not empty, and no empty string")},
		{Enum, textIf(r.TypedKeywords, "values of the type that stands beside it")},
		{Format, quotedNames(r.Formats)},
		{Pattern, textIf(r.PlainPattern, "no look-around and no back-reference")},
		{Pattern, textIf(r.RustPattern, "no `\\0`, and no `[` inside a class")},
		{Pattern, textIf(r.AnchoredPattern, "begins with `^` and ends with `$`")},
		{Bound, strings.Join(bounds, "; ")},
		{Ref, textIf(r.RefAlone, "nothing beside `$ref`")},
		{Ref, textIf(r.RefDefs, "leads to `#/$defs/`")},
		{Ref, textIf(r.Nested.Takes("$ref") && !r.RefDefs, "leads to a schema in the document")},
		{Recursion, textIf(r.NoRecursion, "no schema leads to itself")},
		{Key, r.Key.String()},
		{Key, textIf(r.RootKey != Grammar{}, "at the root "+r.RootKey.String())},
		{Key, textIf(len(r.NotKeys) > 0, "never "+quotedNames(r.NotKeys))},
		{Limit, strings.Join(limits, "; ") + textIf(r.Limits.Together, "; counted over all tools of a request")},
		{Name, r.Tool.Name.String()},
		{Description, atLeast(r.Tool.MinDescription, "at least %d character")},
		{Description, atLeast(r.Tool.MaxDescription, "at most %d characters")},
		{Count, atLeast(r.Tool.MaxTools, "at most %d in a request")},
		{Request, atLeast(r.Limits.Request, "at most %d bytes of schemas in a request")},
		{Count, atLeast(r.Tool.FewTools, "above %d a model chooses badly")},
	} {
		if clause.rule == rule && clause.text != "" {
			all = append(all, clause.text)
		}
	}
	return strings.Join(all, "; ")
}

// limitTexts lists the texts for the fields of Limits, in their order.
var limitTexts = []string{
	"%d objects and arrays inside one another", "%d properties", "%d values of enums", "%d characters of one large enum",
	"large is more than %d values", "%d characters of names and values", "%d properties that are not required",
	"%d unions",
	"%d branches of a union", "%d bytes", "lengths and counts up to %d", "`maxItems` up to %d",
}

func textIf(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

func atLeast(n int, format string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

// byPosition joins the keywords of the root and of nested schemas.
func byPosition(root, nested []string, before string) string {
	switch {
	case slices.Equal(root, nested):
		return textIf(len(root) > 0, "everywhere "+before+quotedNames(root))
	case len(nested) == 0:
		return "at the root " + before + quotedNames(root)
	case len(root) == 0:
		return "inside " + before + quotedNames(nested)
	}
	return "at the root " + before + quotedNames(root) + "; inside " + before + quotedNames(nested)
}

// quotedNames returns names between backquotes.
func quotedNames(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return "`" + strings.Join(all, "`, `") + "`"
}
