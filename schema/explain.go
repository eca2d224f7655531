package schema

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
	{RuleJSON, "A schema is one JSON object, in UTF-8 and without halves of surrogate pairs."},
	{RuleSize, "A schema is within the bounds of this bridge, before it is adapted and after."},
	{RuleKeyword, "No keyword stands where the provider refuses it."},
	{RuleUnlisted, "Only keywords stand in a place that the provider lists for it."},
	{RuleRoot, "The root is of type object."},
	{RuleType, "Types are given, single, and known, where the provider wants that."},
	{RuleBoolean, "No true or false stands for a schema."},
	{RuleForm, "The value of a keyword has the form that JSON Schema gives it."},
	{RuleProperties, "The root has properties."},
	{RuleObjects, "Every other object has properties."},
	{RuleItems, "An array has items, which are one schema."},
	{RuleRequired, "required names properties that are declared."},
	{RuleClosed, "Every object says additionalProperties: false."},
	{RuleEnum, "An enum has values of the types that the provider takes."},
	{RuleFormat, "format is one that the provider knows."},
	{RulePattern, "pattern is one that the provider can read."},
	{RuleBound, "The number of a keyword is one that the provider takes."},
	{RuleRef, "A $ref has the form that the provider takes, and leads to a schema."},
	{RuleRecursion, "No schema leads to itself."},
	{RuleKey, "The names of properties follow the provider's grammar."},
	{RuleLimit, "A schema, or all of a request, is not larger than the provider takes."},
	{RuleName, "The tool's name follows the provider's grammar."},
	{RuleDescription, "The tool's description is neither too short nor too long, and UTF-8."},
	{RuleCount, "One request has no more tools than the provider takes."},
	{RuleRequest, "The schemas of all tools of one request are not larger, together, than the provider takes."},
	{RuleHidden, "No text has what no reader sees and a model reads. " +
		"No provider asks for that: it is a warning of this bridge."},
	{RuleUnchecked, "Arguments can be checked against the schema before a call leaves. " +
		"No provider asks for that: it is a warning of this bridge."},
}

// AllRules returns every rule, in the order of the documentation. The caller owns the slice.
func AllRules() []Rule {
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
func (r Rules) Accepts(rule Rule) string {
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
		{RuleKeyword, byPosition(r.Root.Never, r.Nested.Never, "never ")},
		{RuleKeyword, textIf(r.RootListed, "at the root "+quotedNames(r.Root.Only)+" alone")},
		{RuleKeyword, textIf(r.TypeInBranches || r.UnionAlone,
			"nothing beside `anyOf`"+textIf(!r.UnionAlone, " but what describes"))},
		{RuleKeyword, textIf(r.TypedKeywords, "keywords of one type beside that type only")},
		{RuleUnlisted, textIf(r.RootListed, "inside "+quotedNames(r.Nested.Only))},
		{RuleUnlisted, textIf(!r.RootListed,
			byPosition(r.Root.Only, r.Nested.Only, "")+textIf(r.Ignores, "; others are dropped in silence"))},
		{RuleRoot, textIf(r.Sources[RuleRoot].At != "", "is of type `object`")},
		{RuleType, quotedNames(r.Types)},
		{RuleType, textIf(r.TypeAlways, "always given, or `anyOf` whose branches have one")},
		{RuleType, textIf(r.TypeSingle, "one name, no list")},
		{RuleType, textIf(r.TypeInBranches || r.UnionAlone, "none beside `anyOf`")},
		{RuleBoolean, textIf(!r.Booleans, "no `true` or `false` for a schema")},
		{RuleForm, textIf(r.Sources[RuleForm].At != "", "as draft 2020-12 has it")},
		{RuleProperties, textIf(r.RootProperties, "the root has `properties`")},
		{RuleObjects, textIf(r.ObjectProperties, "every object has `properties`")},
		{RuleItems, textIf(r.ArrayItems, "every array has `items`, one schema")},
		{RuleRequired, textIf(r.RequiredDeclared, "names properties that are declared, each once")},
		{RuleRequired, textIf(r.RequiredBeside, "`properties` is beside it")},
		{RuleRequired, textIf(r.RequiredFilled, "not an empty list")},
		{RuleRequired, textIf(r.RequiredAll, "names every property")},
		{RuleClosed, textIf(r.Closed, "every object says `additionalProperties: false`")},
		{RuleEnum, textIf(len(r.Enum) > 0, "values of type "+quotedNames(r.Enum))},
		{RuleEnum, textIf(r.EnumFilled, "not empty, and no empty string")},
		{RuleEnum, textIf(r.TypedKeywords, "values of the type that stands beside it")},
		{RuleFormat, quotedNames(r.Formats)},
		{RulePattern, textIf(r.PlainPattern, "no look-around and no back-reference")},
		{RulePattern, textIf(r.RustPattern, "no `\\0`, and no `[` inside a class")},
		{RulePattern, textIf(r.AnchoredPattern, "begins with `^` and ends with `$`")},
		{RuleBound, strings.Join(bounds, "; ")},
		{RuleRef, textIf(r.RefAlone, "nothing beside `$ref`")},
		{RuleRef, textIf(r.RefDefs, "leads to `#/$defs/`")},
		{RuleRef, textIf(r.Nested.Takes("$ref") && !r.RefDefs, "leads to a schema in the document")},
		{RuleRecursion, textIf(r.NoRecursion, "no schema leads to itself")},
		{RuleKey, r.Key.String()},
		{RuleKey, textIf(r.RootKey != Grammar{}, "at the root "+r.RootKey.String())},
		{RuleKey, textIf(len(r.NotKeys) > 0, "never "+quotedNames(r.NotKeys))},
		{RuleLimit, strings.Join(limits, "; ") + textIf(r.Limits.Together, "; counted over all tools of a request")},
		{RuleName, r.Tool.Name.String()},
		{RuleDescription, atLeast(r.Tool.MinDescription, "at least %d character")},
		{RuleDescription, atLeast(r.Tool.MaxDescription, "at most %d characters")},
		{RuleCount, atLeast(r.Tool.MaxTools, "at most %d in a request")},
		{RuleRequest, atLeast(r.Limits.Request, "at most %d bytes of schemas in a request")},
		{RuleCount, atLeast(r.Tool.FewTools, "above %d a model chooses badly")},
	} {
		if clause.rule == rule && clause.text != "" {
			all = append(all, clause.text)
		}
	}
	return strings.Join(all, "; ")
}

// limitTexts lists the texts for the fields of ProviderLimits, in their order.
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

// String returns a regular expression between backquotes, or "" for the zero value.
func (g Grammar) String() string {
	switch {
	case g == Grammar{}:
		return ""
	case g.First == g.Rest:
		return fmt.Sprintf("`^[%s]{1,%d}$`", g.First, g.Max)
	}
	return fmt.Sprintf("`^[%s][%s]{0,%d}$`", g.First, g.Rest, g.Max-1)
}
