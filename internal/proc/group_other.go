//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package proc

import (
	"os"
	"syscall"
)

type signal int

const (
	term signal = iota
	kill
)

// ownGroup: there are no groups.
func ownGroup() *syscall.SysProcAttr { return nil }

// leader is a child and no more.
type leader struct {
	*os.Process
	state *os.ProcessState
	err   error
}

// await reaps too: a handle, unlike a number, stays ours.
func (l *leader) await() { l.state, l.err = l.Wait() }

func (l *leader) reap() (*os.ProcessState, error) { return l.state, l.err }

// signalGroup kills the child; there is no gentler way.
func (l *leader) signalGroup(s signal) {
	if s == kill {
		_ = l.Kill()
	}
}

func exitStatus(s *os.ProcessState) int { return s.ExitCode() }

// held cannot be told here.
func held(*os.File) bool { return false }
