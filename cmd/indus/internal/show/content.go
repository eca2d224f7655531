package show

import chars "github.com/indusagi/indus/internal/text"

// Resource holds the known members of the contents of an MCP resource.
type Resource struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType"`
	Text     *string `json:"text"`
	Blob     string  `json:"blob"`
}

// MediaLabel returns a text in brackets, in place of content that is no text.
func MediaLabel(words ...string) string { return chars.Label(words...) }

// DecodedSize returns the decoded size of the base64 text s as a text.
func DecodedSize(s string) string { return chars.DecodedSize(s) }
