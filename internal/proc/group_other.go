//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package proc

import (
	"os"
	"syscall"
)

type signal int

const (
	sigTerm signal = iota
	sigKill
)

// ownGroup: there are no groups.
func ownGroup(bool) *syscall.SysProcAttr { return nil }

// leader is a child and no more.
type leader struct {
	*os.Process
	state *os.ProcessState
	err   error
}

// await reaps too: a handle, unlike a number, stays ours.
func (l *leader) await() { l.state, l.err = reapChild(l.Process) }

func (l *leader) reap() (*os.ProcessState, error) { return l.state, l.err }

// signalGroup kills the child; there is no gentler way.
func (l *leader) signalGroup(s signal) {
	if s == sigKill {
		_ = l.Kill()
	}
}

func exitStatus(s *os.ProcessState) int { return s.ExitCode() }

// pipeHeld cannot be told here.
func pipeHeld(*os.File) bool { return false }

// watcher: there are no groups to watch.
type watcher struct{}

var processWatcher watcher

func (watcher) add(string)          {}
func (watcher) remove(string)       {}
func (watcher) watches(string) bool { return false }
