package proc

import "golang.org/x/sys/unix"

// awaitExit returns when a child has exited, and leaves it to be reaped. If
// somebody else has reaped it, it returns too.
func awaitExit(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}
