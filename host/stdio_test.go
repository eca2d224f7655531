//go:build linux

package host_test

import (
	"bufio"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/toolbox"
)

// TestServeStdioLeavesNoFlags checks files that other processes may share. The host reads pipes and sockets through the
// poller. Afterwards the open file description is blocking again.
func TestServeStdioLeavesNoFlags(t *testing.T) {
	pair := map[string]func(p []int) error{
		"pipe": syscall.Pipe,
		"socket": func(p []int) error {
			fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			p[0], p[1] = fds[0], fds[1]
			return err
		},
	}
	for name, open := range pair {
		t.Run(name, func(t *testing.T) {
			var in, out [2]int
			if err := open(in[:]); err != nil {
				t.Fatal(err)
			}
			if err := open(out[:]); err != nil {
				t.Fatal(err)
			}
			stdin, stdout := os.Stdin, os.Stdout
			t.Cleanup(func() { os.Stdin, os.Stdout = stdin, stdout })
			os.Stdin, os.Stdout = os.NewFile(uintptr(in[0]), "stdin"), os.NewFile(uintptr(out[1]), "stdout")
			ask, answer := os.NewFile(uintptr(in[1]), "ask"), os.NewFile(uintptr(out[0]), "answer")
			defer os.Stdin.Close()
			defer os.Stdout.Close()
			defer answer.Close()
			h := host.New(toolbox.NewRegistry(nil), nil)
			defer h.Close()
			done := make(chan error, 1)
			go func() { done <- h.ServeStdio(t.Context()) }()
			if _, err := io.WriteString(ask, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(answer).ReadString('\n')
			if err != nil || !strings.Contains(line, `"result":{}`) {
				t.Fatal(line, err)
			}
			if name == "pipe" && nonblocking(t, in[0]) {
				t.Error("a pipe that others may share does not block while it is served")
			}
			_ = ask.Close()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if nonblocking(t, in[0]) || nonblocking(t, out[1]) {
				t.Error("O_NONBLOCK stays set")
			}
		})
	}
}

func nonblocking(t *testing.T, fd int) bool {
	t.Helper()
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	return flags&syscall.O_NONBLOCK != 0
}

// A socket that did not block before does not block afterwards.
func TestServeStdioLeavesASocketNonblocking(t *testing.T) {
	in, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	stdin := os.Stdin
	t.Cleanup(func() { os.Stdin = stdin })
	os.Stdin = os.NewFile(uintptr(in[0]), "stdin")
	defer os.Stdin.Close()
	_ = syscall.Close(in[1])
	h := host.New(toolbox.NewRegistry(nil), nil)
	defer h.Close()
	if err := h.ServeStdio(t.Context()); err != nil || !nonblocking(t, in[0]) {
		t.Error("O_NONBLOCK is gone", err)
	}
}
