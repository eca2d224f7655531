package standard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/toolbox"
)

const secret = "the-secret-outside"

// trap is a directory with links out of it, and beside it what nobody must see.
func trap(t testing.TB) (dir, outside string) {
	t.Helper()
	parent := tree(t, map[string]string{
		"outside/" + secret: secret, "inside/sub/file": "mine\n", "inside/a": "mine\n", secret: secret,
	})
	dir, outside = filepath.Join(parent, "inside"), filepath.Join(parent, "outside")
	for at, to := range map[string]string{
		"out": outside, "up": "..", "sub/up": "../..", "file": filepath.Join(outside, secret), "self": ".", "loop": "loop",
		"near": "sub/file", "root": "/",
	} {
		link(t, to, filepath.Join(dir, filepath.FromSlash(at)))
	}
	return dir, outside
}

func TestToolsCannotLeaveTheDirectory(t *testing.T) {
	dir, outside := trap(t)
	_, r := in(t, dir)
	for _, path := range []string{
		"..", "../" + secret, "../outside/" + secret, "sub/../../" + secret, outside, filepath.Join(outside, secret),
		"/", "/etc/passwd", dir + "/../" + secret, dir + "x", "out", "out/" + secret, "up/" + secret, "sub/up/" + secret,
		"file", "root/etc/passwd", "self/../up/" + secret, "loop", "a\x00b",
	} {
		quoted, err := json.Marshal(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range []string{"read", "ls", "grep", "find"} {
			input := fmt.Sprintf(`{"path":%s}`, quoted)
			if tool == "grep" || tool == "find" {
				input = fmt.Sprintf(`{"path":%s,"pattern":"s*"}`, quoted)
			}
			got := call(t, r, tool, input)
			if !strings.HasPrefix(got, "error: "+tool+": ") || strings.Contains(got, "did you mean") {
				t.Errorf("%s %s: %s", tool, input, got)
			}
		}
	}
}

func TestSearchesDoNotFollowLinks(t *testing.T) {
	dir, _ := trap(t)
	_, r := in(t, dir)
	if got := call(t, r, "grep", `{"pattern":"."}`); got != "a\n1:mine\n\nsub/file\n1:mine" {
		t.Error(got)
	}
	want := "a\nfile\nloop\nnear\nout\nroot\nself\nsub/\nsub/file\nsub/up\nup"
	if got := call(t, r, "find", `{"pattern":"*"}`); got != want {
		t.Error(got)
	}
	if got := call(t, r, "read", `{"path":"near"}`); got != "1\tmine" {
		t.Error(got)
	}
}

func TestToolsWithoutFilesSaySo(t *testing.T) {
	r := toolbox.NewRegistry(nil)
	r.Add(deckOf(t).Tools()...)
	for tool, input := range map[string]string{"read": `{"path":"a"}`, "ls": ``, "grep": `{"pattern":"a"}`, "find": `{"pattern":"a"}`} {
		if got := call(t, r, tool, input); !strings.HasPrefix(got, "error: "+tool+": ") || !strings.HasSuffix(got, "there are no files here") {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

func TestToolsAreFitForModels(t *testing.T) {
	r := toolbox.NewRegistry(nil)
	r.Add(deckOf(t).Tools()...)
	for _, d := range toolbox.NewBox(nil, r).Snapshot("").Tools {
		var s struct {
			Properties map[string]struct{ Description string }
		}
		if err := json.Unmarshal(d.Schema, &s); err != nil || d.Excluded != "" || d.Description == "" {
			t.Errorf("%s: %v, %s", d.Name, err, d.Excluded)
		}
		for name, p := range s.Properties {
			if p.Description == "" {
				t.Errorf("%s: %s has no description", d.Name, name)
			}
		}
	}
}

func fuzzed(f *testing.F) *toolbox.Registry {
	dir, _ := trap(f)
	// A loop of links on the way out must not be seen as the way in.
	if err := os.Symlink("../inside/up", filepath.Join(dir, "again")); err != nil {
		f.Skip(err)
	}
	_, r := in(f, dir)
	return r
}

// FuzzReadPath: no path leads out.
func FuzzReadPath(f *testing.F) {
	for _, path := range []string{"a", "sub/file", "../" + secret, "out/" + secret, "sub/up/" + secret, "/etc/passwd", "file", "a\x00", "self/self/a", "..\\x", "C:\\x", "//etc", "again/" + secret} {
		f.Add(path, 1, 10)
	}
	r := fuzzed(f)
	f.Fuzz(func(t *testing.T, path string, offset, limit int) {
		input, err := json.Marshal(map[string]any{"path": path, "offset": offset, "limit": limit})
		if err != nil {
			return
		}
		got := call(t, r, "read", string(input))
		if strings.HasPrefix(got, "error: ") {
			return
		}
		if !strings.Contains(got, "mine") || strings.Contains(got, secret) {
			t.Fatalf("%s: %s", input, got)
		}
	})
}

// FuzzGrep: no path, pattern or glob leads out, and whatever they are there is an answer.
func FuzzGrep(f *testing.F) {
	for _, path := range []string{".", "a", "../outside", "out", "up", "sub/up", "/", "root/etc", "again"} {
		f.Add(path, ".*", "**", 2, 10)
		f.Add(path, "sec", "*", 0, 1)
	}
	f.Add("", "(?s)a.*", "{a,b}/[^x]*", 0, 1)
	r := fuzzed(f)
	box := toolbox.NewBox(&toolbox.BoxOptions{Unvalidated: true}, r) // the tool itself has an answer
	f.Fuzz(func(t *testing.T, path, pattern, glob string, around, limit int) {
		input, err := json.Marshal(map[string]any{"path": path, "pattern": pattern, "glob": glob, "context": around, "limit": limit})
		if err != nil {
			return
		}
		out := box.Run(context.Background(), toolbox.Call{Name: "grep", Input: input})
		if text := out.Text(); !out.IsError && strings.Contains(text, secret) || out.Err != nil {
			t.Fatalf("%s: %s", input, text)
		}
	})
}

// FuzzFind: the same of names.
func FuzzFind(f *testing.F) {
	for _, pattern := range []string{"*", "**", "../*", "/**", "out/**", "{..,.}/*", "[.][.]/*", "sub/up/**", `\.\./*`, strings.Repeat("*a", 100) + "b", strings.Repeat("**/", 100)} {
		f.Add(".", pattern)
		f.Add("sub", pattern)
	}
	r := fuzzed(f)
	f.Fuzz(func(t *testing.T, path, pattern string) {
		input, err := json.Marshal(map[string]any{"path": path, "pattern": pattern})
		if err != nil {
			return
		}
		if got := call(t, r, "find", string(input)); !strings.HasPrefix(got, "error: ") && strings.Contains(got, secret) {
			t.Fatalf("%s: %s", input, got)
		}
	})
}
