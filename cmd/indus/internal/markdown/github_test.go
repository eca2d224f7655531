package markdown_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/indusagi/indus/cmd/indus/internal/markdown"
)

// TestExtensionsAreGoldmarks compares tables with goldmark's own extension.
func TestExtensionsAreGoldmarks(t *testing.T) {
	judge := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser()
	check := func(source string) {
		t.Helper()
		want := outline(judge.Parse(text.NewReader([]byte(source))), source)
		if d := cmp.Diff(want, outline(markdown.Parse([]byte(source)), source)); d != "" {
			t.Errorf("%q: -goldmark's +ours\n%s", source, d)
		}
	}
	for _, source := range []string{
		"a|b\n-|-\nc|d|e\nf\n|g\n\nh", "before\n|a|b|\n|:-|-:|\n|`c\\|d`|e\\|f|", "> |a|\n> |:-:|\n> | ~~b~~ ~c~ ~~~d~~~ |",
		"|a|b|\n|-|\n|c|d|", "| a || b |\n|---|---|---|\n||", "- |a|\n  |-|\n  |b|\n- c", "a\n:-", "|a|\n|-|\n# b",
	} {
		check(source)
	}
	pieces := strings.Split("a|b|||||-|-|:-|-:|\\|`|~|~~| |\n|\n|\n|\n\n|- |> |*|[x](y)|   ", "|")
	pieces = append(pieces, "|", "|", "|", "|-|-|\n", "\n|-|-|\n")
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var source strings.Builder
		for range 3 + random.IntN(20) {
			source.WriteString(pieces[random.IntN(len(pieces))])
		}
		source.WriteString("\n")
		if !strings.Contains(source.String(), `\|`+"\n") { // goldmark treats an escaped pipe at the end as the end of the row
			check(source.String())
		}
	}
}

// outline returns a line for each node of a tree.
func outline(root ast.Node, source string) (lines []string) {
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if n, ok := n.(*ast.Text); ok {
			if last := len(lines) - 1; last >= 0 && strings.HasPrefix(lines[last], "Text ") {
				lines[last] += string(n.Segment.Value([]byte(source)))
			} else {
				lines = append(lines, "Text "+string(n.Segment.Value([]byte(source))))
			}
			return ast.WalkContinue, nil
		}
		lines = append(lines, n.Kind().String())
		return ast.WalkContinue, nil
	})
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], `\|`, "|")
	}
	return lines
}
