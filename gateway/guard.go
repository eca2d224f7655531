package gateway

import (
	"context"
	"encoding/json"
	"time"

	"github.com/indusagi/indus/gateway/internal/search"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// Guard decides about the requests of callers, and gets to know how they end. Package control has the guard of indus
// serve. A guard of your own embeds [PermitAll], and implements Begin and Admit. All methods may be called from any
// goroutine.
type Guard interface {
	// Rights returns the entries that lists show to the sender of a request. Nil shows all. It is called for each request,
	// before Begin.
	Rights(ctx context.Context, r *Request) Rights
	// Decides reports whether the guard may ever judge definitions of tools. Then a call is sent only if the definition
	// that was judged is still listed.
	Decides() bool
	// Begin begins a request, a notification or a subscription of a caller, and returns its context. It may remove what is
	// for the guard from the params of r.Message. A nil Exchange permits all. An
	// error is the answer to the request, and its exchange has ended.
	Begin(ctx context.Context, r *Request) (context.Context, Exchange, error)
}

// Request is a request of a caller. Its fields do not change after Begin, unless they say so.
type Request struct {
	View    string // the element of its path, see [ViewOf]
	Message interop.Message
	// Tool is the tool that a call names, and Known reports that the caller's list has it. A tool of the program has no
	// Server.
	Tool  Item
	Known bool
	// Searches reports that several servers are asked for one URI: it counts once. It is set before the first Admit.
	// AnsweredBy is the server whose answer the caller gets. It is set before End.
	Searches   bool
	AnsweredBy string
}

// Rights selects the entries of lists for one caller.
type Rights interface {
	// Class names the callers that share their lists, now and until [Gateway.ListsChanged]. If it is not lasting, the
	// result of Lists changes with time, and lists are not cached.
	Class() (name string, lasting bool)
	// Lists reports for each item whether a list shows it.
	Lists(items []Item) []bool
}

// Exchange is one request on its way.
type Exchange interface {
	// Mode returns the same value until the exchange ends.
	Mode() Mode
	// Admit decides whether the request may reach an item. It returns the context of the request to the server, and nil or
	// a refusal. It is called again for the same Access if the item is another one now.
	Admit(ctx context.Context, a *Access) (context.Context, *Refusal)
	// Ended is called with the answer for an item that Admit was called for, also if it was refused. Items for which it is
	// not called end with the exchange.
	Ended(a *Access, result json.RawMessage, err error)
	// Hide is called for an item that the caller does not see, with the reason, or "" if no server is known to have it.
	// The caller gets the answer for an item that does not exist.
	Hide(ctx context.Context, a *Access, reason string)
	// Permits reports whether an action on an item is permitted now, whatever its arguments are. It is also called after
	// the end, for messages that the request caused.
	Permits(action Action, it Item) bool
	// End ends the exchange with the answer to the request, and returns the answer that the caller gets.
	End(result json.RawMessage, err error) (json.RawMessage, error)
}

// Mode states how strict a guard is with a request.
type Mode int

const (
	Passes   Mode = iota // Admit is not called: all is permitted
	Watches              // it refuses nothing
	Records              // it needs the item of each request
	Reports              // it decides without effect
	Enforces             // it refuses requests
)

// Refusal is the answer to a request that is not admitted: Err, or the answer for an item that does not exist if Hidden
// is true, or Result, or else Text.
type Refusal struct {
	Text   string // for a model and a person
	Hidden bool
	Result json.RawMessage // asks the client of a modern request
	Err    error
	// Retry is the time after which the request may be admitted. 0 means that it is not known.
	Retry time.Duration
	// Again asks for another decision, because time has passed. The tool is looked up again before.
	Again bool
}

// NotInView is the reason of Hide for an item that is not in the view of the request.
const NotInView = "it is not in this view"

// ErrOvertaken is the error of Ended if another server has answered a request that searches first.
var ErrOvertaken = search.ErrOvertaken

// Observer is a guard that also follows the gateway, its servers and its clients.
type Observer interface {
	Guard
	// Attach is called once, before the gateway serves requests. Detach is called when it has closed.
	Attach(g *Gateway)
	Detach()
	// Connection completes the options of the connections to a server. If it is transparent, messages stay as they are.
	Connection(s config.Server, transparent bool, o *interop.EndpointOptions)
	// Waits is called if a request waits for something else than a server. ended is called once.
	Waits(ctx context.Context) (ended func())
	// SessionEnded is called at the end of a client's session.
	SessionEnded(protocol, transport string, lasted time.Duration)
}

// PermitAll implements all methods of [Guard] and [Exchange] except Begin, without limits. It is for embedding.
type PermitAll struct{}

// Rights implements [Guard].
func (PermitAll) Rights(context.Context, *Request) Rights { return nil }

// Decides implements [Guard].
func (PermitAll) Decides() bool { return true }

// Mode implements [Exchange].
func (PermitAll) Mode() Mode { return Enforces }

// Admit implements [Exchange].
func (PermitAll) Admit(ctx context.Context, _ *Access) (context.Context, *Refusal) { return ctx, nil }

// Ended implements [Exchange].
func (PermitAll) Ended(*Access, json.RawMessage, error) {}

// Hide implements [Exchange].
func (PermitAll) Hide(context.Context, *Access, string) {}

// Permits implements [Exchange].
func (PermitAll) Permits(Action, Item) bool { return true }

// End implements [Exchange].
func (PermitAll) End(result json.RawMessage, err error) (json.RawMessage, error) { return result, err }
