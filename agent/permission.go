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
	// Always lets this tool run in this project from now on, as long as it is what it is now. Where that is not
	// known (see [Ask.Listed]), or there is no Memory, it is Once.
	Always
	// Never refuses tools of this name for as long as the Permissions last.
	Never
)

// Refusal is an error of Permissions.Ask that refuses a call: the reason, which the model is shown.
type Refusal string

// Error implements error.
func (r Refusal) Error() string { return string(r) }

// Permissions say which calls may run. Set its fields before the first call, and do not copy it. What tools, servers and
// models say counts for nothing here.
type Permissions struct {
	// Harmless reports calls that run without asking; nil: none. It is asked about tools that are listed only. What
	// a server says of its own tools (annotations, for example) is no reason to say yes.
	Harmless func(Ask) bool
	// All lets every call run.
	All bool
	// Allow are patterns of the names of tools that run without asking. See Allows and Check.
	Allow []string
	// Memory knows what was allowed for good; nil: nothing, and nothing can be.
	Memory Memory
	// Ask asks a person, one question at a time, in the order of the calls; nil: nobody can be asked. It returns soon after
	// its context ends. Its error may be a [Refusal].
	Ask func(context.Context, Ask) (Verdict, error)
	// Report is given why Memory could not keep an answer of Always, which then counts as Once; nil: nobody is.
	Report func(error)

	mu      sync.Mutex
	never   map[string]bool // by name
	waiting []*question     // the first is asked now
	asking  bool
}

// Memory keeps what a person allowed for good. Users may call its methods from any goroutine.
type Memory interface {
	// Allowed reports whether calls like this one may run. A tool that is not what it was when it was allowed may
	// not; [Fingerprint] tells. It is asked about tools that are listed only.
	Allowed(a Ask) bool
	// Allow keeps it.
	Allow(a Ask) error
}

var (
	errRefused = errors.New("the user refused this call. Do not try it again; ask the user what to do instead")
	errNever   = errors.New("the user does not allow this tool. Do not call it again")
	errNobody  = errors.New("it needs permission, and there is nobody to ask. Do not try it again")
)

// gathering is how long the first question waits for those of other calls of the same message, so that they are asked
// in order. Nobody notices it.
const gathering = 20 * time.Millisecond

// Check says which pattern of Allow is none. A pattern that is none allows nothing.
func (p *Permissions) Check() error {
	for _, pattern := range p.Allow {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return fmt.Errorf("%q is no pattern of tool names: it has letters, *, ?, and [a-z] for one of several", pattern)
		}
	}
	return nil
}

// Allows reports whether Allow has a tool's name, or a pattern of it as [path.Match] has them. One with a server's id before "__"
// is about this server's alone: names of other servers' tools may begin alike, as those of "github_" with "github__". Of a tool that
// nobody lists there is only the name to go by.
func (p *Permissions) Allows(d toolbox.Descriptor) bool {
	return slices.ContainsFunc(p.Allow, func(pattern string) bool {
		if pattern == d.Name {
			return true
		}
		if server, _, of := strings.Cut(pattern, "__"); of && d.Tool != "" {
			if same, _ := path.Match(server, d.Server); !same {
				return false
			}
		}
		matches, _ := path.Match(pattern, d.Name)
		return matches
	})
}

// Permit is for [Guard]. It waits for the person's answer.
func (p *Permissions) Permit(ctx context.Context, a Ask) error {
	if err, known := p.judge(a); known {
		return err
	}
	if p.Ask == nil {
		return errNobody
	}
	if err := p.queue(ctx); err != nil {
		return err
	}
	defer p.next()
	if err, known := p.judge(a); known { // by the answer to a question before this one
		return err
	}
	verdict, err := p.Ask(ctx, a)
	why, refused := errors.AsType[Refusal](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case refused:
		return why
	case err != nil:
		return fmt.Errorf("nobody could be asked for permission: %w", err)
	}
	return p.settle(a, verdict)
}

// judge says what is known without asking: that a call may run, or why not.
func (p *Permissions) judge(a Ask) (err error, known bool) {
	p.mu.Lock()
	never := p.never[a.Tool.Name]
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

// settle does what a person said.
func (p *Permissions) settle(a Ask, verdict Verdict) error {
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
		if p.never == nil {
			p.never = map[string]bool{}
		}
		p.never[a.Tool.Name] = true
		return errNever
	}
	return errRefused
}

// callPlace is the key of a call's place among those of its message, in its context.
type callPlace struct{}

// question is a call that waits to be asked for.
type question struct {
	place int
	turn  chan struct{} // closed when it is asked
}

// queue waits until this call can be asked for. After nil, call next.
func (p *Permissions) queue(ctx context.Context) error {
	q := &question{turn: make(chan struct{})}
	q.place, _ = ctx.Value(callPlace{}).(int)
	p.mu.Lock()
	at, _ := slices.BinarySearchFunc(p.waiting, q, func(other, q *question) int { return cmp.Compare(other.place, q.place+1) })
	p.waiting = slices.Insert(p.waiting, at, q)
	first := !p.asking
	p.asking = true
	p.mu.Unlock()
	if first {
		time.AfterFunc(gathering, p.next)
	}
	select {
	case <-q.turn:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	at = slices.Index(p.waiting, q)
	if at >= 0 {
		p.waiting = slices.Delete(p.waiting, at, at+1)
	}
	p.mu.Unlock()
	if at < 0 { // its turn came meanwhile
		p.next()
	}
	return ctx.Err()
}

// next lets the first of those that wait ask.
func (p *Permissions) next() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		p.asking = false
		return
	}
	close(p.waiting[0].turn)
	p.waiting = p.waiting[1:]
}
