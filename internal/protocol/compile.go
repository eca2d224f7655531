package protocol

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/keyword"
	"github.com/indusagi/indus/internal/text"
)

// What of an outputSchema is compiled for a client at most: every client of ours would
// pay for it with each list.
const (
	maxCompileDepth = 100
	maxCompileNodes = 10_000
)

// uncompilable says why Ajv 8 cannot compile a schema as the TypeScript SDK 1 asks it
// to (draft 7, strict: false), "" where it can. Where it is not sure it says no: a
// schema that is withheld costs a client a check, one that cannot be compiled every
// tool of the list.
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

// walk looks at all that there is, even where no keyword leads to it: Ajv registers the ids and
// anchors of everything below the root, and fails where it does not like one.
func (c *compiler) walk(v any, depth int) (why string) {
	if c.nodes++; depth == 0 || c.nodes > maxCompileNodes {
		return "it is too large"
	}
	switch v := v.(type) {
	case map[string]any:
		for key, below := range v {
			if _, is := below.(string); is && depth < maxCompileDepth && (key == "$id" || key == "$anchor" || key == "$dynamicAnchor") {
				return key + " is not supported below the root"
			}
			if why = c.walk(below, depth-1); why != "" {
				return why
			}
		}
	case []any:
		for _, below := range v {
			if why = c.walk(below, depth-1); why != "" {
				return why
			}
		}
	}
	return ""
}

// plainID is an $id that no reader of URIs refuses.
var plainID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(https?://[\w.-]+(:\d{1,5})?/[\w./-]*|urn:[\w.-]+:[\w:.-]+|[\w./-]*)#?$`)
})

// schema looks at one schema and at all that its keywords lead to.
func (c *compiler) schema(v any) string {
	s, ok := v.(map[string]any)
	if !ok {
		if _, ok := v.(bool); ok {
			return ""
		}
		return "a schema that is neither an object nor a boolean"
	}
	at := reflect.ValueOf(s).Pointer()
	if c.seen[at] {
		return ""
	}
	c.seen[at] = true
	for key, v := range s {
		if why := c.keyword(s, key, v); why != "" {
			return why
		}
	}
	return ""
}

// keywordKinds are the types of the values of draft 7's keywords. What has none may have any value,
// or is not read.
var keywordKinds = map[string]reflect.Kind{
	"maxLength": reflect.Float64, "minLength": reflect.Float64, "maxItems": reflect.Float64, "minItems": reflect.Float64,
	"maxProperties": reflect.Float64, "minProperties": reflect.Float64, "minimum": reflect.Float64, "maximum": reflect.Float64,
	"exclusiveMinimum": reflect.Float64, "exclusiveMaximum": reflect.Float64, "multipleOf": reflect.Float64,
	"uniqueItems": reflect.Bool, "format": reflect.String, "required": reflect.Slice, "enum": reflect.Slice,
	"$id": reflect.String, "$ref": reflect.String, "pattern": reflect.String,
	"allOf": reflect.Slice, "anyOf": reflect.Slice, "oneOf": reflect.Slice,
	"properties": reflect.Map, "patternProperties": reflect.Map, "dependencies": reflect.Map,
}

// laterKeywords hold schemas in later drafts only, or none that Ajv compiles where it finds them.
var laterKeywords = []string{"$defs", "definitions", "prefixItems", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}

// keyword looks at one keyword of draft 7 as Ajv has it; others it ignores.
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
	patterns := []string{}
	if key == "pattern" {
		patterns = append(patterns, id)
	}
	if named, ok := v.(map[string]any); ok && key == "patternProperties" {
		for name := range named {
			patterns = append(patterns, name)
		}
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

// typesAgree reports whether type and nullable of a schema go together.
func typesAgree(s map[string]any) bool {
	nullable, said := s["nullable"]
	null, is := nullable.(bool)
	list, ok := s["type"].([]any)
	if one, single := s["type"].(string); single {
		list, ok = []any{one}, true
	}
	if _, hasType := s["type"]; hasType != ok || said && (!is || len(list) == 0) {
		return false
	}
	return !slices.ContainsFunc(list, func(t any) bool {
		name, _ := t.(string)
		return !slices.Contains([]string{"string", "number", "integer", "boolean", "object", "array", "null"}, name) || name == "null" && said && !null
	})
}

// reference follows a $ref within the document, "#" or "#/…", through objects alone. A chain
// of references must end.
func (c *compiler) reference(ref string) string {
	target := c.resolve(ref)
	for range maxCompileDepth {
		s, _ := target.(map[string]any)
		next, chained := s["$ref"].(string)
		if !chained {
			break
		}
		if target = c.resolve(next); target == nil {
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
	at := c.root
	for i, step := range strings.Split(ref, "/") {
		if i == 0 && step == "#" {
			continue
		}
		object, _ := at.(map[string]any)
		if at = object[text.FromPointerStep(step)]; i == 0 || strings.Contains(step, "%") {
			return nil
		}
	}
	return at
}

// The parts of a regular expression that ECMAScript 2018 in Unicode mode (its section 21.2.1) and
// Go read alike, and the look-around that only the former has.
const (
	patternCategory  = `\\[pP]\{(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfos]?)\}`
	patternSet       = `(?:\\[dDsSwW]|` + patternCategory + `)`
	patternEscape    = `\\(?:[tnvfr^$\\.*+?()\[\]{}|/]|x[0-9a-fA-F]{2}|u[0-9a-cA-CefEF][0-9a-fA-F]{3}|u[dD][0-7][0-9a-fA-F]{2}|u\{[0-9a-fA-F]{1,6}\})`
	patternMember    = `(?:[^\[\]\\-]|\\-|` + patternEscape + `)`
	patternClass     = `\[\^?-?(?:` + patternMember + `-` + patternMember + `|` + patternMember + `|` + patternSet + `)*-?\]`
	patternRepeated  = `(?:[^\\^$*+?()\[\]{}|]|\)|` + patternEscape + `|` + patternSet + `|` + patternClass + `)`
	patternQuantity  = `(?:(?:[*+?]|\{[0-9]{1,3}(?:,(?:[0-9]{1,3})?)?\})\??)?`
	patternOther     = `(?:[\^$|]|\\[bB]|\((?:\?(?:[:=!]|<[=!]|<[A-Za-z_][A-Za-z0-9_]*>))?)`
	maxPatternLength = 4096
)

// patternParts are compiled when they are first needed, which is seldom.
var patternParts = sync.OnceValue(func() (p struct{ shared, lookAround, quantifiedEnd, escapes *regexp.Regexp }) {
	p.shared = regexp.MustCompile(`^(?:` + patternRepeated + patternQuantity + `|` + patternOther + `)*$`)
	p.lookAround = regexp.MustCompile(`\(\?<?[=!]`)
	p.quantifiedEnd = regexp.MustCompile(`\)[*+?{]`)
	p.escapes = regexp.MustCompile(`\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|.)`)
	return p
})

// ecmaPattern reports whether Ajv surely compiles a pattern: it consists of what JavaScript reads
// as Go does, or of look-around, and Go compiles the rest. Back references, and what else only
// JavaScript knows, are not sure.
func ecmaPattern(s string) bool {
	parts := patternParts()
	if len(s) > maxPatternLength || !parts.shared.MatchString(s) || parts.lookAround.MatchString(s) && parts.quantifiedEnd.MatchString(s) {
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
