//go:build !linux

package proc

// Nothing but the leader's group can be found here.

func (p *Process) alone() bool                                           { return true }
func (p *Process) signalMembers(signal, map[int]bool) (any, unsure bool) { return false, false }
func startOf(int) string                                                 { return "" }
