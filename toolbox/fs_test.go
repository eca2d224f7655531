package toolbox_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/toolbox"
)

// newDirFS returns a DirFS and its directory.
func newDirFS(t *testing.T) (toolbox.FS, string) {
	t.Helper()
	dir := t.TempDir()
	files, err := toolbox.DirFS(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.(io.Closer).Close() })
	return files, dir
}

func content(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestDirFSReadsWritesAndRemoves(t *testing.T) {
	files, dir := newDirFS(t)
	if err := files.MkdirAll("a/b", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two"} {
		if err := files.WriteFile("a/b/c", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := fs.ReadFile(files, "a/b/c"); string(got) != text || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	var seen []string
	err := fs.WalkDir(files, ".", func(name string, _ fs.DirEntry, err error) error {
		seen = append(seen, name)
		return err
	})
	if diff := cmp.Diff([]string{".", "a", "a/b", "a/b/c"}, seen); diff != "" || err != nil {
		t.Error(err, diff) // and writing left no temporary file
	}
	info, err := files.Stat("a/b/c")
	if err != nil || info.Size() != 3 || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := files.Remove("a/b/c"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a/b/c")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestDirFSWritingKeepsPermissionsAndLinks(t *testing.T) {
	files, dir := newDirFS(t)
	write(t, dir, "script", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(dir, "script"), 0o775); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("script", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"script", "link"} {
		if err := files.WriteFile(name, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := content(t, dir, "script"); got != name {
			t.Errorf("through %s came %q", name, got)
		}
	}
	script, _ := os.Lstat(filepath.Join(dir, "script"))
	link, _ := os.Lstat(filepath.Join(dir, "link"))
	if script.Mode().Perm() != 0o775 || link.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("%v, %v", script.Mode(), link.Mode())
	}
}

func TestDirFSCannotBeLeft(t *testing.T) {
	files, dir := newDirFS(t)
	outside := t.TempDir()
	write(t, outside, "secret", "secret")
	write(t, dir, "sub/file", "mine")
	for link, to := range map[string]string{
		"out": outside, "up": "..", "sub/up": "../..", "file": filepath.Join(outside, "secret"),
		"new": filepath.Join(outside, "new"), "hop": "sub/up",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	for _, name := range []string{
		"..", "../x", "sub/../..", "/etc/passwd", outside, "out", "out/secret", "up", "sub/up", "file", "hop/x", "new",
	} {
		_, openErr := files.Open(name)
		_, statErr := files.Stat(name)
		for op, err := range map[string]error{
			"open": openErr, "stat": statErr,
			"write": files.WriteFile(name, []byte("pwned"), 0o644),
		} {
			if wrapped, ok := errors.AsType[*fs.PathError](err); !errors.Is(err, toolbox.ErrOutside) || !ok ||
				wrapped.Path != name {
				t.Errorf("%s %s: %v", op, name, err)
			}
		}
	}
	for _, name := range []string{"../x", "out/x", "hop/x"} {
		if err := files.MkdirAll(name, 0o755); !errors.Is(err, toolbox.ErrOutside) {
			t.Errorf("mkdir %s: %v", name, err)
		}
		if err := files.Remove(name); !errors.Is(err, toolbox.ErrOutside) {
			t.Errorf("remove %s: %v", name, err)
		}
	}
	if got := content(t, outside, "secret"); got != "secret" {
		t.Errorf("the secret is %q", got)
	}
	if list, _ := os.ReadDir(outside); len(list) != 1 {
		t.Errorf("outside there is %v", list)
	}
	// A symlink that stays inside works like a file.
	if err := os.Symlink("sub/file", filepath.Join(dir, "near")); err != nil {
		t.Fatal(err)
	}
	if got, err := fs.ReadFile(files, "near"); string(got) != "mine" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestDirFSDoesNotWaitForAPipe(t *testing.T) {
	files, dir := newDirFS(t)
	if err := mkfifo(filepath.Join(dir, "pipe")); err != nil {
		t.Skip(err)
	}
	if _, err := files.Open("pipe"); err == nil {
		t.Error("a pipe was opened")
	}
	if err := files.WriteFile("pipe", nil, 0o644); err == nil || err.Error() != "write pipe: not a regular file" {
		t.Errorf("a pipe was written: %v", err)
	}
}

// TestDirFSWritesIntoTheDirectoryThatItOpened repeatedly exchanges a directory with a symlink that leads out.
func TestDirFSWritesIntoTheDirectoryThatItOpened(t *testing.T) {
	files, dir := newDirFS(t)
	outside := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, dir, "real/f", "")
	if err := os.Symlink(outside, at("trap")); err != nil {
		t.Skip(err)
	}
	if err := os.Rename(at("real"), at("d")); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for swap := [][2]string{{"d", "real"}, {"trap", "d"}, {"d", "trap"}, {"real", "d"}}; ; {
			for _, s := range swap {
				if err := os.Rename(at(s[0]), at(s[1])); err != nil {
					t.Error(err)
				}
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	// There are at least 2,000 attempts. On one processor, all of them can fall between the same two renames. In that
	// case the loop continues until an attempt succeeds.
	written := 0
	for i, end := 0, time.Now().Add(30*time.Second); i < 2000 || written == 0 && time.Now().Before(end); i++ {
		if files.WriteFile("d/f", []byte("x"), 0o644) == nil {
			written++
		}
	}
	close(stop)
	<-stopped
	if written == 0 {
		t.Error("nothing was ever written")
	}
	for _, dir := range []string{outside, at("d")} {
		list, err := os.ReadDir(dir)
		for _, e := range list {
			if e.Name() != "f" || dir == outside {
				t.Errorf("%s was left in %s", e.Name(), dir)
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
}

func TestDirFSErrorsNameWhatWasAsked(t *testing.T) {
	files, _ := newDirFS(t)
	_, err := files.Open("missing/file")
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != "open missing/file: "+syscall.ENOENT.Error() {
		t.Error(err)
	}
	if err := files.WriteFile("missing/file", nil, 0o644); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := toolbox.DirFS(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestDirFSTakesNamesThatAreNotUTF8(t *testing.T) {
	files, dir := newDirFS(t)
	name := "a\xff\nb"
	if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
		t.Skip(err)
	}
	if got, err := fs.ReadFile(files, name); string(got) != "x" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
