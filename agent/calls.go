package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/toolbox"
)

// cancelGrace is the time that a call has to end after its turn was cancelled. A server is notified, and a process is
// ended. A tool that ignores both is abandoned.
const cancelGrace = 10 * time.Second

const (
	cancelledText  = "Cancelled while it ran: its effects until then remain."
	notStartedText = "Cancelled before it began: it did not run."
	abandonedText  = "Cancelled, but it did not end: it may still be running."
	truncatedText  = "Not run: your message was cut at its greatest length before the calls in it were complete. " +
		"Write less in one message, or make fewer calls."
)

// runCalls runs the calls of one message and stores each result as it arrives.
func (t *turn) runCalls(ctx context.Context, calls []Call, stop Stop) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(t.Parallel) // a call does not outlive its context for long
	// In bytes: one result gets at most a quarter of the budget, and all results together get half of it.
	maxBytes := t.Context * text.BytesPerToken / max(4, 2*len(calls))
	for i, call := range calls {
		group.Go(func() error {
			return t.runCall(context.WithValue(groupCtx, callPlace{}, i), call, stop, maxBytes)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

func (t *turn) runCall(ctx context.Context, call Call, stop Stop, maxBytes int) error {
	t.notify(Event{Kind: EventCall, Call: &call})
	started := time.Now()
	var r Result
	switch {
	case stop == StopLength:
		r = failedCall(call, truncatedText)
	case ctx.Err() != nil:
		r = failedCall(call, notStartedText)
	default:
		r = t.resultOf(call, t.outcome(ctx, call), maxBytes)
	}
	took := time.Since(started)
	if err := t.record(ctx, Entry{Message: &Message{Role: User, Parts: []Part{{Result: &r}}}}); err != nil {
		return err
	}
	t.notify(Event{Kind: EventResult, Call: &call, Result: &r, Took: took})
	return nil
}

// outcome runs a call in its own goroutine. If the call does not end with ctx, the goroutine is abandoned.
func (t *turn) outcome(ctx context.Context, call Call) toolbox.Outcome {
	var ended atomic.Bool
	defer ended.Store(true)
	report := func(p toolbox.Progress) {
		if !ended.Load() {
			t.notify(Event{Kind: EventProgress, Call: &call, Text: progressText(p)})
		}
	}
	done := make(chan toolbox.Outcome, 1)
	go func() {
		// This stays the outcome if the tool ends its goroutine.
		out := toolbox.Outcome{Err: errors.New(call.Name + " did not answer")}
		defer func() {
			if v := recover(); v != nil {
				slog.Error("a tool panicked", "tool", call.Name, "panic", v, "stack", string(debug.Stack()))
				out.Err = errors.New(call.Name + ": internal error")
			}
			done <- out
		}()
		out = t.Tools.Run(ctx, toolbox.Call{ID: call.ID, Name: call.Name, Input: call.Input, Progress: report})
	}()
	var out toolbox.Outcome
	select {
	case out = <-done:
	case <-ctx.Done():
		select {
		case out = <-done:
		case <-time.After(cancelGrace):
			return toolbox.Outcome{Output: text.Quote(abandonedText), IsError: true}
		}
	}
	// A tool that returns more than the context's error is quoted as it is.
	if end := ctx.Err(); end != nil && bytes.Equal(out.Output, text.Quote(end.Error())) {
		out.Output = text.Quote(cancelledText)
	}
	return out
}

// progressText formats a progress report as one line.
func progressText(p toolbox.Progress) string {
	var parts []string
	if p.Total > 0 {
		parts = append(parts, fmt.Sprintf("%g of %g", p.Done, p.Total))
	} else if p.Message == "" {
		parts = append(parts, fmt.Sprintf("%g", p.Done))
	}
	if p.Message != "" {
		parts = append(parts, text.Clip(text.OneLine(p.Message), 300))
	}
	return strings.Join(parts, ": ")
}

// resultOf returns the result that the model receives: at most maxBytes of the output, and the images as images.
func (t *turn) resultOf(call Call, out toolbox.Outcome, maxBytes int) Result {
	if unknown, ok := errors.AsType[*toolbox.UnknownTool](out.Err); ok {
		return failedCall(call, unknown.Error()+t.suggestNames(unknown))
	}
	if out.Output == nil && out.Err != nil {
		return failedCall(call, out.Err.Error())
	}
	r := Result{ID: call.ID, Name: call.Name, IsError: out.IsError}
	if out.Result != nil {
		out, r.Images = withoutImages(out)
	}
	r.Output = out.Within(maxBytes).Output
	return r
}

// suggestNames returns a hint with the tool names closest to an unknown name.
func (t *turn) suggestNames(unknown *toolbox.UnknownTool) string {
	if nearest := unknown.Nearest(t.Tools.Descriptors()); len(nearest) > 0 {
		return ". Did you mean " + strings.Join(nearest, ", ") + "?"
	}
	return ""
}

// maxFailure limits the text of a failed call, in bytes. The text may repeat a name that the model invented.
const maxFailure = 4 << 10

func failedCall(call Call, reason string) Result {
	return Result{ID: call.ID, Name: call.Name, Output: text.Quote(text.Clip(reason, maxFailure)), IsError: true}
}
