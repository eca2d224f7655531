package interop

import (
	"context"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
)

const (
	// trialWait is how long requests wait for the first of their kind: when it has asked something or has ended, it is
	// known whether they can share a connection.
	trialWait = time.Second
	// maxHabits bounds the kinds of requests that are remembered of one server; beyond it all are forgotten.
	maxHabits = 4096
)

// habits remembers which requests of a server make it ask the client: calls of which tools, above all. Over stdio
// a question does not name its request. So requests that are known to ask do not share a connection, and the others do.
// The zero value is ready.
type habits struct {
	mu sync.Mutex
	of map[string]*habit // by subject
}

// habit is what is known of one subject. Its fields are guarded by habits.mu.
type habit struct {
	asks    bool          // the server has asked something in the course of such a request
	suspect int           // open questions that such a request may have caused
	quiet   bool          // such a request has ended without a question
	trial   chan struct{} // closed when the first request has ended, or asks; nil: none is under way
	decided time.Time     // when requests wait for the trial no longer
}

// sharing is how a request uses a connection.
type sharing byte

const (
	besideOthers sharing = iota
	onTrial              // alone, if that takes no more than one further connection
	byItself
)

// subjectOf names the kind of a request; "": its kind is not remembered.
func subjectOf(method, name string) string {
	if !protocol.MayRequireInput(method) {
		return ""
	}
	return method + " " + name
}

// enter says how a request uses a connection. ended must follow: ran reports whether the request went out.
func (h *habits) enter(ctx context.Context, subject string) (how sharing, ended func(ran bool)) {
	ended = func(bool) {}
	if subject == "" {
		return besideOthers, ended
	}
	for {
		h.mu.Lock()
		k := h.habitOf(subject)
		switch trial := k.trial; {
		case k.asks || k.suspect > 0:
			h.mu.Unlock()
			return byItself, ended
		case k.quiet:
			h.mu.Unlock()
			return besideOthers, ended
		case trial == nil:
			k.trial, k.decided = make(chan struct{}), time.Now().Add(trialWait)
			h.mu.Unlock()
			return onTrial, func(ran bool) { h.tried(k, ran) }
		default:
			wait := time.Until(k.decided)
			h.mu.Unlock()
			select {
			case <-trial:
			case <-time.After(wait):
				return besideOthers, ended
			case <-ctx.Done():
				return besideOthers, ended
			}
		}
	}
}

// habitOf is what is known of a subject. Call it with mu held.
func (h *habits) habitOf(subject string) *habit {
	k := h.of[subject]
	if k == nil {
		if h.of == nil || len(h.of) >= maxHabits {
			h.of = map[string]*habit{}
		}
		k = &habit{}
		h.of[subject] = k
	}
	return k
}

// tried ends a trial.
func (h *habits) tried(k *habit, ran bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k.quiet = k.quiet || ran && !k.asks
	k.over()
}

// over lets requests go that wait for a trial. Call it with habits.mu held.
func (k *habit) over() {
	if k.trial != nil {
		close(k.trial)
		k.trial = nil
	}
}

// asked notes a question that one of the subjects has caused. settle must follow, with those that may still have.
func (h *habits) asked(subjects []string) (settle func(causes []string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	suspects := make([]*habit, len(subjects))
	for i, subject := range subjects {
		k := h.habitOf(subject)
		k.suspect++
		k.over()
		suspects[i] = k
	}
	return func(causes []string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, k := range suspects {
			k.suspect--
		}
		for _, subject := range causes {
			h.habitOf(subject).asks = true
		}
	}
}
