package agent

import (
	"context"
	"errors"
	"time"

	"github.com/indusagi/indus/toolbox"
)

// ErrSteps ends a turn that took more steps than Options.Steps.
var ErrSteps = errors.New("the turn took too many steps")

// ErrFull ends a turn whose conversation is too long for the model, even without the results of its older calls.
var ErrFull = errors.New("the conversation is too long for the model")

const (
	// DefaultSteps is how many messages of the model one turn may have.
	DefaultSteps = 50
	// DefaultContext is how many tokens a conversation may have.
	DefaultContext = 150_000
	// DefaultParallel is how many calls of one message run at once.
	DefaultParallel = 8
)

// Toolbox is what a model may call; a toolbox.Box is one. Users may call its methods from any goroutine.
type Toolbox interface {
	// Descriptors are the tools of the moment. The slice is the caller's own.
	Descriptors() []toolbox.Descriptor
	// Run runs one call, and never fails but in the outcome.
	Run(ctx context.Context, c toolbox.Call) toolbox.Outcome
}

// Options make a session.
type Options struct {
	// Provider reaches the model.
	Provider Provider
	// Tools are what the model may call; nil: nothing.
	Tools Toolbox
	// System says who the model is and what there is.
	System string
	// History is what another session's journal holds, which this one continues; nil: it is a new one.
	History []Entry
	// Journal keeps each step; nil: nobody does.
	Journal Journal
	// Hear is given what happens, from one goroutine at a time; nil: nobody listens.
	Hear func(Event)
	// Steps is how many messages of the model one turn may have. 0: [DefaultSteps].
	Steps int
	// Parallel is how many calls of one message run at once. 0: [DefaultParallel].
	Parallel int
	// Context is how many tokens the conversation may have before the results of older calls are taken out.
	// 0: [DefaultContext].
	Context int
	// Attempts is how often a request is made that the provider answers with a temporary error. 0: 5.
	Attempts int
}

// Journal keeps the steps of a session.
type Journal interface {
	// Append keeps an entry for good before it returns.
	Append(ctx context.Context, e Entry) error
}

// Entry is one step of a session: a message, or what was taken out of earlier ones. Entries of one
// assistant's message and of the results of its calls are kept one by one, as they come.
type Entry struct {
	At time.Time `json:"at"`
	// Message is what was said: a prompt, a message of the model, or the results of some of its calls.
	Message *Message `json:"message,omitempty"`
	// Model and Usage are of a message of the model.
	Model string `json:"model,omitempty"`
	Usage *Usage `json:"usage,omitempty"`
	// Dropped are the ids of calls whose results the model is no longer shown.
	Dropped []string `json:"dropped,omitempty"`
}

// Answer is what a turn came to.
type Answer struct {
	Text  string // of the last message
	Stop  Stop
	Usage Usage // of all messages of the turn
	Steps int
}

// Session is one conversation with a model. All methods are safe for concurrent use.
type Session struct {
	options Options
}

// New makes a session. It does no I/O.
func New(o Options) *Session { return &Session{options: o} }

// Prompt is one turn: text goes to the model, its calls run, and the answer is what it says when it calls nothing more.
// When ctx ends, what runs is cancelled, and the conversation is left such that the next turn can go on. The answer
// that comes with an error counts what was done until then.
//
// An empty text goes on where a turn stopped: after [ErrSteps], after an error of the provider, or in a conversation that
// was resumed.
func (s *Session) Prompt(ctx context.Context, text string) (Answer, error) {
	return Answer{}, errors.ErrUnsupported
}

// Use changes the model, and the tools as its provider takes them, from the next turn on.
func (s *Session) Use(p Provider, tools Toolbox) {}

// Messages are the conversation so far.
func (s *Session) Messages() []Message { return nil }

// Usage is what all turns of this session took.
func (s *Session) Usage() Usage { return Usage{} }
