package arguments_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/arguments"
)

// outline returns the fields of a form, one on each line.
func outline(fields []arguments.Field, indent string) string {
	var b strings.Builder
	for _, f := range fields {
		mark := ""
		if f.Required {
			mark = "!"
		}
		fmt.Fprintf(&b, "%s%s%s %s", indent, f.Path, mark, f.Kind)
		if f.Choices != nil {
			fmt.Fprintf(&b, " %q", f.Choices)
		}
		for _, limit := range []string{f.Min, f.Max, f.Step, f.Default, f.Example} {
			if limit != "" {
				fmt.Fprintf(&b, " %q", limit)
			}
		}
		b.WriteString("\n" + outline(f.Fields, indent+"  "))
	}
	return b.String()
}

func TestAFormFollowsTheSchema(t *testing.T) {
	for _, test := range []struct{ properties, want string }{
		{`"a":{"type":"string"}`, "/a line"},
		{`"a":{"type":"string","default":"x","examples":["y"]}`, `/a line "x" "y"`},
		{`"a":{"type":"string","default":"x\ny"}`, `/a lines "x\ny"`},
		{`"content":{"type":"string"}`, "/content lines"},
		{`"a":{"type":"string","maxLength":200}`, "/a lines"},
		{`"a":{"type":"string","maxLength":31}`, "/a line"},
		{`"a":{"type":"string","format":"date"}`, "/a date"},
		{`"a":{"type":"string","format":"date-time","default":"2026-01-31T15:04:05Z"}`, `/a date-time "2026-01-31T15:04:05"`},
		{`"a":{"type":"string","format":"email"}`, "/a email"},
		{`"a":{"type":"string","format":"uri"}`, "/a url"},
		{`"a":{"type":"string","writeOnly":true}`, "/a password"},
		{`"a":{"enum":["x","y",1,null]}`, `/a choice ["x" "y" "1"]`},
		{`"a":{"enum":["1",1]}`, "/a line"},
		{`"a":{"const":"x"}`, `/a choice ["x"]`},
		{`"a":{"type":["boolean","null"]}`, `/a choice ["true" "false"]`},
		{`"a":{"type":"integer","minimum":1,"maximum":9}`, `/a number "1" "9" "1"`},
		{`"a":{"type":"integer","minimum":0.5}`, `/a number "0.5" "any"`},
		{`"a":{"type":"number","default":1.50}`, `/a number "any" "1.50"`},
		{`"a":{"type":"number","multipleOf":0.1}`, `/a number "0.1"`},
		{`"a":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null}`, `/a number "1"`},
		{`"a":{"type":["string","integer"]}`, "/a line"},
		{`"a":{"type":"array","items":{"type":"string"},"default":["x","y"]}`, `/a list "x\ny"`},
		{`"a":{"type":"array","items":{"type":"array","items":{"type":"string"}}}`, "/a json"},
		{`"a":{"type":"array"}`, "/a json"},
		{`"a":{"type":"object"}`, "/a json"},
		{`"a":{}`, "/a json"},
		{`"a":true`, "/a json"},
		{`"a":{"$ref":"#/properties/b"},"b":{"type":"number"}`, "/a number \"any\"\n/b number \"any\""},
		{`"a":{"type":"object","properties":{"x/y":{"type":"string"}},"required":["x/y"]}`, "/a group\n  /a/x~1y! line"},
		{`"a":{"$ref":"#"}`, "/a group\n  /a/a group\n    /a/a/a json"}, // a schema that contains itself
		{`"a\u0000":{"type":"string"},"":{"type":"string"},"b":{"type":"string"}`, "/b line"},
	} {
		form := arguments.NewForm(json.RawMessage(`{"type":"object","properties":{` + test.properties + `}}`))
		if got := strings.TrimSpace(outline(form.Fields, "")); got != test.want {
			t.Errorf("%s:\n%s\nwant:\n%s", test.properties, got, test.want)
		}
	}
	for _, odd := range []string{``, `{`, `true`, `{"type":"object"}`, `{"properties":7}`, `{"properties":{"a":{"items":`} {
		if form := arguments.NewForm(json.RawMessage(odd)); len(form.Fields) != 0 {
			t.Errorf("%s: %+v", odd, form)
		}
	}
}

// A schema of any size has a form that a browser can show.
func TestAFormIsBounded(t *testing.T) {
	var names, values []string
	for n := range 5000 {
		names = append(names, fmt.Sprintf(`"p%d":{"type":"object","properties":{"q":{"type":"string"},"r":{"$ref":"#"}}}`, n))
		values = append(values, fmt.Sprint(n))
	}
	form := arguments.NewForm(json.RawMessage(`{"properties":{` + strings.Join(names, ",") + `}}`))
	if n := strings.Count(outline(form.Fields, ""), "\n"); n > 200 || form.Rest == 0 {
		t.Errorf("%d fields, %d more", n, form.Rest)
	}
	form = arguments.NewForm(json.RawMessage(`{"properties":{"a":{"enum":[` + strings.Join(values, ",") + `]},` +
		`"b":{"type":"string","description":"` + strings.Repeat("x", 100_000) + `"}}}`))
	if form.Fields[0].Choices != nil || len(form.Fields[1].About) > 3000 {
		t.Errorf("%d choices, %d bytes", len(form.Fields[0].Choices), len(form.Fields[1].About))
	}
}

const formSchema = `{"type":"object","required":["text","where"],"properties":{
	"text":{"type":"string"},"count":{"type":"integer"},"on":{"type":"boolean"},"at":{"type":"string","format":"date-time"},
	"one":{"enum":["a",2]},"tags":{"type":"array","items":{"type":"string"}},"sizes":{"type":"array","items":{"type":"number"}},
	"either":{"type":["string","number"]},"free":{},
	"where":{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"object","properties":{"z":{"type":"string"}}}}}}}`

func TestAFormMakesArguments(t *testing.T) {
	form := arguments.NewForm(json.RawMessage(formSchema))
	for _, test := range []struct {
		texts       map[string]string
		want, wrong string
	}{
		{nil, `{"where":{}}`, ""},
		{map[string]string{"/text": "a\r\nb", "/count": " 5 "}, `{"text":"a\nb","where":{},"count":5}`, ""},
		{map[string]string{"/text": "5", "/on": "true", "/one": "2"}, `{"text":"5","where":{},"on":true,"one":2}`, ""},
		{map[string]string{"/tags": "x\r\n\r\n 1\n", "/sizes": "1\n2.50"}, `{"where":{},"tags":["x"," 1"],"sizes":[1,2.50]}`, ""},
		{map[string]string{"/at": "2026-01-31T15:04"}, `{"where":{},"at":"2026-01-31T15:04:00Z"}`, ""},
		{map[string]string{"/at": "2026-01-31T15:04:05+02:00"}, `{"where":{},"at":"2026-01-31T15:04:05+02:00"}`, ""},
		{map[string]string{"/either": "5", "/free": " [1, {}] "}, `{"where":{},"either":5,"free":[1, {}]}`, ""},
		{map[string]string{"/either": "five"}, `{"where":{},"either":"five"}`, ""},
		{map[string]string{"/where/x": "1e999", "/where/y/z": "deep"}, `{"where":{"x":1e999,"y":{"z":"deep"}}}`, ""},
		{map[string]string{"/text": "\xff\u202e"}, "{\"text\":\"\uFFFD\u202e\",\"where\":{}}", ""},
		{map[string]string{"/count": "five"}, "", "/count"},
		{map[string]string{"/count": "1.5"}, "", "/count"},
		{map[string]string{"/one": "b"}, "", "/one"},
		{map[string]string{"/sizes": "1\ntwo"}, "", "/sizes"},
		{map[string]string{"/free": "{"}, "", "/free"},
		{map[string]string{"/where/x": "here"}, "", "/where/x"},
	} {
		object, wrong := form.Object(func(path string) string { return test.texts[path] })
		switch {
		case test.wrong != "" && (len(wrong) != 1 || wrong[test.wrong] == nil):
			t.Errorf("%v: %v, want an error at %s", test.texts, wrong, test.wrong)
		case test.wrong == "" && (len(wrong) > 0 || string(object) != test.want):
			t.Errorf("%v: %s %v, want %s", test.texts, object, wrong, test.want)
		}
	}
}

// FuzzForm checks that a form of any schema makes a JSON object of any texts, and never panics.
func FuzzForm(f *testing.F) {
	f.Add(formSchema, "5")
	f.Add(`{"properties":{"a":{"$ref":"#"},"b":{"enum":["x",{}]}},"required":["a"]}`, "x\n{}")
	f.Add(`{"properties":{"a":{"anyOf":[{"type":"null"},{"allOf":[{"type":"array","items":{"const":1}}]}]}}}`, "1")
	f.Fuzz(func(t *testing.T, schema, text string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		object, _ := arguments.NewForm(json.RawMessage(schema)).Object(func(string) string { return text })
		if !json.Valid(object) || object[0] != '{' {
			t.Fatalf("%s %q: %s", schema, text, object)
		}
	})
}
