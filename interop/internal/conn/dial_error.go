package conn

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
)

// dialError is the error for a server that no transport reached. The most informative step comes first.
type dialError struct{ steps []httpStep }

// fail joins the errors of all steps into one error.
func (d *httpDial) fail(err error) error {
	if err == nil {
		return nil
	}
	e := &dialError{steps: slices.Clone(d.steps)}
	slices.SortStableFunc(e.steps, func(a, b httpStep) int { return stepRank(b) - stepRank(a) })
	if len(e.steps) == 0 {
		return err
	}
	return e
}

// stepRank returns how informative the error of a step is. Refused access and versions come first, then streamable
// HTTP.
func stepRank(s httpStep) int {
	rank := map[string]int{protocol.MethodInitialize: 2, protocol.MethodDiscover: 1}[s.name]
	status := statusOf(s.err)
	if status == http.StatusUnauthorized || status == http.StatusForbidden || errors.As(s.err, new(*VersionError)) {
		rank += 4
	}
	return rank
}

// Error returns the whole error of the first step, and shortened errors of the others. Steps with the same error share
// one text.
func (e *dialError) Error() string {
	var steps, texts []string
	for i, s := range e.steps {
		text := s.err.Error()
		if i > 0 {
			text = protocol.Printable(text, 100)
		}
		if k := slices.Index(texts, text); k >= 0 {
			steps[k] += ", " + s.name
			continue
		}
		steps, texts = append(steps, s.name), append(texts, text)
	}
	for i := range steps {
		steps[i] += ": " + texts[i]
	}
	if len(steps) == 1 {
		return steps[0]
	}
	return steps[0] + " (" + strings.Join(steps[1:], "; ") + ")"
}

func (e *dialError) Unwrap() []error {
	list := make([]error, 0, len(e.steps))
	for _, s := range e.steps {
		list = append(list, s.err)
	}
	return list
}
