package agent_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/toolbox"
)

func dot(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// showTool returns a tool whose result has the blocks.
func showTool(blocks ...toolbox.Block) toolbox.Tool {
	return tool("show", func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
		return toolbox.NewResult(blocks...), nil
	})
}

func wireBlock(s string) toolbox.Block {
	return toolbox.Block{Wire: toolbox.Wire{Format: toolbox.FormatMCP, JSON: json.RawMessage(s)}}
}

func TestImagesOfResults(t *testing.T) {
	picture := dot(t)
	huge := append(bytes.Clone(picture), make([]byte, 3<<20)...)
	encoded := base64.StdEncoding.EncodeToString(picture)
	many := []toolbox.Block{}
	for range 7 {
		many = append(many, toolbox.Image(picture, "image/png"))
	}
	tests := map[string]struct {
		blocks []toolbox.Block
		images int
		output []string // substrings of the output
	}{
		"alone":                  {[]toolbox.Block{toolbox.Image(picture, "image/png")}, 1, []string{`"[image/png, `}},
		"beside":                 {[]toolbox.Block{toolbox.Text("see"), toolbox.Image(picture, "image/png"), toolbox.JSON(json.RawMessage(`{"a":1}`))}, 1, []string{"see", "[image/png, ", `{"a":1}`}},
		"mislabeled":             {[]toolbox.Block{toolbox.Image(picture, "image/jpeg")}, 1, []string{"[image/png, "}},
		"no image":               {[]toolbox.Block{toolbox.Image([]byte("<script>"), "image/png")}, 0, []string{"[not image/png, 8 bytes: not shown"}},
		"svg":                    {[]toolbox.Block{toolbox.Image([]byte("<svg/>"), "image/svg+xml")}, 0, []string{"not shown, because models take PNG"}},
		"too large":              {[]toolbox.Block{toolbox.Image(huge, "image/png")}, 0, []string{"not shown, because it has more than"}},
		"too many":               {many, 5, []string{"not shown, because 5 images before it are"}},
		"sound":                  {[]toolbox.Block{toolbox.Audio([]byte("RIFF....WAVE"), "audio/wav")}, 0, []string{"[audio/wav, 12 bytes: not shown"}},
		"no base64":              {[]toolbox.Block{{Wire: toolbox.Wire{Format: toolbox.FormatMCP, JSON: json.RawMessage(`{"type":"image","data":"%%","mimeType":"image/png"}`)}}}, 0, []string{`"data":"%%"`}},
		"as a resource":          {[]toolbox.Block{toolbox.Embedded(toolbox.Resource{URI: "r://a", Data: picture})}, 1, []string{"[image/png, "}},
		"as a data URL":          {[]toolbox.Block{wireBlock(`{"type":"image","mimeType":"image/png","data":"data:image/png;base64,` + encoded + `"}`)}, 1, []string{"[image/png, "}},
		"a data URL alone":       {[]toolbox.Block{wireBlock(`{"type":"image","data":"data:image/png;base64,` + encoded + `"}`)}, 1, []string{"[image/png, "}},
		"with line ends":         {[]toolbox.Block{wireBlock(`{"type":"image","mimeType":"image/png","data":"` + encoded[:9] + `\r\n ` + strings.TrimRight(encoded[9:], "=") + `\n"}`)}, 1, []string{"[image/png, "}},
		"a PDF":                  {[]toolbox.Block{toolbox.Embedded(toolbox.Resource{URI: "r://p", MIME: "application/pdf", Data: huge[100:]})}, 0, []string{"[resource r://p application/pdf 3.0 MiB]"}},
		"much that is no base64": {[]toolbox.Block{wireBlock(`{"type":"image","data":"` + strings.Repeat("%", 5000) + `","mimeType":"image/png"}`)}, 0, []string{"[image image/png "}},
		"a link":                 {[]toolbox.Block{toolbox.Link(toolbox.Resource{URI: "file:///a", Name: "a"})}, 0, []string{"file:///a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := &notes{}
			s := agent.New(agent.Options{Provider: model(calls("1", "show", "{}"), textReply("")), Tools: box(showTool(test.blocks...)), Journal: n})
			if _, err := s.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			r := s.Messages()[2].Parts[0].Result
			if len(r.Images) != test.images || len(r.Output) > 1000 || r.IsError {
				t.Errorf("%d images, %s", len(r.Images), r.Output)
			}
			for _, i := range r.Images {
				if diff := cmp.Diff(agent.Image{MIME: "image/png", Data: picture}, i); diff != "" {
					t.Error(diff)
				}
			}
			for _, want := range test.output {
				if !strings.Contains(string(r.Output), want) {
					t.Errorf("%s lacks %s", r.Output, want)
				}
			}
		})
	}
}

// TestAnImageThatNoProviderTakes checks that such an image fails only one request.
func TestAnImageThatNoProviderTakes(t *testing.T) {
	refused := &agent.ProviderError{Provider: "script", Status: 400, Message: "could not process image"}
	tools := box(showTool(toolbox.Image(dot(t), "image/png")))
	m := model(calls("1", "show", "{}"), fails(refused, ""), textReply("I go on without"))
	s := agent.New(agent.Options{Provider: m, Tools: tools})
	if got, err := s.Prompt(t.Context(), "go"); err != nil || got.Text != "I go on without" {
		t.Fatal(got, err)
	}
	if r := m.last().Messages[2].Parts[0].Result; len(r.Images) != 0 || !strings.Contains(string(r.Output), "taken out") {
		t.Errorf("%+v", r)
	}
	m = model(calls("1", "show", "{}"), textReply("I see"), fails(refused, ""), textReply("I see nothing"))
	s = agent.New(agent.Options{Provider: m, Tools: tools})
	for _, want := range []string{"I see", "I see nothing"} { // the second session could have another model
		if got, err := s.Prompt(t.Context(), "go"); err != nil || got.Text != want {
			t.Error(got, err)
		}
	}
	m = model(calls("1", "show", "{}"), fails(refused, ""), fails(refused, ""))
	if _, err := agent.New(agent.Options{Provider: m, Tools: tools}).Prompt(t.Context(), "go"); err != refused {
		t.Error(err)
	}
}
