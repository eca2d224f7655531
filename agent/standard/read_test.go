package standard_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/agent/standard"
	"github.com/indusagi/indus/toolbox"
)

func numbered(from, to int) string {
	var s strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&s, "%d\tline %d\n", i, i)
	}
	return strings.TrimSuffix(s.String(), "\n")
}

func lines(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "line %d\n", i+1)
	}
	return s.String()
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"five":      lines(5),
		"many":      lines(2500),
		"no end":    "a\nb",
		"empty":     "",
		"blank":     "\n",
		"crlf":      "a\r\nb\r\n",
		"bom":       "\uFEFFa\n",
		"latin":     "caf\xe9\n",
		"wide":      "ab" + strings.Repeat("é", 5000) + "\nnext\n",
		"image.png": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
		"utf16":     "\xff\xfea\x00b\x00",
		"sub/deep":  "x\n",
	})
	_, r := readRegistry(t, dir)
	tests := []struct{ name, input, want string }{
		{"a file", `{"path":"five"}`, numbered(1, 5)},
		{"an absolute path", fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "five")), numbered(1, 5)},
		{"a roundabout path", `{"path":"./sub/../five"}`, numbered(1, 5)},
		{"below", `{"path":"sub/deep"}`, "1\tx"},
		{"from a line", `{"path":"five","offset":4}`, numbered(4, 5) + "\n(lines 4 to 5 of 5)"},
		{"some lines", `{"path":"five","offset":2,"limit":2}`, numbered(2, 3) + "\n(lines 2 to 3 of 5; go on with offset 4)"},
		{"exactly all", `{"path":"five","limit":5}`, numbered(1, 5)},
		{"2000 by default", `{"path":"many"}`, numbered(1, 2000) + "\n(lines 1 to 2000 of 2500; go on with offset 2001)"},
		{"more if told", `{"path":"many","limit":9999}`, numbered(1, 2500)},
		{"no end of line", `{"path":"no end"}`, "1\ta\n2\tb"},
		{"empty", `{"path":"empty"}`, "(the file is empty)"},
		{"one empty line", `{"path":"blank"}`, "1\t"},
		{"CRLF", `{"path":"crlf"}`, "1\ta\n2\tb\n(lines end in CRLF)"},
		{"a byte order mark", `{"path":"bom"}`, "1\ta"},
		{"not UTF-8", `{"path":"latin"}`, "1\tcaf�\n(not all of it is UTF-8; other bytes are shown as U+FFFD)"},
		{"a long line", `{"path":"wide"}`, "1\tab" + strings.Repeat("é", 999) + " …8002 bytes…\n2\tnext"},
		{"an image", `{"path":"image.png"}`, "image.png is not text: image/png, 16 bytes. Its content is not shown."},
		{"UTF-16", `{"path":"utf16"}`, "utf16 is not text: text/plain; charset=utf-16le, 6 bytes. Its content is not shown."},
		{"past the end", `{"path":"five","offset":6}`, "error: read: five: offset 6 is past the end: there are 5 lines"},
		{"past the end of nothing", `{"path":"empty","offset":2}`, "error: read: empty: offset 2 is past the end: there are 0 lines"},
		{"no path", `{}`, "error: the arguments of read do not fit:\n/: missing required \"path\" (string)"},
		{"a bad offset", `{"path":"five","offset":0}`, "error: the arguments of read do not fit:\n/offset: expected at least 1, got 0"},
		{"a bad limit", `{"path":"five","limit":-1}`, "error: the arguments of read do not fit:\n/limit: expected at least 1, got -1"},
		{"a directory", `{"path":"sub"}`, "error: read: sub is a directory: use ls to see what is in it"},
		{"the directory", `{"path":"."}`, "error: read: . is a directory: use ls to see what is in it"},
		{"below a file", `{"path":"five/x"}`, "error: read: five/x: not a directory"},
		{"outside", `{"path":"../five"}`, "error: read: ../five: the path leads outside the directory"},
		{"far outside", `{"path":"/etc/passwd"}`, "error: read: /etc/passwd: the path leads outside the directory"},
		{"an unknown argument", `{"path":"five","lines":3}`, "error: the arguments of read do not fit:\n/: unknown property \"lines\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, call(t, r, "read", tt.input)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadOffersNamesThatAreNear(t *testing.T) {
	_, r := readRegistry(t, tree(t, map[string]string{
		"README.md": "", "src/main.go": "", "src/main_test.go": "", "docs/guide/": "", "xyz": "",
	}))
	tests := []struct{ path, want string }{
		{"readme.md", "did you mean README.md?"},
		{"src/mian.go", "did you mean src/main.go?"},
		{"scr/main.go", "did you mean src/main.go?"},
		{"src/main.gp", "did you mean src/main.go?"},
		{"doc/guide", "did you mean docs/guide?"},
		{"nothing like it", "nothing like it does not exist"},
		{"src/a\nb", `"src/a\nb" does not exist`},
	}
	for _, tt := range tests {
		got := call(t, r, "read", fmt.Sprintf(`{"path":%q}`, tt.path))
		if !strings.HasPrefix(got, "error: read: ") || !strings.HasSuffix(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.path, got, tt.want)
		}
	}
}

func TestReadKeepsWithinTheBudget(t *testing.T) {
	dir := tree(t, map[string]string{"many": lines(5000), "wide": strings.Repeat("x", 1<<20)})
	for _, budget := range []int{1, 700, 4000, 0} {
		tc, _ := readRegistry(t, dir)
		tc.Budget = budget
		r := toolbox.NewRegistry(tc)
		r.Add(standard.Read())
		got := call(t, r, "read", `{"path":"many","limit":5000}`)
		if bound := max(1024, tc.Limit()); len(got) > bound {
			t.Errorf("budget %d: %d bytes", budget, len(got))
		}
		var first, last, total, next int
		note := got[strings.LastIndex(got, "\n")+1:]
		const format = "(lines %d to %d of %d; go on with offset %d)"
		_, err := fmt.Sscanf(note, format, &first, &last, &total, &next)
		if err != nil || total != 5000 || next != last+1 {
			t.Fatalf("budget %d: %q, %v", budget, note, err)
		}
		if want := numbered(1, last); !strings.HasPrefix(got, want+"\n(") {
			t.Errorf("budget %d: not lines 1 to %d", budget, last)
		}
		if got := call(t, r, "read", `{"path":"wide"}`); !strings.HasPrefix(got, "1\txxx") ||
			!strings.HasSuffix(got, " bytes…") {
			t.Errorf("budget %d: %.100s", budget, got)
		}
	}
}

func TestReadMarksWhatWasShown(t *testing.T) {
	files := map[string]string{"a": "x\n", "many": lines(5000), "bom": "\uFEFFx\r\ny", "empty": ""}
	tc, r := readRegistry(t, tree(t, files))
	for name, content := range files {
		call(t, r, "read", fmt.Sprintf(`{"path":"./%s","limit":1}`, name))
		if ever, same := tc.WasRead(name, []byte(content)); !ever || !same {
			t.Errorf("%s: %v, %v", name, ever, same)
		}
	}
}

func TestReadMarksNothingThatWasNotShown(t *testing.T) {
	tc, r := readRegistry(t, tree(t, map[string]string{"a": "x\n", "b": "\x00"}))
	call(t, r, "read", `{"path":"b"}`)
	call(t, r, "read", `{"path":"a","offset":5}`)
	call(t, r, "grep", `{"path":"a","pattern":"x"}`)
	for _, name := range []string{"a", "b"} {
		if ever, _ := tc.WasRead(name, nil); ever {
			t.Errorf("%s is marked as read", name)
		}
	}
}

func TestReadDoesNotCountForEver(t *testing.T) {
	t.Parallel()
	dir := tree(t, nil)
	file, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	row := strings.Repeat("x", 1<<20-1) + "\n"
	for range 66 {
		if _, err := file.WriteString(row); err != nil {
			t.Fatal(err)
		}
	}
	_, r := readRegistry(t, dir)
	got := call(t, r, "read", `{"path":"large","limit":1}`)
	if want := "\n(lines 1 to 1 of more than 65; go on with offset 2)"; !strings.HasSuffix(got, want) {
		t.Error(got[len(got)-100:])
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	_, r := readRegistry(t, tree(t, map[string]string{"a": strings.Repeat("x\n", 1<<20)}))
	endsWith(t, r, 6, "read", `{"path":"a","limit":100000000}`)
}
