package catalog

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// What a model is shown of what others wrote, in bytes.
const (
	maxSummary   = 160
	maxSignature = 300
	maxMessage   = 2000
	// maxName is the longest name that is looked for or given back.
	maxName    = 256
	maxNearest = 3
)

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// summary is the beginning of a description, on one line: its first sentence, or as much of
// it as fits.
func summary(description string) string {
	if len(description) > 8*maxSummary {
		description = description[:8*maxSummary]
	}
	line := strings.Join(strings.Fields(protocol.Printable(firstParagraph(description), 8*maxSummary)), " ")
	if at := strings.Index(line, ". "); at >= 0 && at < maxSummary {
		return line[:at+1]
	}
	return clip(line, maxSummary)
}

func firstParagraph(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n\n")
	return s
}

// clip is s, if it is long only its beginning.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// encode is v as JSON, with every byte that need not be escaped as it is.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return json.RawMessage("null") // v is always one of our own types
	}
	return sound(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// sound is raw as JSON has to be, UTF-8.
func sound(raw json.RawMessage) json.RawMessage {
	if utf8.Valid(raw) {
		return raw
	}
	return bytes.ToValidUTF8(raw, []byte("\ufffd"))
}

// value is raw without the whitespace that it costs to show, or, where it is no JSON, its text
// as a string.
func value(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	b.Grow(len(raw))
	if json.Compact(&b, raw) != nil {
		return wire.Quote(string(raw))
	}
	return b.Bytes()
}
