package proc

import (
	"os"
	"slices"
	"time"
)

// streams are the child's standard streams while it is being started, and our
// ends of them. The first fault is kept, so that one look at the end suffices.
type streams struct {
	in, out, err *os.File // what the child gets
	theirs, ours []*os.File
	fault        error
}

// writer opens a pipe from us to the child.
func (s *streams) writer(child **os.File) (our *os.File) {
	*child, our = s.pipe()
	s.theirs, s.ours = append(s.theirs, *child), append(s.ours, our)
	return our
}

// reader opens a pipe from the child to us.
func (s *streams) reader(child **os.File) (our *os.File) {
	our, *child = s.pipe()
	s.theirs, s.ours = append(s.theirs, *child), append(s.ours, our)
	return our
}

func (s *streams) pipe() (r, w *os.File) {
	if s.fault == nil {
		r, w, s.fault = os.Pipe()
	}
	return r, w
}

func (s *streams) closeTheirs() { closeAll(s.theirs) }
func (s *streams) closeOurs()   { closeAll(s.ours) }

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close() // nil is an error, no more
	}
}

// drain lets those who read go on until EOF; if that does not come, because
// someone outside the group holds the pipe, for a short while.
func drain(ends ...*os.File) {
	if released(ends, drainWait, nil) {
		return
	}
	for _, f := range ends {
		if held(f) {
			f.SetReadDeadline(time.Now())
		}
	}
}

// released waits until nobody holds the other side of our ends, and reports
// whether that was so within a time and before the interruption.
func released(ends []*os.File, limit time.Duration, interrupt <-chan struct{}) bool {
	late := time.NewTimer(limit)
	defer late.Stop()
	tick := time.NewTicker(heldTick)
	defer tick.Stop()
	for slices.ContainsFunc(ends, held) {
		select {
		case <-interrupt:
			return false
		case <-late.C:
			return false
		case <-tick.C:
		}
	}
	return true
}

// heldTick is how often a pipe is looked at: one cheap system call, and only
// while a group outlives its leader.
const heldTick = 5 * time.Millisecond
