package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/indusagi/indus/toolbox"
)

const (
	firstWait   = time.Second
	longestWait = 30 * time.Second
	// longestAsked is the longest delay of a provider that a turn waits for. If it is longer, the user gets the error
	// at once.
	longestAsked = 2 * time.Minute
)

// ask requests the model's next message. If the provider fails temporarily, ask retries after a delay. If the
// conversation is too large for the provider, ask removes results of calls and retries.
func (t *turn) ask(ctx context.Context) (Reply, error) {
	tools := t.places.inOrder(t.tools.Descriptors())
	if err := t.takeOut(ctx, t.talk.overfull(t.talk.estimate(t.system, tools), t.context)); err != nil {
		return Reply{}, err
	}
	relieved := false
	for failures := 0; ; {
		reply, err := t.generate(ctx, tools)
		failed, ok := errors.AsType[*ProviderError](err)
		if !ok {
			return reply, err
		}
		if tooMuch := failed.TooLong || failed.Status == 413; tooMuch || failed.Status == 400 {
			if err := t.relieve(ctx, err, tooMuch, relieved); err != nil {
				return reply, err
			}
			relieved = true
			continue
		}
		if failures++; !failed.Temporary() || failures >= t.attempts {
			return reply, err
		}
		if failed.RetryAfter > longestAsked {
			return reply, fmt.Errorf("%w: it asks to wait %s, which is too long to wait for here", err, failed.RetryAfter.Round(time.Second))
		}
		if err := t.pause(ctx, err, failed.RetryAfter, failures); err != nil {
			return reply, err
		}
	}
}

// generate sends one request. If it is cancelled, the text received so far is kept.
func (t *turn) generate(ctx context.Context, tools []toolbox.Descriptor) (Reply, error) {
	heard := &draft{turn: t}
	reply, err := t.provider.Generate(ctx, Request{System: t.system, Messages: append(t.talk.view(), t.request...), Tools: tools}, heard.piece)
	if err == nil || ctx.Err() == nil {
		return reply, err
	}
	if t.request == nil {
		if err := heard.keep(ctx); err != nil {
			return reply, err
		}
	}
	return reply, ctx.Err()
}

// relieve removes results that the provider may have refused, once per message. If the conversation is too large, it
// removes all removable results. Otherwise it removes the results with images, because one image may be broken or of a
// kind that this model refuses.
func (t *turn) relieve(ctx context.Context, failed error, tooMuch, again bool) error {
	ids := t.talk.removable(!tooMuch)
	switch {
	case !again && len(ids) > 0:
		return t.takeOut(ctx, ids)
	case tooMuch:
		return fmt.Errorf("%w: begin a new conversation, or use a model that takes more (%w)", ErrFull, failed)
	}
	return failed
}

// takeOut removes results from the requests to the model.
func (t *turn) takeOut(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if err := t.keep(ctx, Entry{Dropped: ids}); err != nil {
		return err
	}
	t.tell(Event{Kind: EventCompact, Dropped: len(ids)})
	return nil
}

// pause waits before the next attempt: as long as the provider asks, or else longer after each failure.
func (t *turn) pause(ctx context.Context, failed error, wait time.Duration, failures int) error {
	if wait <= 0 {
		wait = min(firstWait<<min(failures-1, 10), longestWait)
	}
	wait += rand.N(wait/4 + 1) // so that many clients do not retry at the same moment
	t.tell(Event{Kind: EventRetry, Text: failed.Error(), Took: wait})
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

func (d *draft) piece(heard Piece) {
	switch {
	case heard.Text != "":
		d.text.WriteString(heard.Text)
		d.tell(Event{Kind: EventText, Text: heard.Text})
	case heard.Reasoning != "":
		d.tell(Event{Kind: EventReasoning, Text: heard.Reasoning})
	case heard.Call != "":
		d.tell(Event{Kind: EventDraft, Text: heard.Call})
	}
}

// keep stores the text of a cancelled message. Its other parts are dropped.
func (d *draft) keep(ctx context.Context) error {
	if strings.TrimSpace(d.text.String()) == "" {
		return nil
	}
	d.answer.Text = strings.ToValidUTF8(d.text.String(), "\uFFFD")
	m := Message{Role: Assistant, Parts: []Part{{Text: d.answer.Text}}, Partial: true}
	return d.turn.keep(ctx, Entry{Message: &m, Model: d.provider.Name()})
}
