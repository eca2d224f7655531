package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	chars "github.com/indusagi/indus/internal/text"
	"golang.org/x/term"
)

// terminal is the file behind a stream, where it is a terminal that can be
// drawn on.
func terminal(stream any) (*os.File, bool) {
	file, ok := stream.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(file.Fd())) {
		return nil, false
	}
	return file, true
}

// clean makes text from a server harmless for a terminal: one line, no control
// characters.
func clean(s string) string {
	return chars.OneLine(s)
}

// cleanLines is clean for text of several lines.
func cleanLines(s string) string { return chars.Lines(s) }

// writeJSON writes one JSON document. In a pipe it is what it is, byte for
// byte; on a terminal what would move the cursor is written as \u escapes,
// which mean the same.
func (s streams) writeJSON(raw json.RawMessage) error {
	if _, ok := terminal(s.out); ok {
		raw = escapeHarmful(raw)
	}
	s.wrote = true
	_, err := fmt.Fprintf(s.out, "%s\n", bytes.TrimRight(raw, "\n"))
	return err
}

// writeText writes a server's text: as it is in a pipe, harmless on a terminal.
// It ends with a newline in any case.
func (s streams) writeText(text string) error {
	if _, ok := terminal(s.out); ok {
		text = cleanLines(text)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(s.out, text)
	return err
}

// escapeHarmful writes the harmful characters of valid JSON as escapes. Such
// characters stand in strings alone, but for its own whitespace.
func escapeHarmful(raw []byte) []byte {
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

// writeIndented writes v as JSON for a person and a program alike: what is raw in it
// keeps its keys, their order and its numbers.
func (s streams) writeIndented(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	return s.writeJSON(b.Bytes())
}
