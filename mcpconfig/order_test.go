package mcpconfig_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The files of the package have an order: none uses a name of a file that uses one of its names. Only private names
// that are declared once are followed, and no fields.
func TestFilesHaveAnOrder(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files, declared := map[string]*ast.File{}, map[string][]string{}
	fields, methods := map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = file
		add := func(names ...*ast.Ident) {
			for _, name := range names {
				declared[name.Name] = append(declared[name.Name], path)
			}
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				add(d.Name)
				methods[d.Name.Name] = d.Recv != nil
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						add(s.Name)
					case *ast.ValueSpec:
						add(s.Names...)
					}
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok {
				for _, name := range f.Names {
					fields[name.Name] = true
				}
			}
			return true
		})
	}
	uses := map[string]map[string]string{} // by file: the files that it uses, and a name
	for path, file := range files {
		uses[path] = map[string]string{}
		note := func(name *ast.Ident, isMethod bool) {
			at := declared[name.Name]
			if len(at) == 1 && at[0] != path && methods[name.Name] == isMethod && !fields[name.Name] &&
				!ast.IsExported(name.Name) {
				uses[path][at[0]] = name.Name
			}
		}
		var look func(n ast.Node) bool
		look = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				note(n.Sel, true)
				ast.Inspect(n.X, look)
				return false
			case *ast.Ident:
				note(n, false)
			}
			return true
		}
		ast.Inspect(file, look)
	}
	if len(uses["read.go"]) < 5 || len(uses["resolve.go"]) < 3 {
		t.Fatalf("few uses are found: %v", uses)
	}
	for len(uses) > 0 { // a file that uses no other one that is left stands below them
		ground := slices.DeleteFunc(slices.Sorted(maps.Keys(uses)), func(path string) bool { return len(uses[path]) > 0 })
		if len(ground) == 0 {
			t.Fatalf("these files use each other in a circle, or a circle below them: %v", uses)
		}
		for _, path := range ground {
			delete(uses, path)
			for _, others := range uses {
				delete(others, path)
			}
		}
	}
}
