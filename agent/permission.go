package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/toolbox"
)

// Verdict is a person's answer to an [Ask].
type Verdict int

const (
	// Refuse refuses this call.
	Refuse Verdict = iota
	// Once lets this call run.
	Once
	// Always lets this tool run in this project from now on, until its definition changes. If the definition is unknown
	// (see [Ask.Listed]), or if there is no Memory, Always is treated as Once.
	Always
	// Never refuses tools of this name for the lifetime of the Permissions.
	Never
)

// Refusal is an error of Permissions.Ask that refuses a call. The model receives its text as the reason.
type Refusal string

// Error implements error.
func (r Refusal) Error() string { return string(r) }

// Permissions decide which calls may run. Set the fields before the first call, and do not copy the value. Text from
// tools, servers and models never counts as permission.
type Permissions struct {
	// Harmless reports whether a call may run without asking. If it is nil, no call is harmless. It is called only for
	// listed tools. A server's own description of its tool, such as annotations, is no reason to return true.
	Harmless func(Ask) bool
	// All lets every call run.
	All bool
	// Allow holds patterns for the names of tools that run without asking. See Allows and Check.
	Allow []string
	// Memory stores permanent permissions. If it is nil, there are none.
	Memory Memory
	// Ask asks a person, one question at a time, in the order of the calls. If it is nil, calls that need a person are
	// refused. It must return soon after its context ends. Its error may be a [Refusal].
	Ask func(context.Context, Ask) (Verdict, error)
	// Report receives the error if Memory cannot store an Always, which then counts as Once. It may be nil.
	Report func(error)

	mu           sync.Mutex
	neverAllowed map[string]bool // by name
	questions    []*question     // the questions that are not asked yet, in order
	asking       bool
}

// Memory stores permanent permissions. Its methods must be safe for concurrent use.
type Memory interface {
	// Allowed reports whether a call may run. If the tool has changed since it was allowed (see [Fingerprint]), the
	// call may not. Allowed is called only for listed tools.
	Allowed(a Ask) bool
	// Allow stores the permission.
	Allow(a Ask) error
}

var (
	errRefused  = errors.New("the user refused this call. Do not try it again; ask the user for another way")
	errNever    = errors.New("the user does not allow this tool. Do not call it again")
	errNoPerson = errors.New("it needs permission, and there is no person to ask. Do not try it again")
)

// questionDelay is the delay before the first question. Calls of the same message queue their questions in this time,
// so that they are asked in order. A person does not notice the delay.
const questionDelay = 20 * time.Millisecond

// Check returns an error for the first invalid pattern in Allow. An invalid pattern allows no tool.
func (p *Permissions) Check() error {
	for _, pattern := range p.Allow {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return fmt.Errorf("%q is no pattern of tool names: it has letters, *, ?, and [a-z] for one of several", pattern)
		}
	}
	return nil
}

// Allows reports whether Allow contains the tool's name or a pattern that matches it, as in [path.Match]. A pattern
// with a server's id before "__" applies only to that server. Without this rule a pattern for "github__" could match a
// tool of a server "github_". For a tool that no source lists, only the name is compared.
func (p *Permissions) Allows(d toolbox.Descriptor) bool {
	return slices.ContainsFunc(p.Allow, func(pattern string) bool {
		if pattern == d.Name {
			return true
		}
		if server, _, hasServer := strings.Cut(pattern, "__"); hasServer && d.Tool != "" {
			if serverMatches, _ := path.Match(server, d.Server); !serverMatches {
				return false
			}
		}
		matches, _ := path.Match(pattern, d.Name)
		return matches
	})
}

// Permit implements the function of [Guard]. It waits for the person's answer.
func (p *Permissions) Permit(ctx context.Context, a Ask) error {
	if err, decided := p.decide(a); decided {
		return err
	}
	if p.Ask == nil {
		return errNoPerson
	}
	if err := p.awaitTurn(ctx); err != nil {
		return err
	}
	defer p.askNext()
	if err, decided := p.decide(a); decided { // an earlier question settled it
		return err
	}
	verdict, err := p.Ask(ctx, a)
	refusal, refused := errors.AsType[Refusal](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case refused:
		return refusal
	case err != nil:
		return fmt.Errorf("no user could be asked for permission: %w", err)
	}
	return p.applyVerdict(a, verdict)
}

// decide decides without asking, if it can. decided is false if a person must decide.
func (p *Permissions) decide(a Ask) (err error, decided bool) {
	p.mu.Lock()
	never := p.neverAllowed[a.Tool.Name]
	p.mu.Unlock()
	switch {
	case never:
		return errNever, true
	case p.All, p.Allows(a.Tool):
		return nil, true
	case !a.Listed():
		return nil, false
	}
	return nil, p.Harmless != nil && p.Harmless(a) || p.Memory != nil && p.Memory.Allowed(a)
}

// applyVerdict applies a person's verdict.
func (p *Permissions) applyVerdict(a Ask, verdict Verdict) error {
	switch verdict {
	case Once:
		return nil
	case Always:
		if p.Memory == nil || !a.Listed() {
			return nil
		}
		if err := p.Memory.Allow(a); err != nil && p.Report != nil {
			p.Report(fmt.Errorf("%s is allowed this once only: %w", a.Tool.Name, err))
		}
		return nil
	case Never:
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.neverAllowed == nil {
			p.neverAllowed = map[string]bool{}
		}
		p.neverAllowed[a.Tool.Name] = true
		return errNever
	}
	return errRefused
}

// callPlace is the context key of a call's position in its message.
type callPlace struct{}

// question is a call that waits for its turn to ask.
type question struct {
	place int
	turn  chan struct{} // closed when the call may ask
}

// awaitTurn waits until this call may ask. If it returns nil, the caller must call askNext afterwards.
func (p *Permissions) awaitTurn(ctx context.Context) error {
	q := &question{turn: make(chan struct{})}
	q.place, _ = ctx.Value(callPlace{}).(int)
	p.mu.Lock()
	at, _ := slices.BinarySearchFunc(p.questions, q, func(other, q *question) int {
		return cmp.Compare(other.place, q.place+1)
	})
	p.questions = slices.Insert(p.questions, at, q)
	first := !p.asking
	p.asking = true
	p.mu.Unlock()
	if first {
		time.AfterFunc(questionDelay, p.askNext)
	}
	select {
	case <-q.turn:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	at = slices.Index(p.questions, q)
	if at >= 0 {
		p.questions = slices.Delete(p.questions, at, at+1)
	}
	p.mu.Unlock()
	if at < 0 { // its turn came in the meantime
		p.askNext()
	}
	return ctx.Err()
}

// askNext lets the first waiting call ask.
func (p *Permissions) askNext() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.questions) == 0 {
		p.asking = false
		return
	}
	close(p.questions[0].turn)
	p.questions = p.questions[1:]
}
