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

// ownGroup has a child lead a process group of its own. session gives it a session of its
// own too, and so does a terminal of ours, which a session cannot reach. Otherwise there is
// none, because Linux schedules sessions against each other (autogroup): on a busy machine
// a server in our session answers several times as fast (docs/adr/0002).
func ownGroup(session bool) *syscall.SysProcAttr {
	if !session {
		tty, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if session = err == nil; session {
			_ = unix.Close(tty)
		}
	}
	return &syscall.SysProcAttr{Setsid: session, Setpgid: !session}
}

// leader is a child that leads its group.
type leader struct{ *os.Process }

// await returns when the leader has exited; it stays a zombie, so that its
// number, which is the group's, cannot be given away.
func (l leader) await() { awaitExit(l.Pid) }

// reap takes the status of a leader that has exited.
func (l leader) reap() (*os.ProcessState, error) { return reapChild(l.Process) }

// signalGroup ignores errors: there is nobody left, or nobody we may signal.
func (l leader) signalGroup(s signal) { _ = syscall.Kill(-l.Pid, s) }

// exitStatus counts a signal as a shell does.
func exitStatus(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

// pipeHeld reports whether somebody has the other side of a read end of ours open.
// It does not disturb whoever reads.
func pipeHeld(end *os.File) bool {
	conn, err := end.SyscallConn()
	if err != nil {
		return false
	}
	open := false // and so it is for an end that was closed
	conn.Control(func(fd uintptr) {
		// POLLIN is asked for because macOS does not report the end of a
		// pipe to those who ask for nothing.
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLHUP}}
		_, err := unix.Poll(poll, 0)
		for err == unix.EINTR {
			_, err = unix.Poll(poll, 0)
		}
		open = err != nil || poll[0].Revents&unix.POLLHUP == 0
	})
	return open
}
