package markdown

import (
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	chars "github.com/indusagi/indus/internal/text"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// The styles of text, as parameters of SGR.
const (
	bold, dim, italic, code = "1", "2", "3", "36"
)

// plainMarks surround styled text if there are no colours.
var plainMarks = map[string]string{bold: "**", italic: "*", code: "`"}

// span is text of one style.
type span struct {
	text string
	sgr  string // "1;3", or "" for plain text
}

// sanitize removes control and invisible characters from untrusted text.
func sanitize(s string) string {
	s, _ = chars.Visible(chars.Lines(s))
	return strings.ReplaceAll(s, "\t", "    ")
}

// unescape resolves backslashes and character references in source text.
func unescape(b []byte) string {
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(b))))
}

// spans returns the inline content of a block.
func (r *renderer) spans(block ast.Node) []span {
	var out []span
	r.inline(block, "", &out)
	return out
}

func (r *renderer) inline(parent ast.Node, sgr string, out *[]span) {
	emit := func(text, look string) { *out = append(*out, span{sanitize(text), joinSGR(sgr, look)}) }
	styled := func(n ast.Node, look string) {
		if !r.color {
			emit(plainMarks[look], "")
			defer emit(plainMarks[look], "")
		}
		r.inline(n, joinSGR(sgr, look), out)
	}
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			text := n.Segment.Value(r.source)
			if n.IsRaw() && r.inCell {
				emit(strings.ReplaceAll(string(text), `\|`, "|"), "")
			} else if n.IsRaw() {
				emit(string(text), "")
			} else {
				emit(strings.ReplaceAll(unescape(text), "\n", " "), "")
			}
			if n.HardLineBreak() {
				emit("\n", "")
			} else if n.SoftLineBreak() {
				emit(" ", "")
			}
		case *ast.String:
			emit(string(n.Value), "")
		case *ast.Emphasis:
			look := bold
			if n.Level == 1 {
				look = italic
			}
			styled(n, look)
		case *ast.CodeSpan:
			styled(n, code)
		case *ast.Link:
			at := len(*out)
			r.inline(n, sgr, out)
			emit(linkTarget((*out)[at:], unescape(n.Destination)), dim)
		case *ast.Image:
			emit("[image: ", "")
			at := len(*out)
			r.inline(n, sgr, out)
			emit("]"+linkTarget((*out)[at:], unescape(n.Destination)), dim)
		case *ast.AutoLink:
			emit(string(n.Label(r.source)), "")
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				segment := n.Segments.At(i)
				emit(string(segment.Value(r.source)), "")
			}
		default:
			r.inline(n, sgr, out)
		}
	}
}

// linkTarget returns the target of a link in parentheses, or "" if the link's text is the target.
func linkTarget(text []span, target string) string {
	var label strings.Builder
	for _, s := range text {
		label.WriteString(s.text)
	}
	if label.String() == target {
		return ""
	}
	return " (" + target + ")"
}

func joinSGR(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ";" + b
}

// wrap wraps spans into lines. The first line begins with first, and the others with next.
func (r *renderer) wrap(spans []span, first, next string) (lines []string) {
	var paragraph strings.Builder
	for _, s := range spans {
		for i, line := range strings.Split(s.text, "\n") {
			if i > 0 {
				paragraph.WriteString("\n")
			}
			for j, word := range strings.Split(line, " ") {
				if j > 0 {
					paragraph.WriteString(" ")
				}
				paragraph.WriteString(r.styled(word, s.sgr))
			}
		}
	}
	for line := range strings.SplitSeq(paragraph.String(), "\n") {
		for _, wrapped := range show.WrapTo(line, 0, r.width-show.Columns(next)) {
			lines = append(lines, first+wrapped)
			first = next
		}
	}
	return lines
}

func (r *renderer) styled(text, sgr string) string {
	if !r.color {
		return text
	}
	return show.Styled(text, sgr)
}
