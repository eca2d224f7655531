package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

const (
	// maxQuestions bounds the open questions of one session. maxOfOne bounds the open questions of one request, and
	// separately the questions outside of any request. So one server cannot use all of them.
	maxQuestions = 64
	maxOfOne     = 16
	// answerWait bounds the wait for an answer: a person reads, searches and types.
	answerWait = time.Hour
	// streamWait is how long a question waits until the client opens a stream for it. For example, a client that lost
	// its connection opens a new one.
	streamWait = 30 * time.Second
)

var (
	errManyQuestions = hostError("the client has too many open questions")
	errQuestionOver  = hostError("the request in whose course this was asked has ended")
	errNoListener    = hostError("the client has no stream open on which it could be asked")
	errLateAnswer    = hostError("the client has not answered")
	errNotAsked      = hostError("the host is closing, and asks its clients nothing any more")
	errClientGone    = hostError("the client has closed its side of the connection")
)

// openQuestion is a request to a client without an answer.
type openQuestion struct {
	of   *frontRequest // the request during which it is asked; nil: outside of any request
	told chan questionEnd
}

// questionEnd is the end of a question, with or without an answer.
type questionEnd struct {
	result   json.RawMessage
	err      error
	withdraw bool // notify the client that the answer is no longer needed
}

// ask sends a question to the session's client and waits for the answer: a result, or the client's error. of is the
// request during which it is asked, and the question is sent on the stream of this request. If that stream cannot carry
// it or of is nil, it is sent on the session's own stream. If the session has none, it is sent on the stream of any
// request.
//
// ask returns without an answer if ctx, the request or the session ends, or if the host drains.
func (s *frontSession) ask(ctx context.Context, of *frontRequest, m interop.Message) (json.RawMessage, error) {
	s.mu.Lock()
	caps := s.caps
	s.mu.Unlock()
	if err := protocol.CheckClientRequest(caps, m.Method, m.Params); err != nil {
		return nil, err
	}
	id, q, err := s.pose(of)
	if err != nil {
		return nil, err
	}
	if of != nil {
		defer of.asking.Done()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerWait, errLateAnswer)
	defer cancel()
	var send sender
	var on *frontRequest
	var lost <-chan struct{}
	var late <-chan time.Time
	putOut := func(of *frontRequest) {
		if send, on, err = s.put(of, id, m); err != nil {
			s.resolve(id, questionEnd{err: err})
		}
		if late, lost = time.After(streamWait), nil; on != nil {
			lost = on.gone
		}
	}
	putOut(of)
	ending := s.front.exchanges.ending
	for {
		select {
		case <-lost: // the client may not have read it
			if lost = nil; s.isAnswering(on) {
				putOut(nil)
			}
		case <-ending: // a person may take longer than the host can wait
			s.resolve(id, questionEnd{err: errNotAsked, withdraw: true})
			ending = nil
		case end := <-q.told:
			if end.withdraw && send != nil && !s.notes.remove(id) {
				_ = send(nil, protocol.NoteCancelled, cancelParams(id, end.err))
			}
			return end.result, end.err
		case <-ctx.Done():
			s.resolve(id, questionEnd{err: context.Cause(ctx), withdraw: true})
			ctx = context.WithoutCancel(ctx) // the loop ends with told
		case <-late:
			if s.notes.remove(id) {
				s.resolve(id, questionEnd{err: errNoListener})
			}
		}
	}
}

// pose registers a question under a new id. The ids of a session are unique.
func (s *frontSession) pose(of *frontRequest) (id json.RawMessage, q *openQuestion, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over != nil:
		return nil, nil, s.over
	case s.deaf != nil:
		return nil, nil, s.deaf
	case of != nil && of.over:
		return nil, nil, errQuestionOver
	case len(s.questions) >= s.maxQuestions || s.askedFor(of) >= maxOfOne:
		return nil, nil, errManyQuestions
	}
	if of != nil {
		of.asking.Add(1)
	}
	if s.questions == nil {
		s.questions = map[string]*openQuestion{}
	}
	s.asked++
	id = strconv.AppendInt(nil, s.asked, 10)
	q = &openQuestion{of: of, told: make(chan questionEnd, 1)}
	s.questions[callKey(id)] = q
	return id, q, nil
}

// askedFor returns the number of open questions in the course of a request. Call it with mu held.
func (s *frontSession) askedFor(of *frontRequest) (n int) {
	for _, q := range s.questions {
		if q.of == of {
			n++
		}
	}
	return n
}

// put sends a question, and returns the sender that it used. If it used the stream of another request, on is that
// request.
func (s *frontSession) put(of *frontRequest, id json.RawMessage, m interop.Message) (way sender, on *frontRequest, err error) {
	params := withoutToken(m.Params)
	if of != nil {
		err := of.send(id, m.Method, params)
		if err == nil {
			return of.send, nil, nil
		}
		if s.streaming == nil || !s.streaming() {
			return nil, nil, fmt.Errorf("the client cannot be asked %s: %w", m.Method, err)
		}
	}
	if s.streaming != nil && !s.streaming() {
		s.mu.Lock()
		open := slices.Clone(s.answering)
		s.mu.Unlock()
		for _, r := range slices.Backward(open) { // newest first, because the client may have lost an older one
			if (r.live == nil || r.live()) && r.send(id, m.Method, params) == nil {
				return r.send, r, nil
			}
		}
	}
	return s.queue, nil, s.queue(id, m.Method, params)
}

// isAnswering reports whether a request has no answer yet.
func (s *frontSession) isAnswering(r *frontRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.answering, r)
}

// answers registers a request that is being answered. Questions of the session can be sent on its stream. Questions
// that waited for a stream are sent now.
func (s *frontSession) answers(r *frontRequest) {
	s.mu.Lock()
	s.answering = append(s.answering, r)
	s.mu.Unlock()
	if s.streaming == nil || s.streaming() {
		return
	}
	for _, m := range s.notes.questions() {
		if r.send(m.ID, m.Method, m.Params) != nil {
			s.notes.restore([]interop.Message{m})
		}
	}
}

func (s *frontSession) answeredRequest(r *frontRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answering = slices.DeleteFunc(s.answering, func(o *frontRequest) bool { return o == r })
}

// queue is a [sender] that uses the session's own stream.
func (s *frontSession) queue(id json.RawMessage, method string, params ...[]byte) error {
	if !s.notes.offer(interop.Message{ID: id, Method: method, Params: join(params)}) {
		return errNoListener
	}
	return nil
}

// withoutToken returns a question's params without a progress token. The token belongs to the server's hop, and the
// client would report progress to the host.
func withoutToken(params json.RawMessage) json.RawMessage {
	return wire.Without(params, "_meta", "progressToken")
}

// cancelParams returns the params of notifications/cancelled for a question.
func cancelParams(id json.RawMessage, why error) []byte {
	return wire.Object{}.Raw("requestId", id).Text("reason", protocol.Printable(why.Error(), maxReason)).JSON()
}

// resolve ends a question. It returns false if the id belongs to no open question.
func (s *frontSession) resolve(id json.RawMessage, end questionEnd) bool {
	key := callKey(id)
	s.mu.Lock()
	q := s.questions[key]
	delete(s.questions, key)
	s.mu.Unlock()
	if q != nil {
		q.told <- end // the only send on this channel
	}
	return q != nil
}

// answered handles a client's response. If it belongs to no open question, it is dropped.
func (s *frontSession) answered(env *wire.Envelope) {
	end := questionEnd{result: env.Result}
	switch {
	case len(env.Error) > 0:
		end.err = protocol.ParseError(env.Error)
	case env.Result[0] != '{':
		end = questionEnd{err: &interop.RPCError{Code: interop.CodeInternal, Message: "the client's answer is not an object"}}
	}
	s.resolve(env.ID, end)
}

// spoilt ends the question of an unreadable answer. It returns false if the message answers no open question.
func (s *frontSession) spoilt(bad *wire.BadFrame) bool {
	return bad.ID != nil && !bad.HasMethod && s.resolve(bad.ID, questionEnd{
		err: &interop.RPCError{Code: interop.CodeInternal, Message: "the client's answer cannot be read: " + bad.Error()},
	})
}

// isAsked reports whether a question is open.
func (s *frontSession) isAsked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.questions) > 0
}

// endQuestions ends the questions of a session for which meant returns true.
func (s *frontSession) endQuestions(end questionEnd, meant func(*openQuestion) bool) {
	s.mu.Lock()
	var over []*openQuestion
	for key, q := range s.questions {
		if meant(q) {
			delete(s.questions, key)
			over = append(over, q)
		}
	}
	s.mu.Unlock()
	for _, q := range over {
		q.told <- end
	}
}

// hearNoMore ends all questions and refuses new ones, because no more answers arrive.
func (s *frontSession) hearNoMore(why error) {
	s.mu.Lock()
	s.deaf = why
	s.mu.Unlock()
	s.endQuestions(questionEnd{err: why}, func(*openQuestion) bool { return true })
}

// endQuestions ends the open questions of a request that the backend has answered, and waits until the client is
// notified.
func (r *frontRequest) endQuestions() {
	s := r.session
	if s == nil || r.era != interop.Legacy {
		return
	}
	s.mu.Lock()
	r.over = true
	open := len(s.questions) > 0
	s.mu.Unlock()
	if open {
		s.endQuestions(questionEnd{err: errQuestionOver, withdraw: true}, func(q *openQuestion) bool { return q.of == r })
	}
	r.asking.Wait()
}
