package standard_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	dir := tree(t, map[string]string{
		"main.go": "", "README.md": "", ".github/ci.yml": "",
		"src/a.ts": "", "src/b.tsx": "", "src/deep/er/c.ts": "", "src/test/": "",
		".git/config": "", ".git/hooks/x.ts": "", "node_modules/left/pad.ts": "", "src/node_modules/right/pad.ts": "",
	})
	link(t, "src", filepath.Join(dir, "again"))
	_, r := readRegistry(t, dir)
	const modules = "\n(2 directories called node_modules were left out; give one as path to search it)"
	tests := []struct{ name, input, want string }{
		{"a name at any depth", `{"pattern":"*.ts"}`, "src/a.ts\nsrc/deep/er/c.ts" + modules},
		{"alternatives", `{"pattern":"*.{md,tsx}"}`, "README.md\nsrc/b.tsx" + modules},
		{"a path", `{"pattern":"src/*.ts"}`, "src/a.ts" + modules},
		{"any depth", `{"pattern":"./src/**/*.ts"}`, "src/a.ts\nsrc/deep/er/c.ts" + modules},
		{"below a directory", `{"pattern":"**/*.ts","path":"src"}`, "src/a.ts\nsrc/deep/er/c.ts\n(node_modules)"},
		{"relative to the directory", `{"pattern":"deep/**","path":"src"}`, "src/deep/\nsrc/deep/er/\nsrc/deep/er/c.ts\n(node_modules)"},
		{"inside node_modules", `{"pattern":"*.ts","path":"node_modules"}`, "node_modules/left/pad.ts"},
		{"inside .git", `{"pattern":"*","path":".git"}`, ".git/config\n.git/hooks/\n.git/hooks/x.ts"},
		{"hidden files", `{"pattern":"*.yml"}`, ".github/ci.yml" + modules},
		{"directories", `{"pattern":"*e*","type":"directory"}`, "src/deep/\nsrc/deep/er/\nsrc/test/" + modules},
		{"files", `{"pattern":"*e*","type":"file","path":"src/deep"}`, "(nothing matches)"},
		{"a symlink is not followed", `{"pattern":"again*"}`, "again" + modules},
		{"nothing", `{"pattern":"*.rs","path":"src/deep"}`, "(nothing matches)"},
		{"some", `{"pattern":"*","limit":2,"path":"src/deep/.."}`, "src/a.ts\nsrc/b.tsx\n(2 of 6 results; narrow the pattern or the path)\n(node_modules)"},
		{"no pattern", `{}`, "error: the arguments of find do not fit:\n/: missing required \"pattern\" (string)"},
		{"a malformed one", `{"pattern":"[a"}`, `error: find: the pattern is malformed: it knows *, **, ?, [a-z], [^a-z] and {one,two}, and \ before one of those`},
		{"upwards", `{"pattern":"../*"}`, "error: find: the pattern cannot contain ..: give the directory as path"},
		{"absolute", `{"pattern":"/etc/*"}`, "error: find: the pattern is relative to path and cannot begin with /"},
		{"outside", `{"pattern":"*","path":"/etc"}`, "error: find: /etc: the path leads outside the directory"},
		{"in a file", `{"pattern":"*","path":"main.go"}`, "error: find: main.go is not a directory"},
		{"a wrong type", `{"pattern":"*","type":"f"}`, "error: the arguments of find do not fit:\n/type: expected \"any\" | \"file\" | \"directory\", got \"f\""},
		{"too many ways", `{"pattern":"` + strings.Repeat("{a,b}", 30) + `"}`, "error: find: the pattern has too many alternatives in braces"},
		{"too long", `{"pattern":"` + strings.Repeat("a", 1001) + `"}`, "error: find: the pattern has more than 1000 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := strings.ReplaceAll(tt.want, "(node_modules)", "(1 node_modules was left out; give it as path to search it)")
			if diff := cmp.Diff(want, call(t, r, "find", tt.input)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFindIsBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{"d/" + strings.Repeat("x/", 110): ""}
	for i := range 3000 {
		files[fmt.Sprintf("f/file%04d", i)] = ""
	}
	_, r := readRegistry(t, tree(t, files))
	got := call(t, r, "find", `{"pattern":"file*"}`)
	if !strings.HasSuffix(got, "\nf/file0199\n(200 of 3000 results; narrow the pattern or the path)\n(1 directory is too deep to be entered)") {
		t.Error(got[len(got)-200:])
	}
	got = call(t, r, "find", `{"pattern":"file*","limit":10000,"path":"f"}`)
	if !strings.HasSuffix(got, "\nf/file2999") {
		t.Error(got[len(got)-200:])
	}
	endsWith(t, r, 6, "find", `{"pattern":"nothing"}`)
}
