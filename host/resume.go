package host

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
)

const (
	// primeWait is the time after which a pending answer becomes an event stream. From then on a client that loses its
	// connection can reconnect. The stream begins with an event that has only an id (SEP-1699).
	primeWait = 500 * time.Millisecond
	// retryAfter is how long a client should wait before it reconnects.
	retryAfter = time.Second
)

var (
	errEventGone  = errors.New("the events after " + protocol.HeaderLastEventID + " are not kept any more, or never were")
	errEventName  = errors.New(protocol.HeaderLastEventID + " names no event of this host's")
	errStreamHeld = errors.New("another connection goes on with the stream")
)

// eventID names an event of a session. It has the stream, and the number among all events of the session.
func eventID(s streamName, seq uint64) string {
	b := strconv.AppendUint([]byte{s.kind}, s.number, 10)
	return string(strconv.AppendUint(append(b, '-'), seq, 10))
}

// lastEvent returns the event after which a client wants to resume. It is zero if the header is missing.
func lastEvent(h http.Header) (s streamName, seq uint64, err error) {
	if v := h[httpKeyLastEvent]; len(v) == 0 || len(v) == 1 && v[0] == "" {
		return s, 0, nil
	}
	id, _ := protocol.OneHeader(h, httpKeyLastEvent)
	stream, event, ok := strings.Cut(id, "-")
	if !ok || stream == "" || stream[0] != answerStream && stream[0] != notesStream {
		return s, 0, errEventName
	}
	s.kind = stream[0]
	s.number, err = strconv.ParseUint(stream[1:], 10, 64)
	if err == nil {
		seq, err = strconv.ParseUint(event, 10, 64)
	}
	if err != nil || eventID(s, seq) != id {
		return s, 0, errEventName
	}
	return s, seq, nil
}

// httpKeyLastEvent is the form under which net/http keeps Last-Event-ID.
const httpKeyLastEvent = "Last-Event-Id"

// prime returns an event without data, with the time after which to reconnect.
func (k *sessionEvents) prime(s streamName) []byte {
	retry := strconv.FormatInt(retryAfter.Milliseconds(), 10)
	return []byte("id: " + eventID(s, k.nextSeq()) + "\nretry: " + retry + "\ndata:\n\n")
}

// supportsPrime reports whether a session's client supports events without data. Before 2025-11-25 they are not in the
// protocol, and some clients fail on them.
func (s *hostSession) supportsPrime() bool {
	return s.events != nil && s.agreedVersion() >= protocol.VersionLegacy
}

// keepEvents lets a client reconnect for an answer over another connection than the one of q.
func (s *hostSession) keepEvents(r *hostReply, q *http.Request, method string) {
	if s.events == nil || !r.accepts.stream || method == protocol.MethodInitialize || s.agreedVersion() == "" {
		return
	}
	r.events, r.sendsPrime = s.events, s.supportsPrime()
	r.disconnected, r.hasNotesStream = q.Context().Done(), s.streaming
}

// isDisconnected reports whether a stream that is kept has no connection. Call it with mu held.
func (r *hostReply) isDisconnected() bool {
	if r.events == nil {
		return false
	}
	select {
	case <-r.disconnected:
		if r.stream {
			r.w = nil
		}
		return true
	default:
		return r.w == nil
	}
}

// tooLarge returns the answer for a client that reconnects for an answer that was not kept.
func (r *hostReply) tooLarge() [][]byte {
	if r.events == nil {
		return nil
	}
	return answerFrame(r.id, frontError(0, interop.CodeInternal,
		"the request was answered while the client had lost its connection, "+
			"and the answer is larger than the limit for that (%d KiB)", r.events.replay.maxSession>>10))
}

// resume continues a stream of a session on another connection.
func (h *Host) resume(w http.ResponseWriter, r *http.Request, s *hostSession, name streamName, after uint64) *refusal {
	if !s.events.hasStream(name) {
		return refuse(http.StatusBadRequest, errEventName.Error())
	}
	if name.kind == notesStream { // events of it can be lost anyway
		h.streamNotes(w, r, s, name, after)
		return nil
	}
	if reply := s.events.answer(name); reply != nil {
		if replaced := reply.attach(w, r, after); replaced != nil {
			defer reply.detach(replaced)
			select {
			case <-reply.done:
			case <-replaced:
			case <-r.Context().Done():
			}
			return nil
		}
	}
	events, known := s.events.after(name, after)
	if !known { // 404 would end the session
		return refuse(http.StatusBadRequest, errEventGone.Error())
	}
	beginStream(w)
	_ = writeEvents(w, h.opts.Memory, eventsOf(events))
	return nil
}

// eventsOf returns kept events in the form in which they were sent.
func eventsOf(events []storedEvent) (parts [][]byte) {
	for _, e := range events {
		parts = append(parts, eventOf(eventID(e.stream, e.seq), [][]byte{e.data})...)
	}
	return parts
}

// attach makes w the connection of a stream that has begun, and sends the events that the client missed. replaced is
// closed when another connection takes over. If the stream is finished, replaced is nil.
func (r *hostReply) attach(w http.ResponseWriter, q *http.Request, after uint64) (replaced chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finished {
		return nil
	}
	replaced = r.events.hold(r.name)
	r.w, r.replaced, r.disconnected = w, replaced, q.Context().Done()
	beginStream(w)
	missed, _ := r.events.after(r.name, after)
	_ = r.send(eventsOf(missed)...)
	return replaced
}

// detach removes the connection of a stream, unless another one has taken over.
func (r *hostReply) detach(replaced chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.replaced == replaced {
		r.w = nil
	}
	r.events.release(r.name, replaced)
}

// streamNotes sends a session's own messages on a stream. The stream is new, or is resumed after an event. If there are
// several streams, each message is sent on one (2025-11-25, basic/transports, "Multiple Connections").
func (h *Host) streamNotes(w http.ResponseWriter, r *http.Request, s *hostSession, name streamName, after uint64) {
	first := [][]byte{[]byte(":\n\n")}
	var holder chan struct{}
	if s.events != nil {
		holder = s.events.hold(name)
		defer s.events.release(name, holder)
		missed, _ := s.events.after(name, after)
		first = append(first, eventsOf(missed)...)
		if after == 0 && s.supportsPrime() {
			first = [][]byte{s.events.prime(name)}
		}
	}
	beginStream(w)
	if writeEvents(w, h.opts.Memory, first) == nil {
		send := func() error { return h.sendNotes(w, s, name, holder) }
		h.serveNotes(r, s, holder, send, func() error { return writeStream(w, []byte(":\n\n")) })
	}
}

// sendNotes sends the waiting messages of a session. Messages that cannot be sent are put back.
func (h *Host) sendNotes(w http.ResponseWriter, s *hostSession, name streamName, holder chan struct{}) error {
	waiting := s.notes.take()
	for i, m := range waiting {
		frame := messageFrame(m.ID, m.Method, [][]byte{m.Params})
		id, seq := "", uint64(0)
		if holder != nil {
			var holds bool
			seq, holds = s.events.add(name, holder, frame, nil)
			if !holds {
				s.notes.restore(waiting[i:])
				return errStreamHeld
			}
			id = eventID(name, seq)
		}
		if err := writeStream(w, eventOf(id, frame)...); err != nil {
			if holder != nil && !s.events.removeLast(name, holder, seq) {
				i++ // the holder of the stream has sent it
			}
			s.notes.restore(waiting[i:])
			return err
		}
	}
	return nil
}
