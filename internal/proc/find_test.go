package proc_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/indusagi/indus/internal/proc"
)

func TestFindIsWhatStartStarts(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"server": 0o700, "text": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=" + dir}
	for _, c := range []struct {
		name string
		cmd  proc.Command
		path string
		err  error
	}{
		{"by name", proc.Command{Path: "server", Env: env}, filepath.Join(dir, "server"), nil},
		{"by a path from its directory", proc.Command{Path: "./server", Dir: dir}, dir + "/./server", nil},
		{"no such name", proc.Command{Path: "servre", Env: env}, "", exec.ErrNotFound},
		{"no such path", proc.Command{Path: "/no/such/server"}, "", fs.ErrNotExist},
		{"not executable", proc.Command{Path: "text", Env: env}, "", fs.ErrPermission},
		{"no such directory", proc.Command{Path: "server", Env: env, Dir: "/no/such"}, "", fs.ErrNotExist},
	} {
		path, err := c.cmd.Find()
		if path != c.path || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v", c.name, path, err)
		}
	}
	if got := (proc.Command{Env: env}).SearchPath(); got != dir {
		t.Errorf("searched: %q", got)
	}
}
