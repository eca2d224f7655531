package proc

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"sync"
	"time"
)

// Strays are processes that leave the sessions of commands that [Run] runs, such as daemons and processes of setsid.
// They live until End. If our own process dies first, they end with it. On Linux they are found by the mark in their
// environment, like the descendants of a child of [Start]. On other systems they cannot be found.
type Strays struct {
	p *Process // without a leader

	mu      sync.Mutex
	watched bool
	ended   bool
}

// NewStrays returns an empty set of strays.
func NewStrays() *Strays {
	return &Strays{p: &Process{
		mark: rand.Text(), session: ":" + startOf(os.Getpid()), leader: leader{Process: &os.Process{Pid: -1}},
		killed: make(chan struct{}),
	}}
}

type straysKey struct{}

// Within returns a context. The strays of commands that [Run] runs with it belong to s.
func (s *Strays) Within(ctx context.Context) context.Context {
	return context.WithValue(ctx, straysKey{}, s)
}

var errOwnerEnded = errors.New("its owner has ended")

// markFor returns the mark for a command that is about to start. It is "" if ctx has no Strays.
func markFor(ctx context.Context) (string, error) {
	s, _ := ctx.Value(straysKey{}).(*Strays)
	if s == nil {
		return "", nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return "", errOwnerEnded
	}
	if !s.watched {
		s.watched = true
		processWatcher.add(s.p.mark)
	}
	return s.p.mark, nil
}

// End ends the strays, with SIGTERM and after the grace with SIGKILL, and returns when they are gone. After it, no
// command starts within s. It may be called twice.
func (s *Strays) End(grace time.Duration) {
	s.mu.Lock()
	begun := s.watched && !s.ended
	s.ended = true
	s.mu.Unlock()
	if !begun {
		return
	}
	if !s.p.alone() {
		s.p.terminateMembers()
		s.p.killMembers(waitUntil(s.p.alone, Grace{Term: grace}.orDefaults().Term, nil))
	}
	processWatcher.remove(s.p.mark)
}
