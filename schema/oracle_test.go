package schema_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// oracle is an independent validator. It reads a schema in the draft that the schema names. If the schema names no
// draft, the oracle reads it in the first of 2020-12, draft 7 and draft 4 that accepts it. A schema with keywords of
// 2020-12 is read in 2020-12 only. If a schema has nullable, the oracle also reads it as OpenAPI. Formats are not
// asserted. Patterns that RE2 does not know and remote references accept everything.
type oracle struct {
	readings []reading
}

// reading is a schema compiled in one way.
type reading struct {
	schema *jsonschema.Schema
	moved  []string // places of schemas that moved below "/anyOf/0"
}

// disagreement is the reason why one reading refuses a value.
type disagreement struct {
	error
	reading
}

// newOracle returns an error if the schema is not valid in any draft.
func newOracle(raw []byte) (*oracle, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	drafts := []*jsonschema.Draft{jsonschema.Draft2020, jsonschema.Draft7, jsonschema.Draft4}
	if of2020.Match(raw) {
		drafts = drafts[:1]
	}
	plain, err := compileAny(doc, drafts)
	if err != nil {
		return nil, err
	}
	o := &oracle{[]reading{{schema: plain}}}
	if bytes.Contains(raw, []byte(`"nullable"`)) {
		var moved []string
		if open, err := compileAny(openAPI(doc, "", &moved), drafts); err == nil {
			o.readings = append(o.readings, reading{open, moved})
		}
	}
	return o, nil
}

// refuses returns nil if a reading accepts the value, and otherwise the reasons of all readings.
func (o *oracle) refuses(value any) []disagreement {
	var reasons []disagreement
	for _, r := range o.readings {
		err := r.schema.Validate(value)
		if err == nil {
			return nil
		}
		reasons = append(reasons, disagreement{err, r})
	}
	return reasons
}

// of2020 matches $schema and keywords that older drafts do not have.
var of2020 = regexp.MustCompile(`"(\$schema|\$defs|prefixItems)"`)

func compileAny(doc any, drafts []*jsonschema.Draft) (*jsonschema.Schema, error) {
	var errs []error
	for _, d := range drafts {
		s, err := compile(doc, d)
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func compile(doc any, draft *jsonschema.Draft) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(draft)
	c.UseLoader(elsewhere{})
	c.UseRegexpEngine(lenient)
	for _, name := range formats {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	if err := c.AddResource(location, doc); err != nil {
		return nil, err
	}
	return c.Compile(location)
}

const location = "https://indus.invalid/schema.json"

// formats lists the formats that the validator asserts in draft 7 by default.
var formats = []string{
	"json-pointer", "relative-json-pointer", "uuid", "duration", "period", "ipv4", "ipv6", "hostname", "email", "date", "time",
	"date-time", "uri", "iri", "uri-reference", "iri-reference", "uri-template", "semver",
}

// elsewhere loads a schema that accepts everything for any URL.
type elsewhere struct{}

func (elsewhere) Load(string) (any, error) { return true, nil }

// lenient compiles a pattern with RE2. A pattern that RE2 does not know matches everything.
func lenient(pattern string) (jsonschema.Regexp, error) {
	if re, err := regexp.Compile(pattern); err == nil {
		return re, nil
	}
	return regexp.MustCompile(""), nil
}

// openAPI returns the schema at a path, with nullable rewritten in JSON Schema.
func openAPI(doc any, at string, moved *[]string) any {
	switch v := doc.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = openAPI(v[i], fmt.Sprintf("%s/%d", at, i), moved)
		}
		return out
	case map[string]any:
		return openAPIObject(v, at, moved)
	}
	return doc
}

func openAPIObject(v map[string]any, at string, moved *[]string) any {
	null, _ := v["nullable"].(bool)
	one, typed := v["type"].(string)
	outer := at
	if null && !typed {
		at += "/anyOf/0"
		*moved = append(*moved, at)
	}
	out := maps.Clone(v)
	delete(out, "nullable")
	for k, inner := range v {
		switch k {
		case "enum", "const", "default", "example", "examples", "required", "nullable":
		case "properties", "$defs", "definitions", "patternProperties", "dependentSchemas":
			out[k] = openAPINamed(inner, step(at, k), moved)
		default:
			out[k] = openAPI(inner, step(at, k), moved)
		}
	}
	switch {
	case !null:
	case outer != at:
		wrapper := map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
		for _, stays := range []string{"$schema", "$id", "$defs", "definitions"} { // references lead there
			if v, ok := out[stays]; ok {
				wrapper[stays] = v
				delete(out, stays)
			}
		}
		return wrapper
	default:
		out["type"] = []any{one, "null"}
		if of, ok := v["enum"].([]any); ok && !slices.Contains(of, nil) {
			out["enum"] = append(slices.Clone(of), nil)
		}
	}
	return out
}

// openAPINamed does the same for an object of schemas.
func openAPINamed(named any, at string, moved *[]string) any {
	m, ok := named.(map[string]any)
	if !ok {
		return named
	}
	out := make(map[string]any, len(m))
	for k, s := range m {
		out[k] = openAPI(s, step(at, k), moved)
	}
	return out
}

func step(at, name string) string {
	return at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// unexcused returns the places in the schema that refuse a value without a loss at, around or inside the place. It
// returns nothing if one of the readings has a loss for each of its reasons.
func unexcused(refusals []disagreement, lost []string) []string {
	for i := range lost {
		lost[i] = merged(lost[i])
	}
	var first []string
	for _, d := range refusals {
		refused := (*jsonschema.ValidationError)(nil)
		if !errors.As(d.error, &refused) {
			return []string{d.Error()}
		}
		places := d.uncovered(refused, lost)
		if len(places) == 0 {
			return nil
		}
		if first == nil {
			first = places
		}
	}
	slices.Sort(first)
	return slices.Compact(first)
}

func (r reading) uncovered(e *jsonschema.ValidationError, lost []string) []string {
	at := merged(r.place(e))
	for _, loss := range lost {
		if within(at, loss) || within(loss, at) && wide(e) {
			return nil
		}
	}
	if len(e.Causes) == 0 {
		return []string{at}
	}
	union := false
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf: // one branch would be enough
		union = true
	}
	var places []string
	excused := false
	for _, cause := range e.Causes {
		inner := r.uncovered(cause, lost)
		if union && len(inner) == 0 {
			return nil
		}
		excused = excused || len(inner) == 0
		places = append(places, inner...)
	}
	if union {
		return []string{at}
	}
	if excused { // refused properties and items count as not evaluated
		places = slices.DeleteFunc(places, func(at string) bool { return strings.Contains(at, "/unevaluated") })
	}
	return places
}

var branches = regexp.MustCompile(`/(allOf|anyOf|oneOf)/\d+`)

// merged removes the branches from a path, because Adapt merges several schemas and reports the change at the place of
// one of them.
func merged(path string) string { return branches.ReplaceAllString(path, "") }

// wide reports whether a refusal depends on schemas inside, which may have lost constraints.
func wide(e *jsonschema.ValidationError) bool {
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf:
		return false // their causes are more precise
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.Reference, *kind.Contains, *kind.PropertyNames, *kind.AdditionalProperties:
		return true
	}
	return len(e.Causes) == 0
}

// place returns the path of the refusing keyword in the original (RFC 6901).
func (r reading) place(e *jsonschema.ValidationError) string {
	_, at, _ := strings.Cut(e.SchemaURL, "#")
	at = unescapePercent(at)
	for _, name := range e.ErrorKind.KeywordPath() {
		at = step(at, name)
	}
	for _, deeper := range slices.Backward(r.moved) {
		if within(at, deeper) {
			at = strings.TrimSuffix(deeper, "/anyOf/0") + at[len(deeper):]
		}
	}
	return at
}

func unescapePercent(s string) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		var b byte
		if s[i] == '%' && i+2 < len(s) {
			if n, _ := fmt.Sscanf(s[i+1:i+3], "%02X", &b); n == 1 {
				out = append(out, b)
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

// within reports whether inner is outer or a path below it.
func within(inner, outer string) bool {
	return inner == outer || strings.HasPrefix(inner, outer+"/")
}
