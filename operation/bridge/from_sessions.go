package bridge

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/toolbox"
)

// sessions are the connections to one server, each for one token. If there are too many, the least recently used
// session is closed. A session that is idle for a while is closed too. Sessions in use stay open.
type sessions struct {
	open    func(operation.Secret) *interop.Endpoint
	max     int
	idle    time.Duration
	closing sync.WaitGroup

	mu      sync.Mutex
	all     []*session    // in the order of use, most recent last
	changed chan struct{} // closed and replaced when a session may have become free
	closed  bool
}

// session is one connection. sessions.mu guards users, used and idleTimer.
type session struct {
	token     string
	endpoint  *interop.Endpoint
	users     int
	used      time.Time   // when it was last put back
	idleTimer *time.Timer // closes the session unless it is used before
}

var errLinkClosed = errors.New("the connection was closed")

func newSessions(limit int, idle time.Duration, open func(operation.Secret) *interop.Endpoint) *sessions {
	if limit <= 0 {
		limit = defaultSessions
	}
	return &sessions{open: open, max: limit, idle: max(cmp.Or(idle, defaultIdle), 0), changed: make(chan struct{})}
}

// acquire returns the session of a token, in use until release. If all sessions are in use, it waits until one is free.
func (p *sessions) acquire(ctx context.Context, token operation.Secret) (*session, error) {
	for {
		s, changed, err := p.tryAcquire(token)
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

func (p *sessions) tryAcquire(token operation.Secret) (*session, <-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, &unsentError{errLinkClosed}
	}
	for _, s := range p.all {
		if s.token != token.Reveal() {
			continue
		}
		if !s.endpoint.Phase().Terminal() {
			s.users++
			return s, nil, nil
		}
		p.drop(s)
		break
	}
	if len(p.all) >= p.max {
		free := slices.IndexFunc(p.all, func(s *session) bool { return s.users == 0 })
		if free < 0 {
			return nil, p.changed, nil
		}
		p.drop(p.all[free])
	}
	s := &session{token: token.Reveal(), endpoint: p.open(token), users: 1}
	p.all = append(p.all, s)
	return s, nil, nil
}

// release returns a session after use.
func (p *sessions) release(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.users--
	s.used = time.Now()
	at := slices.Index(p.all, s)
	if at >= 0 {
		p.all = append(slices.Delete(p.all, at, at+1), s)
	}
	switch {
	case s.users > 0:
	case at < 0: // it was dropped while in use
		p.closing.Go(s.endpoint.Close)
	case s.endpoint.Phase().Terminal():
		p.drop(s)
	case s.idleTimer == nil:
		s.idleTimer = time.AfterFunc(p.idle, func() { p.expire(s) })
	default:
		s.idleTimer.Reset(p.idle)
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

// expire closes a session that was not used for a while.
func (p *sessions) expire(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.users == 0 && time.Since(s.used) >= p.idle {
		p.drop(s)
	}
}

// drop removes a session and closes it if it is not in use. The caller must hold mu.
func (p *sessions) drop(s *session) {
	at := slices.Index(p.all, s)
	if at < 0 {
		return
	}
	p.all = slices.Delete(p.all, at, at+1)
	if s.idleTimer != nil {
		s.idleTimer.Stop()
	}
	if s.users == 0 {
		p.closing.Go(s.endpoint.Close)
	}
}

// close ends all sessions and waits until they are closed. No call may use a session any more.
func (p *sessions) close() {
	p.mu.Lock()
	p.closed = true
	for _, s := range slices.Clone(p.all) {
		p.drop(s)
	}
	p.mu.Unlock()
	p.closing.Wait()
}

// call connects the session if necessary, and calls a tool.
func (s *session) call(ctx context.Context, tool string, input []byte) (*toolbox.Result, error) {
	err := s.endpoint.Open(ctx)
	if err == nil && s.endpoint.Era() == interop.Modern { // the list determines which arguments are repeated in headers
		_, err = s.endpoint.Tools(ctx)
	}
	switch {
	case err == nil:
		return s.endpoint.Invoke(ctx, tool, input)
	case ctx.Err() != nil:
		return nil, err
	}
	return nil, &unsentError{err}
}

// unsentError is a failure before the call was sent.
type unsentError struct{ cause error }

func (e *unsentError) Error() string { return e.cause.Error() }
func (e *unsentError) Unwrap() error { return e.cause }
