package schema_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/schema"
)

// The cases hold real schemas with their exact results: the adapted schema, the reported losses, and the restored
// arguments.

// adaptCase is one schema, as several profiles adapt it.
type adaptCase struct {
	title  string
	schema string
	shown  []expectation
}

// expectation is the result of adapting a schema to one profile.
type expectation struct {
	profile *schema.Profile
	adapted string
	note    string
	loss    string // whether some change has Lost or Narrowed
	calls   []call
}

// call holds arguments as a model writes them and as Restore returns them.
type call struct{ written, restored string }

func TestAdaptCases(t *testing.T) {
	for group, cases := range map[string][]adaptCase{
		"pydantic": pydanticCases, "zod": zodCases, "openapi": openAPICases, "root": rootCases, "keys": keyCases,
		"arrays": arrayCases, "types": typeCases, "objects": objectCases, "references": referenceCases,
		"descriptions": descriptionCases, "real": realCases,
	} {
		for _, c := range cases {
			for _, s := range c.shown {
				t.Run(group+"/"+c.title+"/"+s.profile.Name(), func(t *testing.T) { s.test(t, json.RawMessage(c.schema)) })
			}
		}
	}
}

func (s *expectation) test(t *testing.T, original json.RawMessage) {
	a, err := schema.Adapt(original, s.profile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.adapted, string(a.Schema)); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(s.note, a.Note); diff != "" {
		t.Errorf("note (-want +got):\n%s", diff)
	}
	if told := lossOf(a.Changes); told != s.loss {
		t.Errorf("it tells of %q, want %q: %v", told, s.loss, a.Changes)
	}
	if found := schema.Check(a.Schema, s.profile); len(found) > 0 {
		t.Errorf("the profile refuses it: %v", found)
	}
	for _, c := range s.calls {
		if diff := cmp.Diff(c.restored, string(a.Restore(json.RawMessage(c.written)))); diff != "" {
			t.Errorf("%s restored (-want +got):\n%s", c.written, diff)
		}
	}
}

func lossOf(changes []schema.Change) string {
	var lost, narrowed bool
	for _, c := range changes {
		lost = lost || c.Lost != ""
		narrowed = narrowed || c.Narrowed != ""
	}
	switch {
	case lost && narrowed:
		return "lost, narrowed"
	case lost:
		return "lost"
	case narrowed:
		return "narrowed"
	}
	return ""
}

// Paths into the original's arguments become paths into the arguments that the model wrote.
func TestPathCases(t *testing.T) {
	for _, c := range []struct {
		title   string
		profile *schema.Profile
		schema  string
		paths   [][2]string // original, written
	}{
		{
			"renamed, and below", schema.Universal,
			`{"type":"object","properties":{"a-b":{"type":"object","properties":{"c.d":{"type":"array","items":{"type":"string"}}}},"e":{"type":"string"}}}`,
			[][2]string{{"", ""}, {"/a-b", "/a_b"}, {"/a-b/c.d/0", "/a_b/c_d/0"}, {"/e", "/e"}, {"/other/c.d", "/other/c.d"}},
		},
		{
			"two that become one", schema.Universal,
			`{"type":"object","properties":{"a-b":{"type":"string"},"a_b":{"type":"string"}}}`,
			[][2]string{{"/a-b", "/a_b_96a1ab06"}, {"/a_b", "/a_b"}},
		},
		{
			"escaped", schema.Universal,
			`{"type":"object","properties":{"a/b~":{"type":"object","properties":{"c d":{"type":"string"}}}}}`,
			[][2]string{{"/a~1b~0/c d", "/a_b/c_d"}},
		},
		{
			"in a list of a union", schema.Universal,
			`{"type":"object","properties":{"l":{"type":"array","items":{"anyOf":[{"type":"object","properties":{"a.b":{"type":"integer"}},"required":["a.b"]},{"type":"object","properties":{"c.d":{"type":"string"}},"required":["c.d"]}]}}}}`,
			[][2]string{{"/l/0/a.b", "/l/0/a_b"}, {"/l/7/c.d", "/l/7/c_d"}, {"/l/0", "/l/0"}},
		},
		{
			"in a definition", schema.Universal,
			`{"type":"object","properties":{"x":{"$ref":"#/$defs/X"}},"$defs":{"X":{"type":"object","properties":{"y-z":{"type":"string"}}}}}`,
			[][2]string{{"/x/y-z", "/x/y_z"}},
		},
		{
			"in a list or an object", schema.Universal,
			`{"type":"object","properties":{"x":{"anyOf":[{"type":"array","items":{"type":"object","properties":{"k-1":{"type":"string"}}}},{"type":"object","properties":{"k-2":{"type":"string"}}}]}}}`,
			[][2]string{{"/x/0/k-1", "/x/0/k_1"}, {"/x/k-2", "/x/k_2"}},
		},
		{
			"below a reference that is cut", schema.Universal,
			`{"type":"object","properties":{"f":{"$ref":"#/$defs/F"}},"$defs":{"F":{"type":"object","properties":{"$and":{"type":"array","items":{"$ref":"#/$defs/F"}}}}}}`,
			[][2]string{{"/f/$and/0/$and/1/$and", "/f/_and/0/_and/1/_and"}},
		},
		{
			"in a tuple", schema.Anthropic,
			`{"type":"object","properties":{"t":{"type":"array","prefixItems":[{"type":"string"},{"type":"object","properties":{"\ud83d":{"type":"string"}}}]}}}`,
			[][2]string{{"/t/1/\xed\xa0\xbd", "/t/1/key_6171af9f"}, {"/t/0", "/t/0"}, {"/t/2/x", "/t/2/x"}},
		},
		{
			"a wrapped root", schema.Universal,
			`{"type":"array","items":{"type":"object","properties":{"a-b":{"type":"string"}}}}`,
			[][2]string{{"", "/input"}, {"/0", "/input/0"}, {"/0/a-b", "/input/0/a_b"}},
		},
		{
			"a list of entries", schema.OpenAIStrict,
			`{"type":"object","properties":{"d":{"type":"object","additionalProperties":{"type":"object","properties":{"n":{"type":"integer"}}}},"o":{"type":"object","properties":{"p":{"type":"string"}}}}}`,
			[][2]string{{"/d/a/n", "/d"}, {"/d", "/d"}, {"/o/p", "/o/p"}},
		},
		{
			"the root's own grammar", schema.Anthropic,
			`{"type":"object","properties":{"ids[]":{"type":"object","properties":{"b[]":{"type":"string"}}}}}`,
			[][2]string{{"/ids[]/b[]", "/ids/b[]"}},
		},
		{
			"nothing is changed", schema.Mistral,
			`{"type":"object","properties":{"a-b":{"type":"string"}}}`,
			[][2]string{{"/a-b", "/a-b"}, {"/a-b/0", "/a-b/0"}},
		},
	} {
		a, err := schema.Adapt(json.RawMessage(c.schema), c.profile)
		if err != nil {
			t.Errorf("%s: %v", c.title, err)
			continue
		}
		for _, p := range c.paths {
			if got := a.Path(p[0]); got != p[1] {
				t.Errorf("%s: %q became %q, want %q", c.title, p[0], got, p[1])
			}
		}
	}
}

// If no arguments satisfy a schema, Adapt refuses it, and the error states the reason.
func TestAdaptRefusesWhatNothingSatisfies(t *testing.T) {
	for _, p := range []*schema.Profile{schema.Universal, schema.Flat, schema.Gemini, schema.OpenAIStrict} {
		for _, original := range []string{
			`{"not":{}}`,
			`{"type":"object","anyOf":[false]}`,
			`{"allOf":[{"type":"object"},{"type":"string"}]}`,
			`{"type":"object","properties":{"a":false},"required":["a"]}`,
			`{"type":"object","properties":{"a":{"type":"string","enum":[1]}},"required":["a"]}`,
			`{"type":"object","required":["b"],"properties":{"a":{"type":"string"}},"additionalProperties":false}`,
		} {
			if a, err := schema.Adapt(json.RawMessage(original), p); !errors.Is(err, schema.ErrUnsupported) || a != nil {
				t.Errorf("%s: %s became %v, %v", p.Name(), original, a, err)
			}
		}
	}
}

// pydanticCases are schemas that Pydantic writes for a function's parameters.
var pydanticCases = []adaptCase{
	{"Optional[str] = None", `{"properties":{"q":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"Q"}},"title":"fArguments","type":"object"}`, []expectation{
		{profile: schema.Universal, adapted: `{"properties":{"q":{"type":"string"}},"type":"object"}`, calls: []call{{`{"q":"x"}`, `{"q":"x"}`}, {`{}`, `{}`}}},
		{profile: schema.OpenAIStrict, adapted: `{"properties":{"q":{"anyOf":[{"type":"string"},{"type":"null"}],"title":"Q"}},"title":"fArguments","type":"object","additionalProperties":false,"required":["q"]}`, loss: "narrowed", calls: []call{{`{"q":"x"}`, `{"q":"x"}`}, {`{}`, `{}`}}},
		{profile: schema.Gemini, adapted: `{"properties":{"q":{"title":"Q","nullable":true,"type":"string"}},"title":"fArguments","type":"object"}`, calls: []call{{`{"q":"x"}`, `{"q":"x"}`}, {`{}`, `{}`}}},
	}},
	{"Optional[str] with a default of its own", `{"properties":{"q":{"anyOf":[{"type":"string"},{"type":"null"}],"default":"abc"}},"type":"object"}`, []expectation{
		{profile: schema.Universal, adapted: `{"properties":{"q":{"type":"string","description":"(default \"abc\")"}},"type":"object"}`, loss: "narrowed", calls: []call{{`{"q":null}`, `{"q":null}`}, {`{"q":"x"}`, `{"q":"x"}`}}},
		{profile: schema.OpenAIStrict, adapted: `{"properties":{"q":{"anyOf":[{"type":"string"},{"type":"null"}],"description":"(default \"abc\")"}},"type":"object","additionalProperties":false,"required":["q"]}`, loss: "narrowed", calls: []call{{`{"q":null}`, `{}`}, {`{"q":"x"}`, `{"q":"x"}`}}},
	}},
	{"Optional[int], required", `{"properties":{"n":{"anyOf":[{"type":"integer"},{"type":"null"}],"title":"N"}},"required":["n"],"type":"object"}`, []expectation{
		{profile: schema.Universal, adapted: `{"properties":{"n":{"type":"integer"}},"type":"object"}`, calls: []call{{`{"n":1}`, `{"n":1}`}, {`{}`, `{"n":null}`}}},
		{profile: schema.Flat, adapted: `{"properties":{"n":{"type":"integer"}},"type":"object"}`, calls: []call{{`{"n":1}`, `{"n":1}`}, {`{}`, `{"n":null}`}}},
	}},
	{"Optional[Literal]", `{"properties":{"mode":{"anyOf":[{"enum":["fast","safe"],"type":"string"},{"type":"null"}],"default":null}},"type":"object"}`, []expectation{
		{profile: schema.Universal, adapted: `{"properties":{"mode":{"enum":["fast","safe"],"type":"string"}},"type":"object"}`},
		{profile: schema.OpenAIStrict, adapted: `{"properties":{"mode":{"anyOf":[{"enum":["fast","safe"],"type":"string"},{"type":"null"}]}},"type":"object","additionalProperties":false,"required":["mode"]}`, loss: "narrowed"},
	}},
	{"Literal of one", `{"properties":{"kind":{"const":"pdf","default":"pdf","title":"Kind","type":"string"}},"type":"object"}`, []expectation{
		{profile: schema.Universal, adapted: `{"properties":{"kind":{"enum":["pdf"],"type":"string","description":"(default \"pdf\")"}},"type":"object"}`, calls: []call{{`{"kind":"pdf"}`, `{"kind":"pdf"}`}}},
		{profile: schema.OpenAIStrict, adapted: `{"properties":{"kind":{"description":"(default \"pdf\")","anyOf":[{"const":"pdf","title":"Kind","type":"string"},{"type":"null"}]}},"type":"object","additionalProperties":false,"required":["kind"]}`, loss: "narrowed", calls: []call{{`{"kind":"pdf"}`, `{"kind":"pdf"}`}}},
	}},
	{"Enum of integers", `{"properties":{"level":{"$ref":"#/$defs/Level"}},"required":["level"],"type":"object","$defs":{"Level":{"enum":[1,2,3],"title":"Level","type":"integer"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"properties":{"level":{"type":"integer","description":"(one of 1, 2, 3)"}},"required":["level"],"type":"object"}`, loss: "lost", calls: []call{{`{"level":2}`, `{"level":2}`}}},
		{profile: schema.OpenAIStrict, adapted: `{"properties":{"level":{"$ref":"#/$defs/Level"}},"required":["level"],"type":"object","$defs":{"Level":{"enum":[1,2,3],"title":"Level","type":"integer"}},"additionalProperties":false}`, loss: "narrowed", calls: []call{{`{"level":2}`, `{"level":2}`}}},
	}},
	{"list[Model]", `{"properties":{"tags":{"items":{"$ref":"#/$defs/Tag"},"type":"array"}},"required":["tags"],"type":"object","$defs":{"Tag":{"properties":{"name":{"type":"string"},"weight":{"default":1.0,"type":"number"}},"required":["name"],"type":"object"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"properties":{"tags":{"items":{"properties":{"name":{"type":"string"},"weight":{"type":"number","description":"(default 1.0)"}},"required":["name"],"type":"object"},"type":"array"}},"required":["tags"],"type":"object"}`, calls: []call{{`{"tags":[{"name":"a","weight":null},{"name":"b","weight":2.50}]}`, `{"tags":[{"name":"a","weight":null},{"name":"b","weight":2.50}]}`}}},
		{profile: schema.OpenAIStrict, adapted: `{"properties":{"tags":{"items":{"$ref":"#/$defs/Tag"},"type":"array"}},"required":["tags"],"type":"object","$defs":{"Tag":{"properties":{"name":{"type":"string"},"weight":{"type":["number","null"],"description":"(default 1.0)"}},"required":["name","weight"],"type":"object","additionalProperties":false}},"additionalProperties":false}`, loss: "narrowed", calls: []call{{`{"tags":[{"name":"a","weight":null},{"name":"b","weight":2.50}]}`, `{"tags":[{"name":"a"},{"name":"b","weight":2.50}]}`}}},
	}},
	{"Optional[list[Model]] = None", `{"$defs":{"Tag":{"properties":{"name":{"type":"string"}},"required":["name"],"type":"object"}},"properties":{"tags":{"anyOf":[{"items":{"$ref":"#/$defs/Tag"},"type":"array"},{"type":"null"}],"default":null}},"type":"object"}`, []expectation{
		{profile: schema.Universal, adapted: `{"properties":{"tags":{"items":{"properties":{"name":{"type":"string"}},"required":["name"],"type":"object"},"type":"array"}},"type":"object"}`},
	}},
	{"dict[str, int]", `{"properties":{"counts":{"additionalProperties":{"type":"integer"},"title":"Counts","type":"object"}},"required":["counts"],"type":"object"}`, []expectation{
		{profile: schema.Universal, adapted: `{"properties":{"counts":{"type":"object","properties":{},"description":"(other keys hold integer)"}},"required":["counts"],"type":"object"}`, loss: "lost", calls: []call{{`{"counts":[{"key":"a","value":1},{"key":"b","value":2}]}`, `{"counts":[{"key":"a","value":1},{"key":"b","value":2}]}`}}},
		{profile: schema.OpenAIStrict, adapted: `{"properties":{"counts":{"title":"Counts","type":"array","items":{"type":"object","properties":{"key":{"type":"string"},"value":{"type":"integer"}},"required":["key","value"],"additionalProperties":false}}},"required":["counts"],"type":"object","additionalProperties":false}`, loss: "narrowed", calls: []call{{`{"counts":[{"key":"a","value":1},{"key":"b","value":2}]}`, `{"counts":{"a":1,"b":2}}`}}},
	}},
	{"discriminated union", `{"$defs":{"Circle":{"properties":{"kind":{"const":"circle","type":"string"},"radius":{"type":"number"}},"required":["kind","radius"],"type":"object"},"Square":{"properties":{"kind":{"const":"square","type":"string"},"side":{"type":"number"}},"required":["kind","side"],"type":"object"}},"properties":{"shape":{"discriminator":{"mapping":{"circle":"#/$defs/Circle","square":"#/$defs/Square"},"propertyName":"kind"},"oneOf":[{"$ref":"#/$defs/Circle"},{"$ref":"#/$defs/Square"}]}},"required":["shape"],"type":"object"}`, []expectation{
		{profile: schema.Flat, adapted: `{"properties":{"shape":{"type":"object","properties":{"kind":{"enum":["circle","square"],"type":"string"},"radius":{"type":"number"},"side":{"type":"number"}},"required":["kind"],"description":"(one of: {kind: \"circle\", radius: number} | {kind: \"square\", side: number})"}},"required":["shape"],"type":"object"}`, loss: "lost, narrowed", calls: []call{{`{"shape":{"kind":"circle","radius":1}}`, `{"shape":{"kind":"circle","radius":1}}`}}},
	}},
	{"recursive model", `{"properties":{"tree":{"$ref":"#/$defs/Node"}},"required":["tree"],"type":"object","$defs":{"Node":{"properties":{"value":{"type":"integer"},"children":{"items":{"$ref":"#/$defs/Node"},"type":"array"}},"required":["value"],"type":"object"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"properties":{"tree":{"properties":{"value":{"type":"integer"},"children":{"items":{"type":"object","properties":{},"description":"(one more Node, of the same shape)"},"type":"array"}},"required":["value"],"type":"object"}},"required":["tree"],"type":"object"}`, loss: "lost", calls: []call{{`{"tree":{"value":1,"children":[{"value":2,"children":null}]}}`, `{"tree":{"value":1,"children":[{"value":2,"children":null}]}}`}}},
		{profile: schema.OpenAIStrict, adapted: `{"properties":{"tree":{"$ref":"#/$defs/Node"}},"required":["tree"],"type":"object","$defs":{"Node":{"properties":{"value":{"type":"integer"},"children":{"anyOf":[{"items":{"$ref":"#/$defs/Node"},"type":"array"},{"type":"null"}]}},"required":["value","children"],"type":"object","additionalProperties":false}},"additionalProperties":false}`, loss: "narrowed", calls: []call{{`{"tree":{"value":1,"children":[{"value":2,"children":null}]}}`, `{"tree":{"value":1,"children":[{"value":2}]}}`}}},
		{profile: schema.GeminiJSONSchema, adapted: `{"properties":{"tree":{"properties":{"value":{"type":"integer"},"children":{"items":{"type":"object","description":"(one more Node, of the same shape)"},"type":"array"}},"required":["value"],"type":"object"}},"required":["tree"],"type":"object"}`, loss: "lost", calls: []call{{`{"tree":{"value":1,"children":[{"value":2,"children":null}]}}`, `{"tree":{"value":1,"children":[{"value":2,"children":null}]}}`}}},
	}},
	{"Annotated bounds", `{"properties":{"limit":{"default":10,"exclusiveMinimum":0,"maximum":100,"type":"integer"}},"type":"object"}`, []expectation{
		{profile: schema.Universal, adapted: `{"properties":{"limit":{"type":"integer","description":"(default 10; greater than 0; at most 100)"}},"type":"object"}`, loss: "lost"},
		{profile: schema.Gemini, adapted: `{"properties":{"limit":{"default":10,"maximum":100,"type":"integer","description":"(greater than 0)"}},"type":"object"}`, loss: "lost"},
	}},
	{"datetime, UUID", `{"properties":{"at":{"format":"date-time","type":"string"},"id":{"format":"uuid","type":"string"}},"required":["at","id"],"type":"object"}`, []expectation{
		{profile: schema.Universal, adapted: `{"properties":{"at":{"type":"string","description":"(format date-time)"},"id":{"type":"string","description":"(format uuid)"}},"required":["at","id"],"type":"object"}`, loss: "lost"},
		{profile: schema.Gemini, adapted: `{"properties":{"at":{"format":"date-time","type":"string"},"id":{"type":"string","description":"(format uuid)"}},"required":["at","id"],"type":"object"}`, loss: "lost"},
		{profile: schema.OpenAIStrict, adapted: `{"properties":{"at":{"format":"date-time","type":"string"},"id":{"format":"uuid","type":"string"}},"required":["at","id"],"type":"object","additionalProperties":false}`, loss: "narrowed"},
	}},
	{"Union[int, str]", `{"properties":{"id":{"anyOf":[{"type":"integer"},{"type":"string"}]}},"required":["id"],"type":"object"}`, []expectation{
		{profile: schema.Universal, adapted: `{"properties":{"id":{"anyOf":[{"type":"integer"},{"type":"string"}]}},"required":["id"],"type":"object"}`, calls: []call{{`{"id":"1"}`, `{"id":"1"}`}, {`{"id":1}`, `{"id":1}`}}},
		{profile: schema.Flat, adapted: `{"properties":{"id":{"type":"integer","description":"(else one of: integer | string)"}},"required":["id"],"type":"object"}`, loss: "narrowed", calls: []call{{`{"id":"1"}`, `{"id":"1"}`}, {`{"id":1}`, `{"id":1}`}}},
		{profile: schema.Gemini, adapted: `{"properties":{"id":{"anyOf":[{"type":"integer"},{"type":"string"}]}},"required":["id"],"type":"object"}`, calls: []call{{`{"id":"1"}`, `{"id":"1"}`}, {`{"id":1}`, `{"id":1}`}}},
	}},
	{"set[str]", `{"properties":{"s":{"items":{"type":"string"},"type":"array","uniqueItems":true}},"required":["s"],"type":"object"}`, []expectation{
		{profile: schema.Universal, adapted: `{"properties":{"s":{"items":{"type":"string"},"type":"array","description":"(unique items)"}},"required":["s"],"type":"object"}`, loss: "lost"},
	}},
	{"discriminated union, inline", `{"properties":{"shape":{"oneOf":[{"properties":{"kind":{"const":"circle","type":"string"},"radius":{"type":"number"}},"required":["kind","radius"],"type":"object"},{"properties":{"kind":{"const":"square","type":"string"},"side":{"type":"number"}},"required":["kind","side"],"type":"object"}]}},"required":["shape"],"type":"object"}`, []expectation{
		{profile: schema.Universal, adapted: `{"properties":{"shape":{"anyOf":[{"properties":{"kind":{"enum":["circle"],"type":"string"},"radius":{"type":"number"}},"required":["kind","radius"],"type":"object"},{"properties":{"kind":{"enum":["square"],"type":"string"},"side":{"type":"number"}},"required":["kind","side"],"type":"object"}]}},"required":["shape"],"type":"object"}`},
		{profile: schema.OpenAIStrict, adapted: `{"properties":{"shape":{"anyOf":[{"properties":{"kind":{"const":"circle","type":"string"},"radius":{"type":"number"}},"required":["kind","radius"],"type":"object","additionalProperties":false},{"properties":{"kind":{"const":"square","type":"string"},"side":{"type":"number"}},"required":["kind","side"],"type":"object","additionalProperties":false}]}},"required":["shape"],"type":"object","additionalProperties":false}`, loss: "narrowed"},
	}},
}

// zodCases are schemas that zod and zod-to-json-schema write.
var zodCases = []adaptCase{
	{"object, closed", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, loss: "lost", calls: []call{{`{"a":"x"}`, `{"a":"x"}`}}},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`, calls: []call{{`{"a":"x"}`, `{"a":"x"}`}}},
	}},
	{"no parameters", `{"type":"object","properties":{},"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{}}`, loss: "lost", calls: []call{{`{}`, `{}`}}},
		{profile: schema.Anthropic, adapted: `{"type":"object","properties":{},"additionalProperties":false}`, calls: []call{{`{}`, `{}`}}},
	}},
	{"union of literals", `{"type":"object","properties":{"x":{"anyOf":[{"type":"string","const":"a"},{"type":"string","const":"b"}]}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x":{"type":"string","enum":["a","b"]}}}`},
		{profile: schema.OpenAI, adapted: `{"type":"object","properties":{"x":{"anyOf":[{"type":"string","const":"a"},{"type":"string","const":"b"}]}}}`},
	}},
	{"union of objects", `{"type":"object","properties":{"to":{"anyOf":[{"type":"object","properties":{"user":{"type":"string"}},"required":["user"],"additionalProperties":false},{"type":"object","properties":{"team":{"type":"string"},"role":{"type":"string"}},"required":["team"],"additionalProperties":false}]}},"required":["to"]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"to":{"anyOf":[{"type":"object","properties":{"user":{"type":"string"}},"required":["user"]},{"type":"object","properties":{"team":{"type":"string"},"role":{"type":"string"}},"required":["team"]}]}},"required":["to"]}`, loss: "lost", calls: []call{{`{"to":{"team":"x","role":null}}`, `{"to":{"team":"x","role":null}}`}, {`{"to":{"user":"y"}}`, `{"to":{"user":"y"}}`}}},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"to":{"anyOf":[{"type":"object","properties":{"user":{"type":"string"}},"required":["user"],"additionalProperties":false},{"type":"object","properties":{"team":{"type":"string"},"role":{"type":["string","null"]}},"required":["team","role"],"additionalProperties":false}]}},"required":["to"],"additionalProperties":false}`, loss: "narrowed", calls: []call{{`{"to":{"team":"x","role":null}}`, `{"to":{"team":"x"}}`}, {`{"to":{"user":"y"}}`, `{"to":{"user":"y"}}`}}},
	}},
	{"nullable string", `{"type":"object","properties":{"x":{"type":["string","null"]}},"required":["x"]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x":{"type":"string"}}}`, calls: []call{{`{"x":null}`, `{"x":null}`}, {`{}`, `{"x":null}`}}},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"x":{"type":["string","null"]}},"required":["x"],"additionalProperties":false}`, loss: "narrowed", calls: []call{{`{"x":null}`, `{"x":null}`}, {`{}`, `{}`}}},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"x":{"type":"string","nullable":true}},"required":["x"]}`, calls: []call{{`{"x":null}`, `{"x":null}`}, {`{}`, `{}`}}},
		{profile: schema.Mistral, adapted: `{"type":"object","properties":{"x":{"type":["string","null"]}},"required":["x"]}`, calls: []call{{`{"x":null}`, `{"x":null}`}, {`{}`, `{}`}}},
	}},
	{"native enum of numbers", `{"type":"object","properties":{"x":{"type":"number","enum":[0,1,2.5]}},"required":["x"]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x":{"type":"number","description":"(one of 0, 1, 2.5)"}},"required":["x"]}`, loss: "lost"},
		{profile: schema.GeminiJSONSchema, adapted: `{"type":"object","properties":{"x":{"type":"number","enum":[0,1,2.5]}},"required":["x"]}`},
	}},
	{"record of objects, strict", `{"type":"object","properties":{"by":{"type":"object","additionalProperties":{"type":"object","properties":{"n":{"type":"number"}},"required":["n"],"additionalProperties":false}}},"required":["by"],"additionalProperties":false}`, []expectation{
		{profile: schema.AnthropicStrict, adapted: `{"type":"object","properties":{"by":{"type":"array","items":{"type":"object","properties":{"key":{"type":"string"},"value":{"type":"object","properties":{"n":{"type":"number"}},"required":["n"],"additionalProperties":false}},"required":["key","value"],"additionalProperties":false}}},"required":["by"],"additionalProperties":false}`, calls: []call{{`{"by":[{"key":"a","value":{"n":1}},{"key":"a","value":{"n":2}}]}`, `{"by":{"a":{"n":2}}}`}, {`{"by":[]}`, `{"by":{}}`}, {`{"by":{"a":{"n":1}}}`, `{"by":{"a":{"n":1}}}`}, {`{"by":[{"key":"a"}]}`, `{"by":[{"key":"a"}]}`}}},
	}},
	{"any", `{"type":"object","properties":{"x":{}},"additionalProperties":false}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object","properties":{}},{"type":"array","items":{"type":"string"}}]}}}`, loss: "lost, narrowed"},
		{profile: schema.Anthropic, adapted: `{"type":"object","properties":{"x":{}},"additionalProperties":false}`},
	}},
	{"type of unknown", `{"type":"object","properties":{"x":true},"additionalProperties":false}`, []expectation{
		{profile: schema.Mistral, adapted: `{"type":"object","properties":{"x":true},"additionalProperties":false}`},
	}},
}

// openAPICases are schemas of servers that are generated from OpenAPI documents.
var openAPICases = []adaptCase{
	{"nullable", `{"type":"object","properties":{"x":{"type":"string","nullable":true}},"required":["x"]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x":{"type":"string"}}}`, calls: []call{{`{}`, `{"x":null}`}, {`{"x":"a"}`, `{"x":"a"}`}}},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"x":{"type":"string","nullable":true}},"required":["x"]}`, calls: []call{{`{}`, `{}`}, {`{"x":"a"}`, `{"x":"a"}`}}},
		{profile: schema.Anthropic, adapted: `{"type":"object","properties":{"x":{"type":["string","null"]}},"required":["x"]}`, calls: []call{{`{}`, `{}`}, {`{"x":"a"}`, `{"x":"a"}`}}},
	}},
	{"boolean bounds", `{"type":"object","properties":{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}},"required":["n"]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"n":{"type":"integer","description":"(greater than 0; at most 9)"}},"required":["n"]}`, loss: "lost"},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":0,"maximum":9}},"required":["n"],"additionalProperties":false}`, loss: "narrowed"},
		{profile: schema.Anthropic, adapted: `{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":0,"maximum":9}},"required":["n"]}`},
	}},
	{"allOf of one, with a description", `{"type":"object","properties":{"c":{"allOf":[{"$ref":"#/$defs/Color"}],"description":"Mine.","default":"red"}},"required":["c"],"$defs":{"Color":{"type":"string","enum":["red","blue"],"description":"Of Color."}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"c":{"description":"Mine. (default \"red\")","type":"string","enum":["red","blue"]}},"required":["c"]}`},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"c":{"description":"Mine. (default \"red\")","type":"string","enum":["red","blue"]}},"required":["c"],"additionalProperties":false}`, loss: "narrowed"},
	}},
	{"allOf of two objects", `{"type":"object","properties":{"p":{"allOf":[{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]},{"type":"object","properties":{"name":{"type":"string"}}}]}},"required":["p"]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"p":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}},"required":["id"]}},"required":["p"]}`, calls: []call{{`{"p":{"id":1,"name":null}}`, `{"p":{"id":1,"name":null}}`}}},
		{profile: schema.OpenAI, adapted: `{"type":"object","properties":{"p":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}},"required":["id"]}},"required":["p"]}`, calls: []call{{`{"p":{"id":1,"name":null}}`, `{"p":{"id":1,"name":null}}`}}},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"p":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":["string","null"]}},"required":["id","name"],"additionalProperties":false}},"required":["p"],"additionalProperties":false}`, loss: "narrowed", calls: []call{{`{"p":{"id":1,"name":null}}`, `{"p":{"id":1}}`}}},
	}},
	{"allOf of two closed objects", `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"],"additionalProperties":false}]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]}`, loss: "lost"},
		{profile: schema.AnthropicStrict, adapted: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"],"additionalProperties":false}`, loss: "lost"},
	}},
	{"int64 and binary", `{"type":"object","properties":{"n":{"type":"integer","format":"int64"},"f":{"type":"string","format":"binary"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"n":{"type":"integer","description":"(format int64)"},"f":{"type":"string","description":"(format binary)"}}}`, loss: "lost"},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"n":{"type":"integer","format":"int64"},"f":{"type":"string","description":"(format binary)"}}}`, loss: "lost"},
	}},
	{"example", `{"type":"object","properties":{"city":{"type":"string","example":"Bern"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"city":{"type":"string","description":"(for example \"Bern\")"}}}`},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"city":{"type":"string","example":"Bern"}}}`},
	}},
	{"a nullable reference", `{"type":"object","properties":{"y":{"nullable":true,"allOf":[{"$ref":"#/$defs/Y"}]}},"required":["y"],"$defs":{"Y":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"y":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}}`, calls: []call{{`{}`, `{"y":null}`}}},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"y":{"anyOf":[{"$ref":"#/$defs/Y"},{"type":"null"}]}},"required":["y"],"$defs":{"Y":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"],"additionalProperties":false}},"additionalProperties":false}`, loss: "narrowed", calls: []call{{`{}`, `{}`}}},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"y":{"nullable":true,"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}},"required":["y"]}`, calls: []call{{`{}`, `{}`}}},
	}},
	{"a base type used by its own subtype", `{"type":"object","properties":{"dog":{"$ref":"#/$defs/Dog"}},"$defs":{"Animal":{"type":"object","properties":{"name":{"type":"string"}}},"Dog":{"allOf":[{"$ref":"#/$defs/Animal"},{"type":"object","properties":{"friend":{"$ref":"#/$defs/Animal"}}}]}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"dog":{"type":"object","properties":{"name":{"type":"string"},"friend":{"type":"object","properties":{"name":{"type":"string"}}}}}}}`},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"dog":{"type":"object","properties":{"name":{"type":"string"},"friend":{"type":"object","properties":{"name":{"type":"string"}}}}}}}`},
	}},
}

// rootCases are forms of the root.
var rootCases = []adaptCase{
	{"nothing", `{}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{}}`},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","additionalProperties":false,"properties":{},"required":[]}`, loss: "narrowed"},
	}},
	{"no type", `{"properties":{"a":{"type":"string"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"properties":{"a":{"type":"string"}},"type":"object"}`},
	}},
	{"a list of types", `{"type":["object","null"],"properties":{"a":{"type":"string"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{profile: schema.Bedrock, adapted: `{"type":"object","properties":{"a":{"type":"string"}}}`},
	}},
	{"a union of actions", `{"type":"object","anyOf":[{"type":"object","properties":{"action":{"const":"create","type":"string"},"name":{"type":"string"}},"required":["action","name"]},{"type":"object","properties":{"action":{"const":"delete","type":"string"},"id":{"type":"integer"}},"required":["action","id"]}]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"action":{"enum":["create","delete"],"type":"string"},"name":{"type":"string"},"id":{"type":"integer"}},"required":["action"]}`, note: `(one of: {action: "create", name: string} | {action: "delete", id: integer})`, loss: "lost, narrowed"},
		{profile: schema.AnthropicStrict, adapted: `{"type":"object","properties":{"action":{"enum":["create","delete"],"type":"string"},"name":{"type":"string"},"id":{"type":"integer"}},"required":["action"],"additionalProperties":false,"description":"(one of: {action: \"create\", name: string} | {action: \"delete\", id: integer})"}`, loss: "lost, narrowed"},
	}},
	{"allOf with a reference", `{"allOf":[{"$ref":"#/definitions/Base"},{"properties":{"b":{"type":"integer"}},"required":["b"]}],"definitions":{"Base":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","b"]}`},
		{profile: schema.Anthropic, adapted: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","b"]}`},
	}},
	{"a reference", `{"$ref":"#/definitions/A","definitions":{"A":{"type":"object","properties":{"a":{"type":"string"}}}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{profile: schema.OpenAI, adapted: `{"type":"object","properties":{"a":{"type":"string"}}}`},
	}},
	{"an array", `{"type":"array","items":{"type":"string"}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"input":{"type":"array","items":{"type":"string"}}},"required":["input"]}`, calls: []call{{`{"input":["a"]}`, `["a"]`}, {`["a"]`, `["a"]`}, {`{}`, `{}`}}},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"input":{"type":"array","items":{"type":"string"}}},"required":["input"],"additionalProperties":false}`, loss: "narrowed", calls: []call{{`{"input":["a"]}`, `["a"]`}, {`["a"]`, `["a"]`}, {`{}`, `{}`}}},
	}},
	{"a string or nothing", `{"type":["string","null"]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"input":{"type":"string"}}}`, calls: []call{{`{"input":"a"}`, `"a"`}, {`{}`, `null`}}},
	}},
	{"its description", `{"type":"object","description":"All of it.","properties":{}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{}}`, note: `All of it.`},
		{profile: schema.Anthropic, adapted: `{"type":"object","description":"All of it.","properties":{}}`},
	}},
}

// keyCases are property names that consumers refuse.
var keyCases = []adaptCase{
	{"dash and dollar", `{"type":"object","properties":{"x-id":{"type":"string"},"$top":{"type":"integer"}},"required":["x-id"]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x_id":{"type":"string"},"_top":{"type":"integer"}},"required":["x_id"]}`, calls: []call{{`{"x_id":"a","_top":1}`, `{"x-id":"a","$top":1}`}, {`{"other":1,"x_id":"a"}`, `{"other":1,"x-id":"a"}`}}},
		{profile: schema.Anthropic, adapted: `{"type":"object","properties":{"x-id":{"type":"string"},"_top":{"type":"integer"}},"required":["x-id"]}`, calls: []call{{`{"x_id":"a","_top":1}`, `{"x_id":"a","$top":1}`}, {`{"other":1,"x_id":"a"}`, `{"other":1,"x_id":"a"}`}}},
	}},
	{"two that become one", `{"type":"object","properties":{"a-b":{"type":"string"},"a_b":{"type":"string"},"a.b":{"type":"string"}},"required":["a-b"]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"a_b_96a1ab06":{"type":"string"},"a_b":{"type":"string"},"a_b_a8892497":{"type":"string"}},"required":["a_b_96a1ab06"]}`, calls: []call{{`{"a_b_96a1ab06":"dash","a_b":"own","a_b_a8892497":"dot"}`, `{"a-b":"dash","a_b":"own","a.b":"dot"}`}}},
	}},
	{"brackets", `{"type":"object","properties":{"filter[name]":{"type":"string"},"ids[]":{"type":"array","items":{"type":"string"}}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"filter_name":{"type":"string"},"ids":{"type":"array","items":{"type":"string"}}}}`, calls: []call{{`{"filter_name":"x","ids":["1"]}`, `{"filter[name]":"x","ids[]":["1"]}`}}},
		{profile: schema.Anthropic, adapted: `{"type":"object","properties":{"filter_name":{"type":"string"},"ids":{"type":"array","items":{"type":"string"}}}}`, calls: []call{{`{"filter_name":"x","ids":["1"]}`, `{"filter[name]":"x","ids[]":["1"]}`}}},
	}},
	{"other letters", `{"type":"object","properties":{"名前":{"type":"string"},"Größe":{"type":"integer"},"":{"type":"string"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"key_e47d1b0d":{"type":"string"},"Gr_e":{"type":"integer"},"key_5feceb66":{"type":"string"}}}`},
	}},
	{"too long", `{"type":"object","properties":{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":{"type":"string"}}}`, []expectation{
		{profile: schema.Anthropic, adapted: `{"type":"object","properties":{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_8cc3104c":{"type":"string"}}}`},
	}},
	{"keywords", `{"type":"object","properties":{"properties":{"type":"string"},"required":{"type":"string"}},"required":["properties","required"]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"properties":{"type":"string"},"required_":{"type":"string"}},"required":["properties","required_"]}`, calls: []call{{`{"properties":"x","required_":"y"}`, `{"properties":"x","required":"y"}`}}},
	}},
	{"under free keys they are the owner's", `{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"object","properties":{"$meta":{"type":"string"}}}}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"m":{"type":"object","properties":{},"description":"(other keys hold {$meta?: string})"}}}`, loss: "lost", calls: []call{{`{"m":{"a":{"$meta":"x"}}}`, `{"m":{"a":{"$meta":"x"}}}`}}},
	}},
	{"in keywords that name them", `{"type":"object","properties":{"a b":{"type":"string"},"c":{"type":"string"}},"dependentRequired":{"c":["a b"],"a b":["c"]},"propertyOrdering":["c","a b"]}`, []expectation{
		{profile: schema.Anthropic, adapted: `{"type":"object","properties":{"a_b":{"type":"string"},"c":{"type":"string"}},"dependentRequired":{"c":["a_b"],"a_b":["c"]},"propertyOrdering":["c","a_b"]}`, calls: []call{{`{"a_b":"x","c":"y"}`, `{"a b":"x","c":"y"}`}}},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"a_b":{"type":"string"},"c":{"type":"string"}},"propertyOrdering":["c","a_b"],"description":"(c needs a_b, a_b needs c)"}`, loss: "lost"},
	}},
	{"in a condition they are the model's", `{"type":"object","properties":{"a b":{"type":"string"},"a-b":{"type":"string"}},"dependentRequired":{"a b":["a-b"]},"anyOf":[{"required":["a b"]},{"required":["a-b"]}]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"a_b_3017194d":{"type":"string"},"a_b_96a1ab06":{"type":"string"}}}`, note: `(needs one of: {a_b_3017194d} | {a_b_96a1ab06}; a_b_3017194d needs a_b_96a1ab06)`, loss: "lost"},
	}},
	{"below a list and a union", `{"type":"object","properties":{"l":{"type":"array","items":{"anyOf":[{"type":"object","properties":{"a.b":{"type":"integer"}},"required":["a.b"]},{"type":"object","properties":{"c.d":{"type":"string"}},"required":["c.d"]}]}}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"l":{"type":"array","items":{"anyOf":[{"type":"object","properties":{"a_b":{"type":"integer"}},"required":["a_b"]},{"type":"object","properties":{"c_d":{"type":"string"}},"required":["c_d"]}]}}}}`, calls: []call{{`{"l":[{"a_b":1},{"c_d":"x"}]}`, `{"l":[{"a.b":1},{"c.d":"x"}]}`}}},
	}},
	{"each branch's own", `{"type":"object","properties":{"d":{"anyOf":[{"type":"object","properties":{"a_b":{"type":"string"}},"required":["a_b"]},{"type":"object","properties":{"a-b":{"type":"integer"}},"required":["a-b"]}]}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"d":{"anyOf":[{"type":"object","properties":{"a_b":{"type":"string"}},"required":["a_b"]},{"type":"object","properties":{"a_b":{"type":"integer"}},"required":["a_b"]}]}}}`, calls: []call{{`{"d":{"a_b":1}}`, `{"d":{"a-b":1}}`}, {`{"d":{"a_b":"s"}}`, `{"d":{"a_b":"s"}}`}}},
	}},
	{"the order of required", `{"type":"object","properties":{"a-1":{"type":"string"},"b":{"type":"string"},"c-1":{"type":"string"}},"required":["c-1","b","a-1"]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"a_1":{"type":"string"},"b":{"type":"string"},"c_1":{"type":"string"}},"required":["c_1","b","a_1"]}`},
	}},
	{"the branch that declares it", `{"type":"object","properties":{"d":{"anyOf":[{"type":"object","properties":{"x":{"type":"string"}}},{"type":"object","properties":{"a-b":{"type":"integer"}},"required":["a-b"]}]}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"d":{"anyOf":[{"type":"object","properties":{"x":{"type":"string"}}},{"type":"object","properties":{"a_b":{"type":"integer"}},"required":["a_b"]}]}}}`, calls: []call{{`{"d":{"a_b":1}}`, `{"d":{"a-b":1}}`}, {`{"d":{"x":"y"}}`, `{"d":{"x":"y"}}`}}},
	}},
	{"required and not declared", `{"type":"object","required":["a-b","a_b"],"additionalProperties":{"type":"integer"}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","required":["a_b_96a1ab06","a_b"],"properties":{"a_b_96a1ab06":{"type":"integer"},"a_b":{"type":"integer"}}}`, note: `(other keys hold integer)`, loss: "lost", calls: []call{{`{"a_b":1,"a_b_96a1ab06":2}`, `{"a_b":1,"a-b":2}`}}},
	}},
	{"below a reference that is cut", `{"type":"object","properties":{"f":{"$ref":"#/$defs/F"}},"$defs":{"F":{"type":"object","properties":{"$and":{"type":"array","items":{"$ref":"#/$defs/F"}},"field":{"type":"string"}}}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"f":{"type":"object","properties":{"_and":{"type":"array","items":{"type":"object","properties":{},"description":"(one more F, of the same shape)"}},"field":{"type":"string"}}}}}`, loss: "lost", calls: []call{{`{"f":{"_and":[{"_and":[{"field":"a"}]},{"field":"b"}]}}`, `{"f":{"$and":[{"$and":[{"field":"a"}]},{"field":"b"}]}}`}}},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"f":{"type":"object","properties":{"_and":{"type":"array","items":{"type":"object","description":"(one more F, of the same shape)"}},"field":{"type":"string"}}}}}`, loss: "lost", calls: []call{{`{"f":{"_and":[{"_and":[{"field":"a"}]},{"field":"b"}]}}`, `{"f":{"$and":[{"$and":[{"field":"a"}]},{"field":"b"}]}}`}}},
	}},
	{"what follows no branch", `{"type":"object","properties":{"d":{"anyOf":[{"type":"object","properties":{"e.f":{"type":"integer"}},"required":["e.f"]},{"type":"object","properties":{"g.h":{"type":"string","enum":["x"]}},"required":["g.h"]}]}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"d":{"anyOf":[{"type":"object","properties":{"e_f":{"type":"integer"}},"required":["e_f"]},{"type":"object","properties":{"g_h":{"type":"string","enum":["x"]}},"required":["g_h"]}]}}}`, calls: []call{{`{"d":{"g_h":"wrong"}}`, `{"d":{"g.h":"wrong"}}`}, {`{"d":"other"}`, `{"d":"other"}`}}},
	}},
	{"the old name beside the new one", `{"type":"object","properties":{"a-b":{"type":"string"},"c":{"type":"string"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"a_b":{"type":"string"},"c":{"type":"string"}}}`, calls: []call{{`{"a-b":"old","a_b":"new"}`, `{"a-b":"old","a_b":"new"}`}, {`{"a-b":"old"}`, `{"a-b":"old"}`}}},
	}},
}

// arrayCases are arrays and tuples.
var arrayCases = []adaptCase{
	{"no items", `{"type":"object","properties":{"l":{"type":"array"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"l":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object","properties":{}},{"type":"array","items":{"type":"string"}}]}}}}`, loss: "narrowed"},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"l":{"anyOf":[{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"array","items":{"type":"string"}}]}},{"type":"null"}]}},"additionalProperties":false,"required":["l"]}`, loss: "narrowed"},
		{profile: schema.Anthropic, adapted: `{"type":"object","properties":{"l":{"type":"array"}}}`},
	}},
	{"a tuple", `{"type":"object","properties":{"p":{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}]}},"required":["p"]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"p":{"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"string"}]},"description":"(in this order: integer, string)"}},"required":["p"]}`, loss: "lost, narrowed"},
		{profile: schema.Mistral, adapted: `{"type":"object","properties":{"p":{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}]}},"required":["p"]}`},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"p":{"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"string"}]},"description":"(in this order: integer, string)"}},"required":["p"],"additionalProperties":false}`, loss: "lost, narrowed"},
	}},
	{"a tuple of draft 7", `{"type":"object","properties":{"p":{"type":"array","items":[{"type":"number"},{"type":"string"}],"additionalItems":false}}}`, []expectation{
		{profile: schema.Anthropic, adapted: `{"type":"object","properties":{"p":{"type":"array","prefixItems":[{"type":"number"},{"type":"string"}],"items":false}}}`},
	}},
	{"nullable items", `{"type":"object","properties":{"l":{"type":"array","items":{"type":["string","null"]}}},"required":["l"]}`, []expectation{
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"l":{"type":"array","items":{"type":["string","null"]}}},"required":["l"],"additionalProperties":false}`, loss: "narrowed", calls: []call{{`{"l":["a",null]}`, `{"l":["a",null]}`}}},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"l":{"type":"array","items":{"type":"string","nullable":true}}},"required":["l"]}`, calls: []call{{`{"l":["a",null]}`, `{"l":["a",null]}`}}},
	}},
	{"bounds", `{"type":"object","properties":{"l":{"type":"array","items":{"type":"string"},"minItems":2,"maxItems":5}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"l":{"type":"array","items":{"type":"string"},"description":"(at least 2 items; at most 5 items)"}}}`, loss: "lost"},
		{profile: schema.AnthropicStrict, adapted: `{"type":"object","properties":{"l":{"type":"array","items":{"type":"string"},"description":"(at least 2 items; at most 5 items)"}},"additionalProperties":false}`, loss: "lost, narrowed"},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"l":{"type":"array","items":{"type":"string"},"minItems":2,"maxItems":5}}}`},
	}},
}

// typeCases are types, enums and constants.
var typeCases = []adaptCase{
	{"a list of types", `{"type":"object","properties":{"x":{"type":["string","array"],"items":{"type":"string"},"minLength":1}},"required":["x"]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x":{"anyOf":[{"type":"string","description":"(at least 1 character)"},{"type":"array","items":{"type":"string"}}]}},"required":["x"]}`, loss: "lost"},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"x":{"anyOf":[{"type":"string","minLength":1},{"type":"array","items":{"type":"string"}}]}},"required":["x"]}`},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"x":{"type":["string","array"],"items":{"type":"string"},"description":"(at least 1 character)"}},"required":["x"],"additionalProperties":false}`, loss: "lost, narrowed"},
	}},
	{"none", `{"type":"object","properties":{"a":{"properties":{"b":{"type":"string"}}},"c":{"enum":["x"]},"d":{"minimum":1},"e":{"items":{"type":"string"}}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"a":{"properties":{"b":{"type":"string"}},"type":"object"},"c":{"enum":["x"],"type":"string"},"d":{"type":"number","description":"(at least 1)"},"e":{"items":{"type":"string"},"type":"array"}}}`, loss: "lost, narrowed"},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"a":{"properties":{"b":{"type":"string"}},"type":"object"},"c":{"enum":["x"],"type":"string"},"d":{"minimum":1,"type":"number"},"e":{"items":{"type":"string"},"type":"array"}}}`, loss: "narrowed"},
	}},
	{"names of other languages", `{"type":"object","properties":{"a":{"type":"string[]"},"b":{"type":"int"},"c":{"type":"Boolean"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}},"b":{"type":"integer"},"c":{"type":"boolean"}}}`},
	}},
	{"a list of strings behind a reference", `{"type":"object","properties":{"x":{"$ref":"#/$defs/L"},"y":{"anyOf":[{"type":"string[]"},{"type":"null"}]}},"$defs":{"L":{"type":"string[]"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x":{"type":"array","items":{"type":"string"}},"y":{"type":"array","items":{"type":"string"}}}}`, loss: "narrowed"},
		{profile: schema.Flat, adapted: `{"type":"object","properties":{"x":{"type":"array","items":{"type":"string"}},"y":{"type":"array","items":{"type":"string"}}}}`, loss: "narrowed"},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"x":{"type":"array","items":{"type":"string"}},"y":{"nullable":true,"type":"array","items":{"type":"string"}}}}`},
	}},
	{"mixed enum", `{"type":"object","properties":{"x":{"enum":["auto",0,1,true]}},"required":["x"]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x":{"anyOf":[{"type":"string","enum":["auto"]},{"type":"integer","description":"(one of 0, 1)"},{"type":"boolean","description":"(one of true)"}]}},"required":["x"]}`, loss: "lost"},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"x":{"anyOf":[{"type":"string","enum":["auto"]},{"type":"integer","enum":[0,1]},{"type":"boolean","enum":[true]}]}},"required":["x"],"additionalProperties":false}`, loss: "narrowed"},
	}},
	{"an enum with the empty string", `{"type":"object","properties":{"x":{"type":"string","enum":["","a","b"]}}}`, []expectation{
		{profile: schema.Mistral, adapted: `{"type":"object","properties":{"x":{"type":"string","enum":["","a","b"]}}}`},
	}},
	{"const that is no string", `{"type":"object","properties":{"v":{"const":2}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"v":{"type":"integer","description":"(one of 2)"}}}`, loss: "lost"},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"v":{"type":"integer","description":"(one of 2)"}}}`, loss: "lost"},
	}},
	{"boolean enum", `{"type":"object","properties":{"v":{"type":"boolean","enum":[true]}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"v":{"type":"boolean","description":"(one of true)"}}}`, loss: "lost"},
	}},
	{"what must not be given", `{"type":"object","properties":{"a":{"type":"string"},"b":false},"additionalProperties":false}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"a":{"type":"string"}}}`, loss: "lost"},
		{profile: schema.Anthropic, adapted: `{"type":"object","properties":{"a":{"type":"string"},"b":false},"additionalProperties":false}`},
	}},
	{"null behind a reference", `{"type":"object","properties":{"x":{"anyOf":[{"$ref":"#/$defs/None"},{"type":"string"}]}},"required":["x"],"$defs":{"None":{"type":"null"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x":{"type":"string"}}}`, calls: []call{{`{}`, `{"x":null}`}, {`{"x":"a"}`, `{"x":"a"}`}}},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"x":{"type":"string","nullable":true}},"required":["x"]}`, calls: []call{{`{}`, `{}`}, {`{"x":"a"}`, `{"x":"a"}`}}},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"x":{"anyOf":[{"$ref":"#/$defs/None"},{"type":"string"}]}},"required":["x"],"$defs":{"None":{"type":"null"}},"additionalProperties":false}`, loss: "narrowed", calls: []call{{`{}`, `{}`}, {`{"x":"a"}`, `{"x":"a"}`}}},
	}},
	{"no schema", `{"type":"object","properties":{"a":null,"b":{"type":"string"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object","properties":{}},{"type":"array","items":{"type":"string"}}]},"b":{"type":"string"}}}`, loss: "narrowed"},
	}},
}

// objectCases are dictionaries, patterns and conditions.
var objectCases = []adaptCase{
	{"any keys", `{"type":"object","properties":{"meta":{"type":"object","additionalProperties":true}},"required":["meta"]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"meta":{"type":"object","properties":{},"description":"(takes any keys)"}},"required":["meta"]}`, calls: []call{{`{"meta":[{"key":"a","value":1}]}`, `{"meta":[{"key":"a","value":1}]}`}}},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"meta":{"type":"array","items":{"type":"object","properties":{"key":{"type":"string"},"value":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"array","items":{"type":"string"}}]}},"required":["key","value"],"additionalProperties":false}}},"required":["meta"],"additionalProperties":false}`, loss: "narrowed", calls: []call{{`{"meta":[{"key":"a","value":1}]}`, `{"meta":{"a":1}}`}}},
	}},
	{"dictionary of dictionaries", `{"type":"object","properties":{"d":{"type":"object","additionalProperties":{"type":"object","additionalProperties":{"type":"integer"}}}}}`, []expectation{
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"d":{"anyOf":[{"type":"array","items":{"type":"object","properties":{"key":{"type":"string"},"value":{"type":"array","items":{"type":"object","properties":{"key":{"type":"string"},"value":{"type":"integer"}},"required":["key","value"],"additionalProperties":false}}},"required":["key","value"],"additionalProperties":false}},{"type":"null"}]}},"additionalProperties":false,"required":["d"]}`, loss: "narrowed", calls: []call{{`{"d":[{"key":"a","value":[{"key":"b","value":1}]}]}`, `{"d":{"a":{"b":1}}}`}, {`{"d":null}`, `{}`}}},
	}},
	{"dictionary or list", `{"type":"object","properties":{"d":{"anyOf":[{"type":"object","additionalProperties":{"type":"string"}},{"type":"array","items":{"type":"string"}}]}},"required":["d"]}`, []expectation{
		{profile: schema.AnthropicStrict, adapted: `{"type":"object","properties":{"d":{"anyOf":[{"type":"array","items":{"type":"object","properties":{"key":{"type":"string"},"value":{"type":"string"}},"required":["key","value"],"additionalProperties":false}},{"type":"array","items":{"type":"string"}}]}},"required":["d"],"additionalProperties":false}`, loss: "narrowed", calls: []call{{`{"d":[{"key":"a","value":"b"}]}`, `{"d":{"a":"b"}}`}, {`{"d":["x"]}`, `{"d":["x"]}`}}},
	}},
	{"a pattern for keys", `{"type":"object","properties":{"h":{"type":"object","patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"h":{"type":"object","properties":{},"description":"(keys by pattern: ^x-: string)"}}}`, loss: "lost"},
		{profile: schema.Anthropic, adapted: `{"type":"object","properties":{"h":{"type":"object","patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}}}`},
	}},
	{"a name that is required and not declared", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a","x-b"],"additionalProperties":{"type":"integer"}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"a":{"type":"string"},"x_b":{"type":"integer"}},"required":["a","x_b"]}`, note: `(other keys hold integer)`, loss: "lost", calls: []call{{`{"a":"s","x_b":1}`, `{"a":"s","x-b":1}`}}},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"a":{"type":"string"},"x_b":{"type":"integer"}},"required":["a","x_b"],"description":"(other keys hold integer)"}`, loss: "lost", calls: []call{{`{"a":"s","x_b":1}`, `{"a":"s","x-b":1}`}}},
	}},
	{"if, then, else", `{"type":"object","properties":{"kind":{"type":"string","enum":["a","b"]}},"required":["kind"],"if":{"properties":{"kind":{"const":"a"}}},"then":{"properties":{"x":{"type":"string"}}},"else":{"properties":{"y":{"type":"integer"}}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"kind":{"type":"string","enum":["a","b"]},"x":{"type":"string"},"y":{"type":"integer"}},"required":["kind"]}`, note: `(if {kind?: "a"} then {x?: string} else {y?: integer})`, loss: "lost, narrowed", calls: []call{{`{"kind":"a","x":"s"}`, `{"kind":"a","x":"s"}`}}},
		{profile: schema.OpenAI, adapted: `{"type":"object","properties":{"kind":{"type":"string","enum":["a","b"]}},"required":["kind"],"if":{"properties":{"kind":{"const":"a"}}},"then":{"properties":{"x":{"type":"string"}}},"else":{"properties":{"y":{"type":"integer"}}}}`, calls: []call{{`{"kind":"a","x":"s"}`, `{"kind":"a","x":"s"}`}}},
	}},
	{"allOf of conditions", `{"type":"object","properties":{"k":{"type":"string","enum":["a","b"]}},"required":["k"],"allOf":[{"if":{"properties":{"k":{"const":"a"}}},"then":{"properties":{"x":{"type":"string"}},"required":["x"]}},{"if":{"properties":{"k":{"const":"b"}}},"then":{"properties":{"y":{"type":"integer"}},"required":["y"]}}]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"k":{"type":"string","enum":["a","b"]},"x":{"type":"string"},"y":{"type":"integer"}},"required":["k"]}`, note: `(if {k?: "a"} then {x: string}; if {k?: "b"} then {y: integer})`, loss: "lost, narrowed", calls: []call{{`{"k":"b","x":null,"y":1}`, `{"k":"b","x":null,"y":1}`}}},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"k":{"type":"string","enum":["a","b"]},"x":{"type":["string","null"]},"y":{"type":["integer","null"]}},"required":["k","x","y"],"additionalProperties":false,"description":"(if {k?: \"a\"} then {x: string}; if {k?: \"b\"} then {y: integer})"}`, loss: "lost, narrowed", calls: []call{{`{"k":"b","x":null,"y":1}`, `{"k":"b","y":1}`}}},
	}},
	{"a nullable dictionary", `{"type":"object","properties":{"d":{"type":["null","object"],"additionalProperties":{"type":"string"}}},"required":["d"]}`, []expectation{
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"d":{"anyOf":[{"type":"null"},{"type":"array","items":{"type":"object","properties":{"key":{"type":"string"},"value":{"type":"string"}},"required":["key","value"],"additionalProperties":false}}]}},"required":["d"],"additionalProperties":false}`, loss: "narrowed", calls: []call{{`{"d":null}`, `{"d":null}`}, {`{"d":[{"key":"a","value":"b"}]}`, `{"d":{"a":"b"}}`}}},
		{profile: schema.AnthropicStrict, adapted: `{"type":"object","properties":{"d":{"anyOf":[{"type":"null"},{"type":"array","items":{"type":"object","properties":{"key":{"type":"string"},"value":{"type":"string"}},"required":["key","value"],"additionalProperties":false}}]}},"required":["d"],"additionalProperties":false}`, loss: "narrowed", calls: []call{{`{"d":null}`, `{"d":null}`}, {`{"d":[{"key":"a","value":"b"}]}`, `{"d":{"a":"b"}}`}}},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"d":{"type":"object","nullable":true,"description":"(other keys hold string)"}},"required":["d"]}`, loss: "lost", calls: []call{{`{"d":null}`, `{"d":null}`}, {`{"d":[{"key":"a","value":"b"}]}`, `{"d":[{"key":"a","value":"b"}]}`}}},
	}},
	{"a pattern for all keys", `{"type":"object","properties":{"h":{"type":"object","patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}},"required":["h"]}`, []expectation{
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"h":{"type":"array","items":{"type":"object","properties":{"key":{"type":"string"},"value":{"type":"string"}},"required":["key","value"],"additionalProperties":false},"description":"(keys by pattern: ^x-: string)"}},"required":["h"],"additionalProperties":false}`, loss: "lost, narrowed", calls: []call{{`{"h":[{"key":"x-a","value":"1"}]}`, `{"h":{"x-a":"1"}}`}}},
	}},
	{"dependentRequired", `{"type":"object","properties":{"card":{"type":"string"},"zip":{"type":"string"}},"dependentRequired":{"card":["zip"]}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"card":{"type":"string"},"zip":{"type":"string"}}}`, note: `(card needs zip)`, loss: "lost"},
		{profile: schema.Anthropic, adapted: `{"type":"object","properties":{"card":{"type":"string"},"zip":{"type":"string"}},"dependentRequired":{"card":["zip"]}}`},
	}},
	{"not", `{"type":"object","properties":{"a":{"type":"string","not":{"enum":["x"]}}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"a":{"type":"string","description":"(not \"x\")"}}}`, loss: "lost"},
	}},
	{"optional in strict mode", `{"type":"object","properties":{"a":{"type":"string"},"o":{"type":"object","properties":{"b":{"type":"integer"}}},"l":{"type":"array","items":{"type":"string"}}},"required":["a"],"additionalProperties":false}`, []expectation{
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"a":{"type":"string"},"o":{"anyOf":[{"type":"object","properties":{"b":{"type":["integer","null"]}},"additionalProperties":false,"required":["b"]},{"type":"null"}]},"l":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]}},"required":["a","o","l"],"additionalProperties":false}`, loss: "narrowed", calls: []call{{`{"a":"x","o":{"b":null},"l":null}`, `{"a":"x","o":{}}`}, {`{"a":"x","o":null,"l":["y"]}`, `{"a":"x","l":["y"]}`}, {`{"a":null}`, `{"a":null}`}}},
	}},
}

// referenceCases are references.
var referenceCases = []adaptCase{
	{"siblings", `{"type":"object","properties":{"x":{"$ref":"#/$defs/S","description":"Mine.","minLength":3}},"required":["x"],"$defs":{"S":{"type":"string","description":"Of S.","maxLength":9}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x":{"description":"Mine. (at least 3 characters; at most 9 characters)","type":"string"}},"required":["x"]}`, loss: "lost"},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"x":{"description":"Mine. (at least 3 characters; at most 9 characters)","type":"string"}},"required":["x"],"additionalProperties":false}`, loss: "lost, narrowed"},
	}},
	{"the description of the target", `{"type":"object","properties":{"x":{"$ref":"#/$defs/S","title":"X"}},"$defs":{"S":{"type":"string","description":"Of S."}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x":{"type":"string","description":"Of S."}}}`},
	}},
	{"into a property", `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}},"c":{"$ref":"#/properties/a/properties/b"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}},"c":{"type":"string"}}}`},
		{profile: schema.Moonshot, adapted: `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}},"c":{"type":"string"}}}`},
	}},
	{"escaped and encoded", `{"type":"object","properties":{"x":{"$ref":"#/definitions/a~1b%20c"}},"definitions":{"a/b c":{"type":"integer"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x":{"type":"integer"}}}`},
	}},
	{"an anchor", `{"type":"object","properties":{"x":{"$ref":"#here"}},"$defs":{"X":{"$anchor":"here","type":"integer"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x":{"type":"integer"}}}`},
	}},
	{"elsewhere", `{"type":"object","properties":{"x":{"$ref":"https://example.com/s.json","type":"string"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x":{"type":"string","description":"(see https://example.com/s.json)"}}}`, loss: "lost"},
		{profile: schema.OpenAI, adapted: `{"type":"object","properties":{"x":{"type":"string","description":"(see https://example.com/s.json)"}}}`, loss: "lost"},
	}},
	{"nowhere", `{"type":"object","properties":{"x":{"$ref":"#/$defs/Nope","type":"string","description":"D."}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x":{"type":"string","description":"D. (see #/$defs/Nope)"}}}`, loss: "lost"},
	}},
	{"to the root", `{"type":"object","properties":{"name":{"type":"string"},"child":{"$ref":"#"}}}`, []expectation{
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"name":{"type":["string","null"]},"child":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"additionalProperties":false,"required":["name","child"]}`, loss: "narrowed"},
		{profile: schema.Mistral, adapted: `{"type":"object","properties":{"name":{"type":"string"},"child":{"$ref":"#"}}}`},
	}},
	{"twice", `{"type":"object","properties":{"a":{"$ref":"#/$defs/P"},"b":{"$ref":"#/$defs/P"}},"required":["a","b"],"$defs":{"P":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"],"additionalProperties":false}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"a":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]},"b":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}},"required":["a","b"]}`, loss: "lost"},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"a":{"$ref":"#/$defs/P"},"b":{"$ref":"#/$defs/P"}},"required":["a","b"],"$defs":{"P":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"],"additionalProperties":false}},"additionalProperties":false}`, loss: "narrowed"},
	}},
}

// descriptionCases are descriptions and their notes.
var descriptionCases = []adaptCase{
	{"beside a union", `{"type":"object","properties":{"x":{"description":"Which.","anyOf":[{"type":"string"},{"type":"integer"}]}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x":{"anyOf":[{"type":"string","description":"Which."},{"type":"integer"}]}}}`},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"x":{"description":"Which.","anyOf":[{"type":"string"},{"type":"integer"}]}}}`},
	}},
	{"of a nullable", `{"type":"object","properties":{"x":{"description":"Outer.","anyOf":[{"type":"string","description":"Inner."},{"type":"null"}],"default":null}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"x":{"description":"Outer.","type":"string"}}}`},
	}},
	{"default and bounds", `{"type":"object","properties":{"n":{"type":"integer","description":"How many.","default":10,"minimum":1,"maximum":50}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"n":{"type":"integer","description":"How many. (default 10; at least 1; at most 50)"}}}`, loss: "lost"},
		{profile: schema.AnthropicStrict, adapted: `{"type":"object","properties":{"n":{"type":"integer","description":"How many. (at least 1; at most 50)","default":10}},"additionalProperties":false}`, loss: "lost, narrowed"},
	}},
	{"a default that is told already", `{"type":"object","properties":{"n":{"type":"integer","description":"How many (default 10).","default":10}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"n":{"type":"integer","description":"How many (default 10)."}}}`},
	}},
	{"format, pattern, lengths", `{"type":"object","properties":{"s":{"type":"string","description":"An address.","format":"email","pattern":"@","minLength":3,"maxLength":99}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"s":{"type":"string","description":"An address. (format email; text matching @; at least 3 characters; at most 99 characters)"}}}`, loss: "lost"},
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"s":{"type":"string","description":"An address. (format email)","pattern":"@","minLength":3,"maxLength":99}}}`, loss: "lost"},
	}},
	{"what no reader sees", `{"type":"object","properties":{"s":{"type":"string","description":"a\u0000b\u202ec"}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"s":{"type":"string","description":"abc"}}}`},
	}},
}

// realCases are schemas of real servers.
var realCases = []adaptCase{
	{"half a surrogate pair", `{"type":"object","properties":{"e":{"type":"string","enum":["a","\ud83d"]},"d":{"type":"string","description":"b\udc00","default":"c\ud83d"},"\ud800":{"type":"string","title":"\ud83d\ude00 \\ud800"}},"required":["\ud800"]}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"e":{"type":"string","enum":["a"]},"d":{"type":"string","description":"b� (default \"c\\ud83d\")"},"key_a4f48371":{"type":"string"}},"required":["key_a4f48371"]}`, loss: "narrowed", calls: []call{{`{"key_a4f48371":"x"}`, `{"\ud800":"x"}`}}},
		{profile: schema.Anthropic, adapted: `{"type":"object","properties":{"e":{"type":"string","enum":["a"]},"d":{"type":"string","description":"b�","default":"c\ufffd"},"key_a4f48371":{"type":"string","title":"\ud83d\ude00 \\ud800"}},"required":["key_a4f48371"]}`, loss: "lost, narrowed"},
	}},
	{"an enum of nothing else", `{"type":"object","properties":{"e":{"enum":["\ud83d"]},"c":{"const":{"\ud83d":["\ud83d"]}}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"e":{"enum":["\ufffd"],"type":"string"},"c":{"type":"object","properties":{},"description":"(one of {\"\\ud83d\":[\"\\ud83d\"]})"}}}`, loss: "lost"},
		{profile: schema.Anthropic, adapted: `{"type":"object","properties":{"e":{"enum":["\ufffd"]},"c":{"const":{"\ufffd":["\ufffd"]}}}}`, loss: "lost"},
	}},
	{"items of an object", `{"type":"object","properties":{"o":{"type":"object","items":{"properties":{"a-b":{"type":"string"}}}},"l":{"type":"array","properties":{"x":{"type":"integer"}}}}}`, []expectation{
		{profile: schema.Universal, adapted: `{"type":"object","properties":{"o":{"type":"object","properties":{},"description":"(items: {a-b?: string})"},"l":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object","properties":{}},{"type":"array","items":{"type":"string"}}]},"description":"(properties: {x?: integer})"}}}`, loss: "narrowed"},
		{profile: schema.Ollama, adapted: `{"type":"object","properties":{"o":{"type":"object","items":{"properties":{"a-b":{"type":"string"}}}},"l":{"type":"array","properties":{"x":{"type":"integer"}}}}}`},
		{profile: schema.Moonshot, adapted: `{"type":"object","properties":{"o":{"type":"object","description":"(items: {a-b?: string})"},"l":{"type":"array","description":"(properties: {x?: integer})"}}}`},
		{profile: schema.OpenAI, adapted: `{"type":"object","properties":{"o":{"type":"object","items":{"properties":{"a-b":{"type":"string"}}},"properties":{}},"l":{"type":"array","properties":{"x":{"type":"integer"}},"items":{}}}}`},
		{profile: schema.Anthropic, adapted: `{"type":"object","properties":{"o":{"type":"object","items":{"properties":{"a-b":{"type":"string"}}}},"l":{"type":"array","properties":{"x":{"type":"integer"}}}}}`},
	}},
	{"patterns and lengths", `{"type":"object","properties":{"a":{"type":"string","pattern":"@","maxLength":5000},"b":{"type":"string","pattern":"^[a[b]$"}}}`, []expectation{
		{profile: schema.LlamaCpp, adapted: `{"type":"object","properties":{"a":{"type":"string","description":"(text matching @; at most 5000 characters)"},"b":{"type":"string","pattern":"^[a[b]$"}}}`, loss: "lost"},
		{profile: schema.DeepSeek, adapted: `{"type":"object","properties":{"a":{"type":"string","pattern":"@","maxLength":5000},"b":{"type":"string","description":"(text matching ^[a[b]$)"}}}`, loss: "lost"},
		{profile: schema.XAI, adapted: `{"type":"object","properties":{"a":{"type":"string","pattern":"@","description":"(at most 5000 characters)"},"b":{"type":"string","pattern":"^[a[b]$"}}}`, loss: "lost"},
	}},
	{"an empty required, and a multiple that is 0 to most", `{"type":"object","properties":{"n":{"type":"number","multipleOf":1e-999999999}},"required":[]}`, []expectation{
		{profile: schema.Gemini, adapted: `{"type":"object","properties":{"n":{"type":"number"}}}`, loss: "lost"},
		{profile: schema.OpenAIStrict, adapted: `{"type":"object","properties":{"n":{"type":["number","null"]}},"required":["n"],"additionalProperties":false}`, loss: "lost, narrowed"},
	}},
}
