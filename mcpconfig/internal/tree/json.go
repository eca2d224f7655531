package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tailscale/hujson"
)

// parseJSON reads JSON with comments and trailing commas.
func (d *Doc) parseJSON() *Note {
	if f := tooMuch(d.Text); f != nil {
		return f
	}
	// A line comment must end in a line break, which the last one may lack.
	root, err := hujson.Parse(append(d.Text[:len(d.Text):len(d.Text)], '\n'))
	if err != nil {
		return d.syntax(err)
	}
	d.Root = root
	return nil
}

// maxValues bounds what a text can make of memory: a value of two bytes takes a
// hundred. The files of people have thousands.
const maxValues = 500_000

// tooMuch is where the text goes below MaxDepth, or has too many values. It follows
// the parser up to the parser's first error: strings and comments are where that one
// sees them.
func tooMuch(text []byte) *Note {
	depth, values := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			if depth++; depth > MaxDepth {
				return tooDeepFault(i)
			}
			values++
		case ',':
			values++
		case '}', ']':
			depth--
		case '"':
			i = skipString(text, i)
		case '/':
			i = skipComment(text, i)
		}
		if values > maxValues {
			return &Note{i, fmt.Sprintf("has more than %d values", maxValues), ""}
		}
	}
	return nil
}

// skipString is the offset of the quote that ends the string that begins at i.
func skipString(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// skipComment is the offset of the last byte of the comment that begins at i.
func skipComment(text []byte, i int) int {
	end := "\n"
	switch {
	case bytes.HasPrefix(text[i:], []byte("/*")):
		end = "*/"
	case !bytes.HasPrefix(text[i:], []byte("//")):
		return i
	}
	n := bytes.Index(text[i+2:], []byte(end))
	if n < 0 {
		return len(text)
	}
	return i + 2 + n + len(end) - 1
}

// syntax is where and why the parser gave up. The parser quotes the token it
// stumbled over, which may be a secret with a bad escape: that text is replaced.
func (d *Doc) syntax(err error) *Note {
	at := d.errorOffset(err)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &Note{len(d.Text), "ends too early", "look for a bracket, a quote or a comment that is not closed"}
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	reason, hint := err.Error(), ""
	switch {
	case strings.HasPrefix(reason, "invalid literal"):
		return d.literal(at)
	case strings.HasPrefix(reason, `invalid character '\''`):
		hint = `write strings in double quotes`
	}
	return &Note{at, reason, hint}
}

// errorOffset reads the position from the parser's text, which has no other place for it.
func (d *Doc) errorOffset(err error) int {
	var line, column int
	if _, e := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); e != nil {
		return 0
	}
	if line < 1 || line > len(d.starts) {
		return len(d.Text)
	}
	return min(d.starts[line-1]+column-1, len(d.Text))
}

// literal says what is wrong with the token at an offset, without showing it.
func (d *Doc) literal(at int) *Note {
	if at >= len(d.Text) || d.Text[at] != '"' {
		return &Note{at, "a word that is neither true, false, null nor a number", "write strings and names in double quotes"}
	}
	end := min(skipString(d.Text, at), len(d.Text))
	for i := at + 1; i < end; i++ {
		switch c := d.Text[i]; {
		case c < ' ':
			return &Note{i, "a line break or control character in a string", `write it as \n, \t or \u00XX`}
		case c == '\\' && !hujson.Literal(`"`+string(d.Text[i:escapeEnd(d.Text, i, end)])+`"`).IsValid():
			return &Note{i, "a bad escape in a string", `write "\\" for a backslash`}
		case c == '\\':
			i++
		}
	}
	return &Note{at, "a bad string", ""}
}

// escapeEnd is where the escape that begins at i ends, but at most end.
func escapeEnd(text []byte, i, end int) int {
	if i+1 < end && text[i+1] == 'u' {
		return min(i+6, end)
	}
	return min(i+2, end)
}
