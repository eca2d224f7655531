//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package proc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

type signal = syscall.Signal

const (
	term = syscall.SIGTERM
	kill = syscall.SIGKILL
)

// ownGroup has a child lead its own session: with it comes a process group of
// the child's number, and the loss of our terminal.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}

// leader is a child that leads its group.
type leader struct{ *os.Process }

// await returns when the leader has exited; it stays a zombie, so that its
// number, which is the group's, cannot be given away.
func (l leader) await() { awaitExit(l.Pid) }

// reap takes the status of a leader that has exited.
func (l leader) reap() (*os.ProcessState, error) { return l.Wait() }

// signalGroup ignores errors: there is nobody left, or nobody we may signal.
func (l leader) signalGroup(s signal) { _ = syscall.Kill(-l.Pid, s) }

// exitStatus counts a signal as a shell does.
func exitStatus(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

// held reports whether somebody has the other side of a read end of ours open.
// It does not disturb whoever reads.
func held(end *os.File) bool {
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
