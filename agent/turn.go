package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// errNothing is returned for an empty prompt if the last message is the model's.
var errNothing = errors.New("there is nothing to answer: write something")

// turn is one running turn.
type turn struct {
	*Session
	Options           // of the session when the turn began
	request []Message // sent after the conversation, but not part of it
	answer  Answer
}

func (t *turn) run(ctx context.Context, text string) error {
	if strings.TrimSpace(text) != "" {
		prompt := Message{Role: User, Parts: []Part{{Text: strings.ToValidUTF8(text, "\uFFFD")}}}
		if err := t.record(ctx, Entry{Message: &prompt}); err != nil {
			return err
		}
	} else if t.conversation.last().Role != User {
		return errNothing
	}
	for t.answer.Steps < t.Steps {
		reply, err := t.requestReply(ctx)
		if err != nil {
			return err
		}
		calls, err := t.recordReply(ctx, reply)
		if err != nil {
			return err
		}
		if len(calls) == 0 {
			usage := t.answer.Usage
			t.notify(Event{Kind: EventEnd, Text: t.answer.Text, Stop: t.answer.Stop, Usage: &usage})
			return nil
		}
		if err := t.runCalls(ctx, calls, reply.Stop); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %d", ErrSteps, t.Steps)
}

// recordReply stores a message of the model and returns its calls. It returns none for a refusal.
func (t *turn) recordReply(ctx context.Context, r Reply) ([]Call, error) {
	m := t.conversation.prepareReply(r.Message)
	if r.Stop == StopRefusal {
		m = m.withoutCalls()
	}
	entry := Entry{Message: &m, Model: t.Provider.Name(), Usage: &r.Usage}
	if len(m.Parts) == 0 {
		entry.Message = nil // providers would refuse an empty message
	}
	if err := t.record(ctx, entry); err != nil {
		return nil, err
	}
	t.answer.Usage.Add(r.Usage)
	t.answer.Steps++
	t.answer.Text, t.answer.Stop = m.Text(), r.Stop
	t.notify(Event{Kind: EventMessage, Text: m.Text(), Stop: r.Stop, Usage: &r.Usage})
	return m.Calls(), nil
}
