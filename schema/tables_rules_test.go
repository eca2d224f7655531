package schema_test

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/schema"
)

// goNames are what the profiles are called in Go.
var goNames = map[*schema.Profile]string{
	schema.Universal: "Universal", schema.Flat: "Flat", schema.Anthropic: "Anthropic", schema.AnthropicStrict: "AnthropicStrict",
	schema.OpenAI: "OpenAI", schema.OpenAIStrict: "OpenAIStrict", schema.Gemini: "Gemini",
	schema.GeminiJSONSchema: "GeminiJSONSchema", schema.Bedrock: "Bedrock", schema.BedrockNova: "BedrockNova",
	schema.Mistral: "Mistral", schema.Moonshot: "Moonshot", schema.Ollama: "Ollama", schema.Seed: "Seed",
	schema.Original: "Original",
}

// profilesTable is the profiles, and in short what one asks of them first.
func profilesTable(t *testing.T) string {
	t.Helper()
	rows := []string{
		"| profile | in Go | for | `anyOf` | `$ref` | free keys | a name | a description | tools |",
		"| --- | --- | --- | --- | --- | --- | --: | --: | --: |",
	}
	for _, p := range schema.Profiles() {
		if goNames[p] == "" {
			t.Errorf("profile %s has no name in Go here", p.Name())
		}
		r := p.Rules()
		rows = append(rows, fmt.Sprintf("| `%s` | `schema.%s` | %s | %s | %s | %s | %s | %s | %s |",
			p.Name(), goNames[p], textCell(p.About()), takesText(r, "anyOf"), takesText(r, "$ref"), takesText(r, "additionalProperties"),
			numberCell(r.Tool.Name.Max), numberCell(r.Tool.MaxDescription), numberCell(r.Tool.MaxTools)))
	}
	return markdown(rows)
}

// takesText is whether a keyword may stand below the root.
func takesText(r schema.Rules, keyword string) string {
	switch {
	case !r.Nested.Takes(keyword), r.Closed && keyword == "additionalProperties":
		return "no"
	case r.NoRecursion && keyword == "$ref":
		return "no loop"
	}
	return "yes"
}

func numberCell(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// rulesTables has for each profile its rules and where they are from.
func rulesTables(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, p := range schema.Profiles() {
		if p == schema.Seed || p == schema.Original {
			continue
		}
		fmt.Fprintf(&out, "\n### `%s`\n\n%s.\n\n", p.Name(), sentence(textCell(p.About())))
		out.WriteString(rulesTable(t, p))
	}
	return out.String() + "\n"
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func rulesTable(t *testing.T, p *schema.Profile) string {
	t.Helper()
	rows := []string{"| rule | what is accepted | source |", "| --- | --- | --- |"}
	rules := p.Rules()
	said := ruleClauses(t, rules)
	for _, rule := range ruleOrder {
		source := rules.Sources[rule]
		if (source != "") != (len(said[rule]) > 0) {
			t.Errorf("%s: rule %s says %q, and its source is %q", p.Name(), rule, said[rule], source)
		}
		if len(said[rule]) > 0 {
			rows = append(rows, fmt.Sprintf("| %s | %s | %s |", rule, strings.Join(said[rule], "; "), sourceLink(source)))
		}
	}
	return markdown(rows)
}

// ruleOrder is the rules that profiles set.
var ruleOrder = []schema.Rule{
	schema.RuleKeyword, schema.RuleRoot, schema.RuleType, schema.RuleBoolean, schema.RuleForm, schema.RuleProperties,
	schema.RuleItems, schema.RuleRequired, schema.RuleClosed, schema.RuleEnum, schema.RuleFormat, schema.RulePattern,
	schema.RuleBound, schema.RuleRef, schema.RuleRecursion, schema.RuleKey, schema.RuleLimit, schema.RuleName,
	schema.RuleDescription, schema.RuleCount,
}

// sourceLink makes a link of a URL, and of a thread that names its repository.
func sourceLink(source string) string {
	if strings.HasPrefix(source, "https://") {
		where, _, _ := strings.Cut(strings.TrimPrefix(source, "https://"), "/")
		return "[" + where + "](" + source + ")"
	}
	repo, number, ok := strings.Cut(source, "#")
	if ok && strings.Count(repo, "/") == 1 && !strings.Contains(source, " ") {
		return "[" + source + "](https://github.com/" + repo + "/issues/" + number + ")"
	}
	return textCell(source)
}

// ruleClauses is what the fields that are set say, by the rules that they belong to. A field that is not in ruleFields fails
// the test, so that none is left out of the document.
func ruleClauses(t *testing.T, r schema.Rules) map[schema.Rule][]string {
	t.Helper()
	out := map[schema.Rule][]string{}
	for name, value := range fieldsOf(reflect.ValueOf(r), "") {
		say, known := ruleFields[name]
		switch {
		case !known:
			t.Errorf("schema.Rules.%s is not documented: add it to ruleFields", name)
		case !value.IsZero() || say.zero:
			if text := say.text(r); text != "" {
				out[say.rule] = append(out[say.rule], text)
			}
		}
	}
	for _, also := range impliedRules {
		if also.when(r) {
			out[also.rule] = append(out[also.rule], also.text)
		}
	}
	return out
}

// impliedRules are what fields say of a second rule.
var impliedRules = []struct {
	when func(schema.Rules) bool
	rule schema.Rule
	text string
}{
	{func(r schema.Rules) bool { return r.TypedKeywords }, schema.RuleEnum, "values of the type that stands beside it"},
	{func(r schema.Rules) bool { return r.Nested.Takes("$ref") && !r.RefDefs }, schema.RuleRef, "leads to a schema in the document"},
}

// fieldsOf yields the fields of a struct, those of structs inside by "outer.inner".
func fieldsOf(v reflect.Value, within string) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for i := range v.NumField() {
			name := within + v.Type().Field(i).Name
			switch v.Field(i).Interface().(type) {
			case schema.ProviderLimits, schema.ToolRules:
				for inner, value := range fieldsOf(v.Field(i), name+".") {
					if !yield(inner, value) {
						return
					}
				}
			default:
				if name != "Sources" && !yield(name, v.Field(i)) {
					return
				}
			}
		}
	}
}

// ruleField is how a field of schema.Rules is put in words.
type ruleField struct {
	rule schema.Rule
	zero bool // its zero value says something too
	text func(schema.Rules) string
}

func always(rule schema.Rule, text string) ruleField {
	return ruleField{rule: rule, text: func(schema.Rules) string { return text }}
}

func counted(rule schema.Rule, format string, of func(schema.Rules) int) ruleField {
	return ruleField{rule: rule, text: func(r schema.Rules) string { return fmt.Sprintf(format, of(r)) }}
}

var ruleFields = map[string]ruleField{
	"Root": {schema.RuleKeyword, true, func(r schema.Rules) string {
		if reflect.DeepEqual(r.Root, r.Nested) {
			return "everywhere " + keywordsText(r.Root)
		}
		return "at the root " + keywordsText(r.Root)
	}},
	"Nested": {schema.RuleKeyword, true, func(r schema.Rules) string {
		if reflect.DeepEqual(r.Root, r.Nested) {
			return ""
		}
		return "inside " + keywordsText(r.Nested)
	}},
	"Ignores":        always(schema.RuleKeyword, "others are dropped in silence"),
	"RootObject":     always(schema.RuleRoot, "is of type `object`"),
	"Types":          {schema.RuleType, false, func(r schema.Rules) string { return codeCells(r.Types) }},
	"TypeAlways":     always(schema.RuleType, "always given, or `anyOf` whose branches have one"),
	"TypeSingle":     always(schema.RuleType, "one name, no list"),
	"TypeInBranches": always(schema.RuleType, "none beside `anyOf`, nor any other keyword but those that describe"),
	"UnionAlone":     always(schema.RuleType, "nothing at all beside `anyOf`"),
	"TypedKeywords":  always(schema.RuleType, "keywords of one type only beside that type"),
	"Booleans": {schema.RuleBoolean, true, func(r schema.Rules) string {
		if r.Booleans {
			return ""
		}
		return "no `true` or `false` for a schema"
	}},
	"WellFormed":       always(schema.RuleForm, "as draft 2020-12 has it"),
	"ObjectProperties": always(schema.RuleProperties, "every object has `properties`"),
	"RootProperties":   always(schema.RuleProperties, "the root has `properties`"),
	"ArrayItems":       always(schema.RuleItems, "every array has `items`, one schema"),
	"RequiredDeclared": always(schema.RuleRequired, "names properties that are declared, each once"),
	"RequiredFilled":   always(schema.RuleRequired, "not an empty list"),
	"RequiredAll":      always(schema.RuleRequired, "names every property"),
	"Closed":           always(schema.RuleClosed, "every object says `additionalProperties: false`"),
	"Enum":             {schema.RuleEnum, false, func(r schema.Rules) string { return "values of type " + codeCells(r.Enum) }},
	"EnumFilled":       always(schema.RuleEnum, "not empty, and no empty string"),
	"Formats":          {schema.RuleFormat, false, func(r schema.Rules) string { return codeCells(r.Formats) }},
	"PlainPattern":     always(schema.RulePattern, "no look-around and no back-reference"),
	"Bounds":           {schema.RuleBound, false, boundsText},
	"RefAlone":         always(schema.RuleRef, "nothing beside `$ref`"),
	"RefDefs":          always(schema.RuleRef, "leads to `#/$defs/`"),
	"NoRecursion":      always(schema.RuleRecursion, "no schema leads to itself"),
	"Key":              {schema.RuleKey, false, func(r schema.Rules) string { return grammarText(r.Key) }},
	"RootKey":          {schema.RuleKey, false, func(r schema.Rules) string { return "at the root " + grammarText(r.RootKey) }},
	"NotKeys":          {schema.RuleKey, false, func(r schema.Rules) string { return "never " + codeCells(r.NotKeys) }},

	"Limits.Depth":      counted(schema.RuleLimit, "%d objects and arrays inside one another", func(r schema.Rules) int { return r.Limits.Depth }),
	"Limits.Properties": counted(schema.RuleLimit, "%d properties", func(r schema.Rules) int { return r.Limits.Properties }),
	"Limits.EnumValues": counted(schema.RuleLimit, "%d values of enums", func(r schema.Rules) int { return r.Limits.EnumValues }),
	"Limits.EnumText":   counted(schema.RuleLimit, "%d characters of one large enum", func(r schema.Rules) int { return r.Limits.EnumText }),
	"Limits.EnumMany":   counted(schema.RuleLimit, "large is more than %d values", func(r schema.Rules) int { return r.Limits.EnumMany }),
	"Limits.Text":       counted(schema.RuleLimit, "%d characters of names and values", func(r schema.Rules) int { return r.Limits.Text }),
	"Limits.Optional":   counted(schema.RuleLimit, "%d properties that are not required", func(r schema.Rules) int { return r.Limits.Optional }),
	"Limits.Unions":     counted(schema.RuleLimit, "%d unions", func(r schema.Rules) int { return r.Limits.Unions }),
	"Limits.Branches":   counted(schema.RuleLimit, "%d branches of a union", func(r schema.Rules) int { return r.Limits.Branches }),
	"Limits.Bytes":      counted(schema.RuleLimit, "%d bytes", func(r schema.Rules) int { return r.Limits.Bytes }),

	"Tool.Name":           {schema.RuleName, false, func(r schema.Rules) string { return grammarText(r.Tool.Name) }},
	"Tool.MinDescription": counted(schema.RuleDescription, "at least %d character", func(r schema.Rules) int { return r.Tool.MinDescription }),
	"Tool.MaxDescription": counted(schema.RuleDescription, "at most %d characters", func(r schema.Rules) int { return r.Tool.MaxDescription }),
	"Tool.MaxTools":       counted(schema.RuleCount, "at most %d in a request", func(r schema.Rules) int { return r.Tool.MaxTools }),
	"Tool.FewTools":       counted(schema.RuleCount, "above %d a model chooses badly", func(r schema.Rules) int { return r.Tool.FewTools }),
}

func keywordsText(k schema.Keywords) string {
	switch {
	case len(k.Only) == 0 && len(k.Never) == 0:
		return "all"
	case len(k.Only) == 0:
		return "all but " + codeCells(k.Never)
	case len(k.Never) == 0:
		return codeCells(k.Only)
	}
	return codeCells(k.Only) + ", but not " + codeCells(k.Never)
}

// grammarText is a regular expression.
func grammarText(g schema.Grammar) string {
	if g.Max == 0 {
		return codeCell(fmt.Sprintf("^[%s][%s]*$", g.First, g.Rest))
	}
	if g.First == g.Rest {
		return codeCell(fmt.Sprintf("^[%s]{1,%d}$", g.First, g.Max))
	}
	return codeCell(fmt.Sprintf("^[%s][%s]{0,%d}$", g.First, g.Rest, g.Max-1))
}

func boundsText(r schema.Rules) string {
	var out []string
	for keyword, numbers := range r.Bounds {
		words := make([]string, len(numbers))
		for i, n := range numbers {
			words[i] = fmt.Sprint(n)
		}
		out = append(out, codeCell(keyword)+" is "+strings.Join(words, " or "))
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}
