package standard

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	htmlbase "github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxElements is the maximum depth of nested elements. maxMarks is the maximum number of nested elements that mark
	// each line inside, as quotations do. A deeper element is replaced by its content, because each element costs time
	// or text for its whole content.
	maxElements = 64
	maxMarks    = 8
	// minMainText is the minimum number of bytes of text in a page's main part. A shorter main part is usually filled by
	// scripts, and is not used.
	minMainText = 200
)

// markdown converts an HTML page to Markdown, without invisible content. If the page marks a main part, only that part
// is converted. Links stay as written. The parser ends with ctx and refuses elements nested more than 512 deep. The
// rest takes seconds at most for a page of the size that webfetch accepts.
func markdown(ctx context.Context, source string) (string, error) {
	doc, err := html.Parse(ctxReader{ctx, strings.NewReader(source)})
	if err != nil {
		return "", fmt.Errorf("its HTML cannot be read: %w", err)
	}
	tidyHTML(doc, 0, 0)
	conv := converter.NewConverter(
		converter.WithPlugins(htmlbase.NewBasePlugin(), commonmark.NewCommonmarkPlugin(
			commonmark.WithLinkEmptyHrefBehavior(commonmark.LinkBehaviorSkip),
			commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip),
		)),
		converter.WithEscapeMode(converter.EscapeModeDisabled), // escaping takes quadratic time, and models do not need it
	)
	for i, name := range []string{"h1", "h2", "h3", "h4", "h5", "h6"} {
		conv.Register.RendererFor(name, converter.TagTypeBlock, renderHeading(i+1), converter.PriorityEarly)
	}
	out, err := conv.ConvertNode(mainPart(doc))
	if err != nil {
		return "", fmt.Errorf("its HTML cannot be read: %w", err)
	}
	return string(out), nil
}

// renderHeading writes a heading on one line. The library's own renderer overwrites the byte before a "#" at the end,
// because it expects its own escape mark there. It panics if the heading is only "#".
func renderHeading(level int) converter.HandleRenderFunc {
	return func(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
		var b bytes.Buffer
		ctx.RenderChildNodes(ctx, &b, n)
		if words := bytes.Fields(b.Bytes()); len(words) > 0 {
			_, _ = fmt.Fprintf(w, "\n\n%s %s\n\n", strings.Repeat("#", level), bytes.Join(words, []byte(" ")))
		}
		return converter.RenderSuccess
	}
}

// tidyHTML removes invisible content from n, and elements that would make its Markdown much larger or take long. The
// content of n is inside depth elements, and marks of them mark each line.
func tidyHTML(n *html.Node, depth, marks int) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		switch {
		case child.Type == html.CommentNode, child.Type == html.ElementNode && isInvisible(child):
			n.RemoveChild(child)
		case child.Type == html.ElementNode:
			inside := marks + tidyElement(child)
			if depth < maxElements && inside <= maxMarks {
				tidyHTML(child, depth+1, inside)
				break
			}
			if child.FirstChild != nil {
				next = child.FirstChild
			}
			unwrap(child)
		}
		child = next
	}
	joinTexts(n)
}

// unwrap replaces n by its content.
func unwrap(n *html.Node) {
	for child := n.FirstChild; child != nil; child = n.FirstChild {
		n.RemoveChild(child)
		n.Parent.InsertBefore(child, n)
	}
	n.Parent.RemoveChild(n)
}

// joinTexts joins adjacent texts to one, in linear time.
func joinTexts(n *html.Node) {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if child.Type != html.TextNode {
			continue
		}
		var all strings.Builder
		all.WriteString(child.Data)
		for next := child.NextSibling; next != nil && next.Type == html.TextNode; next = child.NextSibling {
			all.WriteString(next.Data)
			n.RemoveChild(next)
		}
		child.Data = all.String()
	}
}

// tidyElement simplifies an element, and returns the number of marks that it puts on each line.
func tidyElement(n *html.Node) int {
	switch n.DataAtom {
	case atom.Table:
		n.DataAtom, n.Data = atom.Div, "div"
	case atom.Tr: // a line with bars: in a table with columns, every row would have as many cells as the widest row
		n.DataAtom, n.Data = atom.Span, "span"
		n.AppendChild(&html.Node{Type: html.ElementNode, DataAtom: atom.Br, Data: "br"})
	case atom.Td, atom.Th:
		n.DataAtom, n.Data = atom.Span, "span"
		n.AppendChild(&html.Node{Type: html.TextNode, Data: " | "})
	case atom.Blockquote, atom.Li, atom.Pre, atom.Code, atom.A, atom.B, atom.Strong, atom.I, atom.Em,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Del, atom.S, atom.Kbd, atom.Samp, atom.Tt, atom.Var:
		return 1
	}
	return 0
}

// isInvisible reports whether an element is invisible or has no text.
func isInvisible(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Svg, atom.Canvas, atom.Noscript, atom.Select, atom.Object,
		atom.Dialog:
		return true
	case atom.Img:
		return strings.HasPrefix(attribute(n, "src"), "data:")
	}
	style := strings.ReplaceAll(strings.ToLower(attribute(n, "style")), " ", "")
	isHidden := slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "hidden" })
	return isHidden || strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return strings.TrimSpace(a.Val)
		}
	}
	return ""
}

// mainPart returns the part that the page marks as its main content, or the whole page.
func mainPart(doc *html.Node) *html.Node {
	for n := range doc.Descendants() {
		if n.DataAtom != atom.Main && attribute(n, "role") != "main" {
			continue
		}
		length := 0
		for text := range n.Descendants() {
			if text.Type == html.TextNode {
				length += len(strings.TrimSpace(text.Data))
			}
		}
		if length >= minMainText {
			n.Parent.RemoveChild(n)
			return n
		}
		break
	}
	return doc
}
