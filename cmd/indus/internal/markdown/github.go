package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// GitHub's tables are implemented here, because goldmark's extension package compiles regular expressions at each start
// of indus, even if no text is rendered.

// tableTransformer converts a paragraph with a delimiter row to a table (GFM, section 4.10).
type tableTransformer struct{}

// Transform implements parser.ParagraphTransformer.
func (tableTransformer) Transform(p *ast.Paragraph, reader text.Reader, _ parser.Context) {
	source, lines := reader.Source(), p.Lines()
	for i := 1; i < lines.Len(); i++ {
		columns := delimiters(lines.At(i), source)
		if columns == 0 {
			continue
		}
		if len(splitCells(lines.At(i-1), source)) <= columns { // like goldmark, which is more lenient than GFM
			replaceLines(p, i-1, newTable(lines.Sliced(i-1, lines.Len()), columns, source))
		}
		return
	}
}

// newTable makes a table from its lines. The second line is the delimiter row.
func newTable(lines []text.Segment, columns int, source []byte) *east.Table {
	t := east.NewTable()
	t.AppendChild(t, east.NewTableHeader(newRow(splitCells(lines[0], source), columns)))
	for _, line := range lines[2:] {
		t.AppendChild(t, newRow(splitCells(line, source), columns))
	}
	return t
}

// replaceLines replaces all lines of a paragraph except the first n by a table.
func replaceLines(p *ast.Paragraph, n int, t *east.Table) {
	p.Parent().InsertAfter(p.Parent(), p, t)
	if n == 0 {
		p.Parent().RemoveChild(p.Parent(), p)
		return
	}
	p.Lines().SetSliced(0, n)
	last := p.Lines().At(n - 1)
	p.Lines().Set(n-1, last.WithStop(last.Stop-1)) // without its line feed
}

// delimiters returns the number of columns of a delimiter row, or 0 if the line is not one.
func delimiters(line text.Segment, source []byte) int {
	if indent, _ := util.IndentWidth(line.Value(source), 0); indent > 3 {
		return 0
	}
	all := splitCells(line, source)
	for _, cell := range all {
		dashes := bytes.TrimSuffix(bytes.TrimPrefix(cell.Value(source), []byte(":")), []byte(":"))
		if len(dashes) == 0 || len(bytes.Trim(dashes, "-")) > 0 {
			return 0
		}
	}
	return len(all)
}

// splitCells splits a line at its pipes. A pipe after a backslash belongs to its cell. The first and last pipes are
// optional.
func splitCells(line text.Segment, source []byte) (all []text.Segment) {
	line = line.TrimLeftSpace(source)
	line = line.TrimRightSpace(source)
	start, stop := line.Start, line.Stop
	isPipe := func(i int) bool { return source[i] == '|' && (i == line.Start || source[i-1] != '\\') }
	if start < stop && isPipe(start) {
		start++
	}
	if start < stop && isPipe(stop-1) {
		stop--
	}
	for i := start; i < stop; i++ {
		if isPipe(i) {
			all = append(all, trimSegment(start, i, source))
			start = i + 1
		}
	}
	if start < stop {
		all = append(all, trimSegment(start, stop, source))
	}
	return all
}

func trimSegment(start, stop int, source []byte) text.Segment {
	s := text.NewSegment(start, stop)
	s = s.TrimLeftSpace(source)
	return s.TrimRightSpace(source)
}

// newRow returns a row with one cell per column. Extra cells are dropped, and missing cells are empty.
func newRow(cells []text.Segment, columns int) *east.TableRow {
	r := east.NewTableRow(nil)
	for i := range columns {
		cell := east.NewTableCell()
		if i < len(cells) {
			cell.Lines().Append(cells[i])
		}
		r.AppendChild(r, cell)
	}
	return r
}
