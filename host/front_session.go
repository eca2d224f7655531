package host

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// frontSession is what a client and the host know of each other beyond one
// request: on stdio and its like the whole connection, of either era; over HTTP
// a legacy session.
type frontSession struct {
	front *front
	news  *noteBox // for a legacy client, once it is initialized
	// patience is how long the first tools/list waits for servers; 0: not at all.
	patience time.Duration

	mu      sync.Mutex
	version string // of the legacy handshake; "" before
	calls   map[string]*inFlight
	over    error         // why the session ended; nil while it lives
	settled chan struct{} // closed when the first tools/list has waited; nil before it
}

func newFrontSession(f *front) *frontSession {
	return &frontSession{front: f, news: newNoteBox(), calls: map[string]*inFlight{}}
}

// agree notes the revision of a handshake: the last one decides.
func (s *frontSession) agree(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}

// agreed is the revision of the handshake; "" before it.
func (s *frontSession) agreed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// initialized begins to collect news for a legacy client, who may now be told.
func (s *frontSession) initialized() {
	if s.agreed() == "" {
		return
	}
	s.front.attend(s.news, nil)
	if s.ended() != nil {
		s.front.dismiss(s.news)
	}
}

// ended is why the session ended; nil while it lives.
func (s *frontSession) ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

var errTwice = errors.New("a request with this id is in flight")

// begin puts a call among those in flight; finish must follow. Its error is
// errTwice or the session's end.
func (s *frontSession) begin(ctx context.Context, key string) (context.Context, *inFlight, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.over
	if _, twice := s.calls[key]; twice && err == nil {
		err = errTwice
	}
	if err != nil {
		cancel(err)
		return nil, nil, err
	}
	call := &inFlight{cancel}
	s.calls[key] = call
	return ctx, call, nil
}

// inFlight is a call that runs.
type inFlight struct{ cancel context.CancelCauseFunc }

func (s *frontSession) finish(key string, call *inFlight) {
	s.mu.Lock()
	if s.calls[key] == call {
		delete(s.calls, key)
	}
	s.mu.Unlock()
	call.cancel(nil)
}

// drop cancels a call for the client, if it is in flight; from now on its id
// may be used again.
func (s *frontSession) drop(key, reason string) {
	s.mu.Lock()
	call := s.calls[key]
	delete(s.calls, key)
	s.mu.Unlock()
	if call != nil {
		call.cancel(&droppedError{cmp.Or(protocol.Printable(reason, maxReason), errCallDropped.Error())})
	}
}

// maxReason bounds what of a client's reason its call's server is told, in bytes.
const maxReason = 300

// droppedError is errCallDropped in the client's own words.
type droppedError struct{ reason string }

func (e *droppedError) Error() string        { return e.reason }
func (e *droppedError) Is(target error) bool { return target == errCallDropped }

// end cancels all calls; the session takes no more. Only the first cause counts.
func (s *frontSession) end(cause error) {
	s.mu.Lock()
	if s.over != nil {
		s.mu.Unlock()
		return
	}
	s.over = cause
	calls := make([]*inFlight, 0, len(s.calls))
	for _, call := range s.calls {
		calls = append(calls, call)
	}
	s.mu.Unlock()
	s.front.dismiss(s.news)
	for _, call := range calls {
		call.cancel(cause)
	}
}

// settler is a backend that knows when it is complete; see [NewFront].
type settler interface {
	Settle(ctx context.Context, p toolbox.Principal)
}

// settle makes the first tools/list of a patient session wait for servers that
// have not been heard yet, and others that come meanwhile with it.
func (s *frontSession) settle(ctx context.Context, p toolbox.Principal) {
	b, ok := s.front.backend.(settler)
	if !ok || s.patience <= 0 {
		return
	}
	s.mu.Lock()
	first := s.settled == nil
	if first {
		s.settled = make(chan struct{})
	}
	s.mu.Unlock()
	if !first {
		select {
		case <-s.settled:
		case <-ctx.Done():
		}
		return
	}
	defer close(s.settled)
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	b.Settle(ctx, p)
}

// hear takes a client's notification.
func (f *front) hear(ctx context.Context, s *frontSession, m interop.Message) {
	switch m.Method {
	case protocol.NoteInitialized:
		s.initialized()
	case protocol.NoteCancelled:
		if id, ok := wire.Lookup(m.Params, "requestId"); ok {
			reason, _ := protocol.LookupString(m.Params, "reason")
			s.drop(callKey(id), reason)
		}
	default:
		q := &frontRequest{
			params: m.Params, method: m.Method, era: m.Era, caller: m.Caller,
			note: func(context.Context, string, ...[]byte) error { return errReplyOver },
		}
		_, _ = f.ask(ctx, q, m.Method, m.Params)
	}
}
