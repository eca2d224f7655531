//go:build !linux

package proc

// Nothing but the leader's group can be found here.

func (p *Process) alone() bool               { return true }
func (p *Process) signalMembers(signal) bool { return false }
func startOf(int) string                     { return "" }
