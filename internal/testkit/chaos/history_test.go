package chaos

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/indusagi/indus/replica/cluster"
)

// outcome is what a client knows about a step.
type outcome int

const (
	done       outcome = iota
	conflicted         // the step was refused, and must not have been done
	unknown            // the step may have been done, at any later time too
)

func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return done
	case errors.Is(err, cluster.ErrConflict):
		return conflicted
	}
	return unknown
}

// The steps.
const (
	get    = "get"
	set    = "set" // of a key that is before
	remove = "remove"
	add    = "append"
	read   = "read"
	end    = "end" // of the history: a step without an outcome that comes later was never done
)

// step is one step of a client. All values differ, so a value stands for its revision.
type step struct {
	kind, key     string
	before, value string // "" means no key. Of a log they are all records before, and the new one or those that were read
	mortal        bool   // the value may expire
	outcome       outcome
}

func (s step) isRead() bool { return s.kind == get || s.kind == read }

// state is the state of a key, or of a log.
type state struct {
	value         string
	mortal, ended bool
}

// history records the steps of many clients.
type history struct {
	clock atomic.Int64

	mu    sync.Mutex
	steps []porcupine.Operation
}

// record does a step, and stores it with the order in which it began and ended.
func (h *history) record(client int, s step, do func(*step) error) error {
	began := h.clock.Add(1)
	err := do(&s)
	ended := h.clock.Add(1)
	s.outcome = outcomeOf(err)
	if s.outcome == unknown {
		if s.isRead() {
			return err // it changed nothing and knows nothing
		}
		ended = math.MaxInt64
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, porcupine.Operation{ClientId: client, Input: s, Call: began, Return: ended})
	return err
}

// rules are what an engine promises.
type rules struct {
	// oldReads accepts reads of a state that was replaced, as long as it was a state.
	oldReads bool
	// anyConflict accepts a conflict although the step would have been possible.
	anyConflict bool
}

// strict is all that a KV and a log can promise. promised is what package cluster promises: while servers lose each other,
// a read may be old, and a conflict may be with a step that is not done in the end.
var strict, promised = rules{}, rules{oldReads: true, anyConflict: true}

// next returns the state after a step, and false if the step is impossible.
func (r rules) next(was state, s step) (state, bool) {
	switch {
	case s.kind == end:
		return state{ended: true}, true
	case was.ended:
		return was, s.outcome == unknown
	case s.isRead():
		return was, was.value == s.value
	case s.outcome == conflicted:
		return was, was.value != s.before
	case was.value != s.before:
		return was, false
	case s.kind == add:
		return state{value: was.value + s.value}, true
	}
	return state{value: s.value, mortal: s.mortal}, true
}

// model returns the model of one key, or of one log.
func (r rules) model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: func(from, input, _ any) (all []any) {
			was, s := from.(state), input.(step)
			if to, ok := r.next(was, s); ok {
				all = append(all, to)
			}
			if was.mortal { // or it has expired
				if to, ok := r.next(state{}, s); ok && !slices.Contains(all, any(to)) {
					all = append(all, to)
				}
			}
			return all
		},
	}
	return m.ToModel()
}

// checkWait bounds the search for an order of the steps with one key.
const checkWait = 2 * time.Minute

// check returns an error if no order of the steps explains what the clients saw.
func (h *history) check(r rules) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	byKey := map[string][]porcupine.Operation{}
	for _, o := range h.steps {
		key := o.Input.(step).key
		byKey[key] = append(byKey[key], o)
	}
	for key, steps := range byKey {
		if r.oldReads {
			if err := invented(steps); err != nil {
				return err
			}
		}
		steps = append(r.relevant(steps), porcupine.Operation{
			Input: step{kind: end}, Call: math.MaxInt64 - 1, Return: math.MaxInt64 - 1,
		})
		if result := porcupine.CheckOperationsTimeout(r.model(), steps, checkWait); result != porcupine.Ok {
			return fmt.Errorf("%s: no order of %d steps with %q explains what the clients saw", result, len(steps), key)
		}
	}
	return nil
}

// relevant returns the steps that limit the order. If no conflict has to be explained, a step without an outcome whose
// value no client saw may as well not have been done. There are many during faults, and each doubles the search.
func (r rules) relevant(steps []porcupine.Operation) []porcupine.Operation {
	seen := map[string]bool{}
	for _, o := range steps {
		s := o.Input.(step)
		values := s.before
		if s.isRead() {
			values = s.value
		}
		for _, v := range strings.Fields(values) { // a log has a space behind each record
			seen[v] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(steps), func(o porcupine.Operation) bool {
		switch s := o.Input.(step); {
		case s.isRead():
			return r.oldReads
		case s.outcome == conflicted:
			return r.anyConflict
		default:
			return r.anyConflict && s.outcome == unknown && s.kind != remove && !seen[strings.TrimSpace(s.value)]
		}
	})
}

// invented returns an error if a value was read that no step can have stored.
func invented(steps []porcupine.Operation) error {
	possible := map[string]bool{"": true}
	for _, o := range steps {
		switch s := o.Input.(step); {
		case s.outcome == conflicted:
		case s.kind == set:
			possible[s.value] = true
		case s.kind == add:
			possible[s.before+s.value] = true
		}
	}
	for _, o := range steps {
		if s := o.Input.(step); s.isRead() && !possible[s.value] {
			return fmt.Errorf("%.200q was read from %q, and was not stored", s.value, s.key)
		}
	}
	return nil
}

// counts returns how many steps have an outcome.
func (h *history) counts() map[outcome]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := map[outcome]int{}
	for _, o := range h.steps {
		n[o.Input.(step).outcome]++
	}
	return n
}

// mustHold fails the test if the history breaks the rules, or tests nothing.
func (h *history) mustHold(t *testing.T, r rules) {
	t.Helper()
	n := h.counts()
	t.Logf("%d steps were done, %d were conflicts, and %d are unknown", n[done], n[conflicted], n[unknown])
	if n[done] == 0 || n[conflicted] == 0 || n[unknown] == 0 {
		t.Error("a history without one of them tests nothing")
	}
	if err := h.check(r); err != nil {
		t.Error(err)
	}
}
