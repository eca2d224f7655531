package lane

import (
	"context"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
)

const (
	// trialWait is how long requests wait for the first request of their kind. Once it has asked or ended, it is known
	// whether such requests can share a connection.
	trialWait = time.Second
	// maxHabits bounds the kinds of requests that are remembered of one server. Beyond it, all are forgotten.
	maxHabits = 4096
)

// Habits records which requests of a server make it ask the client, above all calls of which tools. Over stdio a
// question does not name its request. So requests that are known to ask do not share a connection, and other requests
// do. The zero value is ready.
type Habits struct {
	mu        sync.Mutex
	bySubject map[Subject]*habit // by subject
}

// habit is the record of one subject. Its fields are guarded by Habits.mu.
type habit struct {
	asks     bool          // the server has asked during such a request
	suspect  int           // open questions that such a request may have caused
	quiet    bool          // such a request has ended without a question
	trial    chan struct{} // closed when the first request has ended, or asks; nil if none is running
	trialEnd time.Time     // when requests no longer wait for the trial
}

// Sharing is how a request uses a connection.
type Sharing byte

const (
	SharedUse Sharing = iota
	TrialUse          // alone, if that needs at most one further connection
	ExclusiveUse
)

// Subject is the kind of a request: its method, and the name in its params. The zero value means that the kind is not
// recorded.
type Subject struct{ method, name string }

// SubjectOf returns the kind of a request.
func SubjectOf(method, name string) Subject {
	if !protocol.MayRequireInput(method) {
		return Subject{}
	}
	return Subject{method, name}
}

// Admit returns how a request uses a connection. endUse must be called afterwards. Its argument sent reports whether
// the request was sent.
func (h *Habits) Admit(ctx context.Context, subject Subject) (use Sharing, endUse func(sent bool)) {
	endUse = func(bool) {}
	if subject == (Subject{}) {
		return SharedUse, endUse
	}
	for {
		h.mu.Lock()
		k := h.record(subject)
		switch trial := k.trial; {
		case k.asks || k.suspect > 0:
			h.mu.Unlock()
			return ExclusiveUse, endUse
		case k.quiet:
			h.mu.Unlock()
			return SharedUse, endUse
		case trial == nil:
			k.trial, k.trialEnd = make(chan struct{}), time.Now().Add(trialWait)
			h.mu.Unlock()
			return TrialUse, func(sent bool) { h.endTrial(k, sent) }
		default:
			wait := time.Until(k.trialEnd)
			h.mu.Unlock()
			select {
			case <-trial:
			case <-time.After(wait):
				return SharedUse, endUse
			case <-ctx.Done():
				return SharedUse, endUse
			}
		}
	}
}

// record returns the record of a subject. Call it with mu held.
func (h *Habits) record(subject Subject) *habit {
	k := h.bySubject[subject]
	if k == nil {
		if h.bySubject == nil || len(h.bySubject) >= maxHabits {
			h.bySubject = map[Subject]*habit{}
		}
		k = &habit{}
		h.bySubject[subject] = k
	}
	return k
}

// endTrial ends a trial.
func (h *Habits) endTrial(k *habit, sent bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k.quiet = k.quiet || sent && !k.asks
	k.releaseWaiting()
}

// releaseWaiting releases the requests that wait for a trial. Call it with Habits.mu held.
func (k *habit) releaseWaiting() {
	if k.trial != nil {
		close(k.trial)
		k.trial = nil
	}
}

// RecordQuestion records a question that one of the subjects has caused. settle must follow, with the subjects that may
// still be the cause.
func (h *Habits) RecordQuestion(subjects []Subject) (settle func(causes []Subject)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	suspects := make([]*habit, len(subjects))
	for i, subject := range subjects {
		k := h.record(subject)
		k.suspect++
		k.releaseWaiting()
		suspects[i] = k
	}
	return func(causes []Subject) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, k := range suspects {
			k.suspect--
		}
		for _, subject := range causes {
			h.record(subject).asks = true
		}
	}
}
