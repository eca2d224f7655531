//go:build unix

package host

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// pollable is stdin or stdout read and written through the runtime's poller, which costs a
// call no thread, and close, which ends that. A blocking read holds a thread, and can hold
// up a garbage collection of Go 1.26 and 1.27 until more input comes. Only pipes and sockets are
// polled; anything else, a terminal above all, is f itself.
//
// O_NONBLOCK belongs to the open file description, which other processes may share. On Linux
// a pipe is therefore opened anew. Elsewhere, and for a socket, the flag is set only where
// neither of the other two standard files is the same one, and is at the end what it was.
func pollable(f *os.File, flag int) (polled *os.File, restore func()) {
	none := func() {}
	is, err := f.Stat()
	if err != nil || is.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return f, none
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return f, none
	}
	fd := -1
	_ = conn.Control(func(n uintptr) { fd = int(n) }) // Fd would make it block
	if is.Mode()&os.ModeNamedPipe != 0 && runtime.GOOS == "linux" {
		again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), flag|syscall.O_NONBLOCK, 0)
		if err != nil {
			return f, none
		}
		return again, func() { _ = again.Close() }
	}
	for _, other := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		if o, err := other.Stat(); other != f && (err != nil || os.SameFile(is, o)) {
			return f, none
		}
	}
	was, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return f, none
	}
	again, err := syscall.Dup(fd)
	if err != nil {
		return f, none
	}
	syscall.CloseOnExec(again)
	if syscall.SetNonblock(again, true) != nil {
		_ = syscall.Close(again)
		return f, none
	}
	polled = os.NewFile(uintptr(again), f.Name())
	return polled, func() {
		_ = polled.Close() // waits for who reads or writes: with the flag off, that could block
		_ = syscall.SetNonblock(fd, was&syscall.O_NONBLOCK != 0)
	}
}
