package markdown

import (
	"fmt"
	"strings"
	"sync"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// grammar is the parser for CommonMark with GitHub's tables, built on first use. The boxes of task lists are text.
var grammar = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(),
			util.Prioritized(tableTransformer{}, 200))...),
	)
})

const (
	// maxMarkup is the maximum size of parsed markup other than code, in bytes. The time to parse may grow with its
	// square.
	maxMarkup = 8 << 10
	// maxCells is the maximum number of cells in a row. Every row gets as many cells as the first, even if they are
	// missing.
	maxCells = 50
)

func isHeavy(source string) bool {
	if len(source) > maxMarkup {
		return true
	}
	for line := range strings.Lines(source) {
		if strings.Count(line, "|") > maxCells {
			return true
		}
	}
	return false
}

// Render formats Markdown as lines for a terminal of this width. Lines of code are not wrapped, and all other lines
// fit. Without colour there are no escape sequences. Very long text other than code is not parsed.
func Render(source string, width int, color bool) []string {
	r := &renderer{source: []byte(source), width: max(width, 20), color: color}
	if isHeavy(source) && !isCode(source) {
		return r.wrap([]span{{sanitize(source), ""}}, "", "")
	}
	r.blocks(grammar().Parse(text.NewReader(r.source)), "", "")
	return r.lines
}

type renderer struct {
	source []byte
	width  int
	color  bool
	lines  []string
	inCell bool // in a table
}

// blocks renders the children of a block, separated by empty lines. The first line begins with first, and the others
// with next.
func (r *renderer) blocks(parent ast.Node, first, next string) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n.PreviousSibling() != nil && !isTight(n) {
			r.add(strings.TrimRight(next, " "))
		}
		r.block(n, first, next)
		first = next
	}
}

// isTight reports whether a block follows the previous one without an empty line.
func isTight(n ast.Node) bool {
	list, ok := n.Parent().(*ast.List)
	if item, in := n.Parent().(*ast.ListItem); in {
		list, ok = item.Parent().(*ast.List)
	}
	return ok && list.IsTight
}

func (r *renderer) add(lines ...string) { r.lines = append(r.lines, lines...) }

func (r *renderer) block(n ast.Node, first, next string) {
	switch n := n.(type) {
	case *ast.Heading:
		spans := []span{{strings.Repeat("#", n.Level) + " ", bold}}
		r.inline(n, bold, &spans)
		r.add(r.wrap(spans, first, next)...)
	case *ast.List:
		r.list(n, first, next)
	case *ast.Blockquote:
		bar := r.styled("│", dim) + " "
		r.blocks(n, first+bar, next+bar)
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		r.code(n, first, next, code)
	case *ast.HTMLBlock:
		r.code(n, first, next, dim)
		if n.HasClosure() {
			r.add(next + r.styled(sanitize(strings.TrimRight(string(n.ClosureLine.Value(r.source)), "\n")), dim))
		}
	case *ast.ThematicBreak:
		r.add(first + r.styled(strings.Repeat("─", min(max(r.width-show.Columns(next), 1), 40)), dim))
	case *east.Table:
		r.table(n, first, next)
	default:
		r.add(r.wrap(r.spans(n), first, next)...)
	}
}

func (r *renderer) list(list *ast.List, first, next string) {
	number := list.Start
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if list.IsOrdered() {
			mark = fmt.Sprintf("%d. ", number)
			number++
		}
		if item.PreviousSibling() != nil && !list.IsTight {
			r.add(strings.TrimRight(next, " "))
		}
		if item.FirstChild() == nil {
			r.add(first + strings.TrimRight(mark, " "))
		}
		r.blocks(item, first+mark, next+strings.Repeat(" ", show.Columns(mark)))
		first = next
	}
}

// code writes lines unchanged.
func (r *renderer) code(n ast.Node, first, next, look string) {
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		text := strings.TrimRight(sanitize(string(line.Value(r.source))), "\n")
		r.add(first + "  " + r.styled(text, look))
		first = next
	}
}

// table writes columns if they fit. Otherwise it writes a line for each cell.
func (r *renderer) table(n *east.Table, first, next string) {
	var cells [][][]span
	widths := make([]int, n.FirstChild().ChildCount()) // all rows have the same number of cells
	r.inCell = true
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var rowCells [][]span
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			spans := r.spans(cell)
			widths[len(rowCells)] = max(widths[len(rowCells)], columnsOf(spans))
			rowCells = append(rowCells, spans)
		}
		cells = append(cells, rowCells)
	}
	r.inCell = false
	total := show.Columns(next)
	for _, w := range widths {
		total += w + 2
	}
	for i, row := range cells {
		switch {
		case total-2 > r.width && i > 0:
			for c, cell := range row {
				if len(cell) == 0 {
					continue
				}
				head := append([]span{}, cells[0][c]...)
				r.add(r.wrap(append(append(head, span{": ", ""}), cell...), first, next+"  ")...)
				first = next
			}
		case total-2 <= r.width:
			r.add(first + r.row(row, widths, i == 0))
		}
		first = next
	}
}

func (r *renderer) row(cells [][]span, widths []int, heading bool) (line string) {
	for i, spans := range cells {
		for _, s := range spans {
			if heading {
				s.sgr = joinSGR(s.sgr, bold)
			}
			line += r.styled(strings.ReplaceAll(s.text, "\n", " "), s.sgr)
		}
		if i < len(cells)-1 {
			line += strings.Repeat(" ", widths[i]-columnsOf(spans)+2)
		}
	}
	return line
}

func columnsOf(spans []span) (n int) {
	for _, s := range spans {
		n += show.Columns(s.text)
	}
	return n
}
