// Package tree reads the text of a configuration file in any syntax to one kind of tree. Every value and every name in
// the tree has its position in the text.
package tree

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// MaxDepth is the largest number of nested levels. It is bounded because parsers recurse.
const MaxDepth = 64

// Doc is a text and its tree.
type Doc struct {
	// Text is the text of the file, without its byte order mark.
	Text []byte
	// Root is the tree. StartOffset of every value and every name in it is the offset in Text at which it begins.
	Root hujson.Value
	// Expressions are the lines of a TOML text.
	Expressions []Expression
	lineStarts  []int // offset of each line
}

// Note is about a place in a text. It shows names, never values. As an error, it is the reason why the text cannot be
// used.
type Note struct {
	At           int // offset in Doc.Text
	Reason, Hint string
}

// Error returns the reason.
func (n *Note) Error() string { return n.Reason }

// Parse reads a text. The Doc is never nil. If there is a Note, the Doc can only convert positions.
func Parse(text []byte, syntax Syntax) (*Doc, *Note) {
	d := newDoc(text)
	if f := d.unreadable(); f != nil {
		return d, f
	}
	switch syntax {
	case TOML:
		return d, d.parseTOML()
	case YAML:
		return d, d.parseYAML()
	}
	return d, d.parseJSON()
}

// Syntax is a grammar of configuration files.
type Syntax string

// The grammars.
const (
	JSON Syntax = "JSON" // with comments and trailing commas
	TOML Syntax = "TOML"
	YAML Syntax = "YAML"
)

func newDoc(text []byte) *Doc {
	d := &Doc{Text: bytes.TrimPrefix(text, []byte("\ufeff")), lineStarts: []int{0}}
	for i, c := range d.Text {
		if c == '\n' {
			d.lineStarts = append(d.lineStarts, i+1)
		}
	}
	return d
}

// Position returns a line and a column. Both count from 1, the column in bytes.
func (d *Doc) Position(offset int) (line, column int) {
	line = sort.SearchInts(d.lineStarts, offset+1)
	return line, offset - d.lineStarts[line-1] + 1
}

// unreadable returns a note if a text cannot or must not be parsed.
func (d *Doc) unreadable() *Note {
	text := d.Text
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return &Note{0, "is UTF-16", "save it as UTF-8"}
	}
	if !utf8.Valid(text) {
		at := 0
		for at < len(text) {
			r, n := utf8.DecodeRune(text[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return &Note{at, "is not UTF-8", "save it as UTF-8"}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return &Note{0, "is empty", `begin with {"servers": {"name": {"command": "…"}}}`}
	}
	return nil
}

func tooDeepFault(offset int) *Note {
	return &Note{offset, fmt.Sprintf("nested deeper than %d levels", MaxDepth), ""}
}

// KindOf names the kind of a value, for messages.
func KindOf(v hujson.ValueTrimmed) string {
	switch v.Kind() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "a boolean"
}

// Text returns the text of a string. It is "" if the value is not a string.
func Text(v hujson.Value) string {
	if l, ok := v.Value.(hujson.Literal); ok && l.Kind() == '"' {
		return l.String()
	}
	return ""
}

// Quote returns a name as notes show it: printable, and not too long.
func Quote(s string) string {
	if r := []rune(s); len(r) > 80 {
		s = string(r[:79]) + "…"
	}
	return strconv.Quote(s)
}

// QuoteWord returns a word that is quoted unless it is plain. So a space or an escape sequence for the terminal cannot
// be mistaken for other text.
func QuoteWord(s string) string {
	plain := func(c rune) bool { return c != ' ' && c != '"' && c != '\'' && strconv.IsPrint(c) }
	for _, c := range s {
		if !plain(c) {
			return strconv.Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}
