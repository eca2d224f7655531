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
	if f := checkLimits(d.Text); f != nil {
		return f
	}
	// A line comment must end in a line break. The last line may lack it.
	root, err := hujson.Parse(append(d.Text[:len(d.Text):len(d.Text)], '\n'))
	if err != nil {
		return d.syntax(err)
	}
	d.Root = root
	return nil
}

// maxValues bounds the memory that a text can take. A value of two bytes takes a hundred. Files that people write have
// thousands of values.
const maxValues = 500_000

// checkLimits returns a note if the text has levels below MaxDepth, or too many values. Up to the parser's first error,
// it finds strings and comments at the same places as the parser.
func checkLimits(text []byte) *Note {
	depth, values := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
			if depth > MaxDepth {
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

// skipString returns the offset of the quote that ends the string that begins at i.
func skipString(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// skipComment returns the offset of the last byte of the comment that begins at i.
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

// syntax returns the position and the reason of a parser error. The parser quotes the bad token, which may be a secret
// with a bad escape. That text is replaced.
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

// errorOffset reads the position from the text of the parser's error, which has it nowhere else.
func (d *Doc) errorOffset(err error) int {
	var line, column int
	if _, e := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); e != nil {
		return 0
	}
	if line < 1 || line > len(d.lineStarts) {
		return len(d.Text)
	}
	return min(d.lineStarts[line-1]+column-1, len(d.Text))
}

// literal returns a note about a bad token at an offset, without showing the token.
func (d *Doc) literal(offset int) *Note {
	if offset >= len(d.Text) || d.Text[offset] != '"' {
		return &Note{offset, "a word that is neither true, false, null nor a number",
			"write strings and names in double quotes"}
	}
	end := min(skipString(d.Text, offset), len(d.Text))
	for i := offset + 1; i < end; i++ {
		switch c := d.Text[i]; {
		case c < ' ':
			return &Note{i, "a line break or control character in a string", `write it as \n, \t or \u00XX`}
		case c == '\\' && !hujson.Literal(`"`+string(d.Text[i:escapeEnd(d.Text, i, end)])+`"`).IsValid():
			return &Note{i, badEscape, backslashHint}
		case c == '\\':
			i++
		}
	}
	return &Note{offset, "a bad string", ""}
}

// escapeEnd returns the end of the escape that begins at i, but at most end.
func escapeEnd(text []byte, i, end int) int {
	if i+1 < end && text[i+1] == 'u' {
		return min(i+6, end)
	}
	return min(i+2, end)
}

const (
	badEscape     = "a bad escape in a string"
	backslashHint = `write "\\" for a backslash`
)
