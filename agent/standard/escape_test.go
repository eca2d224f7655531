package standard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/toolbox"
)

const secret = "the-secret-outside"

// escapeDir returns a directory with symlinks out of it, and the directory outside, which no tool may see or change.
func escapeDir(t testing.TB) (dir, outside string) {
	t.Helper()
	parent := tree(t, map[string]string{
		"outside/" + secret: secret, "inside/sub/file": "mine\n", "inside/a": "mine\n", secret: secret,
	})
	dir, outside = filepath.Join(parent, "inside"), filepath.Join(parent, "outside")
	for at, to := range map[string]string{
		"out": outside, "up": "..", "sub/up": "../..", "file": filepath.Join(outside, secret), "self": ".", "loop": "loop",
		"near": "sub/file", "root": "/", "new": filepath.Join(outside, "new"), "ping": "pong", "pong": "ping", "far": "sub/up/" + secret,
	} {
		link(t, to, filepath.Join(dir, filepath.FromSlash(at)))
	}
	return dir, outside
}

// checkUntouched checks that the files outside of an escapeDir are unchanged, and that no tool left a temporary file
// inside.
func checkUntouched(t *testing.T, dir string) {
	t.Helper()
	var outside []string
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, e fs.DirEntry, err error) error {
		if strings.Contains(e.Name(), ".indus-") {
			t.Errorf("%s is left", path)
		}
		if path == dir {
			return nil
		}
		if !strings.HasPrefix(path, dir+"/") && !e.IsDir() {
			outside = append(outside, e.Name()+": "+checkContent(t, path, ""))
		}
		return err
	})
	if diff := cmp.Diff([]string{secret + ": " + secret, secret + ": " + secret}, outside); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// fileTools maps the tools that take a path to the arguments that they need.
var fileTools = map[string]string{
	"read": `{"path":%s}`, "ls": `{"path":%s}`, "grep": `{"path":%s,"pattern":"s*"}`, "find": `{"path":%s,"pattern":"s*"}`,
	"write": `{"path":%s,"content":"pwned"}`, "edit": `{"path":%s,"old":"secret","new":"pwned"}`,
}

func TestToolsCannotLeaveTheDirectory(t *testing.T) {
	t.Parallel()
	dir, outside := escapeDir(t)
	link(t, "/proc/self/root", filepath.Join(dir, "procroot"))
	link(t, "/proc/self/cwd", filepath.Join(dir, "cwd"))
	link(t, "/dev/stdin", filepath.Join(dir, "stdin"))
	link(t, "/proc/self/fd/0", filepath.Join(dir, "fd"))
	link(t, strings.Repeat("sub/../", 500)+"../"+secret, filepath.Join(dir, "winding"))
	_, r := withFiles(t, dir)
	for _, path := range []string{
		"..", "../" + secret, "../outside/" + secret, "sub/../../" + secret, outside, filepath.Join(outside, secret),
		"/", "/etc/passwd", dir + "/../" + secret, dir + "x", "out", "out/" + secret, "up/" + secret, "sub/up/" + secret,
		"file", "root/etc/passwd", "self/../up/" + secret, "self/self/out/" + secret, "loop", "loop/x", "ping", "far", "winding", "a\x00b", "../inside\x00/a",
		"/proc/self/root" + dir + "/a", "/proc/self/cwd/a", "/proc/self/fd/0", "/dev/stdin", "/dev/null", "procroot" + outside + "/" + secret, "procroot", "cwd/a", "cwd", "stdin", "fd",
		"out/", "../", "/..", "//etc/passwd", dir + "/out/" + secret, dir + "/../inside/../outside/" + secret, strings.Repeat("../", 1000) + "etc/passwd",
		"a/../../" + secret, "a/b", "sub/file/x", strings.Repeat("x", 300), strings.Repeat("x/", 100_000) + "x",
	} {
		for tool, input := range fileTools {
			got := call(t, r, tool, fmt.Sprintf(input, text.Quote(path)))
			if !strings.HasPrefix(got, "error: "+tool+": ") || strings.Contains(got, "did you mean") || len(got) > 5000 {
				t.Errorf("%s %.200s: %.500s", tool, path, got)
			}
		}
	}
	// Files outside cannot be created.
	for _, path := range []string{"new", "out/new", "up/new", "root/tmp/new", "sub/up/outside/x/new"} {
		got := call(t, r, "write", quoted(t, "path", path, "content", "pwned"))
		if !strings.HasPrefix(got, "error: write: "+path+": ") {
			t.Errorf("%s: %s", path, got)
		}
	}
	checkUntouched(t, dir)
}

// TestToolsStayInsideWhenADirectoryIsExchanged repeatedly exchanges a directory with a symlink that leads out.
func TestToolsStayInsideWhenADirectoryIsExchanged(t *testing.T) {
	t.Parallel()
	dir, outside := escapeDir(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("sub/"+secret), []byte("mine secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	link(t, outside, at("trap"))
	_, r := withFiles(t, dir)
	call(t, r, "read", quoted(t, "path", "sub/"+secret))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			for _, swap := range [][2]string{{"sub", "kept"}, {"trap", "sub"}, {"sub", "trap"}, {"kept", "sub"}} {
				for os.Rename(at(swap[0]), at(swap[1])) != nil {
					_ = os.RemoveAll(at(swap[1])) // a directory that write has made meanwhile
				}
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	done := map[string]int{}
	for i := range 200 {
		for tool, input := range fileTools {
			if tool == "edit" {
				input = `{"path":%s,"old":"mine","new":"mine","all":true}`
			}
			for _, path := range []string{"sub/" + secret, "sub", fmt.Sprintf("sub/deep/%d", i%3)} {
				got := call(t, r, tool, fmt.Sprintf(input, text.Quote(path)))
				if !strings.HasPrefix(got, "error: ") {
					done[tool]++
				}
				if strings.Contains(got, "1:"+secret) || strings.Contains(got, "1\t"+secret) {
					t.Fatalf("%s %s: %s", tool, path, got)
				}
			}
		}
	}
	close(stop)
	<-stopped
	for _, tool := range []string{"read", "ls", "grep", "find", "write"} {
		if done[tool] == 0 {
			t.Errorf("%s never came through: nothing is shown", tool)
		}
	}
	checkUntouched(t, dir)
}

// TestWritesOfHardNames writes to names where a file cannot or must not be.
func TestWritesOfHardNames(t *testing.T) {
	const vcs = " belongs to version control, which runs what it finds there: use its commands"
	dir := tree(t, map[string]string{
		"dir/": "", "f": "mine\n", ".git/config": "[core]\n", "sub/.git/HEAD": "", "tree/.git": "gitdir: /x\n", "real/": "",
	})
	link(t, ".git/hooks", filepath.Join(dir, "innocent"))
	link(t, "real/later", filepath.Join(dir, "dangling"))
	link(t, "real", filepath.Join(dir, "alias"))
	_, r := withFiles(t, dir)
	for _, path := range []string{".git/config", "tree/.git"} {
		call(t, r, "read", quoted(t, "path", path))
	}
	tests := []struct{ path, want string }{ // want "": it is written
		{"dir", ": dir is a directory"},
		{".", ": . is a directory"},
		{dir, ": . is a directory"},
		{"dir/", ": dir/ is the name of a directory"},
		{"new/", ": new/ is the name of a directory"},
		{"f/", ": f/ is the name of a directory"},
		{"f/x", ": f/x: not a directory"},
		{"deep/" + strings.Repeat("x", 256), ": file name too long"},
		{".git/config", vcs}, {".git/hooks/pre-commit", vcs}, {".git", vcs}, {"sub/.git/config", vcs}, {"new/.git/config", vcs}, {"tree/.git", vcs},
		{".GIT/config", vcs}, {".git./config", vcs}, {".git /x", vcs}, {"GIT~1/x", vcs}, {".g\u200cit/x", vcs}, {".git::$INDEX_ALLOCATION/x", vcs},
		{"innocent/pre-commit", vcs}, {"dir/../innocent/x", vcs}, {".hg/hgrc", vcs}, {".jj/x", vcs},
		{".gitignore", ""}, {".github/ci.yml", ""}, {"a.git/x", ""}, {"dangling", ""}, {"alias/deeper/x", ""}, {"odd\nname", ""}, {"-rf", ""}, {"...", ""},
	}
	for _, tt := range tests {
		got := call(t, r, "write", quoted(t, "path", tt.path, "content", "x"))
		if ok := !strings.HasPrefix(got, "error: "); ok != (tt.want == "") || !strings.HasSuffix(got, tt.want) {
			t.Errorf("%q: %s", tt.path, got)
		}
		got = call(t, r, "edit", quoted(t, "path", tt.path, "old", "core", "new", "x"))
		if !strings.HasPrefix(got, "error: edit: ") {
			t.Errorf("%q was edited: %s", tt.path, got)
		}
	}
	for path, want := range map[string]string{"real/later": "x", "real/deeper/x": "x", ".git/config": "[core]\n",
		"tree/.git": "gitdir: /x\n", "f": "mine\n"} {
		if got := checkContent(t, dir, path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	if got := call(t, r, "find", `{"pattern":"*.indus*","ignored":true}`); got != "(nothing matches)" {
		t.Error(got)
	}
}

// TestToolsDoNotWaitForAPipe checks that no tool opens a pipe, because that waits for the other side, possibly
// forever.
func TestToolsDoNotWaitForAPipe(t *testing.T) {
	dir := tree(t, map[string]string{"a": "mine\n"})
	for _, name := range []string{"pipe", ".gitignore"} {
		if err := exec.Command("mkfifo", filepath.Join(dir, name)).Run(); err != nil {
			t.Skip(err)
		}
	}
	link(t, "pipe", filepath.Join(dir, "link"))
	_, r := withFiles(t, dir)
	for tool, input := range fileTools {
		for _, name := range []string{"pipe", "link"} {
			got := call(t, r, tool, fmt.Sprintf(input, text.Quote(name)))
			if !strings.HasPrefix(got, "error: "+tool+": "+name+": neither a file nor a directory") {
				t.Errorf("%s %s: %s", tool, name, got)
			}
		}
	}
	if got := call(t, r, "grep", `{"pattern":"mine"}`); got != "a\n1:mine" {
		t.Error(got)
	}
}

func TestSearchesDoNotFollowLinks(t *testing.T) {
	dir, _ := escapeDir(t)
	_, r := readRegistry(t, dir)
	if got := call(t, r, "grep", `{"pattern":"."}`); got != "a\n1:mine\n\nsub/file\n1:mine" {
		t.Error(got)
	}
	want := "a\nfar\nfile\nloop\nnear\nnew\nout\nping\npong\nroot\nself\nsub/\nsub/file\nsub/up\nup"
	if got := call(t, r, "find", `{"pattern":"*"}`); got != want {
		t.Error(got)
	}
	if got := call(t, r, "read", `{"path":"near"}`); got != "1\tmine" {
		t.Error(got)
	}
}

func TestToolsWithoutFilesSaySo(t *testing.T) {
	r := toolbox.NewRegistry(nil)
	r.Add(newDeck(t).Tools()...)
	for tool, input := range map[string]string{"read": `{"path":"a"}`, "ls": ``, "grep": `{"pattern":"a"}`,
		"find": `{"pattern":"a"}`} {
		if got := call(t, r, tool, input); !strings.HasPrefix(got, "error: "+tool+": ") ||
			!strings.HasSuffix(got, "there are no files here") {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

func TestToolsAreFitForModels(t *testing.T) {
	r := toolbox.NewRegistry(nil)
	r.Add(newDeck(t).Tools()...)
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

func fuzzRegistry(f *testing.F) *toolbox.Registry {
	dir, _ := escapeDir(f)
	// A loop of symlinks that leads out must not be mistaken for a path inside.
	if err := os.Symlink("../inside/up", filepath.Join(dir, "again")); err != nil {
		f.Skip(err)
	}
	_, r := readRegistry(f, dir)
	return r
}

// FuzzReadPath checks that no path leads out.
func FuzzReadPath(f *testing.F) {
	for _, path := range []string{"a", "sub/file", "../" + secret, "out/" + secret, "sub/up/" + secret, "/etc/passwd",
		"file", "a\x00", "self/self/a", "..\\x", "C:\\x", "//etc", "again/" + secret} {
		f.Add(path, 1, 10)
	}
	r := fuzzRegistry(f)
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

// FuzzGrep checks that no path, pattern or glob leads out, and that every input has an answer.
func FuzzGrep(f *testing.F) {
	for _, path := range []string{".", "a", "../outside", "out", "up", "sub/up", "/", "root/etc", "again"} {
		f.Add(path, ".*", "**", 2, 10)
		f.Add(path, "sec", "*", 0, 1)
	}
	f.Add("", "(?s)a.*", "{a,b}/[^x]*", 0, 1)
	r := fuzzRegistry(f)
	box := toolbox.NewBox(&toolbox.BoxOptions{Unvalidated: true}, r) // the tool itself has an answer
	f.Fuzz(func(t *testing.T, path, pattern, glob string, around, limit int) {
		input, err := json.Marshal(map[string]any{"path": path, "pattern": pattern, "glob": glob, "context": around,
			"limit": limit})
		if err != nil {
			return
		}
		out := box.Run(context.Background(), toolbox.Call{Name: "grep", Input: input})
		if text := out.Text(); !out.IsError && strings.Contains(text, secret) || out.Err != nil {
			t.Fatalf("%s: %s", input, text)
		}
	})
}

// FuzzFind checks the same for the tool find.
func FuzzFind(f *testing.F) {
	for _, pattern := range []string{"*", "**", "../*", "/**", "out/**", "{..,.}/*", "[.][.]/*", "sub/up/**", `\.\./*`,
		strings.Repeat("*a", 100) + "b", strings.Repeat("**/", 100)} {
		f.Add(".", pattern)
		f.Add("sub", pattern)
	}
	r := fuzzRegistry(f)
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
