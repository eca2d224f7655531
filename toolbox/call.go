package toolbox

import (
	"context"
	"encoding/json"

	"github.com/indusagi/indus/internal/watch"
)

// Call is a request to run one tool once.
type Call struct {
	// ID is the caller's own id for the call. It may be "".
	ID string
	// Name is the tool's name in the called source.
	Name string
	// Input holds the arguments. [Box.Run] coerces loose input; Do takes it unchanged.
	Input json.RawMessage
	// Caller is the principal that makes the call. "" is the local user.
	Caller Principal
	// Wire holds the complete params of the request that caused the call. It is zero if an agent
	// makes the call.
	Wire Wire
	// Progress receives the reports of the call in wire order. It is called from one goroutine at a
	// time, and never after Do has returned. If it is nil, reports are dropped.
	Progress func(Progress)
}

// Progress is one report of a running call.
type Progress struct {
	// Done and Total count in the tool's own unit. Total is 0 if it is unknown.
	Done, Total float64
	Message     string
	// Wire holds the report as its server sent it. It is zero for a local tool.
	Wire Wire
}

// Source provides tools: a [Registry], a [Box] or a mounted fleet of servers, for example.
//
// Users may call all methods from any goroutine. An implementation returns a snapshot without
// waiting. It returns the same pointer until something changes, and a [Box] relies on this. Its Do
// ends when the context ends.
type Source interface {
	// Snapshot returns the tools that p may see now. It never blocks on a server.
	Snapshot(p Principal) *Snapshot
	// Watch arranges that changed is called after each new snapshot, with no lock held. changed
	// must not block and must not call stop. It may run in several goroutines at once. After stop
	// has returned, changed is not called again. stop may be called twice. Implementers can use
	// [Watchers].
	Watch(changed func()) (stop func())
	// Do runs one tool exactly. It sends the input unchanged and returns the owner's result
	// unchanged. An unknown name is an [*UnknownTool]. A tool that ran and failed is a Result with
	// IsError true, not an error.
	Do(ctx context.Context, c Call) (*Result, error)
}

// Do is [Source.Do] as a function, which [BoxOptions.Around] wraps.
type Do func(context.Context, Call) (*Result, error)

// UnknownTool is the error of a call to a name that no source has.
type UnknownTool struct{ Name string }

func (e *UnknownTool) Error() string { return `no tool named "` + e.Name + `" is available` }

// Watchers holds the watchers of a [Source]. Implementers use it for the method Watch. The zero
// value is ready; do not copy it.
type Watchers struct{ list watch.List }

// Watch implements [Source.Watch].
func (w *Watchers) Watch(changed func()) (stop func()) { return w.list.Watch(changed) }

// Notify calls all watchers in the order in which they were added. Call it after the new snapshot
// is available, with no lock held.
func (w *Watchers) Notify() { w.list.Notify() }
