package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

const (
	// maxAsking bounds the server's requests that are answered at the same time, and also the requests that are refused
	// as too many. Beyond both, reading stops.
	maxAsking = 64
	// maxIDBytes bounds the id of a server's request, which is kept until it is answered.
	maxIDBytes = 1 << 10
)

// serverRequest is a request of the server that is not answered yet.
type serverRequest struct {
	id       string
	stop     context.CancelFunc
	answered chan struct{} // closed at its end
}

// handleRequest answers a request of the server in a goroutine of its own. If the request arrived on the stream of a
// call, of is the Request.Of of that call. Otherwise of is 0.
func (s *session) handleRequest(env *wire.Envelope, of uint64) {
	if len(env.ID) > maxIDBytes {
		s.noise.Add(1)
		return
	}
	id := bytes.Clone(env.ID) // the id must not keep the whole frame in memory
	ctx, stop := context.WithCancel(s.ctx)
	r := &serverRequest{string(id), stop, make(chan struct{})}
	s.table.Lock()
	isBusy := len(s.requests) == maxAsking
	if !isBusy {
		s.requests[r] = true // before any later message is read
	}
	s.table.Unlock()
	if isBusy {
		stop()
		s.refuseBusy(id)
		return
	}
	end := func() {
		stop()
		s.table.Lock()
		defer s.table.Unlock()
		delete(s.requests, r)
		close(r.answered)
	}
	m := Message{ID: id, Params: env.Params, Method: env.MethodName(), Era: s.era(), Of: of}
	started := s.spawn(func(life context.Context) {
		defer end()
		s.deliverBefore(of)
		result, err := answerRequest(ctx, m, s.opts.Receive)
		m.Params = nil
		if ctx.Err() == nil { // it is still wanted
			s.reply(life, id, result, err)
		}
	})
	if !started {
		end()
	}
}

// Unasked implements [Conn].
func (s *session) Unasked(ctx context.Context) {
	s.table.Lock()
	requests := maps.Clone(s.requests)
	s.table.Unlock()
	for r := range requests {
		select {
		case <-r.answered:
		case <-ctx.Done():
			return
		}
	}
}

// deliverBefore delivers the notifications that arrived before a question. They are the notifications of the question's
// call, or of all calls if it names none.
func (s *session) deliverBefore(of uint64) {
	for _, p := range s.calls(func(p *pending) bool { return of == 0 || p.request.Of == of }) {
		p.deliver()
	}
}

// refuseBusy refuses a request because there is no room. Every request is answered, because the server may hold a call
// until then. If too many refusals are under way, refuseBusy waits. There is room when the server reads, or after
// noteTimeout.
func (s *session) refuseBusy(id json.RawMessage) {
	select {
	case s.refusalSlots <- struct{}{}:
	case <-s.ctx.Done():
		return
	}
	if !s.spawn(func(life context.Context) {
		defer func() { <-s.refusalSlots }()
		s.reply(life, id, nil, &protocol.RPCError{Code: protocol.CodeInternal, Message: "too many requests at once"})
	}) {
		<-s.refusalSlots
	}
}

// answerRequest answers a request of a server. It answers ping itself; the receiver answers or refuses other methods.
func answerRequest(ctx context.Context, m Message, receive Receiver) (json.RawMessage, error) {
	if m.Method == protocol.MethodPing {
		return json.RawMessage(`{}`), nil
	}
	if receive != nil {
		result, err := receive(ctx, m)
		switch {
		case err != nil:
			return nil, err
		case len(result) > 0 && !wire.Valid(result):
			return nil, &protocol.RPCError{Code: protocol.CodeInternal, Message: "the client's answer is not valid JSON"}
		case len(result) > 0:
			return result, nil
		}
	}
	return nil, &protocol.RPCError{Code: protocol.CodeMethodNotFound, Message: "method not found: " + m.Method}
}

func (s *session) reply(ctx context.Context, id, result json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	env := wire.Envelope{ID: id, Result: result}
	if err != nil {
		env.Result, env.Error = nil, protocol.ErrorObject(err)
	}
	if err := s.carrier.send(ctx, env, nil); err != nil {
		s.log.Debug("the server did not take an answer", "err", err)
	}
}

// handleCancelled cancels a request of the server, or a call that the server will not answer. Only a modern server may
// cancel a call (2026-07-28, basic/patterns/cancellation).
func (s *session) handleCancelled(m Message) {
	id, _ := wire.Lookup(m.Params, "requestId")
	isRequest := false
	s.table.Lock()
	for r := range s.requests {
		if r.id == string(id) {
			isRequest = true
			r.stop()
		}
	}
	s.table.Unlock()
	if p := s.lookupCall(s.pending, id); !isRequest && p != nil && m.Era == protocol.Modern {
		p.finish(nil, errServerCancelled)
	}
}
