package page_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/page"
)

// No address of a server or client runs as a script, or leads to another kind of program than the page names.
func TestAddressesAreChecked(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"/", "/calls?q=a%20b", "#main", "https://as.example/authorize?x=1", "http://127.0.0.1:1/", "vscode:mcp/install?%7B%7D",
		"cursor://anysphere.cursor-deeplink/mcp/install?name=indus", "data:,", "data:image/png;base64,AAAA",
	} {
		if got := page.CheckedAddress(good); got != good {
			t.Errorf("%q became %q", good, got)
		}
	}
	for _, bad := range []string{
		"", "javascript:alert(1)", "JavaScript:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)", "\x01javascript:alert(1)",
		"//evil.example/", `/\evil.example/`, "data:text/html,<script>", "data:text/html;base64,AAAA", "data:image/svg+xml;base64,AAAA",
		"data:image/png,<svg>", "vbscript:x", "file:///etc/passwd", "ftp://evil.example/", "evil", "?x", "/\t/evil.example", "/\n/evil.example",
	} {
		if got := page.CheckedAddress(bad); got != "about:invalid" {
			t.Errorf("%q became %q", bad, got)
		}
	}
}

// The package writes no text past the escaping, no inline style or script, and no address past checkedAddress.
func TestTheHTMLHasNoWayPastTheChecks(t *testing.T) {
	t.Parallel()
	refused := []string{
		"Raw", "Rawf", "NodeFunc", "StyleEl", "Style", "StyleAttr", "Href", "Src", "SrcSet", "Action", "FormAction", "Poster",
		"IFrame", "Embed", "Object", "Base",
	}
	addresses := []string{"href", "src", "srcset", "action", "formaction", "poster", "data", "ping", "style", "srcdoc", "xlink:href"}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		isBare := importsBare(file)
		selected := map[*ast.Ident]bool{} // a field or a method
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				selected[s.Sel] = true
			}
			call, isCall := n.(*ast.CallExpr)
			if id, ok := n.(*ast.Ident); ok && isBare && !selected[id] && slices.Contains(refused, id.Name) {
				seen[id.Name]++
				if want := map[string]bool{"Href": true, "Src": true, "Action": true}; !want[id.Name] || seen[id.Name] > 1 {
					t.Errorf("%s: %s", set.Position(n.Pos()), id.Name)
				}
			}
			if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(refused, s.Sel.Name) && isHTML(s.X) {
				t.Errorf("%s: %s", set.Position(n.Pos()), s.Sel.Name)
			}
			if isCall && len(call.Args) > 0 && strings.HasSuffix(nameOf(call.Fun), "Attr") {
				name, ok := call.Args[0].(*ast.BasicLit)
				text := ""
				if ok {
					text = strings.ToLower(strings.Trim(name.Value, `"`))
				}
				if ok && (slices.Contains(addresses, text) || strings.HasPrefix(text, "on")) {
					t.Errorf("%s: the attribute %s", set.Position(n.Pos()), text)
				}
			}
			return true
		})
	}
	if seen["Href"] != 1 || seen["Src"] != 1 || seen["Action"] != 1 {
		t.Errorf("the attributes with addresses are written in %v places", seen)
	}
}

// importsBare reports whether a file uses the names of gomponents without a qualifier.
func importsBare(file *ast.File) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		return i.Name != nil && i.Name.Name == "." && strings.HasPrefix(i.Path.Value, `"maragu.dev/`)
	})
}

// isHTML reports whether an expression is a package of gomponents.
func isHTML(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && (id.Name == "gomponents" || id.Name == "html")
}

// nameOf returns the name of a function that is called.
func nameOf(e ast.Expr) string {
	switch f := e.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
