package toolbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/toolbox"
)

func TestLocalShellRunsALineInItsDirectory(t *testing.T) {
	needShell(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "sub/file", "")
	t.Setenv("INDUS_TEST", "outer")
	shell := toolbox.LocalShell(dir)
	tests := []struct {
		name    string
		command toolbox.Command
		out     string
		exit    int
	}{
		{"in its directory", toolbox.Command{Line: "pwd"}, dir, 0},
		{"below it", toolbox.Command{Line: "ls", Dir: "sub"}, "file", 0},
		{"anywhere", toolbox.Command{Line: "pwd", Dir: "/"}, "/", 0},
		{"stdin is empty", toolbox.Command{Line: "cat; echo end"}, "end", 0},
		{"stdin", toolbox.Command{Line: "cat", Stdin: strings.NewReader("in")}, "in", 0},
		{"the environment is ours", toolbox.Command{Line: "echo $INDUS_TEST"}, "outer", 0},
		{"and what is added", toolbox.Command{Line: "echo $INDUS_TEST", Env: []string{"INDUS_TEST=inner"}}, "inner", 0},
		{"a status is no error", toolbox.Command{Line: "echo no; exit 3"}, "no", 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			tt.command.Stdout, tt.command.Stderr = &out, &out
			exit, err := shell.Run(t.Context(), tt.command)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]any{tt.out, tt.exit}, []any{strings.TrimSpace(out.String()), exit}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLocalShellEndsWithItsContext(t *testing.T) {
	needShell(t)
	ctx, cancel := context.WithCancel(t.Context())
	begun, received := io.Pipe()
	go func() {
		_, _ = begun.Read(make([]byte, 1))
		cancel()
		_, _ = io.Copy(io.Discard, begun)
	}()
	defer received.Close()
	_, err := toolbox.LocalShell(t.TempDir()).Run(ctx,
		toolbox.Command{Line: "echo; sleep 1000 & sleep 1000", Stdout: received})
	if err != context.Canceled {
		t.Error(err)
	}
}

func TestLocalShellSaysWhyItDidNotStart(t *testing.T) {
	needShell(t)
	_, err := toolbox.LocalShell(t.TempDir()).Run(t.Context(), toolbox.Command{Line: "true", Dir: "missing"})
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "shell: ") {
		t.Error(err)
	}
}

func needShell(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/bin/sh"); err != nil || runtime.GOOS == "windows" {
		t.Skip("no sh here")
	}
}
