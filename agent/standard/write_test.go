package standard_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/agent/standard"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/toolbox"
)

// withFiles returns a context for dir, and a registry with all file tools over it.
func withFiles(t testing.TB, dir string) (*toolbox.Context, *toolbox.Registry) {
	t.Helper()
	tc, r := readRegistry(t, dir)
	r.Add(standard.Write(), standard.Edit())
	return tc, r
}

// quoted returns a JSON object of strings.
func quoted(t testing.TB, pairs ...string) string {
	t.Helper()
	out := "{"
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			out += ","
		}
		out += string(text.Quote(pairs[i])) + ":" + string(text.Quote(pairs[i+1]))
	}
	return out + "}"
}

func checkContent(t testing.TB, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

func TestWrite(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path, before, content string
		want, after                 string // "": unchanged
	}{
		{"a new file", "new", "", "a\nb\n", "new is new: 2 lines, 4 bytes", "a\nb\n"},
		{"an empty one", "new", "", "", "new is new: 0 lines, 0 bytes", ""},
		{"with its directories", "x/y/../z/new", "", "a", "x/z/new is new: 1 line, 1 byte", "a"},
		{"in place of one", "f", "a\nb\n", "a\nc\n", "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+c", "a\nc\n"},
		{"without its end", "f", "a\n", "a", "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n+a\n\\ No newline at end of file", "a"},
		{"of what it held", "f", "a\r\n", "a\n", "f is as it was: it held just that", ""},
		{"CRLF stays", "f", "a\r\nb\r\n", "a\nc\n", "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+c", "a\r\nc\r\n"},
		{"CRLF of its own", "f", "a\nb\r\n", "a\r\nb\r\n", "(f is changed in what ends its lines)", "a\r\nb\r\n"},
		{"mixed ends go", "f", "a\r\nb\n", "a\nb\n", "(f is changed in what ends its lines)", "a\nb\n"},
		{"a byte order mark stays", "f", "\uFEFFa\r\n", "b\n", "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n+b", "\uFEFFb\r\n"},
		{"not UTF-8", "f", "caf\xe9\n", "café\n", "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-caf\uFFFD\n+café", "café\n"},
		{"what a terminal obeys", "f", "a\n", "\x1b[2Ja\u202Eb\a\n", "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n+[2Jab", "\x1b[2Ja\u202Eb\a\n"},
		{"NUL", "f", "a\n", "a\x00", "error: write: the content has a NUL character: only text can be written", ""},
		{"a new NUL", "new", "", "a\x00", "error: write: the content has a NUL character: only text can be written", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{}
			if tt.before != "" {
				files[tt.path] = tt.before
			}
			dir := tree(t, files)
			_, r := withFiles(t, dir)
			if tt.before != "" {
				call(t, r, "read", quoted(t, "path", tt.path))
			}
			if diff := cmp.Diff(tt.want, call(t, r, "write", quoted(t, "path", tt.path, "content", tt.content))); diff != "" {
				t.Error(diff)
			}
			switch after := tt.after; {
			case after == "" && tt.before == "" && strings.HasPrefix(tt.want, "error"):
				if _, err := os.Stat(filepath.Join(dir, tt.path)); err == nil {
					t.Error("it is there")
				}
				return
			case after == "":
				tt.after = tt.before
			}
			if diff := cmp.Diff(tt.after, checkContent(t, dir, tt.path)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestChangesNeedWhatWasRead checks, for both tools that change a file, that the file must have
// been read.
func TestChangesNeedWhatWasRead(t *testing.T) {
	t.Parallel()
	const unread, changed = "was not read before: read it, then change it", "has changed since it was read: read it again"
	dir := tree(t, map[string]string{"sub/f": "one\ntwo\n"})
	link(t, "sub/f", filepath.Join(dir, "link"))
	path := filepath.Join(dir, "sub/f")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	put := func(content string) { // in the same tick of the clock
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	change := map[string]func(*toolbox.Registry, string) string{
		"write": func(r *toolbox.Registry, path string) string {
			return call(t, r, "write", quoted(t, "path", path, "content", "one\nnew\n"))
		},
		"edit": func(r *toolbox.Registry, path string) string {
			return call(t, r, "edit", quoted(t, "path", path, "old", "two", "new", "new"))
		},
	}
	steps := []struct {
		name, want string // "": the change succeeds
		before     func(*toolbox.Registry)
	}{
		{"unread", unread, func(*toolbox.Registry) {}},
		{"found by grep", unread, func(r *toolbox.Registry) { call(t, r, "grep", `{"pattern":"two"}`) }},
		{"past its end", unread, func(r *toolbox.Registry) { call(t, r, "read", `{"path":"sub/f","offset":9}`) }},
		{"read in part", "", func(r *toolbox.Registry) { call(t, r, "read", `{"path":"sub/f","limit":1}`) }},
		{"read by another name", "", func(r *toolbox.Registry) { call(t, r, "read", `{"path":"link"}`) }},
		{"touched", "", func(r *toolbox.Registry) {
			call(t, r, "read", `{"path":"sub/f"}`)
			if err := os.Chtimes(path, info.ModTime().Add(1), info.ModTime().Add(1)); err != nil {
				t.Fatal(err)
			}
		}},
		{"changed at once in the same size", changed, func(r *toolbox.Registry) {
			call(t, r, "read", `{"path":"sub/f"}`)
			put("ONE\ntwo\n")
		}},
		{"and back again", "", func(r *toolbox.Registry) {
			call(t, r, "read", `{"path":"sub/f"}`)
			put("ONE\ntwo\n")
			put("one\ntwo\n")
		}},
	}
	for _, step := range steps {
		for tool, apply := range change {
			for _, name := range []string{"sub/f", "link", "sub/../link", path} {
				put("one\ntwo\n")
				_, r := withFiles(t, dir)
				step.before(r)
				got := apply(r, name)
				if ok := !strings.HasPrefix(got, "error: "); ok != (step.want == "") || !strings.HasSuffix(got, step.want) {
					t.Errorf("%s, %s %s: %s", step.name, tool, name, got)
				}
			}
		}
	}
	if info, err := os.Lstat(filepath.Join(dir, "link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
}

func TestAChangeCountsAsRead(t *testing.T) {
	dir := tree(t, nil)
	_, r := withFiles(t, dir)
	call(t, r, "write", quoted(t, "path", "f", "content", "a\n"))
	call(t, r, "edit", quoted(t, "path", "f", "old", "a", "new", "b"))
	call(t, r, "write", quoted(t, "path", "f", "content", "b\nc\n"))
	call(t, r, "edit", quoted(t, "path", "f", "old", "c", "new", "d"))
	if got := checkContent(t, dir, "f"); got != "b\nd\n" {
		t.Errorf("%q", got)
	}
}

func TestChangesKeepPermissions(t *testing.T) {
	dir := tree(t, map[string]string{"run": "#!/bin/sh\n", "fixed": "a\n"})
	for name, mode := range map[string]os.FileMode{"run": 0o751, "fixed": 0o444} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	_, r := withFiles(t, dir)
	for _, name := range []string{"run", "fixed"} {
		call(t, r, "read", quoted(t, "path", name))
	}
	call(t, r, "edit", quoted(t, "path", "run", "old", "sh", "new", "bash"))
	call(t, r, "write", quoted(t, "path", "run", "content", "#!/bin/zsh\n"))
	if info, err := os.Stat(filepath.Join(dir, "run")); err != nil || info.Mode().Perm() != 0o751 {
		t.Error(info.Mode(), err)
	}
	if got := call(t, r, "edit", quoted(t, "path", "fixed", "old", "a", "new", "b")); got !=
		"error: edit: fixed is read-only" {
		t.Error(got)
	}
}

func TestChangesAreBounded(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"large": strings.Repeat("x", 8<<20) + "y", "many": strings.Repeat("a", 1<<20),
		"image": "\x89PNG\r\n\x1a\n\x00", "rows": strings.Repeat("\n", 300_000)})
	tc, r := withFiles(t, dir)
	for _, name := range []string{"large", "many", "image", "rows"} {
		call(t, r, "read", quoted(t, "path", name))
	}
	tests := []struct{ tool, input, want string }{
		{"edit", quoted(t, "path", "large", "old", "y", "new", "z"), "error: edit: large has more than 8 MiB: it is too large to be changed here"},
		{"write", quoted(t, "path", "large", "content", "z"), "error: write: large has more than 8 MiB: it is too large to be changed here"},
		{"write", quoted(t, "path", "new", "content", strings.Repeat("x", 8<<20+1)), "error: write: new would have more than 8 MiB"},
		{"edit", `{"path":"many","old":"a","new":"` + strings.Repeat("b", 10) + `","all":true}`, "error: edit: many would have more than 8 MiB"},
		{"edit", `{"path":"many","old":"a","new":"` + strings.Repeat("b", 64<<10) + `","all":true}`, "error: edit: many would have more than 8 MiB"},
		{"edit", quoted(t, "path", "image", "old", "P", "new", "Q"), "error: edit: image is not text: image/png"},
		{"write", quoted(t, "path", "image", "content", "x"), "error: write: image is not text: image/png"},
		{"write", quoted(t, "path", "rows", "content", strings.Repeat("\n", 200_001)), "(rows is changed; with 300000 lines before and 200001 now the difference is not shown)"},
	}
	for _, tt := range tests {
		if got := call(t, r, tt.tool, tt.input); got != tt.want {
			t.Errorf("%s %.60s: %.200s", tt.tool, tt.input, got)
		}
	}
	for _, budget := range []int{1, 2000, 0} {
		tc.Budget = budget
		name := fmt.Sprint("f", budget)
		call(t, r, "write", quoted(t, "path", name, "content", lines(1000)))
		got := call(t, r, "write", quoted(t, "path", name, "content", strings.Repeat(strings.Repeat("é", 5000)+"\n", 100)))
		if len(got) > max(1024, tc.Limit()) ||
			!strings.HasSuffix(got, " of 1103 lines of the difference; in all 100 lines are added and 1000 removed)") {
			t.Errorf("budget %d: %d bytes, %s", budget, len(got), got[max(0, len(got)-200):])
		}
	}
}
