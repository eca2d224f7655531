package validate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/indusagi/indus/schema/validate"
)

// judge validates arguments with the unmodified library. ok reports whether the library could check them.
func judge(schema, arguments []byte) (accepts, ok bool) {
	if bytes.Count(schema, []byte("$ref")) > 12 {
		return false, false // the library follows each of many nested references separately
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return false, false
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if c.AddResource("mem:///fuzz", doc) != nil {
		return false, false
	}
	compiled, err := c.Compile("mem:///fuzz")
	if err != nil {
		return false, false
	}
	given, err := jsonschema.UnmarshalJSON(bytes.NewReader(arguments))
	if err != nil {
		return false, false
	}
	return compiled.Validate(given) == nil, true
}

// FuzzValidate checks that nothing panics or hangs, that errors are short, and that their paths lead into the
// arguments. Arguments that the library accepts are never refused. If no keyword was skipped, arguments that the
// library refuses are refused too.
func FuzzValidate(f *testing.F) {
	f.Add([]byte(files), []byte(`{"pth":1,"limit":"ten","tags":[1,1]}`))
	f.Add([]byte(fanOut("anyOf", 8)), []byte(`1`))
	f.Add([]byte(`{"oneOf":[{"const":1},{"pattern":"(?=a)"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"format":"uri"}}}}`), []byte(`"a"`))
	f.Add([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"$ref":"#"}],"additionalItems":{"multipleOf":0.1}}`), []byte(`[[1e400],[0.3]]`))
	f.Add([]byte(`{"properties":{"a":{"$ref":"#"}},"unevaluatedProperties":false,"minProperties":1e3}`), []byte(`{"a":{"b":1}}`))
	f.Add([]byte(`{"patternProperties":{"^\\d":{"type":["integer","null"]}},"propertyNames":{"maxLength":2},"dependencies":{"1":["2"]}}`), []byte(`{"1":"","333":null}`))
	f.Fuzz(func(t *testing.T, schema, arguments []byte) {
		start := time.Now()
		defer func() {
			if took := time.Since(start); took > time.Minute {
				t.Fatalf("it took %v", took)
			}
		}()
		v, err := validate.New(bytes.Clone(schema))
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		err = v.Validate(arguments)
		misfit := (*validate.Error)(nil)
		switch {
		case errors.As(err, &misfit):
			checkError(t, misfit, arguments)
			if accepts, ok := judge(schema, arguments); ok && accepts {
				t.Fatalf("%s of %s is refused: %v", arguments, schema, err)
			}
		case err == nil:
			if accepts, ok := judge(schema, arguments); ok && !accepts && isPlain(schema) && v.Notes() == nil {
				t.Fatalf("%s of %s is accepted", arguments, schema)
			}
		case !errors.Is(err, validate.ErrUnchecked):
			t.Fatal(err)
		}
	})
}

// isPlain reports whether a schema has no parts that this package checks less strictly than the library.
func isPlain(schema []byte) bool {
	return !regexp.MustCompile(`\\u|format|nullable|\$schema|1e|\d{10}`).Match(schema)
}

// checkError checks that an error is short, and that the parent of every problem exists.
func checkError(t *testing.T, misfit *validate.Error, arguments []byte) {
	text := misfit.Error()
	if len(text) > 3000 || len(misfit.Problems) == 0 || len(misfit.Problems) > validate.MaxProblems {
		t.Fatalf("%d problems in %d bytes", len(misfit.Problems), len(text))
	}
	if !utf8.ValidString(text) || strings.Count(text, "\n") > validate.MaxProblems {
		t.Fatalf("not lines of text: %q", text)
	}
	for _, p := range misfit.Problems {
		if p.Expected == "" && p.Got == "" {
			t.Fatalf("a problem that says nothing at %q", p.Path)
		}
		if p.Got == "" && p.Near != "" {
			t.Fatalf("something is near to what is missing: %q", p.Near)
		}
		var value any
		if json.Unmarshal(arguments, &value) == nil && !pathExists(value, p.Path, p.Got == "") {
			t.Fatalf("%q leads nowhere in %s", p.Path, arguments)
		}
	}
}

// pathExists reports whether a path leads to a value. If missing is set, the last step need not exist.
func pathExists(v any, path string, missing bool) bool {
	tokens := strings.Split(path, "/")[1:]
	for i, token := range tokens {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch inner := v.(type) {
		case map[string]any:
			next, ok := inner[token]
			if !ok {
				return missing && i == len(tokens)-1
			}
			v = next
		case []any:
			n := 0
			for _, c := range token {
				n = n*10 + int(c-'0')
			}
			if n < 0 || n >= len(inner) {
				return false
			}
			v = inner[n]
		default:
			return false
		}
	}
	return true
}

// Many goroutines can share one validator.
func TestValidatorsAreShared(t *testing.T) {
	v := open(t, files)
	want := errorText(t, v, `{"pth":"a","limit":"ten"}`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				if err := v.Validate(json.RawMessage(`{"pth":"a","limit":"ten"}`)); err == nil || err.Error() != want {
					t.Errorf("%v, want %s", err, want)
				}
				if err := v.Validate(json.RawMessage(`{"path":"a"}`)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// each joins n texts, made by their number.
func each(n int, text func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = text(i)
	}
	return strings.Join(all, ",")
}

// fanOut returns n definitions, each with two references to the next.
func fanOut(keyword string, n int) string {
	return `{"$ref":"#/$defs/d0","$defs":{` + each(n, func(i int) string {
		next := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		return fmt.Sprintf(`"d%d":{%q:[%s,%s]}`, i, keyword, next, next)
	}) + fmt.Sprintf(`,"d%d":{"type":"object"}}}`, n)
}
