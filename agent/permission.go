package agent

import (
	"context"

	"github.com/indusagi/indus/toolbox"
)

// Ask is a call that wants permission.
type Ask struct {
	// Tool is the tool as it is now. Only Name is set where the source does not list it, because its server is not
	// connected yet, or it is held back.
	Tool toolbox.Descriptor
	Call toolbox.Call
}

// Listed reports whether it is known what the tool is, and not only what it is called.
func (a Ask) Listed() bool { return a.Tool.Tool != "" }

// Guard wraps a source: permit sees each call before it runs. nil lets it run; an error refuses it, and the model is told
// its text.
func Guard(src toolbox.Source, permit func(context.Context, Ask) error) toolbox.Source {
	return src
}

// Verdict is a person's answer to an [Ask].
type Verdict int

const (
	// Refuse refuses this call.
	Refuse Verdict = iota
	// Once lets this call run.
	Once
	// Always lets this tool run in this project from now on, as long as it is what it is now.
	Always
	// Never refuses this tool for the rest of the session.
	Never
)

// Permissions say which calls may run. Set its fields before the first call.
type Permissions struct {
	// Harmless reports calls that run without asking; nil: none.
	Harmless func(Ask) bool
	// All lets every call run.
	All bool
	// Allow are globs of the names of tools that run without asking.
	Allow []string
	// Memory knows what was allowed for good; nil: nothing, and nothing can be.
	Memory Memory
	// Ask asks a person, one question at a time; nil: nobody can be asked. It returns soon after its context ends.
	Ask func(context.Context, Ask) (Verdict, error)
	// Report is given why Memory could not keep an answer of Always, which then counts as Once; nil: nobody is.
	Report func(error)
}

// Check says which pattern of Allow is none.
func (p *Permissions) Check() error { return nil }

// Fingerprint is a hash of all that a tool's owner says of it. A [Memory] keeps it beside the name: a tool
// whose fingerprint is another one is not the tool that was allowed.
func Fingerprint(d toolbox.Descriptor) string { return "" }

// Memory keeps what a person allowed for good.
type Memory interface {
	// Allowed reports whether calls like this one may run. A tool that is not what it was when it was allowed may not.
	Allowed(a Ask) bool
	// Allow keeps it.
	Allow(a Ask) error
}

// Permit is for [Guard].
func (p *Permissions) Permit(ctx context.Context, a Ask) error { return nil }
