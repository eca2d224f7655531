package page

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/toolbox"
)

const (
	// maxShownText bounds one text on the page, and maxShownAnswer all texts of an answer, in bytes.
	maxShownText   = 64 << 10
	maxShownAnswer = 256 << 10
	maxParts       = 100
	// maxImage bounds one image, and maxImages all images of an answer, in bytes.
	maxImage  = 5 << 20
	maxImages = 20 << 20
)

// tryAnswer is the answer of a tool.
type tryAnswer struct {
	Result  json.RawMessage `json:"result"` // as the server wrote it
	IsError bool            `json:"isError"`
	Millis  float64         `json:"ms"`
	Bytes   int             `json:"bytes"`
	Notes   []string        `json:"notes,omitempty"` // about questions of the server

	parts      []tryPart
	left       int    // the number of parts that are not shown
	structured string // indented
	cut        int    // bytes of structured that are not shown
}

// tryPart is a part of an answer: a text, or an image.
type tryPart struct {
	text  string
	cut   int // bytes of the text that are not shown
	image string
	alt   string
}

// imageTypes are the types of images that a browser shows without running anything.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// newTryAnswer reads the result of a call.
func newTryAnswer(raw json.RawMessage, took time.Duration) *tryAnswer {
	a := &tryAnswer{Result: raw, Millis: milliseconds(took), Bytes: len(raw)}
	isError, _ := wire.Lookup(raw, "isError")
	a.IsError = string(isError) == "true"
	texts, images := maxShownAnswer, maxImages
	list, _ := wire.Lookup(raw, "content")
	blocks, err := wire.Elements(list)
	if err != nil && len(list) > 0 && list[0] == '[' { // too many to separate
		blocks = []json.RawMessage{list}
	}
	for i, block := range blocks {
		if i == maxParts || texts <= 0 {
			a.left = len(blocks) - i
			break
		}
		a.parts = append(a.parts, newTryPart(block, &texts, &images))
	}
	if value, ok := wire.Lookup(raw, "structuredContent"); ok {
		a.structured, a.cut = cutText(indented(value), min(maxShownText, max(texts, 1000)))
	}
	return a
}

// newTryPart reads a block of content. texts and images are the bytes that may still be shown.
func newTryPart(block json.RawMessage, texts, images *int) (out tryPart) {
	var known struct{ Type, Data, MimeType string }
	err := json.Unmarshal(block, &known)
	if err == nil && known.Type == "image" && len(known.Data) <= min(*images, base64.StdEncoding.EncodedLen(maxImage)) {
		if isImage(known.MimeType, known.Data) {
			*images -= len(known.Data)
			return tryPart{
				image: "data:" + known.MimeType + ";base64," + known.Data,
				alt:   "Image of the tool, " + known.MimeType + ", " + show.DecodedSize(known.Data),
			}
		}
	}
	shown, ok := toolbox.Block{Wire: toolbox.Wire{Format: toolbox.FormatMCP, JSON: block}}.Shown()
	if !ok {
		shown = indented(block)
	}
	out.text, out.cut = cutText(shown, min(maxShownText, *texts))
	*texts -= len(out.text)
	return out
}

// isImage reports whether data is the base64 of an image of the type.
func isImage(mime, data string) bool {
	if !slices.Contains(imageTypes, mime) {
		return false
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(data)
	return err == nil && !strings.ContainsAny(data, "\r\n") && http.DetectContentType(decoded) == mime
}

// indented returns JSON with line breaks.
func indented(raw json.RawMessage) string {
	if len(raw) > 1<<20 { // most of it is not shown
		return string(raw)
	}
	return show.IndentJSON(raw)
}

// cutText returns a text in at most limit bytes, without its middle, and the number of missing bytes.
func cutText(s string, limit int) (string, int) {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	s, missing := text.Middle(s, s, -len(s), limit)
	return visibleLines(s), missing
}

// visibleLines returns a text of several lines with escapes for invisible and control characters. Tabs stay.
func visibleLines(s string) string {
	return show.EscapedExcept(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t")
}
