package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// awaitExit returns when a child has exited, but does not reap it. It also returns if other code
// has reaped the child. It waits in the runtime's poller. If the kernel has no pidfd that can be
// polled (before 5.10), it blocks a thread.
func awaitExit(pid int) {
	if fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK); err == nil {
		handle := os.NewFile(uintptr(fd), "pidfd")
		defer handle.Close()
		err := unix.EAGAIN
		if conn, failed := handle.SyscallConn(); failed == nil {
			_ = conn.Read(func(fd uintptr) bool {
				err = waitExit(unix.P_PIDFD, int(fd))
				return err != unix.EAGAIN
			})
		}
		if err == 0 || err == unix.ECHILD {
			return
		}
	}
	waitExit(unix.P_PID, pid)
}

func waitExit(kind, id int) unix.Errno {
	for {
		err := unix.Waitid(kind, id, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if errno, _ := err.(unix.Errno); errno != unix.EINTR { //nolint:errorlint // a system call's own
			return errno
		}
	}
}
