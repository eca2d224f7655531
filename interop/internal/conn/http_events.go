package conn

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/indusagi/indus/internal/wire"
)

// eventStream is the state of the streams that answer one request: the first one, and the ones that resume it.
type eventStream struct {
	id             json.RawMessage
	server         *httpServer
	reply          *httpReply                 // the reply that is being read
	lastID         string                     // of the last event that had one; "": none
	retry          time.Duration              // the server's wait before a reconnect; -1: none
	received       bool                       // an event came since it was last reset
	onNotification func(*wire.Envelope) error // receives notifications; an error ends the call
	onRequest      func(*wire.Envelope)       // receives the server's requests; nil: it may not send any
}

// answer receives the answer to p from the reply r, and from the streams that resume a cut one. If resume is nil,
// streams are not resumed.
func (s *eventStream) answer(
	ctx context.Context, l *lifetime, p *pending, r *httpReply, resume func(cut error) (*httpReply, error),
) error {
	streams, err := s.server.isStream(r)
	for streams {
		s.received = false
		result, err, final := s.read(r, s.server.events(r))
		if final {
			r.drain(l)
			if err == nil {
				p.finish(result, nil)
			}
			return err
		}
		r.close()
		if s.lastID == "" || resume == nil {
			return contextErrorOr(ctx, l, err)
		}
		r, err = resume(err)
		if err != nil {
			return err
		}
	}
	result, err := s.server.readAnswer(ctx, l, r, s.id, err)
	if err == nil {
		p.finish(result, nil)
	}
	return err
}

// read reads messages until the answer to the request arrives. Then final is true, and result and err are the answer.
// Otherwise err is the reason why the stream ended.
func (s *eventStream) read(r *httpReply, events *wire.Events) (result json.RawMessage, err error, final bool) {
	s.reply = r
	events.AtOnce = true
	for {
		ev, err := events.Next()
		var long *wire.TooLong
		if err != nil && !errors.As(err, &long) {
			return nil, &CutError{err}, false
		}
		s.received = true
		if ev.ID != "" {
			s.lastID = ev.ID
		}
		if ev.Retry >= 0 {
			s.retry = time.Duration(ev.Retry) * time.Millisecond
		}
		if long != nil {
			return nil, &ProtocolError{"a message that is too long", long}, true
		}
		if len(ev.Data) == 0 || ev.Name != "message" {
			continue
		}
		result, err, final = s.message(ev.Data)
		if final {
			return result, err, true
		}
	}
}

// message handles one message of the stream.
func (s *eventStream) message(data []byte) (result json.RawMessage, err error, final bool) {
	env, err := wire.Scan(data)
	if err != nil {
		return nil, &ProtocolError{"a broken message on the answer's stream", err}, true
	}
	switch env.Kind() {
	case wire.Response:
		result, err = s.server.result(s.reply, &env, s.id)
		return result, err, true
	case wire.Notification:
		if err := s.onNotification(&env); err != nil {
			return nil, err, true
		}
	case wire.Request:
		if s.onRequest != nil {
			s.onRequest(&env)
		}
	default:
		return nil, &ProtocolError{"a message that is neither request nor response", nil}, true
	}
	return nil, nil, false
}
