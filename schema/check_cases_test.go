package schema_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/indusagi/indus/schema"
)

// checkCase is a schema with the findings for one consumer.
type checkCase struct {
	name, raw string
	want      []string // a path and a rule each
}

// checks are statements of the providers' documentation and observed refusals, by profile.
var checks = []struct {
	profile *schema.Profile
	cases   []checkCase
}{
	{schema.Universal, universalChecks},
	{schema.Flat, []checkCase{
		{"a union", inside(`{"anyOf":[{"type":"string"},{"type":"integer"}]}`), []string{"/properties/x/anyOf unlisted"}},
		{"what everybody takes", plain, nil},
	}},
	{schema.Anthropic, anthropicChecks},
	{schema.AnthropicStrict, anthropicStrictChecks},
	{schema.OpenAI, openAIChecks},
	{schema.OpenAIStrict, openAIStrictChecks},
	{schema.Gemini, geminiChecks},
	{schema.GeminiJSONSchema, geminiJSONChecks},
	{schema.Bedrock, []checkCase{
		{"what everybody takes", plain, nil},
		{"no type at the root", `{"oneOf":[{"type":"object"}]}`, []string{" root", "/oneOf keyword"}},
		{"a list of types", inside(`{"type":["string","number"]}`), []string{"/properties/x/type type"}},
		{"an exclusive bound", inside(`{"type":"integer","exclusiveMinimum":0}`), nil},
		{"half a surrogate pair", `{"type":"object","properties":{"a\udc00":{"enum":["\ud83d","\ud83d\ude00","\\ud800"],"examples":[["\ud800\u0041"]]}}}`, []string{
			"/properties/a\ufffd json", "/properties/a\ufffd/enum/0 json", "/properties/a\ufffd/examples/0/0 json", "/properties/a\ufffd key",
		}},
		{"a name with a space", `{"type":"object","properties":{"Account Number":{"type":"string"}}}`, []string{"/properties/Account Number key"}},
		{"a name with a space inside", inside(`{"type":"object","properties":{"Account Number":{"type":"string"}}}`), nil},
	}},
	{schema.BedrockNova, []checkCase{
		{"the documentation's example", `{"type":"object","properties":{"sign":{"type":"string",
			"description":"The call sign for the radio station"}},"required":["sign"]}`, nil},
		{"more at the top", `{"type":"object","description":"x","additionalProperties":false,"$schema":"s","properties":{}}`, []string{
			"/description keyword", "/additionalProperties keyword", "/$schema keyword",
		}},
		{"a union", inside(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), []string{"/properties/x/anyOf unlisted"}},
	}},
	{schema.Mistral, []checkCase{
		{"what everybody takes", plain, nil},
		{"a boolean bound", inside(`{"anyOf":[{"type":"array","items":{"type":"integer","exclusiveMinimum":true,"minimum":0}}]}`), []string{
			"/properties/x/anyOf/0/items/exclusiveMinimum form",
		}},
		{"its own dialect", `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"x","type":"object"}`, []string{
			"/$schema keyword", "/$id keyword",
		}},
	}},
	{schema.Moonshot, moonshotChecks},
	{schema.DeepSeek, []checkCase{
		{"what everybody takes", plain, nil},
		{"no type at the root", `{"properties":{}}`, []string{" root"}},
		{"patterns", `{"type":"object","properties":{"a":{"pattern":"^[^/\\\\\\0]+$"},"b":{"pattern":"[a[b]"},"c":{"pattern":"(?!x)y"},"d":{"pattern":"^[]a\\[]+[^]b]$"}}}`, []string{
			"/properties/a/pattern pattern", "/properties/b/pattern pattern", "/properties/c/pattern pattern",
		}},
	}},
	{schema.XAI, []checkCase{
		{"lengths and counts", inside(`{"type":"array","minItems":1,"items":{"type":"string","maxLength":3,"pattern":"a"}}`), []string{
			"/properties/x/minItems keyword", "/properties/x/items/maxLength keyword",
		}},
	}},
	{schema.Groq, []checkCase{
		{"required without properties", `{"type":"object","required":[]}`, []string{" properties", " required"}},
		{"inside", inside(`{"type":"object","required":[]}`), []string{"/properties/x required"}},
		{"inside, without required", inside(`{"type":"object"}`), nil},
	}},
	{schema.BedrockStrict, []checkCase{
		{"counts", closed(`{"type":"array","maxItems":3,"items":{"type":"string"}}`), []string{"/properties/x/maxItems unlisted"}},
		{"an object that is open", inside(`{"type":"string"}`), []string{" closed"}},
	}},
	{schema.CerebrasStrict, []checkCase{
		{"an object that is open", inside(`{"type":"array","minItems":1,"items":{"type":"string"}}`), []string{" closed", "/properties/x/minItems keyword"}},
	}},
	{schema.LlamaCpp, []checkCase{
		{"patterns", `{"type":"object","properties":{"a":{"pattern":"@"},"b":{"pattern":"^(?!a)b$"},"c":{"pattern":"^[a-z]+$"}}}`, []string{
			"/properties/a/pattern pattern", "/properties/b/pattern pattern",
		}},
		{"lengths", inside(`{"type":"string","minLength":1,"maxLength":2000}`), []string{"/properties/x/maxLength limit"}},
		{"the longest", inside(`{"type":"array","minItems":1999,"maxItems":1997,"items":{"type":"string","maxLength":1999}}`), nil},
		{"counts", inside(`{"type":"array","maxItems":1998,"items":{"type":"string"}}`), []string{"/properties/x/maxItems limit"}},
	}},
	{schema.Ollama, []checkCase{
		{"what everybody takes", plain, nil},
		{"what it drops", `{"type":"object","title":"T","properties":{"x":{"type":["string","null"],"default":null,"minLength":"1"}}}`, []string{
			"/title unlisted", "/properties/x/default unlisted", "/properties/x/minLength unlisted",
		}},
		{"what it cannot read", `{"type":"object","properties":{"x":true,"y":"string"}}`, []string{"/properties/x boolean", "/properties/y form"}},
	}},
}

// plain is a schema that every consumer accepts.
const plain = `{"type":"object","properties":{
	"name":{"type":"string","description":"Who.","enum":["a","b"]},
	"sizes":{"type":"array","items":{"type":"integer"}},
	"more":{"type":"object","properties":{"deep":{"type":"boolean"}},"required":["deep"]},
	"free":{"type":"object","properties":{}}
},"required":["name"]}`

var universalChecks = []checkCase{
	{"what everybody takes", plain, nil},
	{"nothing to say", `{"type":"object","properties":{}}`, nil},
	{"a union", inside(`{"anyOf":[{"type":"string","description":"d"},{"type":"object","properties":{}}]}`), nil},
	{"an empty object", `{}`, []string{" root", " properties"}},
	{"Optional[str] of Pydantic", inside(`{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"X"}`), []string{
		"/properties/x/anyOf/1/type type", "/properties/x/default unlisted", "/properties/x/title unlisted",
	}},
	{"a type and a description beside anyOf", inside(`{"type":"string","description":"d","anyOf":[{"type":"string"}]}`), []string{
		"/properties/x/type type", "/properties/x/description keyword",
	}},
	{"a reference", inside(`{"$ref":"#/$defs/a"}`), []string{"/properties/x type", "/properties/x/$ref unlisted"}},
	{"an empty required", `{"type":"object","properties":{},"required":[]}`, []string{"/required required"}},
	{"an undeclared property", `{"type":"object","properties":{},"required":["a"]}`, []string{"/required/0 required"}},
	{"true for a schema", inside(`true`), []string{"/properties/x boolean"}},
	{"an enum of another type", inside(`{"type":"integer","enum":["1"]}`), []string{"/properties/x/enum/0 enum"}},
	{"numbers in an enum", inside(`{"type":"integer","enum":[1]}`), []string{"/properties/x/enum/0 enum"}},
	{"no values in an enum", inside(`{"type":"string","enum":[]}`), []string{"/properties/x/enum enum"}},
	{"properties of a string", inside(`{"type":"string","properties":{},"items":{"type":"string"}}`), []string{
		"/properties/x/properties keyword", "/properties/x/items keyword",
	}},
	{"names", `{"type":"object","properties":{"a-b":{"type":"string"},"1a":{"type":"string"},"":{"type":"string"},
		"anyOf":{"type":"string"},"required":{"type":"string"}}}`, []string{
		"/properties/a-b key", "/properties/1a key", "/properties/ key", "/properties/anyOf key", "/properties/required key",
	}},
	{"a keyword of nobody's", inside(`{"type":"string","x-foo":1}`), []string{"/properties/x/x-foo unlisted"}},
}

var anthropicChecks = []checkCase{
	{"the documentation's example", `{"type":"object","properties":{"location":{"type":"string",
		"description":"The city and state, e.g. San Francisco, CA"},"unit":{"type":"string","enum":["celsius","fahrenheit"]}},
		"required":["location"]}`, nil},
	{"Pydantic's shapes", `{"$defs":{"Node":{"type":"object","title":"Node","properties":{
		"next":{"anyOf":[{"$ref":"#/$defs/Node"},{"type":"null"}],"default":null},
		"kind":{"const":"leaf"},"size":{"exclusiveMinimum":0,"type":"integer"}}}},
		"type":"object","properties":{"root":{"$ref":"#/$defs/Node","description":"d"}},"additionalProperties":false}`, nil},
	{"not and if at the root", `{"type":"object","not":{"required":["a","b"]},"if":{"required":["a"]},"then":{"required":["b"]}}`, nil},
	{"an OpenAPI word", inside(`{"type":"string","nullable":true,"example":"e","x-foo":[1]}`), nil},
	{"combinators at the root", `{"type":"object","oneOf":[{}],"allOf":[{}],"anyOf":[{}]}`, []string{
		"/oneOf keyword", "/allOf keyword", "/anyOf keyword",
	}},
	{"combinators inside", inside(`{"oneOf":[{"type":"string"},{"allOf":[{"minLength":1}]}]}`), nil},
	{"no type at the root", `{"properties":{}}`, []string{" root"}},
	{"a list for the root's type", `{"type":["object"]}`, []string{"/type root"}},
	{"another root", `{"type":"array","items":{}}`, []string{"/type root"}},
	{"a boolean bound", inside(`{"type":"integer","exclusiveMinimum":true,"minimum":0}`), []string{"/properties/x/exclusiveMinimum form"}},
	{"items that are a list", inside(`{"type":"array","items":[{"type":"string"}]}`), []string{"/properties/x/items form"}},
	{"an unknown type", inside(`{"type":"string[]"}`), []string{"/properties/x/type form"}},
	{"null for required", `{"type":"object","required":null}`, []string{"/required form"}},
	{"true for required", inside(`{"type":"string","required":true}`), []string{"/properties/x/required form"}},
	{"required among the properties", `{"type":"object","properties":{"coin":{"type":"string"},"required":["coin"]}}`, []string{
		"/properties/required form",
	}},
	{"required twice", `{"type":"object","required":["a","a"]}`, []string{"/required form"}},
	{"a list for properties", `{"type":"object","properties":[]}`, []string{"/properties form"}},
	{"an object for enum", inside(`{"enum":{"a":1}}`), []string{"/properties/x/enum form"}},
	{"a number for pattern", inside(`{"pattern":5}`), []string{"/properties/x/pattern form"}},
	{"a string for description", inside(`{"description":["d"]}`), []string{"/properties/x/description form"}},
	{"an empty union", inside(`{"anyOf":[]}`), []string{"/properties/x/anyOf form"}},
	{"lengths", inside(`{"minLength":-1,"maxLength":1.5,"minItems":2.0,"maxItems":1e400,"multipleOf":0}`), []string{
		"/properties/x/minLength form", "/properties/x/maxLength form", "/properties/x/multipleOf form",
	}},
	{"lists of types", inside(`{"anyOf":[{"type":[]},{"type":["string","string"]},{"type":["string",1]},{"type":["string","null"]}]}`), []string{
		"/properties/x/anyOf/0/type form", "/properties/x/anyOf/1/type form", "/properties/x/anyOf/2/type form",
	}},
	{"dependencies", `{"type":"object","dependentRequired":{"a":"b"},"dependentSchemas":{"a":["b"]},"dependencies":{"a":["b"],"c":5}}`, []string{
		"/dependentRequired form", "/dependentSchemas/a form", "/dependencies/c form",
	}},
	{"additionalProperties of no kind", inside(`{"additionalProperties":"string"}`), []string{"/properties/x/additionalProperties form"}},
	{"keys at the root", `{"type":"object","properties":{"filter[id]":{},"a.b-c_9":{},"会社":{},"StartTime<":{},"$top":{}}}`, []string{
		"/properties/filter[id] key", "/properties/会社 key", "/properties/StartTime< key", "/properties/$top key",
	}},
	{"keys inside", inside(`{"properties":{"filter[id]":{}}}`), nil},
	{"references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"},"b":{"$ref":"#/$defs/b"},
		"c":{"$ref":"https://example.com/s.json"},"d":{"$ref":"#/properties/a"},"e":{"$ref":"#anchor"},"f":{"$ref":"#no"},
		"g":{"$ref":"#/%24defs/x~1y"},"h":{"$ref":"#/$defs/list/anyOf/1"},"i":{"$ref":"#/$defs/list/anyOf/01"},"j":{"$ref":"#/type"}},
		"$defs":{"a":{"$anchor":"anchor"},"x/y":{},"list":{"anyOf":[{},{}]}}}`, []string{
		"/properties/b/$ref ref", "/properties/c/$ref ref", "/properties/f/$ref ref", "/properties/i/$ref ref", "/properties/j/$ref ref",
	}},
	{"references to references", `{"type":"object","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"},"c":{"$ref":"#/$defs/d"},"d":{}}}`, []string{
		"/$defs/a/$ref ref", "/$defs/b/$ref ref",
	}},
}

var anthropicStrictChecks = []checkCase{
	{"the documentation's example", `{"type":"object","properties":{"location":{"type":"string","description":"d"},
		"unit":{"type":"string","enum":["celsius","fahrenheit"]}},"required":["location"],"additionalProperties":false}`, nil},
	{"what it takes", `{"type":"object","additionalProperties":false,"properties":{
		"when":{"type":"string","format":"date-time"},"link":{"type":"string","format":"uri"},
		"list":{"type":"array","items":{"$ref":"#/$defs/a"},"minItems":1},"maybe":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null},
		"fix":{"type":"string","const":"x"}},"$defs":{"a":{"type":"integer","enum":[1,2.5,true,null]}}}`, nil},
	{"an open object", `{"type":"object","properties":{"a":{"type":"object","properties":{}},
		"b":{"type":"object","properties":{},"additionalProperties":true}},"additionalProperties":{"type":"string"}}`, []string{
		"/properties/a closed", "/properties/b/additionalProperties closed", "/additionalProperties closed",
	}},
	{"constraints", closed(`{"type":"string","minLength":1,"pattern":"a"}`), []string{
		"/properties/x/minLength unlisted", "/properties/x/pattern unlisted",
	}},
	{"another format", closed(`{"type":"string","format":"binary"}`), []string{"/properties/x/format format"}},
	{"more than one item", closed(`{"type":"array","items":{"type":"string"},"minItems":2,"maxItems":3}`), []string{
		"/properties/x/minItems bound", "/properties/x/maxItems unlisted",
	}},
	{"an enum of objects", closed(`{"type":"object","properties":{},"additionalProperties":false,"enum":[{}]}`), []string{"/properties/x/enum/0 enum"}},
	{"recursion", `{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}},"additionalProperties":false,"$defs":{
		"a":{"type":"object","properties":{"b":{"$ref":"#/$defs/b"}},"additionalProperties":false},
		"b":{"type":"array","items":{"$ref":"#/$defs/a"}},"c":{"$ref":"#/$defs/b"}}}`, []string{"/$defs/b/items/$ref recursion"}},
	{"a definition that is not used", `{"type":"object","properties":{},"additionalProperties":false,"$defs":{
		"a":{"type":"array","items":{"$ref":"#/$defs/a"}},"b":{"$ref":"#"}}}`, []string{"/$defs/a/items/$ref recursion"}},
	{"another reference", closed(`{"$ref":"https://example.com/a","description":"d"}`), []string{
		"/properties/x/$ref ref", "/properties/x/$ref ref",
	}},
	{"25 optional parameters", `{"type":"object","properties":{` + times(25, stringProperty) + `},"additionalProperties":false}`, []string{" limit"}},
	{"24 optional parameters", `{"type":"object","properties":{` + times(24, stringProperty) + `},"additionalProperties":false}`, nil},
	{"17 unions", `{"type":"object","required":[` + times(17, quotedName) + `],"properties":{` + times(17, unionProperty) + `},"additionalProperties":false}`, []string{" limit"}},
	{"16 unions", `{"type":"object","required":[` + times(16, quotedName) + `],"properties":{` + times(16, unionProperty) + `},"additionalProperties":false}`, nil},
}

var openAIChecks = []checkCase{
	{"the documentation's example", `{"type":"object","properties":{"location":{"type":"string","description":"City and country"},
		"units":{"type":["string","null"],"enum":["celsius","fahrenheit",null]}},"required":["location"],"additionalProperties":false}`, nil},
	{"a dialect", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"x":true}}`, nil},
	{"the root", `{"type":"object","properties":{},"oneOf":[{}],"anyOf":[{}],"allOf":[{}],"enum":[{}],"not":{},"const":{}}`, []string{
		"/oneOf keyword", "/anyOf keyword", "/allOf keyword", "/enum keyword", "/not keyword", "/const keyword",
	}},
	{"no properties at the root", `{"type":"object"}`, []string{" properties"}},
	{"no type at the root", `{"anyOf":[{"type":"object"}]}`, []string{" root", " properties", "/anyOf keyword"}},
	{"no properties inside", inside(`{"type":"object"}`), []string{"/properties/x objects"}},
	{"allOf inside", inside(`{"allOf":[{"type":"string"}]}`), []string{"/properties/x/allOf keyword"}},
	{"no items", inside(`{"type":"array"}`), []string{"/properties/x items"}},
	{"no items in one of the types", inside(`{"type":["string","array"]}`), []string{"/properties/x items"}},
	{"a list for properties", `{"type":"object","properties":[]}`, []string{"/properties form"}},
}

var openAIStrictChecks = []checkCase{
	{"the documentation's linked list", `{"type":"object","properties":{"linked_list":{"$ref":"#/$defs/linked_list_node"}},
		"$defs":{"linked_list_node":{"type":"object","properties":{"value":{"type":"number"},
		"next":{"anyOf":[{"$ref":"#/$defs/linked_list_node"},{"type":"null"}]}},"additionalProperties":false,"required":["next","value"]}},
		"additionalProperties":false,"required":["linked_list"]}`, nil},
	{"recursion to the root", `{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}},
		"additionalProperties":false,"required":["children"]}`, nil},
	{"numbers and strings", strict(`{"type":["string","null"],"pattern":"^@[a-zA-Z0-9_]+$","format":"email"}`), nil},
	{"bounds", strict(`{"type":"number","multipleOf":2,"minimum":-130,"exclusiveMaximum":130}`), nil},
	{"a property that is not required", closed(`{"type":"string"}`), []string{"/properties/x required"}},
	{"an open object", strict(`{"type":"object","properties":{}}`), []string{"/properties/x closed"}},
	{"a union at the root", `{"type":"object","anyOf":[{"type":"object"}],"properties":{},"additionalProperties":false}`, []string{"/anyOf unlisted"}},
	{"not supported", strict(`{"type":"string","minLength":1,"allOf":[{}],"not":{},"if":{},"default":"x","uniqueItems":true}`), []string{
		"/properties/x/minLength unlisted", "/properties/x/allOf unlisted", "/properties/x/not unlisted", "/properties/x/if unlisted",
		"/properties/x/default unlisted", "/properties/x/uniqueItems unlisted",
	}},
	{"beside a reference", `{"type":"object","properties":{"x":{"$ref":"#/$defs/a","description":"d"}},"required":["x"],
		"additionalProperties":false,"$defs":{"a":{"type":"string"}}}`, []string{"/properties/x/$ref ref"}},
	{"look-around", strict(`{"type":"string","pattern":"^(?!a)[(?=]\\1"}`), []string{"/properties/x/pattern pattern"}},
	{"a back-reference", strict(`{"type":"string","pattern":"[(?=\\]]\\\\1(a)\\1"}`), []string{"/properties/x/pattern pattern"}},
	{"neither", strict(`{"type":"string","pattern":"[(?=\\1]\\\\1\\(?=(?:a)(?<n>b)"}`), nil},
	{"another format", strict(`{"type":"string","format":"uri"}`), []string{"/properties/x/format format"}},
	{"10 levels", nested(9), nil},
	{"11 levels", nested(10), []string{"" + nestedPath(10) + " limit"}},
	{"1,001 values", strict(`{"type":"integer","enum":[` + times(1_001, digits) + `]}`), []string{" limit"}},
	{"1,000 values", strict(`{"type":"integer","enum":[` + times(1_000, digits) + `]}`), nil},
	{"long values", strict(`{"type":"string","enum":[` + times(251, longValue) + `]}`), []string{"/properties/x/enum limit"}},
	{"long values, but few", strict(`{"type":"string","enum":[` + times(250, longValue) + `]}`), nil},
}

var geminiChecks = []checkCase{
	{"what everybody takes", plain, nil},
	{"all it takes", inside(`{"type":"string","format":"date-time","title":"t","nullable":true,"minLength":1,"maxLength":9,"pattern":"a","default":"x","example":"y"}`), nil},
	{"formats of numbers", `{"type":"object","properties":{"a":{"type":"integer","format":"int64"},"b":{"type":"number","format":"float"},
		"c":{"type":"string","format":"int64"}}}`, []string{"/properties/c/format keyword"}},
	{"unknown fields", `{"$schema":"s","type":"object","properties":{"x":{"type":"number","exclusiveMinimum":0,"const":1}},"additionalProperties":false,"$defs":{}}`, []string{
		"/$schema unlisted", "/properties/x/exclusiveMinimum unlisted", "/properties/x/const unlisted", "/additionalProperties unlisted", "/$defs unlisted",
	}},
	{"a format of strings", inside(`{"type":"string","format":"uri"}`), []string{"/properties/x/format format"}},
	{"a list of types", inside(`{"type":["string","null"]}`), []string{"/properties/x/type type", "/properties/x/type type"}},
	{"no type", inside(`{"description":"d"}`), []string{"/properties/x type"}},
	{"no items", inside(`{"type":"array"}`), []string{"/properties/x items"}},
	{"items beside a union", inside(`{"type":"object","properties":{},"items":{"type":"string"}}`), []string{"/properties/x/items keyword"}},
	{"properties of a string", inside(`{"type":"string","properties":{}}`), []string{"/properties/x/properties keyword"}},
	{"an undeclared property", inside(`{"type":"object","properties":{},"required":["type"]}`), []string{"/properties/x/required/0 required"}},
	{"an enum of numbers", inside(`{"type":"integer","enum":[0,1]}`), []string{"/properties/x/enum/0 enum", "/properties/x/enum/1 enum"}},
	{"an enum of no string", inside(`{"type":"boolean","enum":["true"]}`), []string{"/properties/x/enum/0 enum"}},
	{"an empty string", inside(`{"type":"string","enum":["","a"]}`), []string{"/properties/x/enum/0 enum"}},
	{"names", `{"type":"object","properties":{"a.b":{"type":"string"},"9":{"type":"string"}}}`, []string{"/properties/a.b key", "/properties/9 key"}},
}

var geminiJSONChecks = []checkCase{
	{"the documentation's example", `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},
		"additionalProperties":false,"required":["name","age"],"propertyOrdering":["name","age"]}`, nil},
	{"what it takes", `{"$defs":{"a":{"type":"string","format":"uri"}},"type":"object","properties":{"x":{"$ref":"#/$defs/a"},
		"y":{"oneOf":[{"type":"integer","enum":[1,2.5]},{"type":"null"}]},"z":{"type":["string","null"]}},"additionalProperties":{"type":"string"}}`, nil},
	{"a dialect", `{"$schema":"s","type":"object"}`, []string{"/$schema unlisted"}},
	{"beside a reference", `{"$defs":{"a":{"type":"string"}},"type":"object","properties":{"x":{"$ref":"#/$defs/a","description":"d"}}}`, []string{
		"/properties/x/$ref ref",
	}},
	{"recursion", inside(`{"$ref":"#"}`), []string{"/properties/x/$ref recursion"}},
	{"an enum of others", inside(`{"type":"boolean","enum":[true,""]}`), []string{"/properties/x/enum/0 enum", "/properties/x/enum/1 enum"}},
	{"const and pattern", inside(`{"type":"string","const":"a","pattern":"b"}`), []string{"/properties/x/const unlisted", "/properties/x/pattern unlisted"}},
}

var moonshotChecks = []checkCase{
	{"what everybody takes", plain, nil},
	{"the specification's example", `{"type":"object","properties":{"qs":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}],
		"description":"d"},"limit":{"type":"integer","default":10}},"additionalProperties":false,"required":["qs"]}`, nil},
	{"an object without properties", `{"type":"object"}`, nil},
	{"a type beside anyOf", inside(`{"type":"string","anyOf":[{"type":"string"}]}`), []string{"/properties/x/type type"}},
	{"properties beside anyOf", inside(`{"properties":{},"anyOf":[{"type":"object"}]}`), []string{"/properties/x/properties keyword"}},
	{"branches without a type", inside(`{"anyOf":[{"required":["a"]}]}`), []string{"/properties/x/anyOf/0 type", "/properties/x/anyOf/0/required/0 required"}},
	{"a union at the root", `{"type":"object","anyOf":[{"type":"object"}]}`, []string{"/anyOf keyword"}},
	{"a schema that says nothing", inside(`{}`), []string{"/properties/x type"}},
	{"what it does not know", inside(`{"type":"string","format":"uri","pattern":"a","const":"b"}`), []string{
		"/properties/x/format unlisted", "/properties/x/pattern unlisted", "/properties/x/const unlisted",
	}},
	{"keywords of another type", inside(`{"type":"number","minLength":1}`), []string{"/properties/x/minLength keyword"}},
	{"an enum of another type", inside(`{"type":"string","enum":[1]}`), []string{"/properties/x/enum/0 enum"}},
	{"an empty enum", inside(`{"type":"string","enum":[]}`), []string{"/properties/x/enum enum"}},
	{"a reference", inside(`{"$ref":"#/$defs/a"}`), []string{"/properties/x type", "/properties/x/$ref keyword"}},
	{"reserved names", `{"type":"object","properties":{"$ref":{"type":"string"},"anyOf":{"type":"string"},"properties":{"type":"string"}}}`, []string{
		"/properties/$ref key", "/properties/anyOf key",
	}},
	{"a list of types", inside(`{"type":["string","null"],"minLength":1}`), []string{"/properties/x/type type"}},
	{"3,001 properties", `{"type":"object","properties":{` + times(3_001, stringProperty) + `}}`, []string{" limit"}},
	{"too many branches", inside(`{"anyOf":[` + times(501, func(int) string { return `{"type":"string"}` }) + `]}`), []string{"/properties/x/anyOf limit"}},
	{"too long", `{"type":"object","description":"` + times(60_000, digits) + `"}`, []string{" limit"}},
}

// closed returns a closed root with one property, x. strict also requires x.
func closed(property string) string {
	return `{"type":"object","properties":{"x":` + property + `},"additionalProperties":false}`
}

func strict(property string) string {
	return `{"type":"object","properties":{"x":` + property + `},"required":["x"],"additionalProperties":false}`
}

// nested returns n objects inside one another, in a root.
func nested(n int) string {
	if n == 0 {
		return strict(`{"type":"string"}`)
	}
	return strict(nested(n - 1))
}

// nestedPath returns the path of the object at depth n in nested.
func nestedPath(n int) string { return strings.Repeat("/properties/x", n) }

func quotedName(i int) string     { return fmt.Sprintf(`"p%d"`, i) }
func stringProperty(i int) string { return quotedName(i) + `:{"type":"string"}` }
func unionProperty(i int) string  { return quotedName(i) + `:{"type":["string","null"]}` }
func digits(i int) string         { return strconv.Itoa(i) }
func longValue(i int) string      { return fmt.Sprintf(`"%061d"`, i) }
