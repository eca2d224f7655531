package schema_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/rule"
)

// goNames maps profiles to their names in Go.
var goNames = map[*schema.Profile]string{
	schema.Universal: "Universal", schema.Flat: "Flat", schema.Anthropic: "Anthropic", schema.AnthropicStrict: "AnthropicStrict",
	schema.OpenAI: "OpenAI", schema.OpenAIStrict: "OpenAIStrict", schema.Gemini: "Gemini",
	schema.GeminiJSONSchema: "GeminiJSONSchema", schema.Bedrock: "Bedrock", schema.BedrockStrict: "BedrockStrict", schema.BedrockNova: "BedrockNova",
	schema.Mistral: "Mistral", schema.Moonshot: "Moonshot", schema.Ollama: "Ollama", schema.DeepSeek: "DeepSeek",
	schema.XAI: "XAI", schema.Groq: "Groq", schema.CerebrasStrict: "CerebrasStrict", schema.LlamaCpp: "LlamaCpp", schema.Seed: "Seed",
	schema.Original: "Original",
}

// profilesTable returns the table of profiles with their main properties.
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
			p.Name(), goNames[p], textCell(p.About()), acceptedText(r, "anyOf"), acceptedText(r, "$ref"), acceptedText(r, "additionalProperties"),
			numberCell(r.Tool.Name.Max), numberCell(r.Tool.MaxDescription), numberCell(r.Tool.MaxTools)))
	}
	return markdown(rows)
}

// acceptedText describes whether a keyword is accepted below the root.
func acceptedText(r rule.Set, keyword string) string {
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

// TestSourcesAreExplained checks that each rule of a profile has both a description and a source, or neither.
func TestSourcesAreExplained(t *testing.T) {
	for _, p := range schema.Profiles() {
		if p == schema.Seed || p == schema.Original {
			continue
		}
		rules := p.Rules()
		for _, r := range rule.All() {
			source, accepted := rules.Sources[r], rules.Accepts(r)
			if (source.At != "") != (accepted != "") && r != rule.JSON {
				t.Errorf("%s: rule %s says %q, and its source is %q", p.Name(), r, accepted, source.At)
			}
		}
	}
}

// Every field of the rules changes the text of some rule, and every rule has a text.
func TestRulesAreExplained(t *testing.T) {
	said := func(set rule.Set) (all string) {
		for _, r := range rule.All() {
			if all += set.Accepts(r) + "\n"; r.About() == "" {
				t.Errorf("%s says nothing", r)
			}
		}
		return all
	}
	nothing := said(rule.Set{})
	var try func(r *rule.Set, v reflect.Value, name string)
	try = func(r *rule.Set, v reflect.Value, name string) {
		if v.Kind() == reflect.Struct {
			for i := range v.NumField() {
				try(r, v.Field(i), name+"."+v.Type().Field(i).Name)
			}
			return
		}
		defer v.SetZero()
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int:
			v.SetInt(7)
		case reflect.String:
			v.SetString("a")
		case reflect.Slice:
			v.Set(reflect.ValueOf([]string{"a"}))
		case reflect.Map:
			if name == ".Sources" {
				return
			}
			v.Set(reflect.ValueOf(map[string][]int{"a": {1}}))
		}
		if said(*r) == nothing {
			t.Errorf("Rules%s is not explained", name)
		}
	}
	var r rule.Set
	try(&r, reflect.ValueOf(&r).Elem(), "")
}
