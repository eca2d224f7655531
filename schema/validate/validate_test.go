package validate_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/schema/validate"
)

// open returns a validator of a valid schema.
func open(t testing.TB, schema string) *validate.Validator {
	t.Helper()
	v, err := validate.New(json.RawMessage(schema))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return v
}

// errorText returns the text of the error for arguments, or "" if they fit.
func errorText(t testing.TB, v *validate.Validator, arguments string) string {
	t.Helper()
	err := v.Validate(json.RawMessage(arguments))
	if err == nil {
		return ""
	}
	if misfit := (*validate.Error)(nil); !errors.As(err, &misfit) {
		t.Fatalf("%s: %v", arguments, err)
	}
	return err.Error()
}

const files = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "minLength": 1},
		"limit": {"type": "integer", "minimum": 1, "maximum": 100},
		"order": {"enum": ["asc", "desc"]},
		"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true, "maxItems": 3},
		"mode": {"$ref": "#/$defs/mode"},
		"since": {"anyOf": [{"type": "string", "pattern": "^\\d{4}$"}, {"type": "null"}]},
		"a/b~c": {"type": "boolean"}
	},
	"required": ["path"],
	"additionalProperties": false,
	"$defs": {"mode": {"const": "fast"}}
}`

func TestErrorsAreForAModelToMendItsCall(t *testing.T) {
	v := open(t, files)
	for _, tt := range []struct{ arguments, want string }{
		{`{"path":"a"}`, ""},
		{`{"path":"a","limit":2.0,"order":"asc","tags":["x"],"mode":"fast","since":null,"a/b~c":true}`, ""},
		{`{}`, `/: missing required "path" (string)`},
		{`[]`, `/: expected object, got []`},
		{`"{}"`, `/: expected object, got "{}"`},
		{`{"path":"a","limit":"ten"}`, `/limit: expected integer, got "ten"`},
		{`{"path":"a","limit":1.5}`, `/limit: expected integer, got 1.5`},
		{`{"path":"a","limit":0}`, `/limit: expected at least 1, got 0`},
		{`{"path":"a","limit":1e300}`, `/limit: expected at most 100, got 1e300`},
		{`{"path":""}`, `/path: expected at least 1 character, got ""`},
		{`{"path":"a","order":"down"}`, `/order: expected "asc" | "desc", got "down"`},
		{`{"path":"a","tags":"x"}`, `/tags: expected array, got "x"`},
		{`{"path":"a","tags":["x",2]}`, `/tags/1: expected string, got 2`},
		{`{"path":"a","tags":["x","y","x"]}`, `/tags: expected unique items, got the 1st and the 3rd are equal`},
		{`{"path":"a","tags":["a","b","c","d"]}`, `/tags: expected at most 3 items, got 4 items`},
		{`{"path":"a","mode":"slow"}`, `/mode: expected "fast", got "slow"`},
		{`{"path":"a","since":"99"}`, `/since: expected text matching ^\d{4}$, got "99"`},
		{`{"path":"a","since":1999}`, `/since: expected string | null, got 1999`},
		{`{"path":"a","a/b~c":"yes"}`, `/a~1b~0c: expected boolean, got "yes"`},
		{`{"pth":"a"}`, "/: missing required \"path\" (string)\n/: unknown property \"pth\"; did you mean \"path\"?"},
		{`{"path":"a","zzz":{"deep":[1,2]}}`, `/: unknown property "zzz"`},
		{`{"path":{"a":[1,2,"<b>"],"b":null}}`, `/path: expected string, got {"a":[1,2,"<b>"],"b":null}`},
	} {
		if diff := cmp.Diff(tt.want, errorText(t, v, tt.arguments)); diff != "" {
			t.Errorf("%s: %s", tt.arguments, diff)
		}
	}
}

func TestEachKeywordHasItsWords(t *testing.T) {
	for _, tt := range []struct{ schema, arguments, want string }{
		{`{"exclusiveMinimum":0}`, `0`, `/: expected greater than 0, got 0`},
		{`{"exclusiveMaximum":0.5}`, `1`, `/: expected less than 0.5, got 1`},
		{`{"multipleOf":0.01}`, `0.001`, `/: expected a multiple of 0.01, got 0.001`},
		{`{"maxLength":3}`, `"` + strings.Repeat("ä", 5000) + `"`, `/: expected at most 3 characters, got 5000 characters`},
		{`{"minItems":1}`, `[]`, `/: expected at least 1 item, got 0 items`},
		{`{"minProperties":2}`, `{"a":1}`, `/: expected at least 2 properties, got 1 property`},
		{`{"maxProperties":0}`, `{"a":1}`, `/: expected at most 0 properties, got 1 property`},
		{`{"contains":{"type":"integer"}}`, `["a"]`, `/: expected an item that is integer, got ["a"]`},
		{`{"contains":{"type":"integer"},"minContains":2}`, `[1]`, `/: expected at least 2 items that are integer, got [1]`},
		{`{"not":{"type":"null"}}`, `null`, `/: expected anything but null, got null`},
		{`{"not":{"required":["a","b"]}}`, `{"a":1,"b":2}`, `/: expected anything but {a, b}, got {"a":1,"b":2}`},
		{`{"propertyNames":{"enum":["a","b"]}}`, `{"c":1}`, `/c: expected a name that is "a" | "b", got "c"`},
		{`{"propertyNames":{"maxLength":1}}`, `{"cc":1}`, `/cc: expected another name, got "cc"`},
		{`{"properties":{"a":false}}`, `{"a":1}`, `/: unknown property "a"`},
		{`{"prefixItems":[{"type":"string"}],"items":false}`, `["a",1]`, `/1: expected nothing, got 1`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{}],"additionalItems":false}`, `[1,2,3]`, "/1: expected nothing, got 2\n/2: expected nothing, got 3"},
		{`{"dependentRequired":{"a":["b"]},"properties":{"b":{"type":"string"}}}`, `{"a":1}`, `/: missing required "b" (string)`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"]}}`, `{"a":1}`, `/: missing required "b"`},
		{`{"unevaluatedProperties":false,"allOf":[{"properties":{"a":{}}}]}`, `{"a":1,"b":2}`, `/: unknown property "b"`},
		{`{"type":["string","null"]}`, `1`, `/: expected string | null, got 1`},
		{`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1,"b":2}`, `/: expected exactly one of the alternatives, of which the 1st and the 2nd both fit, got {"a":1,"b":2}`},
		{`{"const":{"a":1}}`, `{"a":2}`, `/: expected {"a":1}, got {"a":2}`},
		{`{"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]}}`, `{"a":1}`, `/: missing required "b"`},
		{`false`, `{}`, `/: expected nothing, got {}`},
		{`{"minimum":5,"exclusiveMinimum":true}`, `5`, `/: expected greater than 5, got 5`},
		{`{"enum":[]}`, `5`, `/: expected nothing, got 5`},
		{`{"properties":{"%41":{"const":"a"}},"required":["A"]}`, `{"%41":1}`, "/: missing required \"A\"\n/%41: expected \"a\", got 1"},
		{`{"additionalProperties":false}`, `{"%41":1}`, `/: unknown property "%41"`},
		{" {\"const\":1}", "\n 2", `/: expected 1, got 2`},
		{`{"additionalProperties":{"additionalProperties":false}}`, `{"a\u001b[31m\u202e":{"b\u009b\u007f\u202e":1}}`, `/a[31m: unknown property "b"`},
	} {
		if diff := cmp.Diff(tt.want, errorText(t, open(t, tt.schema), tt.arguments)); diff != "" {
			t.Errorf("%s of %s: %s", tt.arguments, tt.schema, diff)
		}
	}
}

// If there are several alternatives, the error describes the closest one.
func TestAlternativesAreSummarised(t *testing.T) {
	shapes := `{"oneOf":[
		{"type":"object","properties":{"kind":{"const":"circle"},"radius":{"type":"number"}},"required":["kind","radius"]},
		{"type":"object","properties":{"kind":{"const":"square"},"side":{"type":"number"},"colour":{"type":"string"}},"required":["kind","side"]},
		{"type":"string"}
	]}`
	for _, tt := range []struct{ schema, arguments, want string }{
		{shapes, `{"kind":"circle"}`, `/: missing required "radius" (number)`},
		{shapes, `{"kind":"square","side":"long"}`, `/side: expected number, got "long"`},
		{shapes, `{"kind":"triangle"}`, `/kind: expected "circle" | "square", got "triangle"`},
		{shapes, `7`, `/: expected {kind: "circle", radius: number} | {kind: "square", side: number, colour?: string} | string, got 7`},
		{`{"anyOf":[{"enum":["a"]},{"enum":["b","c"]},{"type":"null"}]}`, `"d"`, `/: expected "a" | "b" | "c" | null, got "d"`},
		{`{"anyOf":[{"required":["url"]},{"required":["path","root"]}]}`, `{"root":1}`, `/: missing required "url"`},
		{`{"anyOf":[{"anyOf":[{"type":"string"}]},{"type":"integer"}]}`, `[1]`, `/: expected string | integer, got [1]`},
	} {
		if diff := cmp.Diff(tt.want, errorText(t, open(t, tt.schema), tt.arguments)); diff != "" {
			t.Errorf("%s: %s", tt.arguments, diff)
		}
	}
}

func TestErrorsStayShort(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	var arguments, values []string
	for i := range 40 {
		name := string(rune('A'+i%26)) + strings.Repeat(string(rune('a'+i%26)), 300+i)
		arguments = append(arguments, `"`+name+`":"`+long+`"`)
		values = append(values, `"`+name+`"`)
	}
	v := open(t, `{"additionalProperties":{"enum":[`+strings.Join(values, ",")+`]},"required":["a"]}`)
	err := v.Validate(json.RawMessage("{" + strings.Join(arguments, ",") + "}"))
	misfit := (*validate.Error)(nil)
	if !errors.As(err, &misfit) || len(misfit.Problems) != validate.MaxProblems || misfit.More != 41-validate.MaxProblems {
		t.Fatalf("%d problems and %d more", len(misfit.Problems), misfit.More)
	}
	text := err.Error()
	lines := strings.Split(text, "\n")
	if len(text) > 2200 || !strings.Contains(lines[0], `missing required "a"`) {
		t.Errorf("%d bytes: %s", len(text), lines[0])
	}
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "and ") {
		t.Errorf("it ends in %q", last)
	}
	for _, line := range lines {
		if len(line) > 500 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

// If there are many values, the most similar ones come first.
func TestALongEnumShowsWhatComesNear(t *testing.T) {
	var all []string
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		all = append(all, `"`+strings.Repeat(string(c), 10)+`"`)
	}
	got := errorText(t, open(t, `{"enum":[`+strings.Join(all, ",")+`]}`), `"zzzzzzzzz"`)
	if !strings.HasPrefix(got, `/: expected "zzzzzzzzzz" | "aaaaaaaaaa" | `) || !strings.Contains(got, `…, got "zzzzzzzzz"`) {
		t.Error(got)
	}
}

// In converts the paths of an error for arguments that were written for another schema.
func TestErrorInOtherPaths(t *testing.T) {
	v := open(t, `{"properties":{"a[]":{"type":"integer"},"path":{}},"required":["b<"],"additionalProperties":false}`)
	misfit := (*validate.Error)(nil)
	if !errors.As(v.Validate(json.RawMessage(`{"a[]":"x","pth":1}`)), &misfit) {
		t.Fatal("it fits")
	}
	before := misfit.Error()
	other := misfit.In(func(path string) string {
		return "/wrapped" + map[string]string{"/a[]": "/a__", "/b<": "/b_", "/path": "/p_a_t_h", "/pth": "/pth"}[path]
	})
	want := "/wrapped/a__: expected integer, got \"x\"\n/wrapped: missing required \"b_\"\n/wrapped: unknown property \"pth\"; did you mean \"p_a_t_h\"?"
	if diff := cmp.Diff(sorted(want), sorted(other.Error())); diff != "" {
		t.Error(diff)
	}
	if misfit.Error() != before {
		t.Error("the error itself has changed")
	}
}

func sorted(text string) []string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return lines
}

func TestANilValidatorChecksNothing(t *testing.T) {
	var v *validate.Validator
	arguments := json.RawMessage(`{"n":1.0}`)
	if err := v.Validate(arguments); err != nil {
		t.Error(err)
	}
	if got := v.Complete(arguments); string(got) != string(arguments) {
		t.Errorf("%s", got)
	}
}
