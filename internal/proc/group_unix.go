//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package proc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

type signal = syscall.Signal

const (
	sigTerm = syscall.SIGTERM
	sigKill = syscall.SIGKILL
)

// ownGroup makes a child lead its own process group. With session, or if we have a terminal, the
// child also leads its own session, which the terminal cannot reach. Otherwise it gets no session,
// because Linux schedules sessions against each other (autogroup). On a busy machine a server in
// our session answers several times as fast (docs/adr/0002).
func ownGroup(session bool) *syscall.SysProcAttr {
	if !session {
		tty, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		session = err == nil
		if session {
			_ = unix.Close(tty)
		}
	}
	return &syscall.SysProcAttr{Setsid: session, Setpgid: !session}
}

// leader is a child that leads its group.
type leader struct{ *os.Process }

// await returns when the leader has exited. The leader stays a zombie, so that its number, which is
// the number of the group, cannot be reused.
func (l leader) await() { awaitExit(l.Pid) }

// reap reads the status of a leader that has exited.
func (l leader) reap() (*os.ProcessState, error) { return reapChild(l.Process) }

// signalGroup ignores errors: they mean that no process is left, or that we may not signal it.
func (l leader) signalGroup(s signal) { _ = syscall.Kill(-l.Pid, s) }

// exitStatus counts a signal as a shell does.
func exitStatus(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

// pipeHeld reports whether any process has the write end of a pipe open. end is our read end. A
// concurrent read is not disturbed.
func pipeHeld(end *os.File) bool {
	conn, err := end.SyscallConn()
	if err != nil {
		return false
	}
	open := false // stays false if end was closed
	conn.Control(func(fd uintptr) {
		// POLLIN is requested because macOS reports the end of a pipe only if some event is
		// requested.
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLHUP}}
		_, err := unix.Poll(poll, 0)
		for err == unix.EINTR {
			_, err = unix.Poll(poll, 0)
		}
		open = err != nil || poll[0].Revents&unix.POLLHUP == 0
	})
	return open
}
