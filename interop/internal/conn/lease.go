package conn

import (
	"errors"
	"time"
)

// Lease is the right to run a process for a limited time.
type Lease interface {
	// Left returns the time until the process must have ended, or 0 if the lease is over.
	Left() time.Duration
	// Done is closed when the lease is over.
	Done() <-chan struct{}
}

// errLeaseOver is the reason of a process that was killed, or not started, because its lease is over.
var errLeaseOver = errors.New("the lease for running it here is over: another replica may run it now")

// isOver reports whether a lease is over. No lease is never over.
func isOver(l Lease) bool { return l != nil && l.Left() == 0 }

// killAtEnd kills the process when its lease is over. If this program is stopped then, its watcher kills the process.
func (f *stdio) killAtEnd() {
	for left := f.opts.Lease.Left(); left > 0; left = f.opts.Lease.Left() {
		f.p.KillAfter(left)
		select {
		case <-time.After(max(left/leaseChecks, minLeaseCheck)):
		case <-f.opts.Lease.Done():
		case <-f.p.Done():
			return
		}
	}
	f.p.Kill()
}

const (
	leaseChecks   = 4 // the end is set again after a quarter of the time that is left
	minLeaseCheck = 50 * time.Millisecond
)
