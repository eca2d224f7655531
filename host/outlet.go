package host

import (
	"encoding/json"
	"sync"
)

// outlet is a stream to a client that all its requests share: a pipe, or the event stream of HTTP+SSE.
type outlet struct {
	write  func(frame [][]byte) error // writes a message in pieces; nil keeps the stream alive
	broken chan struct{}              // closed when a write has failed, with err

	mu     sync.Mutex // held while writing, so that messages are sent in order
	closed bool       // no more writes
	err    error
}

func newOutlet(write func(frame [][]byte) error) *outlet {
	return &outlet{write: write, broken: make(chan struct{})}
}

// send writes a message, unless its request has its answer already. reply is nil if it belongs to no request.
func (o *outlet) send(reply *outletReply, frame [][]byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if reply != nil && reply.done {
		return errReplySent
	}
	return o.put(frame)
}

// put is send with mu held.
func (o *outlet) put(frame [][]byte) error {
	if o.closed {
		return errReplySent
	}
	err := o.write(frame)
	if err != nil {
		o.closed, o.err = true, err
		close(o.broken)
	}
	return err
}

// close waits for a running write, and prevents later ones.
func (o *outlet) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

// outletReply sends the messages of one request.
type outletReply struct {
	*outlet
	id   json.RawMessage
	done bool // the request has its answer; guarded by mu
}

func (r *outletReply) sendMessage(id json.RawMessage, method string, params ...[]byte) error {
	return r.send(r, messageFrame(id, method, params))
}

// finish sends the answer. After it, nothing is sent for the request.
func (r *outletReply) finish(a frontAnswer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = true
	if !a.isEmpty() {
		_ = r.put(answerFrame(r.id, a))
	}
}

// sendNotes sends the waiting messages of a session.
func (s *frontSession) sendNotes(out *outlet) error {
	for _, m := range s.notes.take() {
		if err := out.send(nil, messageFrame(m.ID, m.Method, [][]byte{m.Params})); err != nil {
			return err
		}
	}
	return nil
}
