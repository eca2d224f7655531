package indus_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheDocsNameRealTests: a page that says which test holds something names one that is
// there.
func TestTheDocsNameRealTests(t *testing.T) {
	there := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example|Benchmark)\w*)\(`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(text, -1) {
			there[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz|Example|Benchmark)\\w+)[/`]")
	for _, page := range []string{"docs/operations.md", "docs/context.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		all := named.FindAllSubmatch(text, -1)
		if all == nil {
			t.Errorf("%s names no test", page)
		}
		for _, m := range all {
			if !there[string(m[1])] {
				t.Errorf("%s names %s, which is nowhere", page, m[1])
			}
		}
	}
}
