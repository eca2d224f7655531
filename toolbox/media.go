package toolbox

import "encoding/json"

// FormatMCP is the Format of blocks in the grammar that MCP's content blocks have in every
// revision since 2025-06-18: what [Image], [Audio], [Link] and [Embedded] give.
const FormatMCP = "mcp/content"

// Image is a block of an image: data is the file, not encoded, and mime its type, "image/png".
func Image(data []byte, mime string) Block { return media("image", data, mime) }

// Audio is a block of sound: data is the file, not encoded, and mime its type, "audio/wav".
func Audio(data []byte, mime string) Block { return media("audio", data, mime) }

func media(kind string, data []byte, mime string) Block {
	return block(struct {
		Type string `json:"type"`
		Data []byte `json:"data"`
		MIME string `json:"mimeType"`
	}{kind, append([]byte{}, data...), mime})
}

// Resource is something that has a URI: what a [Link] points to, and what is [Embedded].
type Resource struct {
	// URI names it, and is required. Name is for programs and people; a Link requires one.
	URI, Name string
	// Title and Description are for people and models; "" is none.
	Title, Description string
	// MIME is the type of its content; "" is not known.
	MIME string
	// Text is the content that is embedded; where Data is not nil, Data is.
	Text string
	Data []byte
}

// Link is a block that points to a resource, which the reader may fetch.
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

// Embedded is a block that holds the content of a resource.
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

// block writes what always can be written.
func block(v any) Block {
	raw, _ := json.Marshal(v)
	return Block{Wire: Wire{Format: FormatMCP, JSON: raw}}
}
