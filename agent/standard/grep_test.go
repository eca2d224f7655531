package standard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/agent/standard"
	"github.com/indusagi/indus/toolbox"
)

func TestGrep(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.go":            "package a\n\nfunc Alpha() {}\nfunc beta() {}\n",
		"b.txt":           "one\ntwo\nthree\nfour\nfive\nsix\nseven\nfunc\r\n",
		"sub/c.go":        "// func in c\n",
		"sub/deep/d.go":   "func d() {}",
		"image.png":       "func\x00",
		".git/x":          "func",
		"node_modules/x":  "func",
		"regex":           "a.b\naxb\n",
		"latin":           "caf\xe9 func\n",
		"many/repetition": strings.Repeat("x\n", 500),
	})
	link(t, "a.go", filepath.Join(dir, "link.go"))
	_, r := readRegistry(t, dir)
	const notes = "\n(1 file that is not text was not searched)\n(1 node_modules was left out; give it as path to search it)"
	tests := []struct{ name, input, want string }{
		{"everywhere", `{"pattern":"func"}`,
			"a.go\n3:func Alpha() {}\n4:func beta() {}\n\nb.txt\n8:func\n\nlatin\n1:caf� func\n\nsub/c.go\n1:// func in c\n\nsub/deep/d.go\n1:func d() {}" + notes},
		{"some files", `{"pattern":"func","glob":"*.go"}`,
			"a.go\n3:func Alpha() {}\n4:func beta() {}\n\nsub/c.go\n1:// func in c\n\nsub/deep/d.go\n1:func d() {}\n(1 node_modules was left out; give it as path to search it)"},
		{"by path", `{"pattern":"func","glob":"deep/*.go","path":"sub"}`, "sub/deep/d.go\n1:func d() {}"},
		{"one file", `{"pattern":"func","path":"a.go"}`, "a.go\n3:func Alpha() {}\n4:func beta() {}"},
		{"one file, with a glob that is for directories", `{"pattern":"func","path":"a.go","glob":"*.rs"}`, "a.go\n3:func Alpha() {}\n4:func beta() {}"},
		{"through a symlink that is named", `{"pattern":"Alpha","path":"link.go"}`, "link.go\n3:func Alpha() {}"},
		{"the beginning of a line", `{"pattern":"^func","path":"sub"}`, "sub/deep/d.go\n1:func d() {}"},
		{"the end of a line", `{"pattern":"func$","path":"b.txt"}`, "b.txt\n8:func"},
		{"in either case", `{"pattern":"ALPHA","ignore_case":true,"path":"a.go"}`, "a.go\n3:func Alpha() {}"},
		{"plain text", `{"pattern":"a.b","literal":true,"path":"regex"}`, "regex\n1:a.b"},
		{"plain text in either case", `{"pattern":"A.B","literal":true,"ignore_case":true,"path":"regex"}`, "regex\n1:a.b"},
		{"an expression", `{"pattern":"a.b","path":"regex"}`, "regex\n1:a.b\n2:axb"},
		{"an empty line", `{"pattern":"^$","path":"a.go"}`, "a.go\n2:"},
		{"with context", `{"pattern":"two|six","context":1,"path":"b.txt"}`, "b.txt\n1-one\n2:two\n3-three\n--\n5-five\n6:six\n7-seven"},
		{"with context that touches", `{"pattern":"two|five","context":1,"path":"b.txt"}`, "b.txt\n1-one\n2:two\n3-three\n4-four\n5:five\n6-six"},
		{"with context that overlaps", `{"pattern":"two|three|five","context":2,"path":"b.txt"}`, "b.txt\n1-one\n2:two\n3:three\n4-four\n5:five\n6-six\n7-seven"},
		{"with context at the ends", `{"pattern":"one|func","context":20,"path":"b.txt"}`, "b.txt\n1:one\n2-two\n3-three\n4-four\n5-five\n6-six\n7-seven\n8:func"},
		{"100 by default", `{"pattern":"x","path":"many"}`, "many/repetition" + matchingLines(100) + "\n(100 of 500 matching lines; narrow the pattern, the path or the glob)"},
		{"some", `{"pattern":"e","limit":1,"context":1,"path":"b.txt"}`, "b.txt\n1:one\n2-two\n(1 of 4 matching lines; narrow the pattern, the path or the glob)"},
		{"nothing", `{"pattern":"nowhere","path":"sub"}`, "(nothing matches)"},
		{"not text", `{"pattern":"func","path":"image.png"}`, "(nothing matches)\n(1 file that is not text was not searched)"},
		{"no pattern", `{}`, "error: the arguments of grep do not fit:\n/: missing required \"pattern\" (string)"},
		{"a malformed one", `{"pattern":"("}`, "error: grep: the pattern is not RE2: error parsing regexp: missing closing ): `(`"},
		{"look-ahead", `{"pattern":"a(?=b)"}`, "error: grep: the pattern is not RE2: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
		{"a malformed glob", `{"pattern":"a","glob":"{"}`, `error: grep: glob: the pattern is malformed: it knows *, **, ?, [a-z], [^a-z] and {one,two}, and \ before one of those`},
		{"too much context", `{"pattern":"a","context":21}`, "error: the arguments of grep do not fit:\n/context: expected at most 20, got 21"},
		{"outside", `{"pattern":"a","path":"sub/../.."}`, "error: grep: sub/../..: the path leads outside the directory"},
		{"missing", `{"pattern":"a","path":"sub/c.og"}`, "error: grep: sub/c.og does not exist; did you mean sub/c.go?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, call(t, r, "grep", tt.input)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func matchingLines(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "\n%d:x", i+1)
	}
	return s.String()
}

func TestGrepShowsAWindowOfALongLine(t *testing.T) {
	_, r := readRegistry(t, tree(t,
		map[string]string{"min.js": strings.Repeat("é", 1000) + "needle" + strings.Repeat("x", 3000)}))
	got := call(t, r, "grep", `{"pattern":"needle"}`)
	if len(got) > 600 || !strings.Contains(got, "needle") {
		t.Error(got)
	}
	var before, after int
	rest := got[strings.LastIndex(got, " …"):]
	if _, err := fmt.Sscanf(got, "min.js\n1:…%d bytes…", &before); err != nil {
		t.Fatal(got)
	}
	if _, err := fmt.Sscanf(rest, " …%d bytes…", &after); err != nil {
		t.Fatal(rest)
	}
	shown := strings.TrimSuffix(got[strings.Index(got, "bytes… ")+len("bytes… "):], rest)
	if before+len(shown)+after != 2000+6+3000 {
		t.Errorf("%d + %d + %d", before, len(shown), after)
	}
}

func TestGrepIsBounded(t *testing.T) {
	dir := tree(t, map[string]string{"common": strings.Repeat("e\n", 20_000), "rows": strings.Repeat("\n", 1<<20)})
	large, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	defer large.Close()
	if err := large.Truncate(33 << 20); err != nil {
		t.Fatal(err)
	}
	_, r := readRegistry(t, dir)
	got := call(t, r, "grep", `{"pattern":"e","path":"common"}`)
	if !strings.HasSuffix(got, "\n100:e\n(100 of more than 10000 matching lines; narrow the pattern, the path or the glob)") {
		t.Error(got[len(got)-200:])
	}
	got = call(t, r, "grep", `{"pattern":"e","path":"large"}`)
	if got != "(nothing matches)\n(1 file over 32 MiB was not searched)" {
		t.Error(got)
	}
	got = call(t, r, "grep", `{"pattern":"x*","context":20,"limit":10000,"path":"rows"}`)
	if len(got) > 64<<10 || !strings.HasSuffix(got,
		" of more than 10000 matching lines; narrow the pattern, the path or the glob)") {
		t.Errorf("%d bytes: %s", len(got), got[len(got)-200:])
	}
	endsWith(t, r, 4, "grep", `{"pattern":"nothing|x"}`)
}

func TestGrepShowsHostileNamesOnOneLine(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a\n9:fake", "inv\xff"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
			t.Skip(err)
		}
	}
	_, r := readRegistry(t, dir)
	if diff := cmp.Diff(`"a\n9:fake"`+"\n1:x\n\n"+`"inv\xff"`+"\n1:x", call(t, r, "grep", `{"pattern":"x"}`)); diff != "" {
		t.Error(diff)
	}
}

// Grep stops within a line when the context ends, even if a large pattern takes seconds for that
// line.
func TestGrepEndsWithItsContextWithinALine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "long"), bytes.Repeat([]byte("a"), 20<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	tc, err := toolbox.NewContext(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := toolbox.NewRegistry(tc)
	r.Add(standard.Grep())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	input := fmt.Sprintf(`{"pattern":%q}`, strings.Repeat("a{0,999}", 8)+"b")
	_, err = r.Do(ctx, toolbox.Call{Name: "grep", Input: json.RawMessage(input)})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ended with %v", err)
	}
}
