package bridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/operation/bridge"
)

// contextUntil returns a context that is cancelled after an event.
func contextUntil(t testing.TB, event func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); event(); cancel() }()
	return ctx, func() { <-done; cancel() }
}

// TestValues checks the operation's value for each kind of result.
func TestValues(t *testing.T) {
	declared := json.RawMessage(citySchema)
	for name, tt := range map[string]struct {
		output json.RawMessage
		result mcp.CallToolResult
		value  string
		code   operation.Code
	}{
		"structured content is the value":        {declared, mcp.CallToolResult{Content: text("rain"), StructuredContent: json.RawMessage(`{"city":"Ulm"}`)}, `{"city":"Ulm"}`, ""},
		"structured content is not content":      {declared, mcp.CallToolResult{StructuredContent: json.RawMessage(`{"city":"Ulm","more":[null]}`)}, `{"city":"Ulm","more":[null]}`, ""},
		"structured content that does not fit":   {declared, mcp.CallToolResult{Content: text("rain"), StructuredContent: json.RawMessage(`{"city":7}`)}, "", operation.InternalError},
		"structured content that is missing":     {declared, mcp.CallToolResult{Content: text(`{"city":"Ulm"}`)}, "", operation.InternalError},
		"an error needs no structured content":   {declared, mcp.CallToolResult{IsError: true, Content: text("no such city")}, "", bridge.ToolError},
		"content is the value":                   {nil, mcp.CallToolResult{Content: text("rain")}, `[{"type":"text","text":"rain"}]`, ""},
		"no content":                             {nil, mcp.CallToolResult{}, `[]`, ""},
		"JSON in a text stays text":              {nil, mcp.CallToolResult{Content: text(`{"city":"Ulm"}`)}, `[{"type":"text","text":"{\"city\":\"Ulm\"}"}]`, ""},
		"structured content nobody announced":    {nil, mcp.CallToolResult{Content: text("rain"), StructuredContent: json.RawMessage(`{"city":"Ulm"}`)}, `[{"type":"text","text":"rain"},{"type":"structured","structuredContent":{"city":"Ulm"}}]`, ""},
		"structured content nobody announced, 2": {nil, mcp.CallToolResult{StructuredContent: json.RawMessage(`{"city":"Ulm"}`)}, `[{"type":"structured","structuredContent":{"city":"Ulm"}}]`, ""},
		"all blocks": {nil, mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: ""}, &mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}, &mcp.AudioContent{Data: []byte("x"), MIMEType: "audio/wav"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x://y", Text: "t"}}, &mcp.ResourceLink{URI: "x://y", Name: "n"},
		}}, `[{"type":"text","text":""},{"type":"image","mimeType":"image/png","data":"eA=="},{"type":"audio","mimeType":"audio/wav","data":"eA=="},` +
			`{"type":"resource","resource":{"uri":"x://y","text":"t"}},{"type":"resource_link","uri":"x://y","name":"n"}]`, ""},
	} {
		for _, era := range eras {
			t.Run(name+"/"+era, func(t *testing.T) {
				tool := mcp.Tool{Name: "tool"}
				if tt.output != nil {
					tool.OutputSchema = tt.output
				}
				r := imported(t, them(newService(t, era, withTool(tool, respondWith(tt.result))).url))
				e := ask(t.Context(), r, "tool", `{}`, nil)
				if code(e) != tt.code || tt.code == "" && !sameJSON(t, e.Value, tt.value) {
					t.Errorf("%s, %v", e.Value, e.Err)
				}
			})
		}
	}
}

func sameJSON(t testing.TB, got json.RawMessage, want string) bool {
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Errorf("%q: %v", got, err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	return cmp.Equal(a, b)
}

// TestContentIsByteExact checks that blocks pass byte for byte, with unknown types, annotations and large numbers.
func TestContentIsByteExact(t *testing.T) {
	content := `[{"text":"","type":"text","annotations":{"priority":0}},{"type":"hologram","depth":9007199254740993,"payload":{"keep":null}},` +
		`{"type":"resource","resource":{"uri":"a://b","blob":"eA=="},"_meta":{"n":1.0}}]`
	for _, era := range eras {
		result := `{"resultType":"complete","content":` + content + `}`
		list := fixture.File(t, `[{"name":"fidelity","inputSchema":{"type":"object"}}]`)
		url := fixture.New(t, "-era", era, "-list-file", list, "-fidelity-file", fixture.File(t, result)).HTTP()
		if e := ask(t.Context(), imported(t, them(url)), "fidelity", `{}`, nil); string(e.Value) != content {
			t.Errorf("%s: %s, %v", era, e.Value, e.Err)
		}
	}
}

// TestBlocksThatAreNone checks that a block of a known type with invalid fields does not fit the output schema.
func TestBlocksThatAreNone(t *testing.T) {
	for _, block := range []string{`{"type":"image","data":"x"}`, `{"type":"text"}`, `{"type":"resource","resource":{"uri":"a://b"}}`, `{"text":"x"}`, `7`} {
		list := fixture.File(t, `[{"name":"fidelity","inputSchema":{"type":"object"}}]`)
		result := fixture.File(t, `{"resultType":"complete","content":[`+block+`]}`)
		url := fixture.New(t, "-list-file", list, "-fidelity-file", result).HTTP()
		if e := ask(t.Context(), imported(t, them(url)), "fidelity", `{}`, nil); code(e) != operation.InternalError {
			t.Errorf("%s: %s, %v", block, e.Value, e.Err)
		}
	}
}

func TestIsErrorCarriesItsContent(t *testing.T) {
	for _, era := range eras {
		s := newService(t, era, withTool(mcp.Tool{Name: "tool"}, respondWith(mcp.CallToolResult{
			IsError: true, StructuredContent: json.RawMessage(`{"n":9007199254740993}`),
			Content: []mcp.Content{&mcp.TextContent{Text: "no <such> city"}, &mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}},
		})))
		e := ask(t.Context(), imported(t, them(s.url)), "tool", `{}`, nil)
		if code(e) != bridge.ToolError || e.Err.Message != "no <such> city" || e.Err.Retryable {
			t.Fatalf("%v", e.Err)
		}
		want := `{"content":[{"type":"text","text":"no <such> city"},{"type":"image","mimeType":"image/png","data":"eA=="}],"structuredContent":{"n":9007199254740993}}`
		if !sameJSON(t, e.Err.Details, want) {
			t.Errorf("%s", e.Err.Details)
		}
	}
}

// FuzzResults answers with arbitrary bytes. The operation returns a value that fits its schema, or a declared error.
func FuzzResults(f *testing.F) {
	for _, seed := range []string{
		`{"content":[]}`, `{"content":[{"type":"text","text":"x"}],"structuredContent":{"city":"Ulm"}}`, `{"isError":true,"content":[{"type":"text"}]}`,
		`{"content":{},"structuredContent":null}`, `{"content":[ ],"structuredContent":[]}`, `{"content":[{"type":"x"} ] }`, `[]`, `{`, `{"resultType":"x"}`,
		`{"content":[1],"content":[2]}`, "{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}", `{"isError":true,"content":7}`,
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	raw := newRaw(f)
	r := operation.NewRegistry(nil)
	f.Cleanup(r.Close)
	if err := r.Import(f.Context(), "them", them(raw.url)); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, result string, declared bool) {
		raw.result(result)
		name := "plain"
		if declared {
			name = "typed"
		}
		e := ask(t.Context(), r, name, `{}`, nil)
		switch {
		case e.Err == nil && !json.Valid(e.Value):
			t.Errorf("%q", e.Value)
		case e.Err == nil && declared && !strings.Contains(string(e.Value), "{"):
			t.Errorf("not what was declared: %s", e.Value)
		case e.Err != nil && e.Err.Details != nil && !json.Valid(e.Err.Details):
			t.Errorf("%q", e.Err.Details)
		}
		switch code(e) {
		case "", operation.InternalError, bridge.ToolError, bridge.Unavailable:
		default:
			t.Errorf("%q: %v", result, e.Err)
		}
	})
}
