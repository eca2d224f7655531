package toolbox

import (
	"context"
	"encoding/json"
)

// Call asks for one run of one tool.
type Call struct {
	// ID is the caller's own id for the call; "" is good.
	ID string
	// Name is the tool's name in the source that is called.
	Name string
	// Input is the arguments. [Box.Run] coerces loose input; Do takes it as it is.
	Input json.RawMessage
	// Caller is who calls; "" is the local user.
	Caller Principal
	// Wire is the params of the request that asked, complete; zero from an agent.
	Wire Wire
	// Progress receives the reports of the call: in wire order, from one goroutine at
	// a time, and never after Do has returned. nil: they are dropped.
	Progress func(Progress)
}

// Progress is one report of a running call.
type Progress struct {
	// Done and Total count in the tool's own unit; Total is 0 where unknown.
	Done, Total float64
	Message     string
	// Wire is the report as its server sent it; zero from a local tool.
	Wire Wire
}

// Source is what has tools: a [Registry], a [Box], a mounted fleet of servers.
//
// Users may call all methods from any goroutine. Implementers return a snapshot
// without waiting, the same pointer for as long as nothing has changed (a [Box] goes
// by that), and a Do that ends when its context does.
type Source interface {
	// Snapshot is what p may see now. It never blocks on a server.
	Snapshot(p Principal) *Snapshot
	// Watch calls changed after each new snapshot, with no lock held; changed
	// must not block, must not call stop, and may run in several goroutines at
	// once. After stop has returned, changed is not called again; stop may be
	// called twice. [Watchers] is all that an implementer needs.
	Watch(changed func()) (stop func())
	// Do runs one tool, exactly: the input goes out as it came and the result
	// comes back as its owner gave it. An unknown name is an [*UnknownTool]. A tool
	// that ran and failed is a Result whose IsError is true, not an error.
	Do(ctx context.Context, c Call) (*Result, error)
}

// Do is [Source.Do] as a function: what [BoxOptions.Around] wraps.
type Do func(context.Context, Call) (*Result, error)

// UnknownTool is the error of a call to a name that no source has.
type UnknownTool struct{ Name string }

func (e *UnknownTool) Error() string { return `no tool named "` + e.Name + `" is available` }
