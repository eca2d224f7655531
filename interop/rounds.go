package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/internal/advice"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/payload"
)

const (
	// maxRounds bounds how often one request is sent again with answers for its server.
	maxRounds = 10
	// busyPause is the first pause if a server asks no question but wants the request again (load shedding; 2026-07-28,
	// basic/patterns/mrtr). It doubles up to maxBusyPause.
	busyPause    = 100 * time.Millisecond
	maxBusyPause = 5 * time.Second
)

// exchange sends a request and obtains the answers that its server asks for. A modern client answers by itself, in its
// next request. Any other client is asked here. kind is the type of the result. It is "" if there is none, or if the
// method cannot ask.
func (e *Endpoint) exchange(ctx context.Context, m Message) (result json.RawMessage, kind string, err error) {
	result, err = e.do(ctx, m)
	if err != nil || !protocol.MayRequireInput(m.Method) {
		return result, "", err
	}
	client, capabilities, ask := ClientOf(ctx), e.opts.Capabilities, e.opts.Receive
	kind = payload.ResultType(result)
	switch {
	case kind == "" || kind == "complete":
		return result, kind, nil
	case client != nil && client.Era == Modern:
		result, err = e.handleTyped(ctx, m, kind, result, client)
		return result, kind, err
	case kind != payload.InputRequired || client == nil && e.Era() != Modern:
		return result, kind, nil
	case client != nil:
		capabilities, ask = client.capabilitiesFor(Modern), client.Back
	}
	switch {
	case ask != nil && protocol.AcceptsRequests(capabilities):
		return e.runRounds(ctx, m, result, capabilities, ask)
	case client != nil:
		return nil, "", e.resultFault(Protocol, m, advice.ErrInputRequired)
	}
	return result, kind, nil
}

// handleTyped handles a result for a modern client with another type than "complete".
func (e *Endpoint) handleTyped(
	ctx context.Context, m Message, kind string, result json.RawMessage, c *Client,
) (json.RawMessage, error) {
	if kind == payload.InputRequired {
		if _, _, err := payload.Questions(result, c.capabilitiesFor(Modern)); err != nil {
			return nil, e.resultFault(Protocol, m, err)
		}
	}
	if e.opts.Typed == nil {
		return result, nil
	}
	return e.opts.Typed(ctx, m, kind, result)
}

// runRounds asks the questions in a server's results and sends the request again, until a result asks nothing.
func (e *Endpoint) runRounds(
	ctx context.Context, m Message, result json.RawMessage, capabilities json.RawMessage, ask Peer,
) (json.RawMessage, string, error) {
	outer := ctx
	ctx, cancel := conn.WithDeadline(ctx, e.server.Timeouts.Total, conn.DefaultTotal)
	defer cancel()
	pause := busyPause
	for range maxRounds {
		questions, handle, err := payload.Questions(result, capabilities)
		if err != nil {
			return nil, "", e.resultFault(Protocol, m, err)
		}
		if len(questions) == 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			pause = min(2*pause, maxBusyPause)
		}
		askCtx, stop := e.withRetirement(ctx)
		answers, err := askAll(askCtx, m, e.server.ID, questions, ask)
		stop()
		next := m
		if err == nil {
			next.Params, err = wire.Rewrite(paramsOf(m),
				wire.Edit{Key: "inputResponses", Value: answers}, wire.Edit{Key: "requestState", Value: handle})
		}
		if err != nil && ctx.Err() == nil {
			return nil, "", e.resultFault(failureKind(m.Method), m, err)
		}
		if err == nil {
			result, err = e.do(ctx, next)
		}
		switch {
		case outer.Err() != nil && err != nil:
			return nil, "", outer.Err()
		case ctx.Err() != nil && err != nil:
			return nil, "", e.resultFault(Timeout, m, context.Cause(ctx))
		case err != nil:
			return nil, "", err
		}
		if kind := payload.ResultType(result); kind != payload.InputRequired {
			return result, kind, nil
		}
	}
	return nil, "", e.resultFault(failureKind(m.Method), m, errManyRounds)
}

// errManyRounds is returned for a call in which the server still asks for input after the last round. The server has
// done nothing wrong.
var errManyRounds = fmt.Errorf("indus answers %d requests for input in one call, and the server has another: "+
	"ask for less in one call, or call the server as a client of 2026-07-28", maxRounds)

// resultFault returns the fault of a request whose result cannot be passed on.
func (e *Endpoint) resultFault(kind Kind, m Message, err error) *Fault {
	return e.requestFault(kind, m.Method, paramName(m), err)
}

// paramsOf returns the params of m as an object.
func paramsOf(m Message) json.RawMessage {
	if m.Params == nil {
		return json.RawMessage(`{}`)
	}
	return m.Params
}

// askAll asks all questions at once and returns an object with the answers by key, or nil if there are no questions.
// The first refused question cancels the others.
func askAll(
	ctx context.Context, m Message, server string, questions []payload.Question, ask Peer,
) (json.RawMessage, error) {
	if len(questions) == 0 {
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers := make([]json.RawMessage, len(questions))
	var pending sync.WaitGroup
	for i, q := range questions {
		pending.Go(func() {
			answer, err := ask(ctx, Message{
				ID: wire.Quote(q.Key), Method: q.Method, Params: q.Params, Era: Modern,
				Caller: m.Caller, Of: m.Of, Server: server,
			})
			switch {
			case err != nil: // not in the chain, because the error is not the server's
				cancel(errors.New("the client does not answer " + q.Method + ": " + err.Error()))
			case !wire.Valid(answer):
				cancel(errors.New("the client has no answer to " + q.Method))
			}
			answers[i] = answer
		})
	}
	pending.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var all wire.Object
	for i, q := range questions {
		all = all.Raw(q.Key, answers[i])
	}
	return all.JSON(), nil
}
