package markdown

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Parse returns the syntax tree of a source, for tests.
func Parse(source []byte) ast.Node { return grammar().Parse(text.NewReader(source)) }
