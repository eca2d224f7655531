package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/indusagi/indus/internal/text"
)

// anything is expected where a schema says nothing that fits into a few words.
const anything = "any value"

const (
	maxChoices  = 12  // values of an enum that are shown
	maxExpected = 200 // bytes of what is expected
	maxGot      = 60  // bytes of a value
	manyNames   = 500 // names that are compared with a mistyped one
)

// phrase is what a schema asks for, in a few words: "integer", "string or null".
func phrase(s *jsonschema.Schema) string { return phraseWithin(s, 4) }

func phraseWithin(s *jsonschema.Schema, depth int) string {
	switch {
	case s == nil || depth == 0:
		return anything
	case s.Bool != nil && !*s.Bool:
		return "nothing"
	case s.Const != nil:
		return brief(*s.Const, maxGot)
	case s.Enum != nil:
		return choices(s.Enum.Values, nil)
	case s.Types != nil:
		return strings.Join(s.Types.ToStrings(), " or ")
	case s.Ref != nil:
		return phraseWithin(s.Ref, depth-1)
	case len(s.AnyOf) > 0:
		return either(s.AnyOf, depth)
	case len(s.OneOf) > 0:
		return either(s.OneOf, depth)
	case s.Properties != nil || s.Required != nil:
		return "object"
	}
	for _, part := range s.AllOf {
		if text := phraseWithin(part, depth-1); text != anything {
			return text
		}
	}
	return anything
}

// either is what any of several schemas ask for.
func either(branches []*jsonschema.Schema, depth int) string {
	var all []string
	for _, branch := range branches[:min(len(branches), maxChoices)] {
		text := phraseWithin(branch, depth-1)
		if text == anything {
			return anything
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return shorten(strings.Join(all, " or "), maxExpected)
}

// choices are the values of an enum, those first that resemble got where not all can be shown.
func choices(values []any, got any) string {
	if len(values) == 1 {
		return brief(values[0], maxGot)
	}
	word, _ := got.(string)
	if near := text.Nearest(word, stringsOf(values), 3); len(near) > 0 && len(values) > maxChoices {
		values = slices.Concat(anys(near), values)
	}
	var shown []string
	length := 0
	for _, v := range values {
		text := brief(v, maxGot)
		if slices.Contains(shown, text) {
			continue
		}
		if length += len(text) + 2; len(shown) == maxChoices || length > maxExpected {
			return "one of " + strings.Join(append(shown, "…"), ", ")
		}
		shown = append(shown, text)
	}
	return "one of " + strings.Join(shown, ", ")
}

func stringsOf(values []any) []string {
	var all []string
	for _, v := range values[:min(len(values), manyNames)] {
		if text, ok := v.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

func anys(texts []string) []any {
	all := make([]any, len(texts))
	for i, text := range texts {
		all[i] = text
	}
	return all
}

// count is "1 item", "2 items".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
