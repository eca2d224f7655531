package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type orderInput struct {
	Item  string `json:"item" jsonschema_description:"What to order."`
	Count int    `json:"count,omitempty" jsonschema:"minimum=1"`
}

type order struct {
	Lines []string `json:"lines"`
	Note  *string  `json:"note"`
}

// orderingTools returns a registry with tools that use all features of a local tool.
func orderingTools() *toolbox.Registry {
	place := toolbox.Define("order", "Places an order.", func(ctx context.Context, in orderInput) (order, error) {
		if in.Item == "nothing" {
			return order{}, toolbox.Errorf("nothing is sold out")
		}
		return order{}, nil
	})
	place.Title, place.Annotations = "Order", &toolbox.Annotations{ReadOnly: true, OpenWorld: new(bool)}
	reg := toolbox.NewRegistry(nil)
	reg.Add(place,
		toolbox.Define("media", "Gives one of each.", func(context.Context, struct{}) ([]toolbox.Block, error) {
			return []toolbox.Block{
				toolbox.Image([]byte{0xff}, "image/png"), toolbox.Audio([]byte("wav"), "audio/wav"),
				toolbox.Link(toolbox.Resource{URI: "file:///a", Name: "a", Title: "A"}),
				toolbox.Embedded(toolbox.Resource{URI: "file:///b", MIME: "text/plain", Text: ""}),
				toolbox.Embedded(toolbox.Resource{URI: "file:///c", Data: []byte{}}),
				{Wire: toolbox.Wire{Format: "mcp/2025-11-25", JSON: json.RawMessage(`{"type":"image","data":"/w==","mimeType":"image/gif"}`)}},
			}, nil
		}),
		toolbox.Define("odd", "Gives what MCP has no words for.", func(context.Context, struct{}) (toolbox.Block, error) {
			return toolbox.Block{Wire: toolbox.Wire{Format: "hologram/1", JSON: json.RawMessage(`{}`)}}, nil
		}))
	return reg
}

// A local tool is published with all fields that its author set. Arguments that do not match its schema never reach it.
// Its media arrive unchanged.
func TestLocalToolsArePublishedWhole(t *testing.T) {
	onEachTransport(t, func(t *testing.T, _ string, connect func(*host.Host, *mcp.ClientOptions) *mcp.ClientSession) {
		s := connect(newHost(t, orderingTools(), nil), nil)
		list, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		tool := list.Tools[0]
		if tool.Title != "Order" || tool.OutputSchema == nil || !tool.Annotations.ReadOnlyHint ||
			*tool.Annotations.OpenWorldHint {
			t.Errorf("%+v %+v", tool, tool.Annotations)
		}
		for input, want := range map[string]string{
			`{"item":"tea"}`:           `{"lines":null,"note":null}`,
			`{"item":"nothing"}`:       "nothing is sold out",
			`{"count":1}`:              "the arguments of order do not fit:\n/: missing required \"item\" (string)",
			`{"item":"tea","count":0}`: "the arguments of order do not fit:\n/count: expected at least 1, got 0",
		} {
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "order", Arguments: json.RawMessage(input)})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Content[0].(*mcp.TextContent).Text; got != want || r.IsError == strings.HasPrefix(want, "{") {
				t.Errorf("%s: %q, %v", input, got, r.IsError)
			}
			if !r.IsError && r.StructuredContent == nil {
				t.Errorf("%s: no structured content", input)
			}
		}
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "media"})
		if err != nil {
			t.Fatal(err)
		}
		want := []mcp.Content{
			&mcp.ImageContent{Data: []byte{0xff}, MIMEType: "image/png"}, &mcp.AudioContent{Data: []byte("wav"), MIMEType: "audio/wav"},
			&mcp.ResourceLink{URI: "file:///a", Name: "a", Title: "A"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", MIMEType: "text/plain"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///c", Blob: []byte{}}},
			&mcp.ImageContent{Data: []byte{0xff}, MIMEType: "image/gif"},
		}
		if diff := cmp.Diff(want, r.Content); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "odd"}); err == nil {
			t.Errorf("an unknown format became %+v", r.Content)
		} else if !strings.Contains(err.Error(), `"hologram/1"`) {
			t.Error(err)
		}
	})
}

// A client may compile all output schemas with one validator, which uses $id as the key. So the second of two schemas
// with one $id is not published, and no server decides about the results of another.
func TestTwoOutputSchemasOfOneName(t *testing.T) {
	tool := func(name, schema string) toolbox.Tool {
		return toolbox.Tool{Name: name, Output: json.RawMessage(schema), Run: func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) { return nil, nil }}
	}
	const id = `{"type":"object","$id":"https://example.com/out`
	reg := toolbox.NewRegistry(nil)
	reg.Add(tool("first", id+`"}`), tool("same", id+`"}`), tool("other", id+`#","required":["x"]}`),
		tool("own", `{"type":"object","$id":"https://example.com/own"}`))
	for exact, want := range map[bool]string{false: "first same own", true: "first same other own"} {
		onEachTransport(t, func(t *testing.T, _ string, connect func(*host.Host, *mcp.ClientOptions) *mcp.ClientSession) {
			list, err := connect(newHost(t, reg, &host.Options{Exact: exact}), nil).ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, tool := range list.Tools {
				if tool.OutputSchema != nil {
					got = append(got, tool.Name)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("exact %t: %q have an output schema, want %q", exact, got, want)
			}
		})
	}
}
