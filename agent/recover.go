package agent

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/indusagi/indus/internal/text"
)

// refusesContent reports whether a provider refuses a request for its size or its content.
func refusesContent(e *ProviderError) bool {
	return e.TooLong || e.Status == http.StatusRequestEntityTooLarge || e.Status == http.StatusBadRequest ||
		e.Status == http.StatusUnprocessableEntity
}

// recovery finds the part of a conversation that a provider refuses. A conversation that keeps such a part would fail
// for ever.
type recovery struct {
	*turn
	reduced  bool           // results were removed
	first    *ProviderError // the first refusal for which calls are left out
	trials   [][]string     // calls to leave out next
	suspects []string       // calls that the current request leaves out
}

// reduce decides what the next request leaves out. If nothing is left to leave out, it returns the cause.
//
// If the conversation is too large, reduce removes all removable results. Otherwise it removes the results with images,
// because one image may be broken or of a kind that this model refuses. Both happen once per message. If the provider
// still refuses, reduce leaves out calls with their results. These calls are removed only if the provider then accepts
// the request: see keep.
func (r *recovery) reduce(ctx context.Context, cause *ProviderError) error {
	tooLarge := cause.TooLong || cause.Status == http.StatusRequestEntityTooLarge
	ids := r.conversation.removableResults(!tooLarge)
	switch {
	case !r.reduced && r.first == nil && len(ids) > 0:
		r.reduced = true
		return r.removeResults(ctx, ids)
	case tooLarge:
		return fmt.Errorf("%w: begin a new conversation, or use a model that takes more (%w)", ErrFull, cause)
	case r.first == nil && unrelated().MatchString(cause.Message):
		return cause
	case r.first == nil:
		r.first, r.trials = cause, r.conversation.suspects()
	}
	if len(r.trials) == 0 {
		return r.first
	}
	r.suspects, r.trials = r.trials[0], r.trials[1:]
	return nil
}

// unrelated matches refusals that no change of the conversation's calls can prevent.
var unrelated = text.Pattern(`(?i)image|vision|credit|billing|balance|quota|api.?key|max_(completion_)?tokens|` +
	`\btools?[.\[]\d|function.parameters|input_schema|support tools|model .{0,60}not (found|exist)`)

// keep removes the calls that the accepted request left out.
func (r *recovery) keep(ctx context.Context) error {
	if len(r.suspects) == 0 {
		return nil
	}
	if err := r.record(ctx, Entry{Refused: r.suspects}); err != nil {
		return err
	}
	r.notify(Event{Kind: EventCompact, Dropped: len(r.suspects), Text: r.first.Message})
	return nil
}

// suspects returns the calls to leave out, one list for each attempt. The provider has accepted the earlier ones, so
// the calls of the last message are first: each of the last few, then all of the message, then all calls of the
// conversation, for a conversation that another provider began.
func (c *conversation) suspects() (trials [][]string) {
	var all []string
	for _, m := range slices.Backward(c.messages) {
		var ids []string
		for _, call := range m.Calls() {
			if !c.refused[call.ID] {
				ids = append(ids, call.ID)
			}
		}
		if all == nil && len(ids) > 1 && len(ids) <= maxSingleTrials {
			for _, id := range ids {
				trials = append(trials, []string{id})
			}
		}
		if all == nil && ids != nil {
			trials = append(trials, ids)
		}
		all = append(all, ids...)
	}
	if len(trials) > 0 && len(all) > len(trials[len(trials)-1]) {
		trials = append(trials, all)
	}
	return trials
}

// maxSingleTrials is the number of calls of a message up to which each is left out alone.
const maxSingleTrials = 4

// without returns the conversation as it is if these calls are refused.
func (c *conversation) without(ids []string) *conversation {
	if len(ids) == 0 {
		return c
	}
	trial := *c
	trial.refused = maps.Clone(c.refused)
	for _, id := range ids {
		trial.refused[id] = true
	}
	return &trial
}
