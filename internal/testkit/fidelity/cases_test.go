package fidelity

import "strings"

// oddValues lists members that no decoder into structs, maps or floats preserves: numbers beyond 2^53 and
// beyond a float, equal numbers in different spellings, nulls, empty strings and keys, an unsorted order,
// needless escapes, repeated keys, and half of a surrogate pair.
const oddValues = `"zulu":1,"alpha":9007199254740993,"":"","null":null,
	"numbers":[ 1.0, 1, 1e0, 1E+2, -0, 0.10, 1e400, -1e-400, 123456789012345678901234567890 ],
	"text":"\u0041\/\"\\\b\f\n\r\t \u0000 \u2028 <&> \ud83d\ude00 \ud800 ☃ 漢字 😀   {\" , \": }",
	"k\u0065y":{"b":{"d":[],"c":{}},"a":[[ ],[null,[false,true]]]},
	"twice":1,"twice":2`

// kitchenSink is a result with unknown members at every level.
const kitchenSink = `{ "unknownMember": {` + oddValues + `},
	"resultType":"complete",
	"structuredContent": {` + oddValues + `},
	"content": [
		{"text":"","type":"text"},
		{"type":"text","annotations":{"priority":0,"audience":[],"x-unknown":null,` + oddValues + `},"text":"\u0041\/","_meta":{` + oddValues + `}},
		{"type":"hologram","depth":9007199254740993,"payload":{` + oddValues + `}},
		{` + oddValues + `},
		{"type":"resource_link","uri":"test://link","name":"","size":9007199254740993,"icons":[{"src":"","x":1.0}]},
		{"type":"resource","resource":{"uri":"test://text","text":"","blob":null,"_meta":{"com.example/a":1.0}}},
		{"data":"iVBORw0KGgo=","type":"image","mimeType":"image/png"},
		null, 42, "a block that is none", []
	],
	"isError":false,
	"_meta": { "com.example/n":9007199254740993, "io.modelcontextprotocol/serverInfo":{"name":"mcpfixture","version":"0"}, ` + oddValues + ` },
	"ttlMs":5, "toolResult":null }`

// resultCases returns results that have to reach the client unchanged.
func resultCases() map[string]string {
	deep := strings.Repeat(`{"a":[`, 1000) + strings.Repeat(`]}`, 1000)
	return map[string]string{
		"something unknown at every level": kitchenSink,
		"nothing at all":                   `{}`,
		"no content":                       `{"isError":false}`,
		"an error of the tool":             `{"content":[{"type":"text","text":"\u0041"}],"isError":true,"code":9007199254740993}`,
		"content that is none":             `{"content":null,"structuredContent":null}`,
		"an array":                         `{"content":[],"structuredContent":[1.0,{"b":1,"a":null},9007199254740993]}`,
		"a string":                         `{"structuredContent":"\u0041 \/","content":[]}`,
		"a number":                         `{"content":[],"structuredContent":1e400}`,
		"a boolean":                        `{"content":[],"structuredContent":false}`,
		"keys with escapes":                `{"\u0069sError":false,"cont\u0065nt":[],"structured\u0043ontent":{}}`,
		"members that stand twice":         `{"x":1,"content":[],"x":2}`,
		"an empty _meta":                   `{"_meta":{},"content":[]}`,
		"only the hop's own":               `{"resultType":"complete","_meta":{"io.modelcontextprotocol/a":1},"ttlMs":0,"cacheScope":"private"}`,
		"a thousand levels":                `{"content":[],"x":` + deep + `}`,
	}
}

// tenMegabytes returns the inside of a string with everything that a scanner has to check in strings:
// escapes, quotes, brackets, and characters of several bytes.
func tenMegabytes() string {
	piece := `\u0041\/ \"quoted\" {\"\\\": [☃]} \ud83d\ude00 \n1.0 9007199254740993,  x ` +
		strings.Repeat("plain  text, ", 1000)
	return strings.Repeat(piece, 10_000_000/len(piece)+1)
}

// argumentCases returns params without the name. "io.modelcontextprotocol/HOP":0 stands for the client's
// own members.
func argumentCases() map[string]string {
	const meta = `"_meta":{"io.modelcontextprotocol/HOP":0,"com.example/n":9007199254740993,"":null,"x":{` +
		oddValues + `}}`
	return map[string]string{
		"pretty-printed":         "{\n\t" + meta + ",\r\n\t\"arguments\": {\r\n\t\t" + oddValues + "\n\t}\n}",
		"unknown params":         `{"unknown":{` + oddValues + `},"arguments":{},"task":null,"\u0078":1.0,` + meta + `}`,
		"no arguments":           `{` + meta + `}`,
		"null":                   `{"arguments":null,` + meta + `}`,
		"an array":               `{"arguments":[9007199254740993,{"b":1,"a":1.0}],` + meta + `}`,
		"a string":               `{"arguments":"{\"a\":1}",` + meta + `}`,
		"a number":               `{` + meta + `,"arguments":1e400}`,
		"a boolean":              `{` + meta + `,"arguments":false}`,
		"nothing but the hop's":  `{"_meta":{"io.modelcontextprotocol/HOP":0,"progressToken":"t"},"arguments":{"":""}}`,
		"answers to a question":  `{"inputResponses":{"a":{"action":"accept","content":{"n":1.0}}},"requestState":"\u0041\/","arguments":{},` + meta + `}`,
		"name and token below":   `{"arguments":{"name":"x","progressToken":1,"_meta":{"io.modelcontextprotocol/x":1}},` + meta + `}`,
		"a token among the rest": `{"_meta":{"io.modelcontextprotocol/HOP":0,"a":1,"progressToken":9007199254740993,"b":2.0},"arguments":{}}`,
	}
}

// toolRows lists the tools that the tests call.
const toolRows = `{"name":"fidelity","inputSchema":{"type":"object"}},
	{"name":"echo_raw","inputSchema":{"type":"object"}},
	{"name":"say","inputSchema":{"type":"object"}},
	{"name":"rpcerror","inputSchema":{"type":"object"}},
	{"name":"progress","inputSchema":{"type":"object"}},
	{"name":"hang","inputSchema":{"type":"object"}}`

// oddRows lists tools with bytes that have to stay unchanged. Only their name and a schema of type object
// are known.
const oddRows = `{ "title":"", "icons":[{"src":"data:,","sizes":null,"x":1.0}],
		"annotations":{"readOnlyHint":false,"title":null,"x-unknown":[ ],"priority":0.10},
		"outputSchema":{"type":["object","null"],"properties":{"zulu":{"const":9007199254740993},"alpha":{}}},
		"execution":{"taskSupport":"optional","x":null},
		"name":"odd",
		"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{
			"zulu":{"type":"integer","maximum":9007199254740993,"multipleOf":1.0,"default":1e2},
			"alpha":{"description":"","type":["string","null"],"default":null,"enum":["\u0041\/",null,1,1.0],"pattern":"^\\d+(?!x)$"},
			"":{"$ref":"#/$defs/\u0061"},"anything":true,"nothing":false},
			"additionalProperties":{"type":"number"},"$defs":{"a":{"anyOf":[{},{"type":"null"}]}},"$comment":"order matters",
			"required":["zulu",""],"type":"object"},
		"description":"\u0041\/ ☃ \ud83d\ude00 <&>",
		"futureMember":{"n":1e400,"twice":1,"twice":2},
		"_meta":{"com.example/n":9007199254740993,"io.modelcontextprotocol/x":null,"":[]} },
	{"inputSchema":{"type":"object"},"n\u0061me":"odd_\u006eame"},
	{"name":"no description","inputSchema":{"type":"object","properties":null,"required":null}},
	{"description":null,"name":"a_name_that_is_much_too_long_to_be_taken_by_any_provider_of_models","inputSchema":{ "type" : "object" },"outputSchema":false}`
