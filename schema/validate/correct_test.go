package validate_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/schema/validate"
)

// TestCorrect checks which arguments are put right. In each case, everything else stays.
func TestCorrect(t *testing.T) {
	const flat = `{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"},"x":{"type":"number"},` +
		`"l":{"type":"array","items":{"type":"integer"}},"o":{"type":"object"},"b":{"type":"boolean"},"any":{},` +
		`"u":{"type":["string","integer"]},"z":{"type":["integer","null"]},"e":{"enum":[1,2]},"s":{"enum":["1","2"]},` +
		`"p":{"type":"string","pattern":"^a"},"r":{"$ref":"#/$defs/r"}},"required":["q"],` +
		`"$defs":{"r":{"type":"object","properties":{"n":{"type":"integer"},"r":{"$ref":"#/$defs/r"}},"required":["n"]}}}`
	const union = `{"type":"object","properties":{"a":{"anyOf":[{"type":"integer"},{"type":"boolean"}]},` +
		`"w":{"anyOf":[{"type":"integer"},{"type":"string","pattern":"^x"}]},"y":{"oneOf":[{"type":"array","items":{"type":"integer"}},{"type":"null"}]},` +
		`"shape":{"anyOf":[{"type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"number"}}},` +
		`{"type":"object","properties":{"kind":{"const":"text"},"r":{"type":"string"}}}]},` +
		`"m":{"allOf":[{"type":["integer","string"]},{"type":["integer","null"]}]}}}`
	const free = `{"type":"object","properties":{"f":{"type":"object","additionalProperties":{"type":"integer"}},` +
		`"g":{"type":"object"},"t":{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}]}},` +
		`"patternProperties":{"^n_":{"type":"integer"}},"additionalProperties":false}`
	tests := []struct{ schema, in, want string }{
		{flat, `{"q":"x","n":"3"}`, `{"q":"x","n":3}`},
		{flat, `{"q":"x","n":" 3 "}`, `{"q":"x","n":3}`},
		{flat, `{"q":"x","n":"9007199254740993"}`, `{"q":"x","n":9007199254740993}`},
		{flat, `{"q":9007199254740993,"n":"1"}`, `{"q":9007199254740993,"n":1}`},
		{flat, `{"q":"x","x":"1.50","b":"true"}`, `{"q":"x","x":1.50,"b":true}`},
		{flat, `{"q":"x","l":"[1,\"2\"]"}`, `{"q":"x","l":[1,2]}`},
		{flat, `{"q":"x","l":["1",2]}`, `{"q":"x","l":[1,2]}`},
		{flat, `{"q":"x","o":"{\"k\":\"1\"}"}`, `{"q":"x","o":{"k":"1"}}`},
		{flat, `{"q":"x","n":null,"l":null}`, `{"q":"x"}`},
		{flat, `{"q":"x","e":"2"}`, `{"q":"x","e":2}`},
		{flat, `{"q":"x","z":"null"}`, `{"q":"x","z":null}`},
		{flat, `{"q":"x","r":{"n":"1","r":"{\"n\":\"2\",\"r\":null}"}}`, `{"q":"x","r":{"n":1,"r":{"n":2}}}`},
		{union, `{"a":"1"}`, `{"a":1}`},
		{union, `{"a":"false","y":"[\"1\"]"}`, `{"a":false,"y":[1]}`},
		{union, `{"shape":{"kind":"circle","r":"1"}}`, `{"shape":{"kind":"circle","r":1}}`},
		{union, `{"m":"1"}`, `{"m":1}`},
		{free, `{"f":{"k":"1"},"n_a":"2"}`, `{"f":{"k":1},"n_a":2}`},
		{free, `{"t":["1","2"]}`, `{"t":[1,"2"]}`},
		// These stay.
		{flat, `{"q":"3","n":1}`, ""},
		{flat, `{"q":"{\"a\":1}"}`, ""},
		{flat, `{"q":null}`, ""},
		{flat, `{"q":"x","n":"three"}`, ""},
		{flat, `{"q":"x","n":""}`, ""},
		{flat, `{"q":"x","n":"1.5"}`, ""},
		{flat, `{"q":"x","n":"[1]"}`, ""},
		{flat, `{"q":"x","b":"True"}`, ""},
		{flat, `{"q":"x","b":"1"}`, ""},
		{flat, `{"q":"x","u":"3"}`, ""},
		{flat, `{"q":"x","any":"3"}`, ""},
		{flat, `{"q":"x","any":null}`, ""},
		{flat, `{"q":"x","z":null}`, ""},
		{flat, `{"q":"x","s":"1"}`, ""},
		{flat, `{"q":"x","p":"3"}`, ""},
		{flat, `{"q":"x","unknown":"3"}`, ""},
		{flat, `{"q":"x","unknown":null}`, ""},
		{flat, `{"q":"x","o":{"k":"1","n":null}}`, ""},
		{flat, `{"q":"x","r":{"n":null}}`, ""},
		{flat, `{"q":"x","n":"\"3\""}`, ""},
		{union, `{"w":"3"}`, ""},
		{union, `{"y":null}`, ""},
		{union, `{"shape":{"kind":"text","r":"1"}}`, ""},
		{union, `{"shape":{"r":"1"}}`, ""},
		{free, `{"g":{"k":"1"}}`, ""},
		{free, `{"other":null}`, ""},
		{free, `{"other":"1"}`, ""},
		{free, `{"f":{"k":null}}`, ""},
		{free, `{"n_a":null}`, ""},
		{`true`, `{"a":"1"}`, ""},
		{`{"$ref":"#"}`, `{"a":"1"}`, ""},
		{`{"anyOf":[{"$ref":"#"},{"type":"object","properties":{"a":{"type":"integer"}}}]}`, `{"a":"x"}`, ""},
	}
	for _, test := range tests {
		v, err := validate.New(json.RawMessage(test.schema))
		if err != nil {
			t.Fatal(err)
		}
		want := test.want
		if want == "" {
			want = test.in
		}
		if got := v.Correct(json.RawMessage(test.in)); string(got) != want {
			t.Errorf("%s became %s, want %s", test.in, got, want)
		}
	}
}

// TestCorrectIsBounded corrects arguments of hostile models by hostile schemas.
func TestCorrectIsBounded(t *testing.T) {
	many := strings.Repeat(`{"type":"object","properties":{"a":{"$ref":"#"}}},`, 1500)
	deep := strings.Repeat(`{"a":`, 400) + `"1"` + strings.Repeat("}", 400)
	quoted := `"1"`
	for range 12 {
		b, _ := json.Marshal(`{"a":` + quoted + `}`)
		quoted = string(b)
	}
	wide := `{"a":[` + strings.Repeat(`{"a":"1"},`, 20_000) + `1]}`
	patterns := `{"patternProperties":{` + strings.Repeat(`"^(a|b)*c":{"type":"integer"},`, 1) + `"^(a+)+d":{"type":"integer"}}}`
	for _, schema := range []string{
		`{"anyOf":[` + many + `{"type":"object"}]}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#"},{"type":"array","items":{"$ref":"#"}}]}}}`,
		patterns,
	} {
		v, err := validate.New(json.RawMessage(schema))
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range []string{deep, `{"a":` + quoted + `}`, wide, `{"` + strings.Repeat("a", 100_000) + `":"1"}`} {
			begin := time.Now()
			if got := v.Correct(json.RawMessage(in)); !json.Valid(got) {
				t.Errorf("%.100s", got)
			}
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("%.50s takes %v for %.50s", schema, took, in)
			}
		}
	}
}
