package toolbox

import "encoding/json"

// FormatMCP is the Format of blocks in the grammar of MCP's content blocks, which is the same in
// every revision since 2025-06-18. [Image], [Audio], [Link] and [Embedded] return such blocks.
const FormatMCP = "mcp/content"

// Image returns an image block. data is the file, not encoded, and mime is its type, for example
// "image/png".
func Image(data []byte, mime string) Block { return media("image", data, mime) }

// Audio returns an audio block. data is the file, not encoded, and mime is its type, for example
// "audio/wav".
func Audio(data []byte, mime string) Block { return media("audio", data, mime) }

func media(kind string, data []byte, mime string) Block {
	return block(struct {
		Type string `json:"type"`
		Data []byte `json:"data"`
		MIME string `json:"mimeType"`
	}{kind, append([]byte{}, data...), mime})
}

// Resource is an object with a URI, for [Link] and [Embedded].
type Resource struct {
	// URI is the identifier, and is required. Name is for programs and people; a Link requires it.
	URI, Name string
	// Title and Description are for people and models. Each may be "".
	Title, Description string
	// MIME is the type of its content, or "" if it is unknown.
	MIME string
	// Text is the embedded content. If Data is not nil, Data is the content instead.
	Text string
	Data []byte
}

// Link returns a block that points to a resource, which the reader may fetch.
func Link(r Resource) Block {
	return block(struct {
		Type        string `json:"type"`
		URI         string `json:"uri"`
		Name        string `json:"name"`
		Title       string `json:"title,omitempty"`
		Description string `json:"description,omitempty"`
		MIME        string `json:"mimeType,omitempty"`
	}{"resource_link", r.URI, r.Name, r.Title, r.Description, r.MIME})
}

// Embedded returns a block that holds the content of a resource.
func Embedded(r Resource) Block {
	type contents struct {
		URI  string  `json:"uri"`
		MIME string  `json:"mimeType,omitempty"`
		Text *string `json:"text,omitempty"`
		Blob *[]byte `json:"blob,omitempty"`
	}
	c := contents{URI: r.URI, MIME: r.MIME, Text: &r.Text}
	if r.Data != nil {
		c.Text, c.Blob = nil, &r.Data
	}
	return block(struct {
		Type     string   `json:"type"`
		Resource contents `json:"resource"`
	}{"resource", c})
}

// block returns v as a block. v is always of a type that can be encoded.
func block(v any) Block {
	raw, _ := json.Marshal(v)
	return Block{Wire: Wire{Format: FormatMCP, JSON: raw}}
}
