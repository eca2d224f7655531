package protocol

import (
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

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
func (c *compiler) walk(v any, depth int) string {
	if c.nodes++; depth == 0 || c.nodes > maxCompileNodes {
		return "it is too large"
	}
	below := slices.Values[[]any](nil)
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"$id", "$anchor", "$dynamicAnchor"} {
			if _, is := v[key].(string); is && depth < maxCompileDepth {
				return key + " is not supported below the root"
			}
		}
		below = maps.Values(v)
	case []any:
		below = slices.Values(v)
	}
	for sub := range below {
		if why := c.walk(sub, depth-1); why != "" {
			return why
		}
	}
	return ""
}

// plainID is an $id that no reader of URIs refuses.
var plainID = regexp.MustCompile(`^(https?://[\w.-]+(:\d{1,5})?/[\w./-]*|urn:[\w.-]+:[\w:.-]+|[\w./-]*)#?$`)

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

// keyword looks at one keyword of draft 7 as Ajv has it; others it ignores.
func (c *compiler) keyword(s map[string]any, key string, v any) string {
	ok := true
	switch key {
	case "id", "$async", "$anchor", "$dynamicAnchor":
		return key + " is not supported"
	case "$id":
		id, is := v.(string)
		ok = is && plainID.MatchString(id)
	case "$ref":
		return c.reference(v)
	case "maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		_, ok = v.(float64)
	case "uniqueItems":
		_, ok = v.(bool)
	case "format":
		_, ok = v.(string)
	case "required":
		_, ok = v.([]any)
	case "enum":
		var list []any
		list, ok = v.([]any)
		ok = ok && len(list) > 0
	case "type", "nullable":
		ok = typed(s)
	case "pattern":
		var p string
		if p, ok = v.(string); ok && !ecmaPattern(p) {
			return "the pattern " + Printable(p, 60) + " is none of JavaScript's"
		}
	case "not", "if", "then", "else", "contains", "propertyNames", "additionalProperties", "additionalItems":
		return c.schema(v)
	case "items":
		if list, several := v.([]any); several {
			return c.schemas(list)
		}
		return c.schema(v)
	case "allOf", "anyOf", "oneOf":
		var list []any
		if list, ok = v.([]any); ok {
			return c.schemas(list)
		}
	case "properties", "patternProperties", "dependencies":
		var named map[string]any
		if named, ok = v.(map[string]any); ok {
			return c.named(key, named)
		}
	}
	if !ok {
		return key + " has a value that it cannot have"
	}
	return ""
}

func (c *compiler) schemas(list []any) string {
	for _, v := range list {
		if why := c.schema(v); why != "" {
			return why
		}
	}
	return ""
}

func (c *compiler) named(key string, named map[string]any) string {
	for name, v := range named {
		if key == "patternProperties" && !ecmaPattern(name) {
			return "the pattern " + Printable(name, 60) + " is none of JavaScript's"
		}
		if _, list := v.([]any); list && key == "dependencies" {
			continue
		}
		if why := c.schema(v); why != "" {
			return why
		}
	}
	return ""
}

// typed reports whether type and nullable of a schema go together.
func typed(s map[string]any) bool {
	nullable, said := s["nullable"]
	null, is := nullable.(bool)
	list, ok := s["type"].([]any)
	if one, single := s["type"].(string); single {
		list, ok = []any{one}, true
	}
	_, hasType := s["type"]
	if hasType != ok || said && (!is || len(list) == 0) {
		return false
	}
	for _, t := range list {
		switch t {
		case "string", "number", "integer", "boolean", "object", "array":
		case "null":
			if said && !null {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// reference follows a $ref within the document: "#" or "#/…". A chain of references
// must end.
func (c *compiler) reference(v any) string {
	ref, _ := v.(string)
	target, ok := c.resolve(ref)
	if !ok {
		return "$ref " + Printable(ref, 60) + " leads nowhere"
	}
	s, _ := target.(map[string]any)
	for range maxCompileDepth {
		next, chained := s["$ref"].(string)
		if !chained {
			return c.schema(target)
		}
		end, _ := c.resolve(next)
		s, _ = end.(map[string]any)
	}
	return "$ref " + Printable(ref, 60) + " leads to itself"
}

func (c *compiler) resolve(ref string) (any, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return nil, false
	}
	at := c.root
	for i, part := range strings.Split(pointer, "/") {
		if i == 0 {
			continue
		}
		part, err := url.PathUnescape(part)
		if err != nil {
			return nil, false
		}
		part = text.FromPointerStep(part)
		switch v := at.(type) {
		case map[string]any:
			at, ok = v[part]
		case []any:
			n, err := strconv.Atoi(part)
			if ok = err == nil && n >= 0 && n < len(v) && strconv.Itoa(n) == part; ok {
				at = v[n]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return at, true
}
