package box_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/indusagi/indus/internal/box"
)

// nobody is the user of confined processes if the tests run as root.
const nobody = "65534"

// room is a directory with a private home for a process and a file outside of it.
type room struct{ dir, home, secret string }

func newRoom(t *testing.T) room {
	t.Helper()
	dir, err := os.MkdirTemp("", "box")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := room{dir, filepath.Join(dir, "home"), filepath.Join(dir, "secret")}
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Mkdir(r.home, 0o755))
	must(t, os.WriteFile(r.secret, []byte("hidden"), 0o644))
	return r
}

// boxed returns the sandbox of tests.
func (r room) boxed() *box.Box {
	b := &box.Box{Home: r.home}
	if os.Geteuid() == 0 {
		b.User = nobody
	}
	return b
}

// output runs a command in a sandbox and returns what it writes.
func output(t *testing.T, b *box.Box, path string, args ...string) (string, *os.ProcessState) {
	t.Helper()
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	child, err := b.Start(path, append([]string{path}, args...), &os.ProcAttr{
		Dir: "/", Env: os.Environ(), Files: []*os.File{nil, w, w}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	w.Close()
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	out, _ := io.ReadAll(r)
	state, err := child.Wait()
	must(t, err)
	return strings.TrimSpace(string(out)), state
}

func TestAProcessReachesWhatItsBoxNames(t *testing.T) {
	r := newRoom(t)
	out, state := output(t, r.boxed(), "/bin/cat", "/etc/hostname", r.secret)
	if !strings.Contains(out, r.secret+": Permission denied") || state.Success() {
		t.Errorf("cat: %q, %v", out, state)
	}
	b := r.boxed()
	b.Read = []string{r.secret}
	if out, _ := output(t, b, "/bin/cat", r.secret); out != "hidden" {
		t.Errorf("cat of a named file: %q", out)
	}
	if out, state := output(t, r.boxed(), "/bin/sh", "-c", `echo a >"$HOME/a" && mv "$HOME/a" "$TMPDIR/b" && cat "$TMPDIR/b"`); out != "a" || !state.Success() {
		t.Errorf("home: %q, %v", out, state)
	}
}
