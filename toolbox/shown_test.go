package toolbox_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/toolbox"
)

// projected returns the text that a model reads of a result, and whether it is plain text.
func projected(t *testing.T, r *toolbox.Result) (string, bool) {
	t.Helper()
	f := newFleet(&toolbox.Snapshot{Tools: []toolbox.Descriptor{plainDescriptor("a")}},
		func(context.Context, toolbox.Call) (*toolbox.Result, error) { return r, nil })
	out := toolbox.NewBox(nil, f).Run(t.Context(), toolbox.Call{Name: "a"})
	if !json.Valid(out.Output) {
		t.Fatalf("%s", out.Output)
	}
	return out.Text(), out.Output[0] == '"'
}

func mcpBlock(s string) toolbox.Block {
	return toolbox.Block{Wire: toolbox.Wire{Format: "mcp/2025-06-18", JSON: json.RawMessage(s)}}
}

// TestBlocksAsAModelReadsThem checks blocks of servers in the result of a call.
func TestBlocksAsAModelReadsThem(t *testing.T) {
	base64 := strings.Repeat("AAAA", 100_000)
	tests := map[string]struct {
		blocks []toolbox.Block
		want   string
	}{
		"a text resource": {[]toolbox.Block{mcpBlock(`{"type":"resource","resource":{"uri":"r://a.go","mimeType":"text/x-go","text":"a {\n\tb\n}\n"}}`)}, "[resource r://a.go]\na {\n\tb\n}\n"},
		"a text and a text resource": {[]toolbox.Block{toolbox.Text("done"), mcpBlock(`{"type":"resource","resource":{"uri":"r://a","text":"x\ny"}}`)},
			"done\n\n[resource r://a]\nx\ny"},
		"two": {[]toolbox.Block{mcpBlock(`{"type":"resource","resource":{"uri":"r://a","text":"x"}}`), mcpBlock(`{"type":"resource","resource":{"uri":"r://b","text":""}}`)},
			"[resource r://a]\nx\n\n[resource r://b]\n"},
		"a link":                  {[]toolbox.Block{toolbox.Text("see"), mcpBlock(`{"type":"resource_link","uri":"file:///a","name":"a"}`)}, "see\n\n[link a file:///a]"},
		"a PDF":                   {[]toolbox.Block{mcpBlock(`{"type":"resource","resource":{"uri":"r://p","mimeType":"application/pdf","blob":"` + base64 + `"}}`)}, "[resource r://p application/pdf 293.0 KiB]"},
		"a blob of no type":       {[]toolbox.Block{mcpBlock(`{"type":"resource","resource":{"uri":"r://p","blob":"AAAA"}}`)}, "[resource r://p 3 bytes]"},
		"an image":                {[]toolbox.Block{mcpBlock(`{"type":"image","mimeType":"image/png","data":"` + base64 + `"}`)}, "[image image/png 293.0 KiB]"},
		"an image in a data URL":  {[]toolbox.Block{mcpBlock(`{"type":"image","mimeType":"image/png","data":"data:image/png;base64,AAAA"}`)}, "[image image/png 3 bytes]"},
		"an image without base64": {[]toolbox.Block{mcpBlock(`{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("%", 1000) + `"}`)}, "[image image/png 750 bytes]"},
		"sound":                   {[]toolbox.Block{mcpBlock(`{"type":"audio","mimeType":"audio/wav","data":"` + base64 + `"}`)}, "[audio audio/wav 293.0 KiB]"},
		"a name of several lines": {[]toolbox.Block{mcpBlock(`{"type":"resource_link","uri":"file:///a","name":"a\nb\u001b[1m"}`)}, "[link a b[1m file:///a]"},
	}
	for name, test := range tests {
		if got, isText := projected(t, toolbox.NewResult(test.blocks...)); got != test.want || !isText {
			t.Errorf("%s: %.200q, want %.200q", name, got, test.want)
		}
	}
	if got, isText := projected(t, toolbox.NewResult(toolbox.Text("a"), mcpBlock(`{"type":"new","x":1}`))); isText || !strings.Contains(got, `{"type":"new","x":1}`) {
		t.Errorf("an unknown block is %q", got)
	}
}

// TestStructuredBesideTexts checks that a model reads a structured value once.
func TestStructuredBesideTexts(t *testing.T) {
	text := toolbox.Text
	tests := map[string]struct {
		structured string
		blocks     []toolbox.Block
		shown      bool // the structured value follows the texts
	}{
		"a summary":               {`{"items":[1,2]}`, []toolbox.Block{text("2 items")}, true},
		"the same JSON":           {`{"a":1,"b":[true,null]}`, []toolbox.Block{text("{ \"b\": [true, null],\n \"a\": 1 }\n")}, false},
		"beside a summary":        {`{"a":1}`, []toolbox.Block{text("one"), text(`{"a":1}`)}, false},
		"another number":          {`{"a":9007199254740993}`, []toolbox.Block{text(`{"a":9007199254740992}`)}, true},
		"the same number":         {`{"a":1.0}`, []toolbox.Block{text(`{"a":1}`)}, false},
		"less":                    {`{"a":1,"b":2}`, []toolbox.Block{text(`{"a":1}`)}, true},
		"a wrapped text":          {`{"result":"hello"}`, []toolbox.Block{text("hello")}, false},
		"a wrapped number":        {`{"result":42}`, []toolbox.Block{text("42")}, false},
		"a wrapped list":          {`{"result":[1,2]}`, []toolbox.Block{text("[1, 2]")}, false},
		"items of a wrapped list": {`{"result":["a",{"b":1}]}`, []toolbox.Block{text("a"), text(`{"b": 1}`)}, false},
		"items and more":          {`{"result":["a","b"]}`, []toolbox.Block{text("a"), text("c")}, true},
		"a text that is wrapped":  {`[1]`, []toolbox.Block{text(`{"result":[1]}`)}, false},
		"another result":          {`{"result":1,"next":2}`, []toolbox.Block{text("1")}, true},
		"a JSON block":            {`{"a":1}`, []toolbox.Block{toolbox.JSON(json.RawMessage(`{"a":1}`))}, false},
		"a resource":              {`{"a":1}`, []toolbox.Block{mcpBlock(`{"type":"resource","resource":{"uri":"r://a","text":"{\"a\":1}"}}`)}, false},
		"an image":                {`{"a":1}`, []toolbox.Block{mcpBlock(`{"type":"image","data":"AAAA","mimeType":"image/png"}`)}, true},
		"nothing":                 {`{}`, []toolbox.Block{text("done")}, false},
		"JSON in front of more":   {`{"a":1}`, []toolbox.Block{text(`{"a":1} and more`)}, true},
	}
	for name, test := range tests {
		alone, _ := projected(t, toolbox.NewResult(test.blocks...))
		got, _ := projected(t, toolbox.StructuredResult(json.RawMessage(test.structured), test.blocks...))
		want := alone
		if test.shown {
			want += "\n\n" + test.structured
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
