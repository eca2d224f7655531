package bridge

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/toolbox"
)

// sessions are connections to one server, each for one token and used with no other. The
// least recently used goes where there would be too many, and one that nobody uses
// after a while; one that is in use stays.
type sessions struct {
	open    func(operation.Secret) *interop.Endpoint
	max     int
	idle    time.Duration
	closing sync.WaitGroup

	mu      sync.Mutex
	by      map[string]*session // by token
	clock   uint64              // goes up with each use
	changed chan struct{}       // closed and replaced when one may have become free
	closed  bool
}

// session is one connection. Its fields are guarded by sessions.mu, but for those that
// never change.
type session struct {
	token    string
	endpoint *interop.Endpoint

	users int
	used  uint64      // when it was last put back
	late  *time.Timer // closes it; nil while it is used
}

var errLinkClosed = errors.New("the connection was closed")

func newSessions(most int, idle time.Duration, open func(operation.Secret) *interop.Endpoint) *sessions {
	if most <= 0 {
		most = defaultSessions
	}
	if idle == 0 {
		idle = defaultIdle
	}
	return &sessions{open: open, max: most, idle: idle, by: map[string]*session{}, changed: make(chan struct{})}
}

// take is the session of a token, in use until it is put back. Where all are in use it
// waits for one.
func (p *sessions) take(ctx context.Context, token operation.Secret) (*session, error) {
	for {
		s, changed, err := p.try(token)
		if s != nil || err != nil {
			return s, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (p *sessions) try(token operation.Secret) (*session, <-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, &unsentError{errLinkClosed}
	}
	key := token.Reveal()
	s := p.by[key]
	if s != nil && s.endpoint.Phase().Terminal() {
		p.drop(s)
		s = nil
	}
	if s == nil {
		if len(p.by) >= p.max && !p.evict() {
			return nil, p.changed, nil
		}
		s = &session{token: key, endpoint: p.open(token)}
		p.by[key] = s
	}
	s.users++
	if s.late != nil {
		s.late.Stop()
		s.late = nil
	}
	return s, nil, nil
}

// put gives a session back.
func (p *sessions) put(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clock++
	s.users, s.used = s.users-1, p.clock
	if s.users > 0 {
		return
	}
	switch {
	case p.by[s.token] != s: // it was dropped in use
		p.end(s)
	case p.idle < 0 || s.endpoint.Phase().Terminal():
		p.drop(s)
	default:
		p.expireLater(s)
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

// expireLater closes a session, unless somebody uses it before. Call it with mu held.
func (p *sessions) expireLater(s *session) {
	var mine *time.Timer
	mine = time.AfterFunc(p.idle, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if s.late == mine {
			p.drop(s)
		}
	})
	s.late = mine
}

// evict makes room, if a session is not in use. Call it with mu held.
func (p *sessions) evict() bool {
	var oldest *session
	for _, s := range p.by {
		if s.users == 0 && (oldest == nil || s.used < oldest.used) {
			oldest = s
		}
	}
	if oldest == nil {
		return false
	}
	p.drop(oldest)
	return true
}

// drop takes a session out, and ends it unless it is in use. Call it with mu held.
func (p *sessions) drop(s *session) {
	delete(p.by, s.token)
	if s.users == 0 {
		p.end(s)
	}
}

// end closes a session. Call it with mu held.
func (p *sessions) end(s *session) {
	if s.late != nil {
		s.late.Stop()
		s.late = nil
	}
	p.closing.Go(s.endpoint.Close)
}

// close ends all sessions and waits for them. Nobody uses one any more.
func (p *sessions) close() {
	p.mu.Lock()
	p.closed = true
	for _, s := range p.by {
		p.drop(s)
	}
	p.mu.Unlock()
	p.closing.Wait()
}

// unsentError is a failure before the call went out.
type unsentError struct{ cause error }

func (e *unsentError) Error() string { return e.cause.Error() }
func (e *unsentError) Unwrap() error { return e.cause }

// call connects, where nobody has yet, and calls a tool.
func (s *session) call(ctx context.Context, tool string, input []byte) (*toolbox.Result, error) {
	if err := s.endpoint.Open(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, &unsentError{err}
	}
	if s.endpoint.Era() == interop.Modern { // what it lists says which arguments are repeated in headers
		if _, err := s.endpoint.Tools(ctx); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			return nil, &unsentError{err}
		}
	}
	return s.endpoint.Invoke(ctx, tool, input)
}
