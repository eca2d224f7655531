package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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

	defaultAttempts = 5
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
	// Provider reaches the model. It is the only field that is required: without one, Prompt panics.
	Provider Provider
	// Tools are what the model may call; nil: nothing.
	Tools Toolbox
	// System says who the model is and what there is.
	System string
	// History is what another session's journal holds, which this one continues; nil: it is a new one.
	History []Entry
	// Journal keeps each step; nil: nobody does.
	Journal Journal
	// Hear is given what happens, from one goroutine at a time; what it does, the turn waits for. It does not call Prompt.
	// nil: nobody listens.
	Hear func(Event)
	// Steps is how many messages of the model one turn may have. 0: [DefaultSteps].
	Steps int
	// Parallel is how many calls of one message run at once. 0: [DefaultParallel].
	Parallel int
	// Context is how many tokens the conversation may have. Above four fifths of it the results of older calls are taken out
	// of what the model is sent, and one result enters with a quarter of it at most.
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
	// Compacted: Message stands in the place of all messages before it.
	Compacted bool `json:"compacted,omitempty"`
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
	system   string
	journal  Journal
	hear     func(Event)
	steps    int
	parallel int
	attempts int
	running  chan struct{} // holds one value while a turn runs, which alone changes what follows
	places   places

	hearing sync.Mutex // one event at a time; it guards nothing

	mu       sync.Mutex
	talk     *conversation
	provider Provider
	tools    Toolbox
	context  int
}

// New makes a session. It does no I/O.
func New(o Options) *Session {
	s := &Session{
		system: o.System, journal: o.Journal, hear: o.Hear,
		steps: cmp.Or(o.Steps, DefaultSteps), parallel: cmp.Or(o.Parallel, DefaultParallel),
		context: cmp.Or(o.Context, DefaultContext), attempts: cmp.Or(o.Attempts, defaultAttempts),
		running: make(chan struct{}, 1), places: places{}, talk: newConversation(o.History),
	}
	s.talk.interrupt()
	s.Use(o.Provider, o.Tools)
	return s
}

// Prompt is one turn: text goes to the model, its calls run, and the answer is what it says when it calls nothing more.
// When ctx ends, what runs is cancelled, and the conversation is left such that the next turn can go on. The answer
// that comes with an error counts what was done until then.
//
// An empty text goes on where a turn stopped: after [ErrSteps], after an error of the provider, or in a conversation that
// was resumed.
func (s *Session) Prompt(ctx context.Context, text string) (Answer, error) {
	return s.inTurn(ctx, func(t *turn) error { return t.run(ctx, text) })
}

// inTurn waits until no other turn runs, and runs one.
func (s *Session) inTurn(ctx context.Context, run func(*turn) error) (Answer, error) {
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	s.mu.Lock()
	t := &turn{Session: s, provider: s.provider, tools: s.tools, context: s.context}
	s.mu.Unlock()
	err := run(t)
	return t.answer, err
}

// UseContext changes Options.Context from the next turn on. 0: [DefaultContext].
func (s *Session) UseContext(tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.context = cmp.Or(tokens, DefaultContext)
}

// Use changes the model, and the tools as its provider takes them, from the next turn on.
func (s *Session) Use(p Provider, tools Toolbox) {
	if tools == nil {
		tools = toolbox.NewBox(nil)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.provider, s.tools = p, tools
}

// Messages are the conversation so far. The slice is the caller's own, what it holds is shared and never changes. While
// calls run, their results come one by one.
func (s *Session) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.talk.messages)
}

// Usage is what all turns of the conversation took, those of Options.History too.
func (s *Session) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.talk.usage
}

// keep puts a step into the journal, and only then into the conversation. What has happened is kept whether or not the turn is
// cancelled.
func (s *Session) keep(ctx context.Context, e Entry) error {
	e.At = time.Now()
	if s.journal != nil {
		if err := s.journal.Append(context.WithoutCancel(ctx), e); err != nil {
			return fmt.Errorf("the conversation cannot be kept: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.talk.add(e)
	return nil
}

// tell lets who listens hear of something, one at a time.
func (s *Session) tell(e Event) {
	if s.hear == nil {
		return
	}
	s.hearing.Lock()
	defer s.hearing.Unlock()
	s.hear(e)
}
