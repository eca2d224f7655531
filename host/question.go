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
	// maxQuestions bounds the open questions of one session. maxRequestQuestions bounds the open questions of one request,
	// and separately the questions outside of any request. So one server cannot use all of them.
	maxQuestions        = 64
	maxRequestQuestions = 16
	// answerWait bounds the wait for an answer: a person reads, searches and types.
	answerWait = time.Hour
	// streamWait is how long a question waits until the client opens a stream for it. For example, a client that lost
	// its connection opens a new one.
	streamWait = 30 * time.Second
)

var (
	errTooManyQuestions = hostError("the client has too many open questions")
	errQuestionOver     = hostError("the request to which this question belongs has ended")
	errNoQuestionStream = hostError("the client has no stream open on which it could be asked")
	errLateAnswer       = hostError("the client has not answered")
	errQuestionsClosed  = hostError("the host is closing, and sends its clients no more questions")
	errClientGone       = hostError("the client has closed its side of the connection")
)

// openQuestion is a request to a client without an answer.
type openQuestion struct {
	request *frontRequest // the request during which it is asked; nil: outside of any request
	ended   chan questionEnd
}

// questionEnd is the end of a question, with or without an answer.
type questionEnd struct {
	result   json.RawMessage
	err      error
	withdraw bool // notify the client that the answer is no longer needed
}

// ask sends a question to the session's client and waits for the answer: a result, or the client's error. request is
// the request during which it is asked, and the question is sent on the stream of this request. If that stream cannot
// carry it or request is nil, it is sent on the session's own stream. If the session has none, it is sent on the stream
// of any request.
//
// ask returns without an answer if ctx, the request or the session ends, or if the host drains.
func (s *frontSession) ask(ctx context.Context, request *frontRequest, m interop.Message) (json.RawMessage, error) {
	s.mu.Lock()
	caps := s.caps
	s.mu.Unlock()
	if err := protocol.CheckClientRequest(caps, m.Method, m.Params); err != nil {
		return nil, err
	}
	id, q, err := s.registerQuestion(request)
	if err != nil {
		return nil, err
	}
	if request != nil {
		defer request.questions.Done()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerWait, errLateAnswer)
	defer cancel()
	var send sender
	var used *frontRequest
	var disconnected <-chan struct{}
	var timeout <-chan time.Time
	sendOn := func(request *frontRequest) {
		send, used, err = s.sendQuestion(request, id, m)
		if err != nil {
			s.resolve(id, questionEnd{err: err})
		}
		timeout = time.After(streamWait)
		disconnected = nil
		if used != nil {
			disconnected = used.disconnected
		}
	}
	sendOn(request)
	ending := s.front.exchanges.Ending()
	for {
		select {
		case <-disconnected: // the client may not have read it
			disconnected = nil
			if s.isAnswering(used) {
				sendOn(nil)
			}
		case <-ending: // a person may take longer than the host can wait
			s.resolve(id, questionEnd{err: errQuestionsClosed, withdraw: true})
			ending = nil
		case end := <-q.ended:
			if end.withdraw && send != nil && !s.notes.remove(id) {
				reason := protocol.Printable(end.err.Error(), maxReason)
				params := wire.Object{}.Raw("requestId", id).Text("reason", reason)
				_ = send(nil, protocol.NoteCancelled, params.JSON())
			}
			return end.result, end.err
		case <-ctx.Done():
			s.resolve(id, questionEnd{err: context.Cause(ctx), withdraw: true})
			ctx = context.WithoutCancel(ctx) // the loop ends with q.ended
		case <-timeout:
			if s.notes.remove(id) {
				s.resolve(id, questionEnd{err: errNoQuestionStream})
			}
		}
	}
}

// registerQuestion registers a question under a new id. The ids of a session are unique.
func (s *frontSession) registerQuestion(request *frontRequest) (id json.RawMessage, q *openQuestion, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.endCause != nil:
		return nil, nil, s.endCause
	case s.refusalCause != nil:
		return nil, nil, s.refusalCause
	case request != nil && request.questionsClosed:
		return nil, nil, errQuestionOver
	case len(s.questions) >= s.maxQuestions || s.countQuestions(request) >= maxRequestQuestions:
		return nil, nil, errTooManyQuestions
	}
	if request != nil {
		request.questions.Add(1)
	}
	if s.questions == nil {
		s.questions = map[string]*openQuestion{}
	}
	s.lastQuestionID++
	id = strconv.AppendInt(nil, s.lastQuestionID, 10)
	q = &openQuestion{request: request, ended: make(chan questionEnd, 1)}
	s.questions[callKey(id)] = q
	return id, q, nil
}

// countQuestions returns the number of open questions in the course of a request. Call it with mu held.
func (s *frontSession) countQuestions(request *frontRequest) (n int) {
	for _, q := range s.questions {
		if q.request == request {
			n++
		}
	}
	return n
}

// sendQuestion sends a question, and returns the sender that it used. If it used the stream of another request, used is
// that request.
func (s *frontSession) sendQuestion(
	request *frontRequest, id json.RawMessage, m interop.Message,
) (send sender, used *frontRequest, err error) {
	// The token belongs to the server's hop, and the client would report progress to the host.
	params := wire.Without(m.Params, "_meta", "progressToken")
	if request != nil {
		err := request.send(id, m.Method, params)
		if err == nil {
			return request.send, nil, nil
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
			if (r.isLive == nil || r.isLive()) && r.send(id, m.Method, params) == nil {
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

// startAnswering registers a request that is being answered. Questions of the session can be sent on its stream.
// Questions that waited for a stream are sent now.
func (s *frontSession) startAnswering(r *frontRequest) {
	s.mu.Lock()
	s.answering = append(s.answering, r)
	s.mu.Unlock()
	if s.streaming == nil || s.streaming() {
		return
	}
	for _, m := range s.notes.takeQuestions() {
		if r.send(m.ID, m.Method, m.Params) != nil {
			s.notes.restore([]interop.Message{m})
		}
	}
}

func (s *frontSession) stopAnswering(r *frontRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answering = slices.DeleteFunc(s.answering, func(o *frontRequest) bool { return o == r })
}

// queue is a [sender] that uses the session's own stream.
func (s *frontSession) queue(id json.RawMessage, method string, params ...[]byte) error {
	if !s.notes.offer(interop.Message{ID: id, Method: method, Params: join(params)}) {
		return errNoQuestionStream
	}
	return nil
}

// resolve ends a question. It returns false if the id belongs to no open question.
func (s *frontSession) resolve(id json.RawMessage, end questionEnd) bool {
	key := callKey(id)
	s.mu.Lock()
	q := s.questions[key]
	delete(s.questions, key)
	s.mu.Unlock()
	if q != nil {
		q.ended <- end // the only send on this channel
	}
	return q != nil
}

// receiveResponse handles a client's response. If it belongs to no open question, it is dropped.
func (s *frontSession) receiveResponse(env *wire.Envelope) {
	end := questionEnd{result: env.Result}
	switch {
	case len(env.Error) > 0:
		end.err = protocol.ParseError(env.Error)
	case env.Result[0] != '{':
		end = questionEnd{err: &interop.RPCError{Code: interop.CodeInternal, Message: "the client's answer is not an object"}}
	}
	s.resolve(env.ID, end)
}

// rejectAnswer ends the question of an unreadable answer. It returns false if the message answers no open question.
func (s *frontSession) rejectAnswer(bad *wire.BadFrame) bool {
	return bad.ID != nil && !bad.HasMethod && s.resolve(bad.ID, questionEnd{
		err: &interop.RPCError{Code: interop.CodeInternal, Message: "the client's answer cannot be read: " + bad.Error()},
	})
}

// hasQuestions reports whether a question is open.
func (s *frontSession) hasQuestions() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.questions) > 0
}

// endQuestions ends the questions of a session for which matches returns true.
func (s *frontSession) endQuestions(end questionEnd, matches func(*openQuestion) bool) {
	s.mu.Lock()
	var ended []*openQuestion
	for key, q := range s.questions {
		if matches(q) {
			delete(s.questions, key)
			ended = append(ended, q)
		}
	}
	s.mu.Unlock()
	for _, q := range ended {
		q.ended <- end
	}
}

// refuseQuestions ends all questions and refuses new ones, because no more answers arrive.
func (s *frontSession) refuseQuestions(cause error) {
	s.mu.Lock()
	s.refusalCause = cause
	s.mu.Unlock()
	s.endQuestions(questionEnd{err: cause}, func(*openQuestion) bool { return true })
}

// endQuestions ends the open questions of a request that the backend has answered, and waits until the client is
// notified.
func (r *frontRequest) endQuestions() {
	s := r.session
	if s == nil || r.era != interop.Legacy {
		return
	}
	s.mu.Lock()
	r.questionsClosed = true
	s.mu.Unlock()
	end := questionEnd{err: errQuestionOver, withdraw: true}
	s.endQuestions(end, func(q *openQuestion) bool { return q.request == r })
	r.questions.Wait()
}
