package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
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
	received       bool                       // a message came since it was last reset
	empty          int                        // streams in a row that ended without a message
	skipped        error                      // of the first message that was left out; nil: none
	session        *session                   // counts the messages that are left out; nil: no count
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
			if s.skipped != nil && s.lastID == "" && err == io.EOF { // the rest cannot be resumed
				return nil, s.skipped, true
			}
			return nil, &CutError{err}, false
		}
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

// message handles one message of the stream. Data that is no message, or answers another request, is counted and left
// out, as on stdio.
func (s *eventStream) message(data []byte) (result json.RawMessage, err error, final bool) {
	env, err := scanLenient(data)
	if err != nil {
		broken := &ProtocolError{"a broken message on the answer's stream", err}
		var bad *wire.BadFrame
		if _, frameErr := wire.ReadMessage(data); errors.As(frameErr, &bad) && !bad.HasMethod && sameID(bad.ID, s.id) {
			return nil, broken, true
		}
		s.skip(data, broken)
		return nil, nil, false
	}
	s.received = true
	switch env.Kind() {
	case wire.Response:
		result, err = s.server.result(s.reply, &env, s.id)
		if !sameID(env.ID, s.id) {
			s.skip(data, err)
			return nil, nil, false
		}
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
		s.received = false
		s.skip(data, &ProtocolError{"a message that is neither request nor response", nil})
	}
	return nil, nil, false
}

// skip counts a message that is left out. If the stream ends without an answer, the first error explains it.
func (s *eventStream) skip(data []byte, err error) {
	if s.skipped == nil {
		s.skipped = err
	}
	if s.session != nil {
		s.session.noise.Add(1)
		s.session.unmatched.add(s.session, data)
	}
}

// scanLenient is [wire.Scan], and also reads a message after a byte order mark or in a list of one.
func scanLenient(b []byte) (wire.Envelope, error) {
	env, err := wire.Scan(b)
	if err == nil {
		return env, nil
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	if list, listErr := wire.Elements(b); listErr == nil && len(list) == 1 {
		b = list[0]
	}
	if env, againErr := wire.Scan(b); againErr == nil {
		return env, nil
	}
	return wire.Envelope{}, err
}

// sameID reports whether an answer has the id of a request. Like most clients, it accepts a number that the server
// repeats as a string or with a fraction of zeros.
func sameID(answered, asked json.RawMessage) bool {
	if bytes.Equal(answered, asked) {
		return true
	}
	if text, ok := wire.Unquote(answered); ok {
		answered = json.RawMessage(text)
	}
	whole, fraction, _ := bytes.Cut(answered, []byte("."))
	return len(asked) > 0 && bytes.Equal(whole, asked) && len(bytes.Trim(fraction, "0")) == 0
}
