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
// newest in which it can be read, if no word of 2020-12 is in it; where nullable stands, as OpenAPI too. Formats are not asserted, a pattern that RE2 does not
// know takes everything, and so does what is behind a reference to elsewhere.
type oracle struct {
	readings []reading
}

// reading is a schema as it is read one way.
type reading struct {
	schema *jsonschema.Schema
	moved  []string // the places of what stands deeper than in the original, by "/anyOf/0"
}

// disagreement is why one of the readings does not take a value.
type disagreement struct {
	error
	reading
}

// newOracle returns an error for what is a schema in no draft.
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

// refuses is nil where a reading takes the value, and else every reading's reason.
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

// of2020 finds a draft that is named, and words that older drafts do not know.
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

// openAPI returns the schema that is at a path with nullable said as JSON Schema says it.
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

// openAPINamed does so with the schemas of an object of schemas.
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

// unexcused are the places of the schema that refuse a value although nothing was lost there: not of the place itself, not of
// what is around it, not of what is inside. It is empty where one of the readings has an excuse for all of its reasons.
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
	if excused { // what is refused counts as not evaluated
		places = slices.DeleteFunc(places, func(at string) bool { return strings.Contains(at, "/unevaluated") })
	}
	return places
}

var branches = regexp.MustCompile(`/(allOf|anyOf|oneOf)/\d+`)

// merged is a path without the branches that it leads through, because Adapt makes one schema of several, and tells of it at
// the place of one of them.
func merged(path string) string { return branches.ReplaceAllString(path, "") }

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

// place is the path of the keyword that refuses, in the original (RFC 6901).
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

// within reports whether a path leads to what the other leads to, or into it.
func within(inner, outer string) bool {
	return inner == outer || strings.HasPrefix(inner, outer+"/")
}
