//go:build linux || darwin

package proc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/proc"
)

var background = context.Background()

func TestChildLeadsItsOwnGroup(t *testing.T) {
	p := start(t, sh("cat"))
	pgid, err := syscall.Getpgid(p.Pid())
	if err != nil || pgid != p.Pid() {
		t.Errorf("group of %d is %d, %v", p.Pid(), pgid, err)
	}
}

func TestStreams(t *testing.T) {
	p := start(t, sh(`read x; echo "out $x"; echo "err $x" >&2; exit 3`))
	if _, err := io.WriteString(p.Stdin(), "hello\n"); err != nil {
		t.Fatal(err)
	}
	waitDone(t, p)
	// The child was reaped long ago. Its output can still be read.
	out, err := io.ReadAll(p.Stdout())
	if err != nil || string(out) != "out hello\n" {
		t.Errorf("stdout: %q, %v", out, err)
	}
	if got := p.Stderr(); got != "err hello" {
		t.Errorf("stderr: %q", got)
	}
}

func TestMuchOutputOutlivesItsLeader(t *testing.T) {
	const size = 60_000 // fits into any pipe
	p := start(t, sh("head -c 60000 /dev/zero"))
	waitDone(t, p)
	if out, err := io.ReadAll(p.Stdout()); err != nil || len(out) != size {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

func TestErr(t *testing.T) {
	for _, test := range []struct{ script, want string }{
		{"exit 0", "<nil>"},
		{"exit 3", "exit status 3"},
		{"kill -s KILL $$", "signal: killed"},
	} {
		p := start(t, sh("read x; "+test.script))
		if err := p.Err(); err != nil {
			t.Errorf("%s: before the end: %v", test.script, err)
		}
		p.Stdin().Close()
		waitDone(t, p)
		if got := fmt.Sprint(p.Err()); got != test.want {
			t.Errorf("%s: %s, want %s", test.script, got, test.want)
		}
	}
}

func TestErrIsAnExitError(t *testing.T) {
	p := start(t, sh("exit 3"))
	waitDone(t, p)
	if e, ok := errors.AsType[*exec.ExitError](p.Err()); !ok || e.ExitCode() != 3 {
		t.Errorf("got %#v", p.Err())
	}
}

func TestNoSuchCommand(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plain"), "#!/bin/sh\n", 0o644)
	write(t, filepath.Join(dir, "lost"), "#!/no/such/interpreter\n", 0o755)
	env := []string{"PATH=" + dir}
	for _, test := range []struct {
		name string
		c    proc.Command
		is   error
		says string
	}{
		{"empty", proc.Command{}, exec.ErrNotFound, "start : executable file not found"},
		{"name", proc.Command{Path: "no-such", Env: env}, exec.ErrNotFound, "start no-such: executable file not found"},
		{"our PATH", proc.Command{Path: "cat", Env: env}, exec.ErrNotFound, "start cat: executable file not found"},
		{"relative PATH", proc.Command{Path: "plain", Dir: dir, Env: []string{"PATH=.:"}}, exec.ErrNotFound, "start plain: "},
		{"path", proc.Command{Path: "/no/such"}, fs.ErrNotExist, "start /no/such: exec /no/such: no such file"},
		{"in dir", proc.Command{Path: "./x", Dir: dir}, fs.ErrNotExist, "start ./x: exec " + dir + "/./x: no such file"},
		{"not executable", proc.Command{Path: "./plain", Dir: dir}, fs.ErrPermission, "start ./plain: exec"},
		{"not executable in PATH", proc.Command{Path: "plain", Env: env}, fs.ErrPermission, "start plain: exec"},
		{"a directory", proc.Command{Path: dir}, syscall.EISDIR, "start " + dir + ": exec"},
		{"no dir", proc.Command{Path: "/bin/sh", Dir: dir + "/no"}, fs.ErrNotExist, "start /bin/sh: chdir " + dir + "/no: no such"},
		{"dir is a file", proc.Command{Path: "/bin/sh", Dir: dir + "/plain"}, syscall.ENOTDIR, "start /bin/sh: chdir"},
		{"interpreter", proc.Command{Path: "./lost", Dir: dir}, fs.ErrNotExist, "start ./lost: its interpreter does not exist"},
		{"nul", proc.Command{Path: "/bin/sh", Args: []string{"a\x00b"}}, syscall.EINVAL, "start /bin/sh: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := proc.Start(t.Context(), test.c)
			if err == nil {
				p.Close()
				t.Fatal("it started")
			}
			if !errors.Is(err, test.is) || !strings.HasPrefix(err.Error(), test.says) {
				t.Errorf("got %v, want %v: %q", err, test.is, test.says)
			}
		})
	}
}

func TestStartTakesItsContextForTheStartAlone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := proc.Start(ctx, sh("read x; echo $x"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	cancel()
	io.WriteString(p.Stdin(), "alive\n")
	if got := line(p); got != "alive" {
		t.Errorf("got %q", got)
	}
	if _, err := proc.Start(ctx, sh("cat")); !errors.Is(err, context.Canceled) {
		t.Errorf("a second start: %v", err)
	}
}

func TestLookup(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	const script = "#!/bin/sh\necho \"$0 $PWD $#\"\n"
	write(t, filepath.Join(first, "tool"), script, 0o644) // not executable, so it is skipped
	write(t, filepath.Join(second, "tool"), script, 0o755)
	second, err := filepath.EvalSymlinks(second)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, want string
		c          proc.Command
	}{
		{"in PATH", second + "/tool " + second + " 2", proc.Command{Path: "tool", Args: []string{"a", "b c"}, Dir: second}},
		{"in Dir", second + "/./tool " + second + " 0", proc.Command{Path: "./tool", Dir: second}},
		{"the last PATH", second + "/tool / 0", proc.Command{Path: "tool", Dir: "/", Env: []string{"PATH=/no"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.c.Env = append(test.c.Env, "PATH="+first+":"+second)
			if got := line(start(t, test.c)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestEnvIsTheWholeEnvironment(t *testing.T) {
	t.Setenv("INDUS_SECRET", "1")
	for _, env := range [][]string{nil, {"A=1", "A=2"}} {
		p := start(t, proc.Command{Path: "env", Env: env})
		out, err := io.ReadAll(p.Stdout())
		want := strings.Join(append(env[len(env)/2:], "INDUS_WATCH="+proc.Mark(p)), "\n")
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%q: got %q, %v", env, out, err)
		}
	}
}

func TestStderrIsATail(t *testing.T) {
	p := start(t, sh(`i=0; while [ $i -lt 3000 ]; do echo "line $i" >&2; i=$((i+1)); done; printf '\033[31mred\033[0m \377' >&2`))
	waitDone(t, p)
	got := p.Stderr()
	if !strings.HasPrefix(got, "line ") || !strings.HasSuffix(got, "line 2999\nred \uFFFD") || len(got) > 8<<10 {
		t.Errorf("%d bytes: %.20q … %q", len(got), got, got[max(0, len(got)-30):])
	}
}

func TestWriteToAChildThatNeverReads(t *testing.T) {
	p := start(t, sh("sleep 1000"))
	if err := p.Stdin().SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := p.Stdin().Write(make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("wrote %d, %v", n, err)
	}
}

func TestWriteToAChildThatHasEnded(t *testing.T) {
	p := start(t, sh("exec <&-; echo closed; sleep 1000"))
	line(p)
	if _, err := io.WriteString(p.Stdin(), "x"); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("its stdin closed: %v", err)
	}
	p.Kill()
	waitDone(t, p)
	if _, err := io.WriteString(p.Stdin(), "x"); err == nil {
		t.Error("killed: no error")
	}
}

func TestABlockedWriterHearsOfTheEnd(t *testing.T) {
	p := start(t, sh("echo up; exec sleep 1000"))
	line(p)
	result := make(chan error)
	go func() {
		_, err := p.Stdin().Write(make([]byte, 1<<20))
		result <- err
	}()
	p.Kill()
	select {
	case err := <-result:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(deadline):
		t.Error("the writer hangs")
	}
}

func write(t *testing.T, name, content string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}
