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

// ErrSteps is returned if a turn needs more steps than Options.Steps.
var ErrSteps = errors.New("the turn took too many steps")

// ErrFull is returned if the conversation is too long for the model even without the results of older calls.
var ErrFull = errors.New("the conversation is too long for the model")

const (
	// DefaultSteps is the default maximum of model messages in one turn.
	DefaultSteps = 50
	// DefaultContext is the default size of a conversation, in tokens.
	DefaultContext = 150_000
	// DefaultParallel is the default number of calls of one message that run in parallel.
	DefaultParallel = 8

	defaultAttempts = 5
)

// Toolbox holds the tools of a model. A toolbox.Box is one. Its methods must be safe for concurrent use.
type Toolbox interface {
	// Descriptors returns the current tools. The caller owns the slice.
	Descriptors() []toolbox.Descriptor
	// Run runs one call. It reports failures only in the outcome.
	Run(ctx context.Context, c toolbox.Call) toolbox.Outcome
}

// Options configure a session.
type Options struct {
	// Provider connects to the model. It is the only required field: without it, Prompt panics.
	Provider Provider
	// Tools are the tools that the model may call. If it is nil, there are none.
	Tools Toolbox
	// System is the system prompt.
	System string
	// History holds the journal of an earlier session, which this session continues. If it is nil, the session is new.
	History []Entry
	// Journal stores each step. If it is nil, the steps are not stored.
	Journal Journal
	// Hear receives events, from one goroutine at a time. The turn waits until Hear returns. Hear must not call Prompt.
	// If it is nil, there are no events.
	Hear func(Event)
	// Steps is the maximum of model messages in one turn. If it is 0, [DefaultSteps] applies.
	Steps int
	// Parallel is the number of calls of one message that run in parallel. If it is 0, [DefaultParallel] applies.
	Parallel int
	// Context is the size of the conversation in tokens. Above four fifths of it, requests leave out the results of
	// older calls. One result takes at most a quarter of it. If it is 0, [DefaultContext] applies.
	Context int
	// Attempts is the number of attempts for a request that fails with temporary errors. If it is 0, it is 5.
	Attempts int
}

// Journal stores the steps of a session.
type Journal interface {
	// Append stores an entry permanently before it returns.
	Append(ctx context.Context, e Entry) error
}

// Entry is one step of a session: a message, or a removal from earlier messages. The model's message and the result of
// each of its calls are separate entries, stored as they arrive.
type Entry struct {
	At time.Time `json:"at"`
	// Message is a prompt, a message of the model, or results of some of its calls.
	Message *Message `json:"message,omitempty"`
	// Model and Usage belong to a message of the model.
	Model string `json:"model,omitempty"`
	Usage *Usage `json:"usage,omitempty"`
	// Dropped are the ids of calls whose results are left out of requests from now on.
	Dropped []string `json:"dropped,omitempty"`
	// Refused are the ids of calls that are left out of requests from now on, with their results, because a provider
	// refused a request with them.
	Refused []string `json:"refused,omitempty"`
	// NativeRefused means that the provider's own parts of all earlier messages are left out of requests from now on,
	// because a provider refused a request with them.
	NativeRefused bool `json:"nativeRefused,omitempty"`
	// Compacted means that Message replaces all earlier messages.
	Compacted bool `json:"compacted,omitempty"`
}

// Answer is the outcome of a turn.
type Answer struct {
	Text  string // of the last message
	Stop  Stop
	Usage Usage // of all messages of the turn
	Steps int
}

// Session is one conversation with a model. All methods are safe for concurrent use.
type Session struct {
	running   chan struct{} // holds one value while a turn runs, which alone changes toolOrder and conversation
	toolOrder toolOrder

	notifyMu sync.Mutex // serializes events and guards no field

	mu           sync.Mutex
	conversation *conversation
	opts         Options // without History
}

// New makes a session. It does no I/O.
func New(o Options) *Session {
	s := &Session{running: make(chan struct{}, 1), toolOrder: toolOrder{}, conversation: newConversation(o.History)}
	s.conversation.interrupt()
	o.History = nil
	o.Steps, o.Parallel = cmp.Or(o.Steps, DefaultSteps), cmp.Or(o.Parallel, DefaultParallel)
	o.Attempts = cmp.Or(o.Attempts, defaultAttempts)
	s.opts = o
	s.UseContext(o.Context)
	s.Use(o.Provider, o.Tools)
	return s
}

// Prompt runs one turn. It sends text to the model and runs the model's calls. It returns the model's first message
// without calls. If ctx ends, running calls are cancelled, and the next turn can continue the conversation. With an
// error, the answer counts the work until then.
//
// An empty text continues a turn that stopped: after [ErrSteps], after an error of the provider, or in a resumed
// conversation.
func (s *Session) Prompt(ctx context.Context, text string) (Answer, error) {
	return s.inTurn(ctx, func(t *turn) error { return t.run(ctx, text) })
}

// inTurn waits until no other turn runs, then runs one.
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
	t := &turn{Session: s, Options: s.opts}
	s.mu.Unlock()
	err := run(t)
	return t.answer, err
}

// UseContext changes Options.Context from the next turn on. If tokens is 0, [DefaultContext] applies.
func (s *Session) UseContext(tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Context = cmp.Or(tokens, DefaultContext)
}

// Use changes the model and its tools from the next turn on.
func (s *Session) Use(p Provider, tools Toolbox) {
	if tools == nil {
		tools = toolbox.NewBox(nil)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Provider, s.opts.Tools = p, tools
}

// Messages returns the conversation so far. The caller owns the slice. Its elements are shared and never change. While
// calls run, their results appear one by one.
func (s *Session) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.conversation.messages)
}

// Usage returns the usage of all turns of the conversation, including Options.History.
func (s *Session) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conversation.usage
}

// record stores a step in the journal and then adds it to the conversation. It stores the step even if the turn is
// cancelled, because the step has happened.
func (t *turn) record(ctx context.Context, e Entry) error {
	e.At = time.Now()
	if t.Journal != nil {
		if err := t.Journal.Append(context.WithoutCancel(ctx), e); err != nil {
			return fmt.Errorf("the conversation cannot be kept: %w", err)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conversation.add(e)
	return nil
}

// notify passes an event to Options.Hear, one at a time.
func (t *turn) notify(e Event) {
	if t.Hear == nil {
		return
	}
	t.notifyMu.Lock()
	defer t.notifyMu.Unlock()
	t.Hear(e)
}
