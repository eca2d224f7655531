package arguments_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/cmd/indus/internal/arguments"
	"github.com/indusagi/indus/cmd/indus/internal/command"
)

func TestATypedValueIsWhatTheSchemaAsksFor(t *testing.T) {
	const refused = ""
	for _, c := range []struct{ schema, text, want string }{
		{`{"type":"string"}`, `5`, `"5"`},
		{`{"type":"string"}`, ` a "b" <c> `, `" a \"b\" <c> "`},
		{`{"type":"string"}`, ``, `""`},
		{`{"type":"string"}`, "\xff", `"\ufffd"`},
		{`{}`, `5`, `"5"`},
		{`true`, `5`, `"5"`},
		{`null`, `{"a":1}`, `"{\"a\":1}"`},
		{`{"type":42}`, `5`, `"5"`},

		{`{"type":"integer"}`, `9007199254740993`, `9007199254740993`},
		{`{"type":"integer"}`, ` -0 `, `-0`},
		{`{"type":"integer"}`, `1.0`, refused},
		{`{"type":"integer"}`, `0x10`, refused},
		{`{"type":"integer"}`, `007`, refused},
		{`{"type":"integer"}`, `five`, refused},
		{`{"type":"integer"}`, ``, refused},
		{`{"type":"number"}`, `5`, `5`},
		{`{"type":"number"}`, `1.50e+400`, `1.50e+400`},
		{`{"type":"number"}`, `NaN`, refused},
		{`{"type":"number"}`, `1 2`, refused},
		{`{"type":"boolean"}`, `true`, `true`},
		{`{"type":"boolean"}`, `True`, refused},
		{`{"type":"null"}`, `null`, `null`},
		{`{"type":"array"}`, `[1, "a"]`, `[1, "a"]`},
		{`{"type":"array"}`, `a,b`, refused},
		{`{"type":"object"}`, `{"k":[9007199254740993]}`, `{"k":[9007199254740993]}`},
		{`{"type":"object"}`, `[1]`, refused},

		{`{"type":["integer","null"]}`, `null`, `null`},
		{`{"type":["integer","string"]}`, `5`, `"5"`},
		{`{"anyOf":[{"type":"integer"},{"type":"null"}]}`, `5`, `5`},
		{`{"anyOf":[{"type":"integer"},{"type":"null"}]}`, `x`, refused},
		{`{"oneOf":[{"type":"boolean"},{"type":"string"}]}`, `true`, `"true"`},
		{`{"anyOf":[{},{"type":"integer"}]}`, `5`, `5`},
		{`{"enum":["a","b"]}`, `a`, `"a"`},
		{`{"enum":["a","b"]}`, `c`, `"c"`}, // the server has a better error
		{`{"enum":[1,2]}`, `2`, `2`},
		{`{"enum":[1,2]}`, `a`, refused},
		{`{"enum":["1",1,null,true]}`, `1`, `"1"`},
		{`{"enum":["x",1,null,true]}`, `null`, `null`},
		{`{"type":"string","enum":["1"]}`, `1`, `"1"`},
		{`{"const":5}`, `5`, `5`},
		{`{"const":"5"}`, `5`, `"5"`},

		{`{"$ref":"#/$defs/N","$defs":{"N":{"type":"integer"}}}`, `5`, `5`},
		{`{"$ref":"#/%24defs/a~1b","$defs":{"a/b":{"type":"integer"}}}`, `5`, `5`},
		{`{"$ref":"#"}`, `5`, `"5"`},
		{`{"$ref":"#/$defs/nowhere"}`, `5`, `"5"`},
		{`{"$ref":"https://example.com/schema"}`, `5`, `"5"`},
		{`{"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}},"$ref":"#/$defs/A"}`, `5`, `"5"`},
		{`{"allOf":[{"$ref":"#/$defs/N"}],"$defs":{"N":{"type":"integer"}}}`, `5`, `5`},
	} {
		got, err := arguments.Typed(c.text, c.schema)
		if (err != nil) != (c.want == refused) || got != c.want {
			t.Errorf("%s as %s: %s, %v; want %s", c.text, c.schema, got, err, c.want)
		}
	}
}

func TestASignatureReadsLikeCode(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{``, `t(any)`},
		{`null`, `t(any)`},
		{`[]`, `t(any)`},
		{`{"type":"object"}`, `t()`},
		{`{"properties":[]}`, `t()`},
		{`{"properties":{"a":null}}`, `t(a?: any)`},
		{`{"properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["a","gone"]}`, `t(a: integer, b?: string)`},
		{`{"properties":{"a":{"type":"string","default":"x"},"b":{"type":"integer","default":null}}}`, `t(a?: string = "x", b?: integer)`},
		{`{"properties":{"a":{"type":["string","string"]}}}`, `t(a?: string)`},
		{`{"properties":{"a":{"type":"array"}}}`, `t(a?: array)`},
		{`{"properties":{"a":{"type":"array","items":{"enum":["x","y"]}}}}`, `t(a?: ("x" | "y")[])`},
		{`{"properties":{"a":{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"string"}}}}}}`, `t(a?: array[][])`},
		{`{"properties":{"a":{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}}}`, `t(a?: {b: string})`},
		{`{"properties":{"a":{"type":"object","properties":{"long_name_of_the_first":{"type":"string"},"long_name_of_the_second":{"type":"string"}}}}}`, `t(a?: object)`},
		{`{"properties":{"a":{"const":"` + strings.Repeat("x", 50) + `"}}}`, `t(a?: "` + strings.Repeat("x", 50) + `")`},
		{`{"$ref":"#/$defs/In","$defs":{"In":{"properties":{"a":{"$ref":"#/$defs/A"}}},"A":{"type":"integer"}}}`, `t(a?: integer)`},
	} {
		if got := arguments.Signature(c.schema); got != c.want {
			t.Errorf("%s: %s, want %s", c.schema, got, c.want)
		}
	}
}

func TestWhatIsOddAboutArguments(t *testing.T) {
	const open = `{"properties":{"message":{"type":"string"}},"required":["message"]}`
	none := func(string) ([]byte, error) { return nil, os.ErrNotExist }
	for _, c := range []struct {
		schema string
		words  string
		object string
		doubts []string
	}{
		{open, `message=a`, `{"message":"a"}`, nil},
		{open, `mesage=a`, `{"mesage":"a"}`, []string{`the tool declares no argument "mesage", did you mean message?`}},
		{open, `a:b=c message=`, `{"a:b":"c","message":""}`, []string{`the tool declares no argument "a:b"`}},
		{open, ``, `{}`, nil}, // validation finds missing arguments
		{`{}`, `x:=[1,{}] é==`, `{"x":[1,{}],"é":"="}`, []string{`the tool declares no argument "x"`, `the tool declares no argument "é"`}},
		{`{"additionalProperties":true}`, `x=1`, `{"x":"1"}`, nil},
		{`{"additionalProperties":{"type":"integer"}}`, `x=1`, `{"x":1}`, nil},
		{`{"additionalProperties":false,"patternProperties":{"^x":{}}}`, `x=1`, `{"x":"1"}`, nil},
	} {
		object, doubts, err := arguments.Object(strings.Fields(c.words), "", c.schema, none)
		if err != nil || string(object) != c.object || !cmp.Equal(doubts, c.doubts) {
			t.Errorf("%s: %s %q %v; want %s %q", c.words, object, doubts, err, c.object, c.doubts)
		}
	}
}

// FuzzParseArguments checks that any input gives a usage error, or one valid JSON object with each key:=json unchanged.
func FuzzParseArguments(f *testing.F) {
	const schema = `{"properties":{"n":{"type":"integer"},"s":{"enum":["a",1]},"l":{"$ref":"#/properties/n"}},"required":["n"]}`
	for _, seed := range [][3]string{
		{"n=5\ns=a", "", schema},
		{"n:=9007199254740993\nx==\na:b=c", `{"n":1}`, schema},
		{"@file\n-", "", `{"additionalProperties":false}`},
		{"=\n:=\nx:=\n@", "[]", `{"$ref":"#"}`},
		{"k\\u006e=1", `{"k\u006e":1,"kn":2}`, `{"properties":{"kn":{"anyOf":[{"$ref":"#/properties/kn"}]}}}`},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	files := func(name string) ([]byte, error) {
		if name == "-" {
			return []byte(" \ufeff{\"from\":\"stdin\"}\n"), nil
		}
		return nil, errors.New("no files in here")
	}
	f.Fuzz(func(t *testing.T, typed, whole, schema string) {
		if schema != "" && !json.Valid([]byte(schema)) {
			schema = "" // the bridge refuses other schemas
		}
		words := strings.Split(typed, "\n")
		object, doubts, err := arguments.Object(words, whole, schema, files)
		if err != nil {
			if command.ExitCode(err) != command.ExitUsage && err.Error() != "no files in here" {
				t.Fatalf("no usage error: %v", err)
			}
			return
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(object, &members); err != nil {
			t.Fatalf("%s: %v", object, err)
		}
		for _, w := range words {
			if key, value, ok := strings.Cut(w, ":="); ok && !strings.ContainsAny(key, "=\ufffd") && strings.ToValidUTF8(key,
				"") == key {
				if got, want := string(members[key]), strings.Trim(value, " \t\r\n"); got != want {
					t.Fatalf("%s is %s: %s", w, got, object)
				}
			}
		}
		_ = fmt.Sprint(doubts, arguments.Signature(schema))
	})
}
