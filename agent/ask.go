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
	// longestAsked is how long a provider may ask to wait: who sits there would rather know.
	longestAsked = 2 * time.Minute
)

// ask gets the model's next message: again after a while where the provider fails for the moment, and with less
// where the conversation is too much for it.
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

// generate asks once. What was said until it was cancelled is kept.
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

// relieve takes out of the conversation, once, what the provider may not have taken: all that can be taken out where it is
// too much, else the images, one of which may be broken, or new to this model.
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

// takeOut takes results out of what the model is sent.
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

// pause waits before the next attempt, as long as the provider asks to, or longer after each failure.
func (t *turn) pause(ctx context.Context, failed error, wait time.Duration, failures int) error {
	if wait <= 0 {
		wait = min(firstWait<<min(failures-1, 10), longestWait)
	}
	wait += rand.N(wait/4 + 1) // so that many do not come back at once
	t.tell(Event{Kind: EventRetry, Text: failed.Error(), Took: wait})
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// draft is what was heard of a message so far.
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

// keep keeps the text of a message that was cancelled; what else there was of it is void.
func (d *draft) keep(ctx context.Context) error {
	if strings.TrimSpace(d.text.String()) == "" {
		return nil
	}
	d.answer.Text = strings.ToValidUTF8(d.text.String(), "\uFFFD")
	m := Message{Role: Assistant, Parts: []Part{{Text: d.answer.Text}}, Partial: true}
	return d.turn.keep(ctx, Entry{Message: &m, Model: d.provider.Name()})
}
