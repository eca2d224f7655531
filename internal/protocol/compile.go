package protocol

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/keyword"
	"github.com/indusagi/indus/internal/text"
)

// These limits bound the part of an outputSchema that is compiled for a client. Every list request
// of a client would pay for it.
const (
	maxCompileDepth = 100
	maxCompileNodes = 10_000
)

// uncompilable returns the reason why Ajv 8 cannot compile a schema with the options of the
// TypeScript SDK 1 (draft 7, strict: false), or "" if it can. If it is not sure, it returns a
// reason. A schema that is left out only costs a client a check, but a schema that does not compile
// costs it every tool of the list.
func uncompilable(schema json.RawMessage) string {
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return "it is not valid JSON"
	}
	c := compiler{root: root, seen: map[uintptr]bool{}}
	if why := c.walk(root, maxCompileDepth); why != "" {
		return why
	}
	return c.schema(root)
}

type compiler struct {
	root  any
	nodes int
	seen  map[uintptr]bool
}

// walk visits all values, even if no keyword leads to them. Ajv registers the ids and anchors of
// all values below the root, and fails if one is invalid.
func (c *compiler) walk(v any, depth int) (why string) {
	c.nodes++
	if depth == 0 || c.nodes > maxCompileNodes {
		return "it is too large"
	}
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			if _, is := child.(string); is && depth < maxCompileDepth &&
				(key == "$id" || key == "$anchor" || key == "$dynamicAnchor") {
				return key + " is not supported below the root"
			}
			why = c.walk(child, depth-1)
			if why != "" {
				return why
			}
		}
	case []any:
		for _, child := range v {
			why = c.walk(child, depth-1)
			if why != "" {
				return why
			}
		}
	}
	return ""
}

// plainID matches an $id that every URI parser accepts.
var plainID = text.Pattern(`^(https?://[\w.-]+(:\d{1,5})?/[\w./-]*|urn:[\w.-]+:[\w:.-]+|[\w./-]*)#?$`)

// schema checks one schema and all schemas that its keywords lead to.
func (c *compiler) schema(v any) string {
	s, ok := v.(map[string]any)
	if !ok {
		if _, ok := v.(bool); ok {
			return ""
		}
		return "a schema that is neither an object nor a boolean"
	}
	address := reflect.ValueOf(s).Pointer()
	if c.seen[address] {
		return ""
	}
	c.seen[address] = true
	for key, v := range s {
		if why := c.keyword(s, key, v); why != "" {
			return why
		}
	}
	return ""
}

// keywordKinds maps the keywords of draft 7 to the types of their values. Other keywords may have
// any value, or are not read.
var keywordKinds = map[string]reflect.Kind{
	"maxLength": reflect.Float64, "minLength": reflect.Float64, "maxItems": reflect.Float64, "minItems": reflect.Float64,
	"maxProperties": reflect.Float64, "minProperties": reflect.Float64,
	"minimum": reflect.Float64, "maximum": reflect.Float64, "exclusiveMinimum": reflect.Float64,
	"exclusiveMaximum": reflect.Float64, "multipleOf": reflect.Float64,
	"uniqueItems": reflect.Bool, "format": reflect.String, "required": reflect.Slice, "enum": reflect.Slice,
	"$id": reflect.String, "$ref": reflect.String, "pattern": reflect.String,
	"allOf": reflect.Slice, "anyOf": reflect.Slice, "oneOf": reflect.Slice,
	"properties": reflect.Map, "patternProperties": reflect.Map, "dependencies": reflect.Map,
}

// laterKeywords hold schemas only in later drafts, or schemas that Ajv does not compile at their
// place.
var laterKeywords = []string{"$defs", "definitions", "prefixItems", "dependentSchemas", "unevaluatedItems",
	"unevaluatedProperties", "contentSchema"}

// keyword checks one keyword of draft 7 as Ajv reads it. Ajv ignores other keywords.
func (c *compiler) keyword(s map[string]any, key string, v any) string {
	kind, typed := keywordKinds[key]
	list, _ := v.([]any)
	id, _ := v.(string)
	switch {
	case slices.Contains([]string{"id", "$async", "$anchor", "$dynamicAnchor"}, key):
		return key + " is not supported"
	case typed && (v == nil || reflect.TypeOf(v).Kind() != kind),
		key == "$id" && !plainID().MatchString(id),
		key == "enum" && len(list) == 0,
		(key == "type" || key == "nullable") && !typesAgree(s):
		return key + " has a value that it cannot have"
	case key == "$ref":
		return c.reference(id)
	}
	var patterns []string
	switch named, _ := v.(map[string]any); key {
	case "pattern":
		patterns = []string{id}
	case "patternProperties":
		patterns = slices.Collect(maps.Keys(named))
	}
	for _, p := range patterns {
		if !ecmaPattern(p) {
			return "the pattern " + Printable(p, 60) + " is not surely one of JavaScript's"
		}
	}
	if slices.Contains(laterKeywords, key) {
		return ""
	}
	for sub := range keyword.Schemas(key, v) {
		if why := c.schema(sub); why != "" {
			return why
		}
	}
	return ""
}

// typesAgree reports whether type and nullable of a schema are consistent.
func typesAgree(s map[string]any) bool {
	nullable, hasNullable := s["nullable"]
	null, is := nullable.(bool)
	list, ok := s["type"].([]any)
	if one, single := s["type"].(string); single {
		list, ok = []any{one}, true
	}
	if _, hasType := s["type"]; hasType != ok || hasNullable && (!is || len(list) == 0) {
		return false
	}
	return !slices.ContainsFunc(list, func(t any) bool {
		name, _ := t.(string)
		return !slices.Contains([]string{"string", "number", "integer", "boolean", "object", "array", "null"}, name) ||
			name == "null" && hasNullable && !null
	})
}

// reference follows a $ref within the document, "#" or "#/…", through objects only. A chain of
// references must end.
func (c *compiler) reference(ref string) string {
	target := c.resolve(ref)
	for range maxCompileDepth {
		s, _ := target.(map[string]any)
		next, chained := s["$ref"].(string)
		if !chained {
			break
		}
		target = c.resolve(next)
		if target == nil {
			break
		}
		ref = next
	}
	if s, ok := target.(map[string]any); ok && s["$ref"] == nil {
		return c.schema(s)
	}
	if b, ok := target.(bool); ok {
		return c.schema(b)
	}
	return "$ref " + Printable(ref, 60) + " leads nowhere"
}

func (c *compiler) resolve(ref string) any {
	current := c.root
	for i, step := range strings.Split(ref, "/") {
		if i == 0 && step == "#" {
			continue
		}
		object, _ := current.(map[string]any)
		current = object[text.FromPointerStep(step)]
		if i == 0 || strings.Contains(step, "%") {
			return nil
		}
	}
	return current
}

// The parts of a regular expression that ECMAScript 2018 in Unicode mode (its section 21.2.1) and
// Go read alike, and look-around, which only ECMAScript has.
const (
	patternCategory = `\\[pP]\{(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfos]?)\}`
	patternSet      = `(?:\\[dDsSwW]|` + patternCategory + `)`
	patternEscape   = `\\(?:[tnvfr^$\\.*+?()\[\]{}|/]|x[0-9a-fA-F]{2}|u[0-9a-cA-CefEF][0-9a-fA-F]{3}` +
		`|u[dD][0-7][0-9a-fA-F]{2}|u\{[0-9a-fA-F]{1,6}\})`
	patternMember = `(?:[^\[\]\\-]|\\-|` + patternEscape + `)`
	patternClass  = `\[\^?-?(?:` + patternMember + `-` + patternMember + `|` + patternMember + `|` +
		patternSet + `)*-?\]`
	patternRepeated  = `(?:[^\\^$*+?()\[\]{}|]|\)|` + patternEscape + `|` + patternSet + `|` + patternClass + `)`
	patternQuantity  = `(?:(?:[*+?]|\{[0-9]{1,3}(?:,(?:[0-9]{1,3})?)?\})\??)?`
	patternOther     = `(?:[\^$|]|\\[bB]|\((?:\?(?:[:=!]|<[=!]|<[A-Za-z_][A-Za-z0-9_]*>))?)`
	maxPatternLength = 4096
)

// patternParts compiles the parts at their first use, which is rare.
var patternParts = sync.OnceValue(func() (p struct{ shared, lookAround, quantifiedEnd, escapes *regexp.Regexp }) {
	p.shared = regexp.MustCompile(`^(?:` + patternRepeated + patternQuantity + `|` + patternOther + `)*$`)
	p.lookAround = regexp.MustCompile(`\(\?<?[=!]`)
	p.quantifiedEnd = regexp.MustCompile(`\)[*+?{]`)
	p.escapes = regexp.MustCompile(`\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|.)`)
	return p
})

// ecmaPattern reports whether Ajv surely compiles a pattern. Each part of it must be
// look-around, or syntax that JavaScript and Go read alike, and Go must compile the rest. Patterns with
// back references and other syntax of JavaScript only are not sure.
func ecmaPattern(s string) bool {
	parts := patternParts()
	if len(s) > maxPatternLength || !parts.shared.MatchString(s) ||
		parts.lookAround.MatchString(s) && parts.quantifiedEnd.MatchString(s) {
		return false
	}
	s = parts.escapes.ReplaceAllStringFunc(s, func(escape string) string {
		if digits, ok := strings.CutPrefix(escape, `\u`); ok {
			return `\x{` + strings.Trim(digits, "{}") + `}`
		}
		return escape
	})
	p, err := regexp.Compile(parts.lookAround.ReplaceAllString(s, "(?:"))
	if err != nil {
		return false
	}
	names := slices.DeleteFunc(p.SubexpNames(), func(name string) bool { return name == "" })
	slices.Sort(names)
	return len(slices.Compact(slices.Clone(names))) == len(names)
}
