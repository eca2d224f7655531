package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/indusagi/indus/schema"
)

// pydanticShape is one parameter of a Python function, and the schema that Pydantic makes of the function.
type pydanticShape struct {
	title  string
	python string
	schema string
	// universal describes the result that the universal profile must return. The result has each member with its value.
	// A null means that the member must be missing. A description must contain the words that "…" separates.
	universal string
}

const (
	tagModel  = `"Tag":{"properties":{"name":{"title":"Name","type":"string"},"weight":{"default":1.0,"title":"Weight","type":"number"}},"required":["name"],"title":"Tag","type":"object"}`
	nodeModel = `"Node":{"properties":{"value":{"title":"Value","type":"integer"},"children":{"default":[],"items":{"$ref":"#/$defs/Node"},"title":"Children","type":"array"}},"required":["value"],"title":"Node","type":"object"}`
	colorEnum = `"Color":{"enum":["red","green"],"title":"Color","type":"string"}`
	levelEnum = `"Level":{"enum":[1,2,3],"title":"Level","type":"integer"}`
	circle    = `"Circle":{"properties":{"kind":{"const":"circle","title":"Kind","type":"string"},"radius":{"title":"Radius","type":"number"}},"required":["kind","radius"],"title":"Circle","type":"object"}`
	square    = `"Square":{"properties":{"kind":{"const":"square","title":"Kind","type":"string"},"side":{"title":"Side","type":"number"}},"required":["kind","side"],"title":"Square","type":"object"}`
)

var pydanticShapes = []pydanticShape{
	{
		"Optional[str] with a default", `q: Optional[str] = None`,
		`{"properties":{"q":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"Q"}},"title":"fArguments","type":"object"}`,
		`{"type":"object","properties":{"q":{"type":"string","anyOf":null}},"required":null}`,
	},
	{
		"Optional[str] without a default", `q: Optional[str]`,
		`{"properties":{"q":{"anyOf":[{"type":"string"},{"type":"null"}],"title":"Q"}},"required":["q"],"title":"fArguments","type":"object"}`,
		`{"type":"object","properties":{"q":{"type":"string","anyOf":null}},"required":null}`,
	},
	{
		"Optional[Literal]", `mode: Optional[Literal["fast", "safe"]] = None`,
		`{"properties":{"mode":{"anyOf":[{"enum":["fast","safe"],"type":"string"},{"type":"null"}],"default":null,"title":"Mode"}},"title":"fArguments","type":"object"}`,
		`{"type":"object","properties":{"mode":{"type":"string","enum":["fast","safe"],"anyOf":null}},"required":null}`,
	},
	{
		"list[Model]", `tags: list[Tag]`,
		`{"$defs":{` + tagModel + `},"properties":{"tags":{"items":{"$ref":"#/$defs/Tag"},"title":"Tags","type":"array"}},"required":["tags"],"title":"fArguments","type":"object"}`,
		`{"type":"object","properties":{"tags":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"weight":{"type":"number"}},"required":["name"]}}},"required":["tags"]}`,
	},
	{
		"dict[str, Model]", `tags: dict[str, Tag]`,
		`{"$defs":{` + tagModel + `},"properties":{"tags":{"additionalProperties":{"$ref":"#/$defs/Tag"},"title":"Tags","type":"object"}},"required":["tags"],"title":"fArguments","type":"object"}`,
		`{"type":"object","properties":{"tags":{"type":"object","description":"name: string…weight?: number"}},"required":["tags"]}`,
	},
	{
		"Optional[Model]", `tag: Optional[Tag] = None`,
		`{"$defs":{` + tagModel + `},"properties":{"tag":{"anyOf":[{"$ref":"#/$defs/Tag"},{"type":"null"}],"default":null}},"title":"fArguments","type":"object"}`,
		`{"type":"object","properties":{"tag":{"type":"object","properties":{"name":{"type":"string"},"weight":{"type":"number"}},"required":["name"],"anyOf":null}},"required":null}`,
	},
	{
		"discriminated union", `shape: Union[Circle, Square] = Field(discriminator="kind")`,
		`{"$defs":{` + circle + `,` + square + `},"properties":{"shape":{"discriminator":{"mapping":{"circle":"#/$defs/Circle","square":"#/$defs/Square"},"propertyName":"kind"},"oneOf":[{"$ref":"#/$defs/Circle"},{"$ref":"#/$defs/Square"}],"title":"Shape"}},"required":["shape"],"title":"fArguments","type":"object"}`,
		`{"type":"object","properties":{"shape":{"type":null,"oneOf":null,"anyOf":[` +
			`{"type":"object","properties":{"kind":{"type":"string","enum":["circle"]},"radius":{"type":"number"}},"required":["kind","radius"]},` +
			`{"type":"object","properties":{"kind":{"type":"string","enum":["square"]},"side":{"type":"number"}},"required":["kind","side"]}]}},"required":["shape"]}`,
	},
	{
		"union of scalars", `id: Union[int, str]`,
		`{"properties":{"id":{"anyOf":[{"type":"integer"},{"type":"string"}],"title":"Id"}},"required":["id"],"title":"fArguments","type":"object"}`,
		`{"type":"object","properties":{"id":{"type":null,"anyOf":[{"type":"integer"},{"type":"string"}]}},"required":["id"]}`,
	},
	{
		"recursive model", `tree: Node`,
		`{"$defs":{` + nodeModel + `},"properties":{"tree":{"$ref":"#/$defs/Node"}},"required":["tree"],"title":"fArguments","type":"object"}`,
		`{"type":"object","properties":{"tree":{"type":"object","properties":{"value":{"type":"integer"},` +
			`"children":{"type":"array","items":{"type":"object","description":"Node"}}},"required":["value"]}},"required":["tree"]}`,
	},
	{
		"enum of strings", `color: Color`,
		`{"$defs":{` + colorEnum + `},"properties":{"color":{"$ref":"#/$defs/Color"}},"required":["color"],"title":"fArguments","type":"object"}`,
		`{"type":"object","properties":{"color":{"type":"string","enum":["red","green"]}},"required":["color"]}`,
	},
	{
		"enum of integers", `level: Level`,
		`{"$defs":{` + levelEnum + `},"properties":{"level":{"$ref":"#/$defs/Level"}},"required":["level"],"title":"fArguments","type":"object"}`,
		`{"type":"object","properties":{"level":{"type":"integer","enum":null,"description":"1…2…3"}},"required":["level"]}`,
	},
	{
		"Annotated bounds", `limit: Annotated[int, Field(gt=0, le=100)] = 10`,
		`{"properties":{"limit":{"default":10,"exclusiveMinimum":0,"maximum":100,"title":"Limit","type":"integer"}},"title":"fArguments","type":"object"}`,
		`{"type":"object","properties":{"limit":{"type":"integer","description":"default 10…greater than 0…100"}},"required":null}`,
	},
	{
		"datetime", `at: datetime`,
		`{"properties":{"at":{"format":"date-time","title":"At","type":"string"}},"required":["at"],"title":"fArguments","type":"object"}`,
		`{"type":"object","properties":{"at":{"type":"string","description":"date-time"}},"required":["at"]}`,
	},
	{
		"tuple", `pair: tuple[int, str]`,
		`{"properties":{"pair":{"maxItems":2,"minItems":2,"prefixItems":[{"type":"integer"},{"type":"string"}],"title":"Pair","type":"array"}},"required":["pair"],"title":"fArguments","type":"object"}`,
		`{"type":"object","properties":{"pair":{"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"string"}]},"description":"2"}},"required":["pair"]}`,
	},
}

// TestUniversalKeepsTypes checks that the universal profile keeps the type of each Pydantic shape.
func TestUniversalKeepsTypes(t *testing.T) {
	for _, s := range pydanticShapes {
		t.Run(s.title, func(t *testing.T) { checkAdapted(t, s, schema.Universal, s.universal) })
	}
}

// TestProvidersKeepNull checks that null is kept for providers that can express it.
func TestProvidersKeepNull(t *testing.T) {
	const nullable, union, required = `{"properties":{%q:{"nullable":true}}}`, `{"properties":{%q:{"anyOf":[{},{"type":"null"}]}}}`,
		`{"properties":{%[1]q:{"anyOf":[{},{"type":"null"}]}},"required":[%[1]q]}`
	for _, c := range []struct {
		profile *schema.Profile
		want    string
	}{
		{schema.Gemini, nullable}, {schema.GeminiJSONSchema, union}, {schema.Anthropic, union}, {schema.AnthropicStrict, union},
		{schema.OpenAI, union}, {schema.OpenAIStrict, required}, {schema.Bedrock, union}, {schema.Mistral, union},
		{schema.Moonshot, union}, {schema.Ollama, union},
	} {
		for _, s := range pydanticShapes {
			name, _, _ := strings.Cut(s.python, ":")
			if strings.Contains(s.python, "Optional[") {
				t.Run(c.profile.Name()+"/"+s.title, func(t *testing.T) { checkAdapted(t, s, c.profile, fmt.Sprintf(c.want, name)) })
			}
		}
	}
}

// checkAdapted checks the result of one profile against wanted, which has the form of pydanticShape.universal.
func checkAdapted(t *testing.T, s pydanticShape, p *schema.Profile, wanted string) {
	t.Helper()
	a, err := schema.Adapt([]byte(s.schema), p)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal([]byte(wanted), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(a.Schema, &got); err != nil {
		t.Fatal(err)
	}
	for _, fault := range unlike(want, got, "") {
		t.Errorf("%s\nof %s", fault, a.Schema)
	}
}

// unlike returns the differences between got and want, where want has the form of pydanticShape.universal.
func unlike(want, got any, at string) []string {
	switch want := want.(type) {
	case nil:
		if got != nil {
			return []string{fmt.Sprintf("%s is %v, want none", at, got)}
		}
	case map[string]any:
		members, _ := got.(map[string]any)
		var out []string
		for name, value := range want {
			out = append(out, unlike(value, members[name], at+"/"+name)...)
		}
		return out
	case []any:
		items, _ := got.([]any)
		if len(items) != len(want) {
			return []string{fmt.Sprintf("%s has %d values, want %d", at, len(items), len(want))}
		}
		var out []string
		for i, value := range want {
			out = append(out, unlike(value, items[i], fmt.Sprintf("%s/%d", at, i))...)
		}
		return out
	case string:
		if text, _ := got.(string); text != want && !(strings.HasSuffix(at, "/description") && containsInOrder(text, want)) {
			return []string{fmt.Sprintf("%s is %v, want %q", at, got, want)}
		}
	default:
		if got != want {
			return []string{fmt.Sprintf("%s is %v, want %v", at, got, want)}
		}
	}
	return nil
}

// containsInOrder reports whether text contains, in order, the words that "…" separates.
func containsInOrder(text, words string) bool {
	for word := range strings.SplitSeq(words, "…") {
		_, after, found := strings.Cut(text, word)
		if !found {
			return false
		}
		text = after
	}
	return true
}
