package standard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/toolbox"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	const head = "--- f\n+++ f\n"
	program := "package main\n\nfunc main() {\n\tprintln(\"one\")\n\tprintln(\"two\")\n}\n"
	tests := []struct {
		name, before, old, new string
		all                    bool
		want, after            string // after "": unchanged
	}{
		{"one word", "a b c\n", "b", "x", false, head + "@@ -1,1 +1,1 @@\n-a b c\n+a x c", "a x c\n"},
		{"lines", program, "\tprintln(\"one\")\n\tprintln(\"two\")\n", "\tprintln(\"both\")\n", false,
			head + "@@ -1,6 +1,5 @@\n package main\n \n func main() {\n-\tprintln(\"one\")\n-\tprintln(\"two\")\n+\tprintln(\"both\")\n }",
			"package main\n\nfunc main() {\n\tprintln(\"both\")\n}\n"},
		{"to nothing", "a\nb\n", "a\n", "", false, head + "@@ -1,2 +1,1 @@\n-a\n b", "b\n"},
		{"everything", "a", "a", "", false, head + "@@ -1,1 +0,0 @@\n-a\n\\ No newline at end of file", " "},
		{"all", "a b a\na\n", "a", "xy", true, head + "@@ -1,2 +1,2 @@\n-a b a\n-a\n+xy b xy\n+xy", "xy b xy\nxy\n"},
		{"all of one", "a b\n", "a", "c", true, head + "@@ -1,1 +1,1 @@\n-a b\n+c b", "c b\n"},
		{"all, overlapping", "aaaa\n", "aa", "b", true, head + "@@ -1,1 +1,1 @@\n-aaaa\n+bb", "bb\n"},
		{"CRLF", "a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false, head + "@@ -1,3 +1,4 @@\n-a\n-b\n+x\n+y\n+z\n c", "x\r\ny\r\nz\r\nc\r\n"},
		{"CRLF, as the caller knows", "a\r\nb\r\n", "a\r\nb\r\n", "x\r\n", false, head + "@@ -1,2 +1,1 @@\n-a\n-b\n+x", "x\r\n"},
		{"CRLF from the caller only", "a\nb\n", "a\r\nb", "x\r\ny", false, head + "@@ -1,2 +1,2 @@\n-a\n-b\n+x\n+y", "x\ny\n"},
		{"mixed ends stay where nothing changes", "a\r\nb\nc\r\nd\r\n", "b\nc", "x\ny", false, head + "@@ -1,4 +1,4 @@\n a\n-b\n-c\n+x\n+y\n d", "a\r\nx\r\ny\r\nd\r\n"},
		{"a lone carriage return", "a\rb\n", "\r", "-", false, head + "@@ -1,1 +1,1 @@\n-ab\n+a-b", "a-b\n"},
		{"a byte order mark", "\uFEFFa\nb\n", "a", "x", false, head + "@@ -1,2 +1,2 @@\n-a\n+x\n b", "\uFEFFx\nb\n"},
		{"no end of line", "a\nb", "b", "c\n", false, head + "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c", "a\nc\n"},
		{"what a terminal obeys", "a\n", "a", "\x1b]0;x\a", false, head + "@@ -1,1 +1,1 @@\n-a\n+]0;x", "\x1b]0;x\a\n"},

		{"in two lines", "a\nb\na\n", "a", "x", false, "error: edit: old is in f at lines 1 and 3: give more of the lines around the one that is meant, or pass all", ""},
		{"overlapping", "\n\n\n", "\n\n", "x", false, "error: edit: old is in f at lines 1 and 2: give more of the lines around the one that is meant, or pass all", ""},
		{"in many", strings.Repeat("a\n", 50), "a", "x", false, "error: edit: old is in f at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more: give more of the lines around the one that is meant, or pass all", ""},
		{"the same", "a\n", "a", "a", false, "error: edit: old and new are the same", ""},
		{"nowhere, nor near", "abc\n", "xyz", "", false, "error: edit: old is not in f", ""},
		{"other white space", program, "    println(\"one\")\n", "", false, "error: edit: old is not in f; the nearest is:\n4\t\tprintln(\"one\")", ""},
		{"mistyped", program, "func mian() {\n\tprintln(\"one\")", "", false, "error: edit: old is not in f; the nearest is:\n3\tfunc main() {\n4\t\tprintln(\"one\")", ""},
		{"one line of many wrong", program, "package main\n\nfunc main() {\n\tprintln(\"oen\")\n\tprintln(\"two\")\n}\n", "", false,
			"error: edit: old is not in f; the nearest is:\n1\tpackage main\n2\t\n3\tfunc main() {\n4\t\tprintln(\"one\")\n5\t\tprintln(\"two\")\n6\t}", ""},
		{"with numbers", "a\nb\n", "1\ta\n2\tb", "x", false, "error: edit: old is not in f: the numbers before its lines, which read shows, are not in the file", ""},
		{"of nothing", "\n", "x", "y", false, "error: edit: old is not in f", ""},
		{"a nearest line to be feared", "\x1b[2Jabcdefghijklmnop\u202E" + strings.Repeat("x", 1000) + "\n", "abcdefghijklmnpo" + strings.Repeat("x", 100), "", false,
			"error: edit: old is not in f; the nearest is:\n1\t[2Jabcdefghijklmnop" + strings.Repeat("x", 177) + " …823 bytes…", ""},
		{"not UTF-8", "caf\xe9 a\n", "a", "b", false, "error: edit: f is not UTF-8: it cannot be edited here", ""},
		{"NUL", "a\n", "a", "\x00", false, "error: edit: new has a NUL character: only text can be written", ""},
		{"of an empty text", "a\n", "", "b", false, "error: the arguments of edit do not fit:\n/old: expected at least 1 character, got \"\"", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"f": tt.before})
			_, r := withFiles(t, dir)
			call(t, r, "read", `{"path":"f"}`)
			input := strings.TrimSuffix(quoted(t, "path", "f", "old", tt.old, "new", tt.new), "}") +
				fmt.Sprintf(`,"all":%v}`, tt.all)
			if diff := cmp.Diff(tt.want, call(t, r, "edit", input)); diff != "" {
				t.Error(diff)
			}
			if tt.after == "" {
				tt.after = tt.before
			}
			if diff := cmp.Diff(strings.TrimPrefix(tt.after, " "), checkContent(t, dir, "f")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEditOfAFileThatIsNotThere(t *testing.T) {
	_, r := withFiles(t, tree(t, map[string]string{"main.go": ""}))
	if got := call(t, r, "edit", quoted(t, "path", "mian.go", "old", "a", "new", "b")); got !=
		"error: edit: mian.go does not exist; did you mean main.go?" {
		t.Error(got)
	}
}

// FuzzEdit checks that an edit only replaces text in the text that read shows, and that the file keeps its own
// line ends.
func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\nc", "b", "x\ny", false)
	f.Add("\uFEFF\r\n\r\n", "\n", "", true)
	f.Add("aaa\r\na", "aa", "\n", true)
	dir := tree(f, map[string]string{"f": ""})
	_, r := withFiles(f, dir)
	shown := strings.NewReplacer("\r\n", "\n")
	f.Fuzz(func(t *testing.T, content, old, replacement string, all bool) {
		if !utf8.ValidString(content+old+replacement) || strings.Contains(shown.Replace(content)+old+replacement, "\r") ||
			strings.Contains(replacement, "\uFEFF") {
			t.Skip()
		}
		if strings.Contains(strings.TrimPrefix(content, "\uFEFF"), "\uFEFF") {
			t.Skip() // a mark that an edit moves to the beginning is a character of the text, but looks like a byte order mark
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		call(t, r, "read", `{"path":"f"}`)
		input := strings.TrimSuffix(quoted(t, "path", "f", "old", old, "new", replacement), "}") +
			fmt.Sprintf(`,"all":%v}`, all)
		after := checkContent(t, dir, "f")
		failed := strings.HasPrefix(call(t, r, "edit", input), "error: ")
		before, bom := strings.CutPrefix(after, "\uFEFF")
		after, still := strings.CutPrefix(checkContent(t, dir, "f"), "\uFEFF")
		if failed {
			if after != before || bom != still {
				t.Fatalf("%q failed and gave %q", input, after)
			}
			return
		}
		want := strings.ReplaceAll(shown.Replace(before), old, replacement)
		if shown.Replace(after) != want || bom != still {
			t.Fatalf("%q of %q gave %q", input, content, after)
		}
		if strings.Count(before, "\r\n") == strings.Count(before, "\n") && strings.Contains(before, "\n") &&
			strings.Count(after, "\r\n") != strings.Count(after, "\n") {
			t.Fatalf("%q of %q mixed ends: %q", input, content, after)
		}
	})
}

// TestConcurrentEdits makes many concurrent edits of one file under two names, and checks that none is lost.
func TestConcurrentEdits(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"f": lines(50)})
	link(t, "f", dir+"/link")
	_, r := withFiles(t, dir)
	call(t, r, "read", `{"path":"f"}`)
	var wait sync.WaitGroup
	for i := range 50 {
		name := []string{"f", "link"}[i%2]
		input := quoted(t, "path", name, "old", fmt.Sprintf("line %d\n", i+1), "new", fmt.Sprintf("row %d\n", i+1))
		wait.Go(func() {
			result, err := r.Do(context.Background(), toolbox.Call{Name: "edit", Input: json.RawMessage(input)})
			if err != nil || result.IsError() {
				t.Errorf("%s: %v, %v", input, result, err)
			}
		})
	}
	wait.Wait()
	if diff := cmp.Diff(strings.ReplaceAll(lines(50), "line", "row"), checkContent(t, dir, "f")); diff != "" {
		t.Error(diff)
	}
}
