package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/toolbox"
)

// batch makes the calls of a batch, several at once, and returns their answers in order. It returns
// answers even if ctx has ended, because some calls have already run.
func (t *metaTools) batch(ctx context.Context, c toolbox.Call) (json.RawMessage, error) {
	calls, err := t.readBatch(c.Input)
	if err != nil {
		return nil, err
	}
	b := &batch{tools: t, call: c, answers: make([]json.RawMessage, len(calls))}
	b.progress = newProgress(c.Progress, len(calls))
	defer b.progress.end()
	slots := make(chan struct{}, t.opts.Parallel)
	var running sync.WaitGroup
	for i, r := range calls {
		slots <- struct{}{} // a place becomes free: no call begins after ctx has ended
		running.Go(func() {
			defer func() { <-slots }()
			// This answer remains if the call ends its goroutine.
			b.answers[i] = b.encodeError(r, &Error{Code: Unavailable, Message: "the operation did not answer"})
			b.answers[i] = b.checkSize(r, b.run(ctx, i, r))
			b.progress.finish(i, r.operation)
		})
	}
	running.Wait()
	return encodeJSON(map[string]any{"results": b.answers}), nil
}

// maxNesting is the maximum nesting depth of one answer of a batch.
const maxNesting = 100

// batch is the state of a running batch.
type batch struct {
	tools    *metaTools
	call     toolbox.Call
	progress *progress
	answers  []json.RawMessage // each is written by one goroutine

	mu   sync.Mutex
	size int // total bytes of the answers
}

// run makes one call and returns its answer.
func (b *batch) run(ctx context.Context, i int, r request) json.RawMessage {
	switch {
	case r.err != nil:
		return b.encodeResult(r, resultOfAnyError(r.err))
	case ctx.Err() != nil:
		return b.encodeError(r, endedError(ctx))
	}
	return b.encodeResult(r, b.runRecovered(ctx, i, r))
}

// runRecovered runs one call and recovers panics of the operation and of the methods of its error. Nothing else
// recovers a panic in this goroutine.
func (b *batch) runRecovered(ctx context.Context, i int, req request) (r *toolbox.Result) {
	defer func() {
		if recover() != nil {
			r = resultOfError(&Error{Code: Unavailable, Message: "the operation panicked"})
		}
	}()
	r, err := b.tools.run(ctx, b.newCall(i, req))
	switch {
	case err == nil:
		return r
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return resultOfError(endedError(ctx))
	}
	return resultOfAnyError(err)
}

// newCall returns the toolbox call for one request of the batch.
func (b *batch) newCall(i int, r request) toolbox.Call {
	c := r.toCall(b.call)
	if c.ID != "" {
		c.ID = fmt.Sprintf("%s.%d", c.ID, i+1)
	}
	c.Wire = withoutExchange(c.Wire)
	c.Progress = b.progress.reporter(i, r.operation)
	return c
}

// withoutExchange returns the request without the members that continue an earlier exchange. They
// belong to no call of the batch.
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

// encodeError returns the answer of a call that has no result.
func (b *batch) encodeError(r request, e *Error) json.RawMessage {
	return b.encodeResult(r, resultOfError(e))
}

// encodeResult returns the answer of a call. It holds only the value if there is one, and otherwise the
// tool's whole result.
func (b *batch) encodeResult(req request, r *toolbox.Result) json.RawMessage {
	key, raw := resultJSON(r)
	var answer wire.Object
	if req.operation != "" {
		answer = answer.Raw("operation", wire.Quote(protocol.Printable(req.operation, maxName)))
	}
	return answer.Raw(key, raw).JSON()
}

// resultJSON returns a result as JSON, and its kind: a value, an error, or the whole result of a
// tool.
func resultJSON(r *toolbox.Result) (key string, raw json.RawMessage) {
	if !r.Wire().IsZero() {
		return "result", jsonValue(r.Wire().JSON)
	}
	hasMedia := slices.ContainsFunc(r.Blocks(), func(b toolbox.Block) bool { return !b.Wire.IsZero() })
	if s := r.Structured(); s != nil && !hasMedia {
		if r.IsError() {
			return "error", jsonValue(s)
		}
		return "value", jsonValue(s)
	}
	return "result", localResult(r)
}

// localResult writes a result that came over no wire in the format of MCP.
func localResult(r *toolbox.Result) json.RawMessage {
	content := []byte("[")
	for i, block := range r.Blocks() {
		if i > 0 {
			content = append(content, ',')
		}
		switch {
		case block.Text != nil:
			content = append(content, textBlock(*block.Text)...)
		case block.Wire.JSON != nil:
			content = append(content, jsonValue(block.Wire.JSON)...)
		default:
			content = append(content, textBlock(string(block.JSON))...)
		}
	}
	raw := withMember(wire.Object{}.Raw("content", append(content, ']')), "structuredContent", r.Structured())
	if r.IsError() {
		raw = raw.Raw("isError", []byte("true"))
	}
	return raw.JSON()
}

func textBlock(s string) json.RawMessage {
	return wire.Object{}.Text("type", "text").Raw("text", wire.Quote(s)).JSON()
}

// checkSize returns an answer if it fits beside the others and is not nested too deeply for clients.
// Otherwise it returns an error.
func (b *batch) checkSize(r request, answer json.RawMessage) json.RawMessage {
	if _, depth := wire.Finite(answer); depth > maxNesting {
		return b.encodeError(r, &Error{Code: TooLarge, Message: fmt.Sprintf(
			"the operation has run, but its result nests %d levels deep: call it alone", depth)})
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size+len(answer) > MaxBatchBytes {
		return b.encodeError(r, &Error{Code: TooLarge, Message: fmt.Sprintf(
			"the operation has run, but its result of %d bytes is too much for the batch: call it alone", len(answer))})
	}
	b.size += len(answer)
	return answer
}
