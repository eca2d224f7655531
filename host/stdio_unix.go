//go:build unix

package host

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// pollable opens stdin or stdout for use with the runtime's poller. Then a read or write holds no thread, and closing
// the file ends it. A blocking read holds a thread. In Go 1.26 and 1.27 it can also delay a garbage collection until
// more input arrives. Only pipes and sockets are polled. For other files, such as a terminal, pollable returns f
// itself.
//
// O_NONBLOCK belongs to the open file description, which other processes may share. On Linux a pipe is therefore opened
// again. On other systems, and for a socket, the flag is set only if neither of the other two standard files is the
// same file. restore sets it back.
func pollable(f *os.File, flag int) (polled *os.File, restore func()) {
	none := func() {}
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return f, none
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return f, none
	}
	fd := -1
	_ = conn.Control(func(n uintptr) { fd = int(n) }) // Fd would make it block
	if info.Mode()&os.ModeNamedPipe != 0 && runtime.GOOS == "linux" {
		again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), flag|syscall.O_NONBLOCK, 0)
		if err != nil {
			return f, none
		}
		return again, func() { _ = again.Close() }
	}
	for _, other := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		if otherInfo, err := other.Stat(); other != f && (err != nil || os.SameFile(info, otherInfo)) {
			return f, none
		}
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
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
		_ = polled.Close() // waits for the reader or writer, which could block with the flag off
		_ = syscall.SetNonblock(fd, flags&syscall.O_NONBLOCK != 0)
	}
}
