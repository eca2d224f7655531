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
	if waitUntil(func() bool { return !slices.ContainsFunc(ends, pipeHeld) }, drainWait, nil) {
		return
	}
	for _, f := range ends {
		if pipeHeld(f) {
			f.SetReadDeadline(time.Now())
		}
	}
}

// waitUntil waits for a condition and reports whether it came to hold within a time
// and before the interruption.
func waitUntil(holds func() bool, limit time.Duration, interrupt <-chan struct{}) bool {
	late := time.After(limit)
	for tick := firstTick; !holds(); tick = min(2*tick, lastTick) {
		select {
		case <-interrupt:
			return false
		case <-late:
			return false
		case <-time.After(tick):
		}
	}
	return true
}

// How often a condition is looked at, and only while a group outlives its leader:
// a pipe costs one cheap system call, a look through /proc some milliseconds.
const (
	firstTick = 5 * time.Millisecond
	lastTick  = 40 * time.Millisecond
)
