package protocol_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/internal/wire"
)

func TestMend(t *testing.T) {
	const in = `"name":"t","inputSchema":{"type":"object"}`
	for _, tt := range []struct{ tool, legacy, modern, flaws string }{
		{`{` + in + `}`, "", "", ""},
		{`{ "title" : null , ` + in + `}`, `{` + in + `}`, `{` + in + `}`, "/title title is null"},
		{`{` + in + `,"title":5,"x":null}`, `{` + in + `,"x":null}`, `{` + in + `,"x":null}`, "/title title is of a wrong type: 5"},
		{`{` + in + `,"annotations":{"readOnlyHint":null,"x":1,"readOnlyHint":null}}`, `{` + in + `,"annotations":{"x":1}}`, `{` + in + `,"annotations":{"x":1}}`,
			"/annotations/readOnlyHint annotations.readOnlyHint is null|/annotations/readOnlyHint annotations.readOnlyHint is null"},
		{`{` + in + `,"icons":[{"src":"a","sizes":"1x1"},{}]}`, `{` + in + `,"icons":[{"src":"a"}]}`, `{` + in + `,"icons":[{"src":"a"}]}`,
			`/icons/sizes icons.sizes is of a wrong type: "1x1"|/icons an icon has no src`},
		{`{"inputSchema":{"type":"object","required":["a",null],"properties":{"a/b":true,"b":false,"c":{"d":true},"d":null}}}`,
			`{"inputSchema":{"type":"object","required":["a"],"properties":{"a/b":{},"b":{"not":{}},"c":{"d":true},"d":{}}}}`,
			`{"inputSchema":{"type":"object","required":["a"],"properties":{"a/b":true,"b":false,"c":{"d":true},"d":{}}}}`,
			"/inputSchema/required inputSchema.required names null|/inputSchema/properties/a~1b true stands for a property's schema (legacy clients)|" +
				"/inputSchema/properties/b false stands for a property's schema (legacy clients)|/inputSchema/properties/d null stands for a property's schema"},
		{`{` + in + `,"outputSchema":{"type":"array"}}`, `{` + in + `}`, "", `/outputSchema outputSchema is not of type "object" (legacy clients)`},
		{`{` + in + `,"outputSchema":{"type":"object","required":null}}`, `{` + in + `,"outputSchema":{"type":"object"}}`, `{` + in + `,"outputSchema":{"type":"object"}}`,
			"/outputSchema/required outputSchema.required is null"},
		{`{` + in + `,"description":"\uD83D\ude00 \ud83d \\ud83d \udE00\ud83d"}`, `{` + in + `,"description":"\uD83D\ude00 \ufffd \\ud83d \ufffd\ufffd"}`,
			`{` + in + `,"description":"\uD83D\ude00 \ufffd \\ud83d \ufffd\ufffd"}`, " it has half a character (a lone surrogate)"},
		{`{` + in + `,"_meta":{"a":[1e400,-1e400,1e-400,1E308,12345678901234567890]}}`, `{` + in + `,"_meta":{"a":[1.7976931348623157e+308,-1.7976931348623157e+308,1e-400,1E308,12345678901234567890]}}`,
			`{` + in + `,"_meta":{"a":[1.7976931348623157e+308,-1.7976931348623157e+308,1e-400,1E308,12345678901234567890]}}`, " it has a number beyond 1.8e308"},
	} {
		legacy, flaws := protocol.Mend(json.RawMessage(tt.tool), true)
		modern, _ := protocol.Mend(json.RawMessage(tt.tool), false)
		var found []string
		for _, f := range flaws {
			found = append(found, f.Path+" "+f.String())
		}
		want := func(s string) string {
			if s == "" {
				return tt.tool
			}
			return s
		}
		if diff := cmp.Diff([]string{want(tt.legacy), want(tt.modern), tt.flaws},
			[]string{string(legacy), string(modern), strings.Join(found, "|")}); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tt.tool, diff)
		}
		if again, flaws := protocol.Mend(legacy, true); string(again) != string(legacy) || flaws != nil {
			t.Errorf("%s mended twice is %s: %v", tt.tool, again, flaws)
		}
	}
}

func TestADeepToolIsNotShown(t *testing.T) {
	for depth, shown := range map[int]bool{98: true, 99: false, 9_000: false} {
		tool := `{"name":"t","_meta":{"a":` + strings.Repeat("[", depth) + strings.Repeat("]",
			depth) + `},"inputSchema":{"type":"object"}}`
		if mended, flaws := protocol.Mend(json.RawMessage(tool), false); (mended != nil) != shown || shown != (flaws == nil) {
			t.Errorf("%d: %s %v", depth, mended, flaws)
		}
	}
}

func TestMendResult(t *testing.T) {
	for _, tt := range []struct{ result, legacy, modern string }{
		{`{"content":[],"structuredContent":{"a":1},"isError":false}`, "", ""},
		{`{"content":[],"structuredContent":[1]}`, `{"content":[{"type":"text","text":"[1]"}]}`, ""},
		{`{"structuredContent":"x"}`, `{"content":[{"type":"text","text":"\"x\""}]}`, `{"structuredContent":"x","content":[]}`},
		{`{}`, `{"content":[]}`, `{"content":[]}`},
		{`{"resultType":"complete"}`, `{"resultType":"complete","content":[]}`, `{"resultType":"complete","content":[]}`},
		{`{"resultType":"input_required","inputRequests":{}}`, "", ""},
		{`{"task":{}}`, "", ""},
		{`{"content":[{"type":"text","text":"a"}],"structuredContent":null}`, `{"content":[{"type":"text","text":"a"}]}`, ""},
		{`{"content":[],"isError":null,"_meta":null}`, `{"content":[]}`, `{"content":[]}`},
		{`{"content":null,"structuredContent":1}`, `{"content":[{"type":"text","text":"1"}]}`, `{"content":[],"structuredContent":1}`},
		{`{"content":[{"type":"text","text":"null"},{"type":"x","keep":null},null]}`, "", ""},
		{`{"content":[{"type":"text","text":"a\ud83d","annotations":null,"_meta":null,"x":null},{"type":"resource","resource":{"uri":"a:b","mimeType":null,"text":""},"annotations":{"audience":null,"x":null}}]}`,
			`{"content":[{"type":"text","text":"a\ufffd","x":null},{"type":"resource","resource":{"uri":"a:b","text":""},"annotations":{"x":null}}]}`,
			`{"content":[{"type":"text","text":"a\ufffd","x":null},{"type":"resource","resource":{"uri":"a:b","text":""},"annotations":{"x":null}}]}`},
		{`{"content":[],"_meta":{"progressToken":null,"a":1}}`, `{"content":[],"_meta":{"a":1}}`, `{"content":[],"_meta":{"a":1}}`},
		{`{"content":[],"_meta":{"progressToken":-1}}`, "", ""},
		{`{"content":["\ud83d"]}`, `{"content":["\ufffd"]}`, `{"content":["\ufffd"]}`},
		{`{"content":null,"content":["\ud83d"]}`, `{"content":null,"content":["\ufffd"]}`, `{"content":null,"content":["\ufffd"]}`},
		{`{"content":null,"content":[]}`, "", ""},
	} {
		members, err := wire.Members(json.RawMessage(tt.result))
		if err != nil {
			t.Fatal(err)
		}
		legacy := protocol.MendResult(json.RawMessage(tt.result), members, true)
		modern := protocol.MendResult(json.RawMessage(tt.result), members, false)
		if string(legacy) != tt.legacy || string(modern) != tt.modern {
			t.Errorf("%s: legacy %s, modern %s", tt.result, legacy, modern)
		}
	}
}

// compiles is a program that prints which schemas on stdin the TypeScript SDK 1 compiles.
const compiles = `
const { AjvJsonSchemaValidator } = require("@modelcontextprotocol/sdk/validation/ajv-provider.js");
console.warn = console.error = () => {};
console.log(JSON.stringify(JSON.parse(require("fs").readFileSync(0, "utf8")).map(s => {
  try { new AjvJsonSchemaValidator().getValidator(s); return true } catch { return false }
})));
`

// TestWhatIsShownCompiles checks Ajv with every keyword and every kind of value, and with patterns.
// Ajv must compile every schema that legacy clients see, and must refuse nearly all schemas that
// are left out.
func TestWhatIsShownCompiles(t *testing.T) {
	var schemas []string
	add := func(s string) { schemas = append(schemas, s) }
	for _, key := range strings.Fields(`type nullable enum const required properties patternProperties additionalProperties propertyNames
		dependencies dependentRequired dependentSchemas minProperties maxProperties items prefixItems additionalItems contains minContains
		minItems maxItems uniqueItems minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format
		allOf anyOf oneOf not if then else $ref $id id $schema $comment $defs definitions $anchor $dynamicRef $recursiveRef $async title default examples
		readOnly contentEncoding discriminator unevaluatedProperties x-note`) {
		for _, value := range []string{"null", "true", "false", "0", "-1", "1.5", `""`, `"string"`, `"(?i)x"`, `"#"`,
			`"#/properties/a"`, "[]", "{}", `["string","null"]`,
			`["a"]`, "[{}]", `[null]`, `{"a":{}}`, `{"a":["b"]}`, `{"a":null}`, `{"type":"string"}`, `{"(":{}}`, `{"$data":"1/a"}`} {
			add(fmt.Sprintf(`{"type":"object","properties":{"a":{%q:%s}}}`, key, value))
			add(fmt.Sprintf(`{"type":"object","properties":{"a":{"type":"string",%q:%s},"b":{"$ref":"#/properties/a"}}}`, key,
				value))
		}
	}
	for _, ref := range []string{"#/$defs/a", "#/$defs/a~1b", "#/$defs/%25", "#/$defs/%", "#a", "a.json", "#/$defs",
		"#/$defs/list/0", "#/$defs/list/01", "#/$defs/list/9", "#/", "", "#/$defs/loop", "#/$defs/text"} {
		add(fmt.Sprintf(`{"type":"object","$defs":{"a":{},"a/b":{"$ref":"#"},"%%":{},"list":[{}],"loop":{"$ref":"#/$defs/loop","title":"x"},"text":"x"},"properties":{"x":{"$ref":%q}}}`, ref))
	}
	for _, id := range []string{"", "#", "x", "a/b.json", "https://example.com/a.json", "https://example.com/a.json#",
		"https://example.com:8080/", "https://example.com", "urn:x:y", "urn:uuid:1", "urn:x",
		"2020-01-01T00:00:00Z", "a:b:c", "://", "https://[", "http://a b/", "%", "#a", "https://example.com/#a", "//example.com/a", "/a", "../a", "?a", "http://json-schema.org/draft-07/schema#", "mailto:a@b", "data:,"} {
		add(fmt.Sprintf(`{"type":"object","$id":%q,"$defs":{"a":{}},"properties":{"a":{"$ref":"#/$defs/a"}}}`, id))
		for _, key := range []string{"title", "x-note", "default", "$defs", "properties"} {
			add(fmt.Sprintf(`{"type":"object",%[1]q:{"a":{"$id":%[2]q},"b":{"$id":%[2]q}}}`, key, id))
			add(fmt.Sprintf(`{"type":"object",%[1]q:{"a":{"$anchor":%[2]q},"b":{"$anchor":%[2]q}}}`, key, id))
		}
	}
	atoms := []string{"a", ".", `\d`, `\-`, `\_`, `\/`, `\1`, `\0`, `\01`, `\x41`, `\x4`, `\u0041`, `\u{1f600}`,
		`\u{110000}`, `\ud83d\ude00`, `\p{L}`, `\p{Lu}`, `\pL`, `\p{x}`,
		`\cA`, `\c1`, `\k<n>`, `\b`, `\B`, `\A`, `\z`, `\Z`, `\Q`, "^", "$", "(a)", "(?:a)", "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?<n>a)", "(?P<n>a)", "(?i)a", "(?i:a)", "(?#a)",
		"(", ")", "[", "]", "{", "}", "[]", "[^]", "[a-z]", "[z-a]", `[\w-]`, `[\w-z]`, `[a-\d]`, `[\-a]`, `[\_]`, `[[:alpha:]]`, `[\b]`, `[\1]`, `[-a]`, `[a-]`, `[--a]`, `[^\]]`, "|", "é", "😀", `[😀-😂]`, `[\ud83d\ude00-\ud83d\ude02]`}
	for _, a := range atoms {
		for _, tail := range []string{"", "*", "+?", "{2}", "{2,}", "{3,2}", "{,2}", "{a}", "**", "(x)(?<n>y)", "|"} {
			quoted, _ := json.Marshal(a + tail)
			add(fmt.Sprintf(`{"type":"object","properties":{"a":{"pattern":%s}}}`, quoted))
		}
	}
	cmd := exec.Command(peers.Node(t), "-e", compiles)
	cmd.Dir = filepath.Join("..", "..", "testdata", "peers")
	cmd.Stdin = strings.NewReader("[" + strings.Join(schemas, ",") + "]")
	out, err := cmd.Output()
	var good []bool
	if err == nil {
		err = json.Unmarshal(out, &good)
	}
	if err != nil || len(good) != len(schemas) {
		t.Fatalf("%v: %s", err, out)
	}
	needless := 0
	for i, s := range schemas {
		mended, _ := protocol.Mend(json.RawMessage(`{"outputSchema":`+s+`}`), true)
		_, shown := wire.Lookup(mended, "outputSchema")
		switch {
		case shown && !good[i]:
			t.Errorf("shown, and Ajv cannot compile it: %s", s)
		case !shown && good[i]:
			needless++
			t.Logf("withheld, and Ajv compiles it: %s", s)
		}
	}
	if needless > len(schemas)/10 {
		t.Errorf("%d of %d schemas are withheld that Ajv compiles", needless, len(schemas))
	}
}
