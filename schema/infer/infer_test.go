package infer_test

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/schema/infer"
	"github.com/indusagi/indus/schema/validate"
)

type place struct {
	City string `json:"city" jsonschema_description:"Where, as people call it."`
}

type input struct {
	place
	Unit  string            `json:"unit,omitempty" jsonschema:"enum=celsius,enum=fahrenheit,default=celsius"`
	Hours *int              `json:"hours,omitempty" jsonschema:"minimum=1,maximum=48"`
	Tags  []string          `json:"tags,omitempty" jsonschema:"maxItems=3"`
	More  map[string]int    `json:"more,omitempty"`
	At    time.Time         `json:"at,omitzero"`
	Raw   json.RawMessage   `json:"raw,omitempty"`
	Near  []place           `json:"near"`
	Skip  chan int          `json:"-"`
	Any   any               `json:"any,omitempty"`
	Bytes []byte            `json:"bytes,omitempty"`
	Names map[string]*place `json:"names,omitempty"`
}

type embedded struct {
	//lint:ignore U1000 what it is there for is its type
	*embedded
	A int
}

type tree struct {
	Leaf  string  `json:"leaf"`
	Trees []*tree `json:"trees,omitempty"`
}

func TestSchema(t *testing.T) {
	for name, tt := range map[string]struct {
		got  func() (json.RawMessage, error)
		want string
	}{
		"struct": {infer.Object[input], `{"properties":{` +
			`"city":{"type":"string","description":"Where, as people call it."},` +
			`"unit":{"type":"string","enum":["celsius","fahrenheit"],"default":"celsius"},` +
			`"hours":{"type":"integer","maximum":48,"minimum":1},` +
			`"tags":{"items":{"type":"string"},"type":"array","maxItems":3},` +
			`"more":{"additionalProperties":{"type":"integer"},"type":"object"},` +
			`"at":{"type":"string","format":"date-time"},` +
			`"raw":true,` +
			`"near":{"items":{"properties":{"city":{"type":"string","description":"Where, as people call it."}},"additionalProperties":false,"type":"object","required":["city"]},"type":"array"},` +
			`"any":true,` +
			`"bytes":{"type":"string","contentEncoding":"base64"},` +
			`"names":{"additionalProperties":{"properties":{"city":{"type":"string","description":"Where, as people call it."}},"additionalProperties":false,"type":"object","required":["city"]},"type":"object"}` +
			`},"additionalProperties":false,"type":"object","required":["city","near"]}`},
		"empty":            {infer.Object[struct{}], `{"properties":{},"additionalProperties":false,"type":"object"}`},
		"pointer":          {infer.Object[*place], `{"properties":{"city":{"type":"string","description":"Where, as people call it."}},"additionalProperties":false,"type":"object","required":["city"]}`},
		"map":              {infer.Object[map[string]any], `{"type":"object"}`},
		"raw":              {infer.Object[json.RawMessage], `{"type":"object"}`},
		"any":              {infer.Object[any], `{"type":"object"}`},
		"number":           {infer.Input[float64], `{"type":"number"}`},
		"list":             {infer.Input[[]string], `{"items":{"type":"string"},"type":"array"}`},
		"nothing":          {infer.Input[any], ``},
		"output of itself": {infer.Output[tree], ``},
		"itself": {infer.Object[tree], `{"$ref":"#/$defs/tree","$defs":{"tree":{"properties":{"leaf":{"type":"string"},"trees":{"items":{"$ref":"#/$defs/tree"},"type":"array"}},` +
			`"additionalProperties":false,"type":"object","required":["leaf"]}},"type":"object"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tt.got()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
			if got != nil {
				if _, err := validate.New(got); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestWhatHasNoSchemaIsAnError(t *testing.T) {
	for name, of := range map[string]func() (json.RawMessage, error){
		"channel": infer.Input[chan int], "function": infer.Input[struct{ F func() }], "number": infer.Object[int], "list": infer.Object[[]place],
		"itself": infer.Object[embedded], "output of itself": infer.Output[*embedded],
	} {
		if s, err := of(); err == nil {
			t.Errorf("%s: got %s, want an error", name, s)
		}
	}
}

type report struct {
	Lines []string           `json:"lines" jsonschema_description:"What was found."`
	Place *place             `json:"place"`
	Sums  map[string][]int   `json:"sums"`
	Maybe []string           `json:"maybe,omitempty"`
	Bytes []byte             `json:"bytes"`
	Raw   json.RawMessage    `json:"raw"`
	At    *time.Time         `json:"at"`
	Rows  []struct{ N *int } `json:"rows"`
	Tree  tree               `json:"-"`
}

type level int

func (l level) MarshalText() ([]byte, error) { return []byte("high"), nil }

type pair struct{}

func (p pair) MarshalJSON() ([]byte, error) { return []byte("[1,2]"), nil }

type odd struct {
	*place
	Level  level
	Levels map[level][]int
	Counts map[int]string
	Pair   pair
	Pairs  []*pair
	Addr   netip.Addr
	Big    *big.Int
	Number json.Number
	URL    url.URL
}

// Types with an encoding that differs from their Go type.
func TestTypesThatEncodeThemselves(t *testing.T) {
	for _, r := range []odd{{}, {place: &place{City: "a"}, Levels: map[level][]int{1: nil}, Counts: map[int]string{-1: "a"}, Pairs: []*pair{nil, {}}, Big: big.NewInt(5), Number: "1.5"}} {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := infer.Output[odd]()
		if err != nil {
			t.Fatal(err)
		}
		if v, err := validate.New(raw); err != nil || v.Validate(b) != nil {
			t.Errorf("%s: %v %v\n%s", b, err, v.Validate(b), raw)
		}
	}
	if in, err := infer.Object[struct{ *place }](); err != nil || strings.Contains(string(in), "required") {
		t.Errorf("%s %v", in, err)
	}
	if out, err := infer.Output[pair](); out != nil || err != nil {
		t.Errorf("%s %v", out, err)
	}
}

// The JSON encoding of a value fits the schema of its type, including the encoding of zero values.
func TestOutputTakesWhatIsEncoded(t *testing.T) {
	n := 1
	raw, err := infer.Output[report]()
	if err != nil {
		t.Fatal(err)
	}
	v, err := validate.New(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []report{{}, {Lines: []string{"a"}, Place: &place{}, Sums: map[string][]int{"a": nil, "b": {1}}, Bytes: []byte{1}, At: &time.Time{}, Rows: []struct{ N *int }{{}, {&n}}}} {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Validate(b); err != nil {
			t.Errorf("%s: %v\n%s", b, err, raw)
		}
	}
	for _, bad := range []string{`{}`, `{"lines":[1],"place":null,"sums":null,"bytes":null,"raw":null,"at":null,"rows":null}`} {
		if err := v.Validate(json.RawMessage(bad)); err == nil {
			t.Errorf("%s fits", bad)
		}
	}
}

type form struct {
	Name  string    `json:"name" jsonschema:"title=Your name,minLength=1,format=email" jsonschema_description:"As in the pass."`
	Age   uint8     `json:"age,omitempty" jsonschema:"maximum=130"`
	Ratio *float64  `json:"ratio,omitempty"`
	Agree bool      `json:"agree,omitempty" jsonschema:"default=true"`
	When  time.Time `json:"when,omitzero"`
	Size  string    `json:"size" jsonschema:"enum=s,enum=l,default=s"`
	With  []string  `json:"with,omitempty" jsonschema:"enum=a,enum=b,maxItems=2"`
}

func TestForm(t *testing.T) {
	got, err := infer.Form[form]()
	want := `{"properties":{` +
		`"name":{"type":"string","minLength":1,"format":"email","title":"Your name","description":"As in the pass."},` +
		`"age":{"type":"integer","maximum":130,"minimum":0},` +
		`"ratio":{"type":"number"},` +
		`"agree":{"type":"boolean","default":true},` +
		`"when":{"type":"string","format":"date-time"},` +
		`"size":{"type":"string","enum":["s","l"],"default":"s"},` +
		`"with":{"items":{"type":"string","enum":["a","b"]},"type":"array","maxItems":2}` +
		`},"type":"object","required":["name"]}`
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// Form refuses fields that forms cannot have, because a client would refuse the form.
func TestWhatIsNoForm(t *testing.T) {
	for want, of := range map[string]func() (json.RawMessage, error){
		`the field "place" cannot be in a form`: infer.Form[struct {
			Place place `json:"place"`
		}],
		`a list in a form is a choice`: infer.Form[struct{ Tags []string }],
		`it may hold anything`:         infer.Form[struct{ Any any }],
		`its type is "object"`:         infer.Form[struct{ More map[string]string }],
		`a form knows no "pattern" for a string`: infer.Form[struct {
			Code string `jsonschema:"pattern=^a$"`
		}],
		`a form knows no "contentEncoding" for a string`: infer.Form[struct{ Raw []byte }],
		`the format "hostname"; use email, uri, date or date-time`: infer.Form[struct {
			Host string `jsonschema:"format=hostname"`
		}],
		"int is no form":               infer.Form[int],
		"map[string]string is no form": infer.Form[map[string]string],
		"tree is no form":              infer.Form[tree],
		"embedded is no form":          infer.Form[embedded],
		"time.Time is no form":         infer.Form[time.Time],
		"unsupported type":             infer.Form[struct{ C chan int }],
	} {
		if s, err := of(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %s, %v, want an error with %s", s, err, want)
		}
	}
}
