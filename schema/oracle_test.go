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

// oracle is a validator nobody here wrote. It reads a schema in the draft that it names, else in 2020-12, else in the
// newest in which it can be read; where nullable stands, as OpenAPI too. Formats are not asserted, a pattern that RE2 does not
// know takes everything, and so does what stands behind a reference to elsewhere.
type oracle struct {
	readings []*jsonschema.Schema
}

// newOracle returns an error for what is a schema in no draft.
func newOracle(raw []byte) (*oracle, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	plain, err := compileAny(doc)
	if err != nil {
		return nil, err
	}
	o := &oracle{[]*jsonschema.Schema{plain}}
	if bytes.Contains(raw, []byte(`"nullable"`)) {
		if open, err := compileAny(openAPI(doc)); err == nil {
			o.readings = append(o.readings, open)
		}
	}
	return o, nil
}

// refuses is nil where a reading takes the value, and else every reading's reason.
func (o *oracle) refuses(value any) []error {
	var reasons []error
	for _, s := range o.readings {
		err := s.Validate(value)
		if err == nil {
			return nil
		}
		reasons = append(reasons, err)
	}
	return reasons
}

func compileAny(doc any) (*jsonschema.Schema, error) {
	drafts := []*jsonschema.Draft{jsonschema.Draft2020, jsonschema.Draft7, jsonschema.Draft4}
	if m, ok := doc.(map[string]any); ok {
		if _, ok := m["$schema"]; ok {
			drafts = drafts[:1] // the schema's own is taken
		}
	}
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

// formats are what the validator asserts in draft-07 if nobody stops it.
var formats = []string{
	"json-pointer", "relative-json-pointer", "uuid", "duration", "period", "ipv4", "ipv6", "hostname", "email", "date", "time",
	"date-time", "uri", "iri", "uri-reference", "iri-reference", "uri-template", "semver",
}

// elsewhere has, wherever one looks, a schema that takes everything.
type elsewhere struct{}

func (elsewhere) Load(string) (any, error) { return true, nil }

// lenient compiles what RE2 knows, and lets everything match the rest.
func lenient(pattern string) (jsonschema.Regexp, error) {
	if re, err := regexp.Compile(pattern); err == nil {
		return re, nil
	}
	return regexp.MustCompile(""), nil
}

// openAPI returns the schema with nullable said as JSON Schema says it. Maps under the keywords that hold no schemas are left.
func openAPI(doc any) any {
	switch v := doc.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = openAPI(v[i])
		}
		return out
	case map[string]any:
		return openAPIObject(v)
	}
	return doc
}

func openAPIObject(v map[string]any) any {
	out := maps.Clone(v)
	for k, inner := range v {
		switch k {
		case "enum", "const", "default", "example", "examples", "required":
		case "properties", "$defs", "definitions", "patternProperties", "dependentSchemas":
			if named, ok := inner.(map[string]any); ok {
				out[k] = mapped(named, openAPI)
			}
		default:
			out[k] = openAPI(inner)
		}
	}
	if null, _ := v["nullable"].(bool); !null {
		return out
	}
	delete(out, "nullable")
	one, ok := v["type"].(string)
	if !ok {
		return map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
	}
	out["type"] = []any{one, "null"}
	if of, ok := v["enum"].([]any); ok && !slices.Contains(of, nil) {
		out["enum"] = append(slices.Clone(of), nil)
	}
	return out
}

func mapped(m map[string]any, f func(any) any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = f(v)
	}
	return out
}

// unexcused are the places of the schema that refuse a value although nothing was lost there: not of the place itself, not of
// what is around it, not of what is inside. It is empty where one of the readings has an excuse for all of its reasons.
func unexcused(refusals []error, lost []string) []string {
	var first []string
	for _, err := range refusals {
		refused := (*jsonschema.ValidationError)(nil)
		if !errors.As(err, &refused) {
			return []string{err.Error()}
		}
		places := uncovered(refused, lost)
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

func uncovered(e *jsonschema.ValidationError, lost []string) []string {
	at := place(e)
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
	for _, cause := range e.Causes {
		inner := uncovered(cause, lost)
		if union && len(inner) == 0 {
			return nil
		}
		places = append(places, inner...)
	}
	if union {
		return []string{at}
	}
	return places
}

// wide says that what is refused depends on the schemas inside, each of which may have lost something.
func wide(e *jsonschema.ValidationError) bool {
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf:
		return false // their causes say more
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.Reference, *kind.Contains, *kind.PropertyNames, *kind.AdditionalProperties:
		return true
	}
	return len(e.Causes) == 0
}

// place is the path of the keyword that refuses, in the schema (RFC 6901).
func place(e *jsonschema.ValidationError) string {
	_, at, _ := strings.Cut(e.SchemaURL, "#")
	at = unescapePercent(at)
	for _, step := range e.ErrorKind.KeywordPath() {
		at += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step)
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

// within reports whether a path leads to what the other leads to, or into it.
func within(inner, outer string) bool {
	return inner == outer || strings.HasPrefix(inner, outer+"/")
}
