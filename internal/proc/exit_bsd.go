//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package proc

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// retryWait is the pause after a lack of memory or file descriptors.
const retryWait = 50 * time.Millisecond

// awaitExit returns when a child has exited, but does not reap it. It uses kqueue, because waitid
// of macOS also returns for a stopped child (https://go.dev/issue/19314).
func awaitExit(pid int) {
	kq, err := unix.Kqueue()
	for err != nil {
		time.Sleep(retryWait)
		kq, err = unix.Kqueue()
	}
	defer unix.Close(kq)
	unix.CloseOnExec(kq)
	for !exitSeen(kq, pid) {
		time.Sleep(retryWait)
	}
}

// exitSeen waits for the exit. It returns false after an error that may be temporary.
func exitSeen(kq, pid int) bool {
	changes, events := make([]unix.Kevent_t, 1), make([]unix.Kevent_t, 1)
	unix.SetKevent(&changes[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	changes[0].Fflags = unix.NOTE_EXIT
	n, err := unix.Kevent(kq, changes, events, nil)
	for err == unix.EINTR {
		n, err = unix.Kevent(kq, changes, events, nil)
	}
	// For a child that has exited before, the error is ESRCH, here or in the event.
	if n == 0 || err != nil {
		return err == unix.ESRCH
	}
	return events[0].Flags&unix.EV_ERROR == 0 || syscall.Errno(events[0].Data) == unix.ESRCH
}
