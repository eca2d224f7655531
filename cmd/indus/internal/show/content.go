package show

import (
	"fmt"
	"strings"
)

// ContentBlock holds the known members of MCP content blocks.
type ContentBlock struct {
	Type     string   `json:"type"`
	Text     *string  `json:"text"`
	Data     string   `json:"data"`
	MimeType string   `json:"mimeType"`
	URI      string   `json:"uri"`
	Name     string   `json:"name"`
	Resource Resource `json:"resource"`
}

// Resource holds the known members of the contents of an MCP resource.
type Resource struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType"`
	Text     *string `json:"text"`
	Blob     string  `json:"blob"`
}

// Describe returns a block as text: its text, or a label in place of media. It returns false if the type is unknown.
func (b *ContentBlock) Describe() (string, bool) {
	switch r := b.Resource; b.Type {
	case "text":
		if b.Text != nil {
			return *b.Text, true
		}
	case "image", "audio":
		return MediaLabel(b.Type, b.MimeType, DecodedSize(b.Data)), true
	case "resource_link":
		return MediaLabel("link", b.Name, b.URI), true
	case "resource":
		if r.Text != nil {
			return MediaLabel("resource", r.URI) + "\n" + *r.Text, true
		}
		return MediaLabel("resource", r.URI, r.MimeType, DecodedSize(r.Blob)), true
	}
	return "", false
}

// MediaLabel returns a text in brackets, in place of content that is no text.
func MediaLabel(words ...string) string {
	return Clean("[" + strings.Join(Where(words, func(w string) bool { return w != "" }), " ") + "]")
}

// DecodedSize returns the decoded size of the base64 text s as a text.
func DecodedSize(s string) string {
	n := len(strings.TrimRight(s, "=")) * 3 / 4
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return Count(n, "byte")
}
