package tools

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/toolbox"
)

// writeResult prints a result for a person: text as text, the rest described.
// Structured content is shown where there is nothing beside it.
func writeResult(s show.Streams, r *toolbox.Result) error {
	blocks := r.Blocks()
	if len(blocks) == 0 && r.Structured() != nil {
		return s.WriteText(show.IndentJSON(r.Structured()))
	}
	for _, b := range blocks {
		if err := s.WriteText(describe(b)); err != nil {
			return err
		}
	}
	return nil
}

// contentBlock is what we know of the content blocks of MCP.
type contentBlock struct {
	Type     string `json:"type"`
	Data     string `json:"data"`
	MimeType string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource struct {
		URI      string  `json:"uri"`
		MimeType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Blob     string  `json:"blob"`
	} `json:"resource"`
}

// describe is a block as text. What is not known is shown as its JSON.
func describe(b toolbox.Block) string {
	switch {
	case b.Text != nil:
		return *b.Text
	case b.JSON != nil:
		return show.IndentJSON(b.JSON)
	}
	var known contentBlock
	if json.Unmarshal(b.Wire.JSON, &known) != nil {
		return show.IndentJSON(b.Wire.JSON)
	}
	switch r := known.Resource; known.Type {
	case "image", "audio":
		return blockLabel(known.Type, known.MimeType, decodedSize(known.Data))
	case "resource_link":
		return blockLabel("link", known.Name, known.URI)
	case "resource":
		if r.Text != nil {
			return blockLabel("resource", r.URI) + "\n" + *r.Text
		}
		return blockLabel("resource", r.URI, r.MimeType, decodedSize(r.Blob))
	}
	return show.IndentJSON(b.Wire.JSON)
}

// blockLabel is shown in the place of a block that a terminal cannot show.
func blockLabel(words ...string) string {
	var said []string
	for _, w := range words {
		if w != "" {
			said = append(said, w)
		}
	}
	return show.Clean("[" + strings.Join(said, " ") + "]")
}

// decodedSize is how much the base64 text s stands for.
func decodedSize(s string) string {
	n := len(strings.TrimRight(s, "=")) * 3 / 4
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return show.Count(n, "byte")
}
