package approvals

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/approval"
)

// person is the user at a terminal.
type person struct {
	s     show.Streams
	lines <-chan string
}

// newPerson returns the user at the terminal, or nil if stdin or stderr is not a terminal.
func newPerson(s show.Streams) *person {
	if !s.IsAttended() {
		return nil
	}
	return &person{s, s.Lines()}
}

// answerKind is the answer to a question.
type answerKind int

const (
	answerLater answerKind = iota // no decision
	answerYes
	answerNo
	answerLate // the call was decided elsewhere, or expired, while the question was open
	answerGone // the input has ended
)

// typedAhead is how long lines are dropped before a question. They were typed before the user saw the call.
const typedAhead = 100 * time.Millisecond

// ask shows a call and asks for the decision. It ends without one if the call no longer waits.
func (p *person) ask(ctx context.Context, b *openBook, i *approval.Item) (answerKind, error) {
	if err := p.dropTyped(ctx); err != nil {
		return answerLater, err
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan approval.Item, 1)
	go func() {
		if item, err := b.Wait(waiting, i.ID); err == nil {
			ended <- item
			cancel()
		}
	}()
	question := fmt.Sprintf("%sallow %s? [y/n] ", describeItem(i, show.WidthOf(p.s.Err, 0)), i.ID)
	switch answer, err := p.s.Ask(waiting, question, p.lines); {
	case err == nil:
		return answerOf(answer), nil
	case ctx.Err() != nil:
		return answerLater, ctx.Err()
	case errors.Is(err, io.EOF):
		return answerGone, nil
	default:
		item := <-ended
		p.s.Reportf("%s needs no answer any more: %s. Press Enter", item.ID, item.Verdict())
		return answerLate, p.awaitLine(ctx)
	}
}

// answerOf reads an answer. An empty line decides nothing, and neither does a line that is not understood.
func answerOf(line string) answerKind {
	switch strings.ToLower(line) {
	case "y", "yes":
		return answerYes
	case "n", "no":
		return answerNo
	}
	return answerLater
}

// dropTyped reads the lines that were typed already.
func (p *person) dropTyped(ctx context.Context) error {
	for quiet := time.NewTimer(typedAhead); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, ok := <-p.lines:
			if !ok {
				return nil // ask finds the end too
			}
		case <-quiet.C:
			return nil
		}
	}
}

// awaitLine waits for the end of a line that may be typed already in part. Otherwise it would answer the next question.
func (p *person) awaitLine(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-p.lines:
		return nil
	}
}
