//go:build linux || darwin

package proc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/proc"
)

func TestRun(t *testing.T) {
	var out, err bytes.Buffer
	exit, fault := proc.Run(t.Context(), sh(`cat; echo oops >&2; exit 3`), strings.NewReader("in"), &out, &err)
	if exit != 3 || fault != nil || out.String() != "in" || err.String() != "oops\n" {
		t.Errorf("exit %d, %v; stdout %q, stderr %q", exit, fault, &out, &err)
	}
}

func TestRunWithoutStreams(t *testing.T) {
	exit, err := proc.Run(t.Context(), sh("cat; echo x; echo y >&2; kill -s KILL $$"), nil, nil, nil)
	if exit != 128+9 || err != nil {
		t.Errorf("exit %d, %v", exit, err)
	}
}

func TestRunKeepsTheOrderOfOneWriter(t *testing.T) {
	var both bytes.Buffer
	proc.Run(t.Context(), sh("for i in 1 2 3; do echo out; echo err >&2; done"), nil, &both, &both)
	if want := strings.Repeat("out\nerr\n", 3); both.String() != want {
		t.Errorf("got %q", &both)
	}
}

func TestRunGivesAFileAsItIs(t *testing.T) {
	f, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out bytes.Buffer
	if exit, err := proc.Run(t.Context(), sh("test -p /dev/stdin; echo $?"), f, &out, nil); exit != 0 || err != nil ||
		out.String() != "1\n" {
		t.Errorf("exit %d, %v, %q", exit, err, &out)
	}
}

func TestRunDoesNotStart(t *testing.T) {
	exit, err := proc.Run(t.Context(), proc.Command{Path: "no-such"}, nil, nil, nil)
	if exit != -1 || !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("exit %d, %v", exit, err)
	}
}

func TestRunUnwantedInput(t *testing.T) {
	exit, err := proc.Run(t.Context(), sh("exit 0"), bytes.NewReader(make([]byte, 1<<20)), nil, nil)
	if exit != 0 || err != nil {
		t.Errorf("exit %d, %v", exit, err)
	}
}

func TestRunMuchOutput(t *testing.T) {
	var out bytes.Buffer
	exit, err := proc.Run(t.Context(), sh("head -c 10000000 /dev/zero"), nil, &out, nil)
	if exit != 0 || err != nil || out.Len() != 10_000_000 {
		t.Errorf("exit %d, %v, %d bytes", exit, err, out.Len())
	}
}

func TestRunUntilItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	pids := make(chan []int)
	go func() {
		var l [100]byte
		n, _ := r.Read(l[:])
		pids <- numbers(t, string(l[:n]))
		cancel()
		io.Copy(io.Discard, r)
	}()
	ended := make(chan error)
	go func() {
		_, err := proc.Run(ctx, sh(stubborn), nil, w, nil)
		w.Close()
		ended <- err
	}()
	all := <-pids
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(deadline):
		t.Fatal("it hangs")
	}
	waitGone(t, all...)
}

func TestRunEndsBeforeItsGrandchildren(t *testing.T) {
	setsid, err := exec.LookPath("setsid")
	if err != nil {
		setsid = ""
	}
	for _, prefix := range []string{"", setsid} {
		file := filepath.Join(t.TempDir(), "pid")
		within(t, func() {
			exit, err := proc.Run(t.Context(), sh(prefix+` sh -c 'trap "" TERM; echo $$ >"$0"; exec sleep 1000' "$1" &
				until [ -s "$1" ]; do sleep 0.01; done`, file), nil, io.Discard, nil)
			if exit != 0 || err != nil {
				t.Errorf("exit %d, %v", exit, err)
			}
		})
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pid := numbers(t, string(content))[0]
		if prefix != "" {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		waitGone(t, pid)
	}
}

type failing struct{ err error }

func (w failing) Write([]byte) (int, error) { return 0, w.err }

func TestRunTellsOfAWriterThatFails(t *testing.T) {
	full := errors.New("full")
	exit, err := proc.Run(t.Context(), sh("while echo x; do :; done 2>/dev/null"), nil, failing{full}, nil)
	if !errors.Is(err, full) {
		t.Errorf("exit %d, %v", exit, err)
	}
}

// Output of the rest of a pipeline after the end of its leader is not cut off.
func TestRunWaitsForTheRest(t *testing.T) {
	var out bytes.Buffer
	proc.Run(t.Context(), patient(sh("trap '' TERM; (sleep 0.2; echo late) &")), nil, &out, nil)
	if out.String() != "late\n" {
		t.Errorf("got %q", &out)
	}
}

// A detached process may outlive the command (gpg-agent), but a job of its shell may not.
func TestRunEndsTheSession(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only the group can be found")
	}
	var out strings.Builder
	_, err := proc.Run(t.Context(),
		sh(`set -m; sleep 1000 >/dev/null 2>&1 & echo $!; setsid -f sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' | cat`),
		nil, &out, nil)
	if err != nil {
		t.Fatal(err)
	}
	pids := numbers(t, out.String())
	waitGone(t, pids[0])
	if !alive(pids[1]) {
		t.Error("what was detached is gone")
	}
	_ = syscall.Kill(pids[1], syscall.SIGKILL)
}
