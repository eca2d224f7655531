package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/toolbox"
)

// batch makes calls, some at once, and answers in their order. It answers even where ctx has
// ended: what ran until then has happened.
func (t *metaTools) batch(ctx context.Context, c toolbox.Call) (json.RawMessage, error) {
	calls, err := t.readBatch(c.Input)
	if err != nil {
		return nil, err
	}
	b := &batch{tools: t, call: c, answers: make([]json.RawMessage, len(calls))}
	b.progress = newProgress(c.Progress, len(calls))
	defer b.progress.end()
	places := make(chan struct{}, t.parallel)
	var running sync.WaitGroup
	for i, one := range calls {
		places <- struct{}{} // free at some time: no call begins once ctx is over
		running.Go(func() {
			defer func() { <-places }()
			// What remains of a call that ends its goroutine.
			b.answers[i] = b.failed(one, &Error{Code: Unavailable, Message: "the operation did not answer"})
			b.answers[i] = b.bounded(one, b.run(ctx, i, one))
			b.progress.finished(i, one.operation)
		})
	}
	running.Wait()
	return b.encode(), nil
}

// maxNesting is how deep an answer of a batch may nest.
const maxNesting = 100

// batch is one batch that runs.
type batch struct {
	tools    *metaTools
	call     toolbox.Call
	progress *progress
	answers  []json.RawMessage // each written by one goroutine

	mu   sync.Mutex
	size int // of what is held
}

// run makes one call, and gives its answer.
func (b *batch) run(ctx context.Context, i int, one request) json.RawMessage {
	switch {
	case one.err != nil:
		return b.answered(one, failedAnyhow(one.err))
	case ctx.Err() != nil:
		return b.failed(one, endedError(ctx))
	}
	return b.answered(one, b.do(ctx, i, one))
}

// do catches a panic, which nobody else could in this goroutine: of the operation, and of
// its error, whose methods are anybody's.
func (b *batch) do(ctx context.Context, i int, one request) (r *toolbox.Result) {
	defer func() {
		if recover() != nil {
			r = failed(&Error{Code: Unavailable, Message: "the operation panicked"})
		}
	}()
	r, err := b.tools.run(ctx, b.made(i, one))
	switch {
	case err == nil:
		return r
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return failed(endedError(ctx))
	}
	return failedAnyhow(err)
}

// made is the call that one of the batch asks for.
func (b *batch) made(i int, one request) toolbox.Call {
	c := one.of(b.call)
	if c.ID != "" {
		c.ID = fmt.Sprintf("%s.%d", c.ID, i+1)
	}
	c.Wire = withoutExchange(c.Wire)
	c.Progress = b.progress.of(i, one.operation)
	return c
}

// withoutExchange is a request without what belongs to an exchange that goes on over several: none of
// the calls of a batch is the one that was answered.
func withoutExchange(w toolbox.Wire) toolbox.Wire {
	if w.IsZero() {
		return w
	}
	params, err := wire.Rewrite(w.JSON, wire.Edit{Key: "inputResponses"}, wire.Edit{Key: "requestState"})
	if err != nil {
		return toolbox.Wire{}
	}
	return toolbox.Wire{Format: w.Format, JSON: params}
}

func endedError(ctx context.Context) *Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &Error{Code: Timeout, Message: "the deadline of the batch has passed"}
	}
	return &Error{Code: Canceled, Message: "the caller gave up"}
}

// failed is the answer of a call that has no result.
func (b *batch) failed(one request, e *Error) json.RawMessage { return b.answered(one, failed(e)) }

// answered is the answer of a call. A value is there alone, what a tool gave as its whole result.
func (b *batch) answered(one request, r *toolbox.Result) json.RawMessage {
	key, raw := resultJSON(r)
	answer := json.RawMessage("{}")
	if one.operation != "" {
		answer = appendMember(answer, "operation", wire.Quote(protocol.Printable(one.operation, maxName)))
	}
	return appendValue(answer, key, raw)
}

// resultJSON is a result as JSON, and what it is: a value, an error, or all that a tool gave.
func resultJSON(r *toolbox.Result) (key string, raw json.RawMessage) {
	if !r.Wire().IsZero() {
		return "result", jsonValue(r.Wire().JSON)
	}
	if s := r.Structured(); s != nil && isTextOnly(r.Blocks()) {
		if r.IsError() {
			return "error", jsonValue(s)
		}
		return "value", jsonValue(s)
	}
	return "result", localResult(r)
}

// localResult is a result that came over no wire, as MCP writes it.
func localResult(r *toolbox.Result) json.RawMessage {
	content := []byte("[")
	for i, block := range r.Blocks() {
		if i > 0 {
			content = append(content, ',')
		}
		switch {
		case block.Text != nil:
			content = append(append(append(content, `{"type":"text","text":`...), wire.Quote(*block.Text)...), '}')
		case block.Wire.JSON != nil:
			content = append(content, jsonValue(block.Wire.JSON)...)
		default:
			content = append(append(append(content, `{"type":"text","text":`...), wire.Quote(string(block.JSON))...), '}')
		}
	}
	raw := appendValue(json.RawMessage("{}"), "content", append(content, ']'))
	if s := r.Structured(); s != nil {
		raw = appendMember(raw, "structuredContent", s)
	}
	if r.IsError() {
		raw = appendMember(raw, "isError", json.RawMessage("true"))
	}
	return raw
}

// isTextOnly reports whether blocks say no more than a structured value beside them.
func isTextOnly(blocks []toolbox.Block) bool {
	for _, b := range blocks {
		if !b.Wire.IsZero() {
			return false
		}
	}
	return true
}

// bounded is an answer, if there is room for it beside the others, and clients can read them with it.
func (b *batch) bounded(one request, answer json.RawMessage) json.RawMessage {
	if _, depth := wire.Finite(answer); depth > maxNesting {
		return b.failed(one, &Error{Code: TooLarge, Message: fmt.Sprintf("the operation has run, but its result nests %d levels deep: call it alone", depth)})
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size+len(answer) > MaxBatchBytes {
		return b.failed(one, &Error{Code: TooLarge, Message: fmt.Sprintf("the operation has run, but its result of %d bytes is too much for the batch: call it alone", len(answer))})
	}
	b.size += len(answer)
	return answer
}

func (b *batch) encode() json.RawMessage {
	out := make([]byte, 0, b.size+16+len(b.answers))
	out = append(out, `{"results":[`...)
	for i, a := range b.answers {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, a...)
	}
	return append(out, "]}"...)
}
