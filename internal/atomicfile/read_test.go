//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package atomicfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/indusagi/indus/internal/atomicfile"
)

// TestReadPrivate checks that files are refused, without blocking, if other users may read them, or if they are too
// large or not regular.
func TestReadPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string, mode os.FileMode, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file("read", 0o644, "x"):                        "others may read or write it (mode 0644)",
		file("large", 0o600, strings.Repeat("x", 5000)): "larger than 4 KiB",
		pipe:                               "not a file but a named pipe",
		dir:                                "not a file but a directory",
		filepath.Join(dir, "not", "there"): "no such file",
	} {
		if text, err := atomicfile.ReadPrivate(path, 4<<10); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: %q, %v; want an error with the path and %q", path, text, err, want)
		}
	}
	if text, err := atomicfile.ReadPrivate(file("own", 0o600, "x"), 1); err != nil || string(text) != "x" {
		t.Errorf("got %q, %v", text, err)
	}
}
