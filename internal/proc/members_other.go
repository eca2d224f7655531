//go:build !linux

package proc

// Only the leader's group can be found here.

func (p *Process) alone() bool                                            { return true }
func (p *Process) signalMembers(signal, map[int]bool) (sent, unsure bool) { return false, false }
func startOf(int) string                                                  { return "" }

// ReapOrphans does nothing, because only on Linux a container has a PID 1 of its own.
func ReapOrphans() (stop func()) { return func() {} }
