package toolbox

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// mcpBlock holds the known members of MCP's content blocks.
type mcpBlock struct {
	Type     string
	Text     *string
	Data     string
	MimeType string
	URI      string
	Name     string
	Title    string
	Resource struct {
		URI, MimeType string
		Text          *string
		Blob          string
	}
}

// mcp decodes a block of an MCP server. ok is false for other blocks, and if a known member has the wrong type.
func (b Block) mcp() (known mcpBlock, ok bool) {
	return known, strings.HasPrefix(b.Wire.Format, "mcp/") && json.Unmarshal(b.Wire.JSON, &known) == nil
}

// maxLabel limits each word of a label, in bytes. A URI or a name may be of any length.
const maxLabel = 2000

// minHidden is the size from which unreadable data is left out. Shorter data is shown as it is, because it shows the
// fault.
const minHidden = 256

// Shown returns a block as text for a reader: a text, a text resource under its URI, or one line for a link or for
// media, with its type and size. ok is false for JSON and for a block of unknown type.
func (b Block) Shown() (shown string, ok bool) {
	if b.Text != nil {
		return *b.Text, true
	}
	known, ok := b.mcp()
	if !ok {
		return "", false
	}
	label := func(words ...string) string {
		for i := range words {
			words[i] = text.Clip(words[i], maxLabel)
		}
		return text.Label(words...)
	}
	switch r := known.Resource; known.Type {
	case "text":
		if known.Text != nil {
			return *known.Text, true
		}
	case "image", "audio":
		hidden := len(known.Data) >= minHidden
		if !hidden {
			_, _, hidden = b.Media()
		}
		if hidden {
			return label(known.Type, known.MimeType, text.DecodedSize(dataOf(known.Data))), true
		}
	case "resource_link":
		name := known.Name
		if name == "" {
			name = known.Title
		}
		return label("link", name, known.URI), true
	case "resource":
		if r.Text != nil {
			return label("resource", r.URI) + "\n" + *r.Text, true
		}
		return label("resource", r.URI, r.MimeType, text.DecodedSize(dataOf(r.Blob))), true
	}
	return "", false
}

// Media returns the type and the data of an image, of sound, or of a binary resource. The data may have the prefix of a
// data URL. ok is false for other blocks, and for data that is no base64.
func (b Block) Media() (mime string, data []byte, ok bool) {
	known, ok := b.mcp()
	encoded, mime := known.Data, known.MimeType
	switch {
	case !ok:
		return "", nil, false
	case known.Type == "resource" && known.Resource.Text == nil:
		encoded, mime = known.Resource.Blob, known.Resource.MimeType
	case known.Type != "image" && known.Type != "audio":
		return "", nil, false
	}
	if mime == "" && strings.HasPrefix(encoded, "data:") {
		mime, _, _ = strings.Cut(encoded[len("data:"):min(len(encoded), maxPrefix)], ";")
	}
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(alphabet.Replace(dataOf(encoded)), "="))
	return mime, data, err == nil
}

// alphabet converts the URL alphabet of base64 and removes white space, which some servers write.
var alphabet = strings.NewReplacer("-", "+", "_", "/", " ", "", "\t", "", "\n", "", "\r", "")

// maxPrefix limits the prefix of a data URL.
const maxPrefix = 200

// dataOf returns base64 without the prefix of a data URL.
func dataOf(encoded string) string {
	if strings.HasPrefix(encoded, "data:") {
		if i := strings.IndexByte(text.Cut(encoded, maxPrefix), ','); i >= 0 {
			return encoded[i+1:]
		}
	}
	return encoded
}

// StructuredBeside returns the structured value unless a block already shows it, or it is empty. Many servers write
// the same value as a text, with other spaces and another order. Some wrap a value as {"result":VALUE}, and write each
// item of a list as a text.
func (r *Result) StructuredBeside() json.RawMessage {
	if r.Structured() == nil || isShown(r.Structured(), r.Blocks()) {
		return nil
	}
	return r.Structured()
}

func isShown(structured json.RawMessage, blocks []Block) bool {
	if len(blocks) == 0 {
		return false
	}
	v, ok := decodeJSON(structured)
	if !ok {
		return false
	}
	inner, wrapped := unwrap(v)
	if s, ok := inner.(string); ok {
		inner = strings.TrimSpace(s) // once, because it may be long
	}
	var texts []string
	for _, b := range blocks {
		shown, isText := b.Shown()
		if known, ok := b.mcp(); ok && known.Resource.Text != nil {
			shown = *known.Resource.Text
		} else if !isText {
			shown = string(b.JSON)
		}
		if shows(shown, inner) || wrapped && shows(shown, v) {
			return true
		}
		texts = append(texts, shown)
	}
	items, isList := inner.([]any)
	if !isList || len(items) != len(texts) {
		return isEmpty(v)
	}
	for i, item := range items {
		if !shows(texts[i], item) {
			return false
		}
	}
	return true
}

// unwrap returns VALUE of an object with one member, such as {"result":VALUE} and {"content":VALUE}. It returns any
// other value as it is.
func unwrap(v any) (inner any, wrapped bool) {
	if object, ok := v.(map[string]any); ok && len(object) == 1 {
		for _, inner := range object {
			return inner, true
		}
	}
	return v, false
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// shows reports whether a text is a value: its JSON, also wrapped, or its characters.
func shows(shown string, v any) bool {
	if s, ok := v.(string); ok && s == strings.TrimSpace(shown) {
		return true
	}
	read, ok := decodeJSON([]byte(shown))
	if !ok {
		return false
	}
	if equalJSON(read, v) {
		return true
	}
	inner, wrapped := unwrap(read)
	return wrapped && equalJSON(inner, v)
}

func decodeJSON(raw []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return v, json.Valid(raw) && d.Decode(&v) == nil
}

// equalJSON compares decoded values. The order of members does not matter. 1 and 1.0 are equal.
func equalJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, v := range a {
			if other, ok := b[key]; !ok || !equalJSON(v, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equalJSON(a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || strings.ContainsAny(string(a+b), ".eE") && equalFloats(string(a), string(b)))
	}
	return a == b
}

func equalFloats(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}
