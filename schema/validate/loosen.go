package validate

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// loosener takes out of a schema what cannot be checked, in such a way that nothing is refused for it.
type loosener struct {
	patterns *patterns
	isDraft4 bool // it says so
	notes    []string
}

func (l *loosener) engine() jsonschema.RegexpEngine { return l.patterns.engine }

// lossy marks a schema of which something was taken out before. Nothing is lost by the mark: no format is checked.
const lossy = "format"

// loosen changes doc in place.
func loosen(doc any, isDraft4 bool) *loosener {
	l := &loosener{patterns: newPatterns(), isDraft4: isDraft4}
	missing := false
	walk(doc, func(s map[string]any) { missing = missing || l.misses(s) })
	if missing {
		walk(doc, l.relax)
	}
	walk(doc, l.strip)
	return l
}

// misses reports whether s says something itself that strip takes out, so that it accepts more than it should.
func (l *loosener) misses(s map[string]any) bool {
	if _, ok := s[lossy].(string); ok {
		return true
	}
	if text, ok := s["pattern"].(string); ok && l.patterns.get(text) == nil {
		return true
	}
	named, _ := s["patternProperties"].(map[string]any)
	for text := range named {
		if l.patterns.get(text) == nil {
			return true
		}
	}
	return false
}

// relax takes out of s what would refuse a value because another schema accepts too much.
func (l *loosener) relax(s map[string]any) {
	if l.isTainted(s["not"]) {
		l.drop(s, "not")
	}
	if l.isTainted(s["if"]) {
		for _, key := range []string{"if", "then", "else"} {
			l.drop(s, key)
		}
	}
	if l.isTainted(s["contains"]) {
		delete(s, "maxContains")
	}
	if branches, ok := s["oneOf"].([]any); ok && l.isTainted(s["oneOf"]) {
		delete(s, "oneOf")
		all, _ := s["allOf"].([]any)
		s["allOf"] = append(slices.Clone(all), map[string]any{"anyOf": branches})
	}
}

// isTainted reports whether something is missing within v, or may be where a reference leads.
func (l *loosener) isTainted(v any) bool {
	tainted := false
	check := func(s map[string]any) {
		_, refers := s["$ref"]
		tainted = tainted || refers || l.misses(s)
	}
	if list, ok := v.([]any); ok {
		for _, one := range list {
			walk(one, check)
		}
		return tainted
	}
	walk(v, check)
	return tainted
}

func (l *loosener) drop(s map[string]any, key string) {
	if _, ok := s[key]; ok {
		delete(s, key)
		l.note("a %s whose schema is not checked whole is skipped", key)
	}
}

func (l *loosener) note(format string, a ...any) {
	const most = 20
	note := fmt.Sprintf(format, a...)
	if len(l.notes) < most && !slices.Contains(l.notes, note) {
		l.notes = append(l.notes, note)
	}
}

// strip takes out what s says itself and nobody can check, and writes in JSON Schema what is meant.
func (l *loosener) strip(s map[string]any) {
	if _, ok := s["format"].(string); ok {
		delete(s, "format") // an annotation in every draft here
	}
	if uri, ok := s["$schema"]; ok && draftOf(uri) == nil {
		delete(s, "$schema")
	}
	if text, ok := s["pattern"].(string); ok && l.patterns.get(text) == nil {
		delete(s, "pattern")
		l.note("the pattern %s is skipped: %s", shorten(text, 80), notRE2)
	}
	if named, ok := s["patternProperties"].(map[string]any); ok {
		l.stripNames(named)
	}
	allowNull(s)
	if !l.isDraft4 {
		bound(s, "minimum", "exclusiveMinimum")
		bound(s, "maximum", "exclusiveMaximum")
	}
	for _, key := range counts {
		if n, ok := s[key].(json.Number); ok {
			s[key] = atMost(n, maxCount)
		}
	}
}

const notRE2 = "RE2 does not know it, or it is too large"

// stripNames replaces patterns that cannot be used by one that takes every name, and then whatever the value.
func (l *loosener) stripNames(named map[string]any) {
	for text := range named {
		if l.patterns.get(text) == nil {
			delete(named, text)
			named[""] = map[string]any{}
			l.note("the patternProperties of %s are skipped: %s", shorten(text, 80), notRE2)
		}
	}
}

// counts are the keywords that the library reads as an int; maxCount is the largest that it is given.
var counts = []string{
	"maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties", "maxContains", "minContains",
}

const maxCount = 1 << 40

// bound writes draft 4's exclusive bound, which many generators add to newer drafts, as those have it: to read the whole
// as draft 4 would lose const and more.
func bound(s map[string]any, inclusive, exclusive string) {
	strict, ok := s[exclusive].(bool)
	if !ok {
		return
	}
	delete(s, exclusive)
	if limit, ok := s[inclusive].(json.Number); ok && strict {
		s[exclusive] = limit
		delete(s, inclusive)
	}
}

// allowNull takes nullable as OpenAPI 3.0 means it: many servers make their schemas from one of those.
func allowNull(s map[string]any) {
	name, single := s["type"].(string)
	if nullable, _ := s["nullable"].(bool); !nullable || !single || name == "null" {
		return
	}
	s["type"] = []any{name, "null"}
	if values, ok := s["enum"].([]any); ok && !slices.Contains(values, nil) {
		s["enum"] = append(slices.Clone(values), nil)
	}
}
