package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	chars "github.com/indusagi/indus/internal/text"
)

// WriteJSON writes one JSON document. In a pipe it is what it is, byte for
// byte; on a terminal what would move the cursor is written as \u escapes,
// which mean the same.
func (s Streams) WriteJSON(raw json.RawMessage) error {
	if _, ok := Terminal(s.Out); ok {
		raw = EscapeHarmful(raw)
	}
	s.WroteJSON = true
	_, err := fmt.Fprintf(s.Out, "%s\n", bytes.TrimRight(raw, "\n"))
	return err
}

// EscapeHarmful writes the harmful characters of valid JSON as escapes. Such
// characters are in strings alone, but for its own whitespace.
func EscapeHarmful(raw []byte) []byte {
	if !bytes.ContainsFunc(raw, func(r rune) bool { return r >= 0x7f && chars.Harmful(r) }) {
		return raw
	}
	var b []byte
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		if r >= 0x7f && chars.Harmful(r) {
			b = fmt.Appendf(b, `\u%04x`, r)
		} else {
			b = append(b, raw[:n]...)
		}
		raw = raw[n:]
	}
	return b
}

// WriteIndented writes v as JSON for a person and a program alike: what is raw in it
// keeps its keys, their order and its numbers.
func (s Streams) WriteIndented(v any) error { return s.encode(v, "  ") }

func (s Streams) encode(v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	return s.WriteJSON(b.Bytes())
}

// CompactJSON is JSON on one line, or what is no JSON as it is.
func CompactJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// PrintLines prints a JSON document a line.
func PrintLines[T any](s Streams, all []T, as func(T) any) error {
	for _, one := range all {
		if err := PrintLine(s, as(one)); err != nil {
			return err
		}
	}
	return nil
}

// PrintLine prints a JSON document on one line.
func PrintLine(s Streams, v any) error { return s.encode(v, "") }

// IndentJSON is JSON on several lines, as its owner wrote it otherwise.
func IndentJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
