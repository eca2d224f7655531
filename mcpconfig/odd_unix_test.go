//go:build unix

package mcpconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
)

// At the path of a project's file there may be anything. None of these blocks or
// panics.
func TestDiscoveredOddities(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(path string) error
		want string // the only note; "" for a server that is held
	}{
		{"directory", func(p string) error { return os.Mkdir(p, 0o755) }, "mcp.json: not a file but a directory"},
		{"named pipe", func(p string) error { return syscall.Mkfifo(p, 0o644) }, "mcp.json: not a file but a named pipe"},
		{"device", func(p string) error { return os.Symlink("/dev/zero", p) }, "mcp.json: not a file but a device"},
		{"link to nothing", func(p string) error { return os.Symlink("nowhere", p) }, "mcp.json: a symbolic link to nothing"},
		{"link to itself", func(p string) error { return os.Symlink("mcp.json", p) }, "mcp.json: too many levels of symbolic links"},
		{"link to a file of the kernel", func(p string) error {
			if _, err := os.Stat("/proc/self/environ"); err != nil {
				return err
			}
			return os.Symlink("/proc/self/environ", p) // some, such as kmsg, block
		}, `mcp.json:1:1: is empty; begin with {"servers": {"name": {"command": "…"}}}`},
		{"unreadable", func(p string) error { return os.WriteFile(p, []byte("{}"), 0) }, "mcp.json: permission denied"},
		{"sparse and huge", func(p string) error {
			if err := os.WriteFile(p, nil, 0o644); err != nil {
				return err
			}
			return os.Truncate(p, 1<<40)
		}, "mcp.json: larger than 1 MiB"},
		{"link to a file", func(p string) error {
			if err := os.WriteFile(p+".real", []byte(`{"servers": {"a": {"command": "x"}}}`), 0o644); err != nil {
				return err
			}
			return os.Symlink(p+".real", p)
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "unreadable" && os.Geteuid() == 0 {
				t.Skip("root reads everything")
			}
			dir := t.TempDir()
			mkdir(t, filepath.Join(dir, ".indusvx"))
			if err := tt.make(filepath.Join(dir, ".indusvx", "mcp.json")); err != nil {
				t.Skip(err)
			}
			c, err := mcpconfig.Read(t.Context(), []string{dir}, &mcpconfig.Options{Env: lookup(nil)})
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" {
				if len(c.Held()) != 1 || len(c.Notes) != 1 {
					t.Error(c)
				}
				return
			}
			if len(c.Notes) != 1 || strings.TrimPrefix(c.Notes[0].String(), filepath.Join(dir, ".indusvx")+"/") != tt.want {
				t.Errorf("got %v, want %s", c.Notes, tt.want)
			}
		})
	}
}

// A shell's <(…) is a pipe. A pipe that is named is read.
func TestReadTakesANamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() { done <- os.WriteFile(path, []byte(`{"servers": {"a": {"command": "x"}}}`), 0o644) }()
	c, err := mcpconfig.Read(t.Context(), []string{path}, nil)
	if err != nil || len(c.Servers()) != 1 {
		t.Errorf("%v, %v", c, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A project's link to the user's own files, or to named files, must not change the
// meaning of relative paths in them.
func TestAProjectsLinkMovesNoRelativePath(t *testing.T) {
	t.Parallel()
	home, work, other := tempDir(t), tempDir(t), tempDir(t)
	own, named := filepath.Join(home, ".config", "indusvx", "mcp.json"), filepath.Join(home, "mine", "mcp.json")
	write(t, own, `{"servers": {"a": {"command": "./run.sh", "cwd": "bin", "args": ["${cmd:pwd}"]}}}`)
	write(t, named, `{"servers": {"a": {"command": "./run.sh", "cwd": "bin", "args": ["${cmd:pwd}"]}}}`)
	mkdir(t, filepath.Join(work, ".indusvx"))
	link := filepath.Join(work, ".indusvx", "mcp.json")
	for _, tt := range []struct {
		to    string
		paths []string
	}{
		{own, []string{work}}, {own, []string{other, work}}, {own, []string{work, other}},
		{named, []string{named, work}}, {named, []string{work, named}},
	} {
		_ = os.Remove(link)
		if err := os.Symlink(tt.to, link); err != nil {
			t.Fatal(err)
		}
		c, err := mcpconfig.Read(t.Context(), tt.paths, &mcpconfig.Options{Home: home, Env: lookup(nil)})
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(tt.to)
		for _, s := range c.Servers() {
			got := s.Transport.(config.Stdio)
			want := config.Stdio{Command: "./run.sh", Args: []string{dir}, Dir: filepath.Join(dir, "bin")}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%v: %s", tt.paths, diff)
			}
		}
		for _, r := range c.Rows {
			if r.State == mcpconfig.Active && r.File != tt.to {
				t.Errorf("%v: from %s", tt.paths, r.File)
			}
		}
		if len(c.Servers()) != 1 {
			t.Errorf("%v: %v", tt.paths, c.Notes)
		}
	}
}

// A project's link to the user's own file has the same effect as the user's file.
func TestAProjectsLinkToTheUsersFileIsTheUsersFile(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	own := filepath.Join(home, ".config", "indusvx", "mcp.json")
	write(t, own, `{"servers": {"a": {"command": "x"}}}`)
	mkdir(t, filepath.Join(work, ".indusvx"))
	if err := os.Symlink(own, filepath.Join(work, ".indusvx", "mcp.json")); err != nil {
		t.Skip(err)
	}
	c, err := mcpconfig.Read(t.Context(), []string{work}, &mcpconfig.Options{Home: home, Env: lookup(nil)})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Rows) != 1 || c.Rows[0].State != mcpconfig.Active || c.Rows[0].Scope != mcpconfig.User {
		t.Errorf("%v, notes %v", c.Rows, c.Notes)
	}
	if diff := cmp.Diff([]mcpconfig.Note(nil), c.Notes); diff != "" {
		t.Error(diff)
	}
}
