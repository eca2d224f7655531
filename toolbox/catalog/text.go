package catalog

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

// Bounds for text from outside that is shown to a model, in bytes.
const (
	maxSummary = 160
	maxMessage = 2000
	// maxIndexed is the number of bytes of a parameter's description that a search reads.
	maxIndexed   = 300
	maxShownName = 40
	// maxName is the longest name that is looked up or repeated in an answer.
	maxName    = 256
	maxNearest = 3
)

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// summary returns the beginning of a description on one line: its first sentence, or as much as
// fits.
func summary(description string) string {
	if len(description) > 8*maxSummary {
		description = description[:8*maxSummary]
	}
	paragraph, _, _ := strings.Cut(strings.TrimSpace(description), "\n\n")
	line := strings.Join(strings.Fields(protocol.Printable(paragraph, 8*maxSummary)), " ")
	if at := strings.Index(line, ". "); at >= 0 && at < maxSummary {
		return line[:at+1]
	}
	return text.Clip(line, maxSummary)
}

// encodeJSON returns v as JSON. v is always of a type of this package or of package toolbox.
func encodeJSON(v any) json.RawMessage {
	raw, err := text.JSON(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return validUTF8(raw)
}

// validUTF8 returns raw with invalid UTF-8 replaced, because JSON must be UTF-8.
func validUTF8(raw json.RawMessage) json.RawMessage {
	if utf8.Valid(raw) {
		return raw
	}
	return bytes.ToValidUTF8(raw, []byte("\ufffd"))
}

// jsonValue returns raw without whitespace. If raw is not JSON, it returns its text as a string.
func jsonValue(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	b.Grow(len(raw))
	if json.Compact(&b, raw) != nil {
		return wire.Quote(string(raw))
	}
	return b.Bytes()
}
