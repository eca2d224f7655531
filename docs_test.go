package indus_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/indusagi/indus/host"
)

// TestTheDocsNameRealTests checks that every test named on a page is in the tree.
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
	found := 0
	for _, page := range tracked(t, "*.md") {
		all := named.FindAllStringSubmatch(read(t, page), -1)
		found += len(all)
		for _, m := range all {
			if !there[m[1]] {
				t.Errorf("%s names %s, which is nowhere", page, m[1])
			}
		}
	}
	if found == 0 {
		t.Error("no page names a test: this test finds nothing")
	}
}

// TestTheDocsNameRealFiles checks that every file that a page names in code, such as host/front.go, is in the tree. It
// also checks every file and heading that a page links to.
func TestTheDocsNameRealFiles(t *testing.T) {
	named := regexp.MustCompile("`(?:go run |go test )?(?:\\./)?" +
		"([a-zA-Z0-9_.-]+/[a-zA-Z0-9_./-]*\\.(?:go|md|json|mjs|txt|yml))`")
	linked := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	found := 0
	for _, page := range tracked(t, "*.md") {
		text := fence.ReplaceAllString(read(t, page), "")
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			found++
			top, _, _ := strings.Cut(m[1], "/")
			if _, err := os.Stat(top); err != nil {
				continue // a file of a user's project, such as .vscode/mcp.json
			}
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s names %s, which is nowhere", page, m[1])
			}
		}
		for _, m := range linked.FindAllStringSubmatch(codeSpan.ReplaceAllString(text, ""), -1) {
			target, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := filepath.Join(filepath.Dir(page), target)
			if target == "" {
				file = page
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which is nowhere", page, m[1])
			} else if heading != "" && !hasHeading(read(t, file), heading) {
				t.Errorf("%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d files are named: the test finds too little", found)
	}
}

// hasHeading reports whether a page has a heading with the given anchor.
func hasHeading(page, anchor string) bool {
	dropped := regexp.MustCompile(`[^a-z0-9 _-]`)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		if strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-") == anchor {
			return true
		}
	}
	return false
}

// TestTheChangelogHasTheVersion checks that the newest version of CHANGELOG.md is the version that the program reports.
func TestTheChangelogHasTheVersion(t *testing.T) {
	newest := regexp.MustCompile(`(?m)^## ([0-9.]+) \([0-9-]+\)$`).FindStringSubmatch(read(t, "CHANGELOG.md"))
	if newest == nil || newest[1] != host.DefaultInfo().Version {
		t.Errorf("CHANGELOG.md begins with %q, and the program is %s", newest, host.DefaultInfo().Version)
	}
}
