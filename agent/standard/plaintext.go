package standard

import (
	"bytes"
	"sort"
	"strings"
)

const byteOrderMark = "\uFEFF"

// plainText is a file's text as read shows it, without a byte order mark and with a line feed alone at the end of each
// line.
type plainText struct {
	text  string
	bom   bool
	crlfs []int // the line feeds in text that follow a carriage return in the file
}

func newPlainText(data []byte) *plainText {
	t := &plainText{}
	data, t.bom = bytes.CutPrefix(data, []byte(byteOrderMark))
	var out strings.Builder
	for {
		line, rest, more := bytes.Cut(data, []byte("\r\n"))
		out.Write(line)
		if !more {
			t.text = out.String()
			return t
		}
		t.crlfs = append(t.crlfs, out.Len())
		out.WriteByte('\n')
		data = rest
	}
}

// fileOffset returns the offset in the file for offset i in text.
func (t *plainText) fileOffset(i int) int {
	before := sort.SearchInts(t.crlfs, i)
	if t.bom {
		before += len(byteOrderMark)
	}
	return i + before
}

// withLineEnds returns s, a part of a text, with the line ends that most lines of the file have.
func (t *plainText) withLineEnds(s string) string {
	if 2*len(t.crlfs) > strings.Count(t.text, "\n") {
		return strings.ReplaceAll(s, "\n", "\r\n")
	}
	return s
}

// encode returns content as it is written to the file, with the file's byte order mark. Line ends become CRLF only if
// all lines of the file have it and content has no carriage returns.
func (t *plainText) encode(content string) []byte {
	if n := len(t.crlfs); n > 0 && n == strings.Count(t.text, "\n") && !strings.Contains(content, "\r") {
		content = strings.ReplaceAll(content, "\n", "\r\n")
	}
	if t.bom && !strings.HasPrefix(content, byteOrderMark) {
		content = byteOrderMark + content
	}
	return []byte(content)
}
