package proc

import (
	"os"
	"sync"
)

// ourChildren holds the children whose exit this package waits for. It is package-level state because a process has
// one set of children.
var ourChildren struct {
	starting sync.RWMutex // held for reading from the start of a child until pids has it
	pids     sync.Map     // int → *os.Process
}

// startChild starts a process that ReapOrphans leaves to reapChild.
func startChild(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	ourChildren.starting.RLock()
	defer ourChildren.starting.RUnlock()
	child, err := os.StartProcess(path, argv, attr)
	if err == nil {
		ourChildren.pids.Store(child.Pid, child)
	}
	return child, err
}

// reapChild waits until a process of startChild has ended, and returns its status.
func reapChild(child *os.Process) (*os.ProcessState, error) {
	defer ourChildren.pids.CompareAndDelete(child.Pid, child) // a later child may have the number
	return child.Wait()
}
