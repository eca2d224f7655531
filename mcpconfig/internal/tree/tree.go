// Package tree reads the text of a configuration file, whatever its syntax, to one
// kind of tree, in which every value and every name knows where it stands.
package tree

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// MaxDepth is how many levels may be nested, because parsers recurse.
const MaxDepth = 64

// Doc is a text and its tree.
type Doc struct {
	// Text is the file's, without its byte order mark.
	Text []byte
	// Root is the tree. Of every value and every name in it StartOffset is where it
	// begins in Text.
	Root hujson.Value
	// Expressions are the lines of a TOML text.
	Expressions []Expression
	starts      []int // offset of each line
}

// Note is about a place in a text. It shows names, never values; as an error it says why the
// text is of no use.
type Note struct {
	At           int // offset in Doc.Text
	Reason, Hint string
}

// Error is the reason.
func (n *Note) Error() string { return n.Reason }

// Parse reads a text. The Doc is never nil: with a Note it only knows positions.
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
	d := &Doc{Text: bytes.TrimPrefix(text, []byte("\ufeff")), starts: []int{0}}
	for i, c := range d.Text {
		if c == '\n' {
			d.starts = append(d.starts, i+1)
		}
	}
	return d
}

// Position is a line and a column, both from 1, the column in bytes.
func (d *Doc) Position(at int) (line, column int) {
	line = sort.SearchInts(d.starts, at+1)
	return line, at - d.starts[line-1] + 1
}

// unreadable says why a text need not be parsed, or must not.
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

func tooDeepFault(at int) *Note {
	return &Note{at, fmt.Sprintf("nested deeper than %d levels", MaxDepth), ""}
}

// KindOf names a value as a person would.
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

// Text is a string of the file; "" of what is none.
func Text(v hujson.Value) string {
	if l, ok := v.Value.(hujson.Literal); ok && l.Kind() == '"' {
		return l.String()
	}
	return ""
}

// Quote is a name as a note shows it: printable, and not too long.
func Quote(s string) string {
	if r := []rune(s); len(r) > 80 {
		s = string(r[:79]) + "…"
	}
	return strconv.Quote(s)
}

// QuoteWord is quoted unless it is plain, so that neither a space nor an escape
// sequence for the terminal can pass for something else.
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
