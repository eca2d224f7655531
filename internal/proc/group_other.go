//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package proc

import (
	"os"
	"syscall"
	"time"
)

type signal int

const (
	sigTerm signal = iota
	sigKill
)

// ownGroup returns nil, because there are no groups.
func ownGroup(bool) *syscall.SysProcAttr { return nil }

// leader is a single child without a group.
type leader struct {
	*os.Process
	state *os.ProcessState
	err   error
}

// await also reaps, because a handle, unlike a number, stays ours.
func (l *leader) await() { l.state, l.err = reapChild(l.Process) }

func (l *leader) reap() (*os.ProcessState, error) { return l.state, l.err }

// signalGroup kills the child. No gentler signal exists here.
func (l *leader) signalGroup(s signal) {
	if s == sigKill {
		_ = l.Kill()
	}
}

func exitStatus(s *os.ProcessState) int { return s.ExitCode() }

// pipeHeld returns false, because the state of a pipe is unknown here.
func pipeHeld(*os.File) bool { return false }

// watcher does nothing, because there are no groups to watch.
type watcher struct{}

var processWatcher watcher

func (watcher) add(string)    {}
func (watcher) remove(string) {}

func (watcher) arm(string, string, time.Duration) {}
