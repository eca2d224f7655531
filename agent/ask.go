package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/toolbox"
)

const (
	firstDelay = time.Second
	maxDelay   = 30 * time.Second
	// maxRetryAfter is the longest delay of a provider that a turn waits for. If it is longer, the user gets the error
	// at once.
	maxRetryAfter = 2 * time.Minute
)

// requestReply requests the model's next message. If the provider fails temporarily, requestReply retries after a
// delay. If the conversation is too large for the provider, requestReply removes results of calls and retries.
func (t *turn) requestReply(ctx context.Context) (Reply, error) {
	tools := t.toolOrder.sort(t.Tools.Descriptors())
	size := t.conversation.estimate(t.System, tools)
	if err := t.removeResults(ctx, t.conversation.resultsToRemove(size, t.Context)); err != nil {
		return Reply{}, err
	}
	r := recovery{turn: t}
	for failures := 0; ; {
		reply, err := t.generate(ctx, tools, r.omission)
		if err == nil {
			return reply, r.keep(ctx)
		}
		providerErr, ok := errors.AsType[*ProviderError](err)
		if !ok {
			return reply, err
		}
		if refusesContent(providerErr) {
			if err := r.reduce(ctx, providerErr); err != nil {
				return reply, err
			}
			continue
		}
		failures++
		if !providerErr.Temporary() || failures >= t.Attempts {
			return reply, err
		}
		if providerErr.RetryAfter > maxRetryAfter {
			return reply, fmt.Errorf("%w: it asks to wait %s, which is too long to wait for here", err,
				providerErr.RetryAfter.Round(time.Second))
		}
		if err := t.pause(ctx, err, providerErr.RetryAfter, failures); err != nil {
			return reply, err
		}
	}
}

// generate sends one request, without some parts of the conversation. If it is cancelled, the text received so far is
// kept.
func (t *turn) generate(ctx context.Context, tools []toolbox.Descriptor, without omission) (Reply, error) {
	partial := &draft{turn: t}
	messages := append(t.conversation.without(without).view(), t.request...)
	request := Request{System: t.System, Messages: messages, Tools: tools}
	reply, err := t.Provider.Generate(ctx, request, partial.receive)
	if err == nil || ctx.Err() == nil {
		return reply, err
	}
	if t.request == nil {
		if err := partial.record(ctx); err != nil {
			return reply, err
		}
	}
	return reply, ctx.Err()
}

// removeResults removes results from the requests to the model.
func (t *turn) removeResults(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if err := t.record(ctx, Entry{Dropped: ids}); err != nil {
		return err
	}
	t.notify(Event{Kind: EventCompact, Dropped: len(ids)})
	return nil
}

// pause waits before the next attempt: as long as the provider asks, or else longer after each failure.
func (t *turn) pause(ctx context.Context, cause error, wait time.Duration, failures int) error {
	if wait <= 0 {
		wait = min(firstDelay<<min(failures-1, 10), maxDelay)
	}
	wait += rand.N(wait/4 + 1) // so that many clients do not retry at the same moment
	t.notify(Event{Kind: EventRetry, Text: cause.Error(), Took: wait})
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// draft is the part of a message received so far.
type draft struct {
	*turn
	text strings.Builder
}

func (d *draft) receive(piece Piece) {
	switch {
	case piece.Text != "":
		d.text.WriteString(piece.Text)
		d.notify(Event{Kind: EventText, Text: piece.Text})
	case piece.Reasoning != "":
		d.notify(Event{Kind: EventReasoning, Text: piece.Reasoning})
	case piece.Call != "":
		d.notify(Event{Kind: EventDraft, Text: piece.Call})
	}
}

// record stores the text of a cancelled message. Its other parts are dropped.
func (d *draft) record(ctx context.Context) error {
	if strings.TrimSpace(d.text.String()) == "" {
		return nil
	}
	d.answer.Text = strings.ToValidUTF8(d.text.String(), "\uFFFD")
	m := Message{Role: Assistant, Parts: []Part{{Text: d.answer.Text}}, Partial: true}
	return d.turn.record(ctx, Entry{Message: &m, Model: d.Provider.Name()})
}

// toolOrder keeps the positions of tools during a conversation, because a provider's cache depends on a common prefix.
// A new tool is appended. A tool that returns gets its old position.
type toolOrder map[string]int

// sort puts the tools into this order, in place.
func (p toolOrder) sort(tools []toolbox.Descriptor) []toolbox.Descriptor {
	for _, d := range tools {
		if _, known := p[d.Name]; !known {
			p[d.Name] = len(p)
		}
	}
	slices.SortStableFunc(tools, func(a, b toolbox.Descriptor) int { return cmp.Compare(p[a.Name], p[b.Name]) })
	return tools
}
