package host

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/indusagi/indus/host/internal/tools"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// Backend is the part behind the front of a [Host]. It answers the requests of clients, in both eras, and reports
// changes. [Tools] returns a backend over a toolbox.
//
// All methods are called concurrently. A backend may also implement [Settler], [HeaderChecker], [Subscriber],
// [Unsubscriber], [Follower] and [Namer]. With a line such as var _ host.Settler = (*myBackend)(nil), the compiler
// checks that it does. [interop.Client].Life ends with the client's session.
type Backend interface {
	// Handle answers a request, or receives a client's notification. m.Client describes the client. back equals
	// m.Client.Back, and sends the client messages that belong to this request. back accepts notifications, in their
	// order, and requests for which the client declared the capability. For a request it returns the client's result,
	// or the client's error as an [*interop.RPCError]. A modern client can be asked only in tools/call, prompts/get and
	// resources/read, and the call is parked meanwhile. When Handle returns, open questions are withdrawn. back must
	// not be called after that.
	//
	// The front itself requests "server/discover", and uses the capabilities and instructions of the result. An error
	// that is neither an [*interop.RPCError] nor an [*interop.Fault] is logged, and the client receives "internal
	// error". The front adapts the hop fields of the result (resultType, reserved _meta keys) to the client's era.
	Handle(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error)
	// Watch reports notifications for all clients (notifications/tools/list_changed). Updates of resources are not
	// among them: see [Subscriber]. notify must not block. It is not called after stop has returned.
	Watch(notify func(interop.Message)) (stop func())
}

// Settler is a [Backend] that knows when its lists are complete. The first list of a stdio client waits for that.
type Settler interface {
	// Settle blocks until the lists of p are complete, or ctx ends.
	Settle(ctx context.Context, p toolbox.Principal)
}

// HeaderChecker is a [Backend] that compares the Mcp-Param-* headers of a modern request with its params (2026-07-28,
// streamable HTTP, "Server Validation").
type HeaderChecker interface {
	// CheckHeader returns an error that describes the mismatch, or nil if the headers match.
	CheckHeader(ctx context.Context, m interop.Message, h http.Header) error
}

// Subscriber is a [Backend] that reports updates of resources. With it, legacy clients may send resources/subscribe,
// and modern clients may name resources in subscriptions/listen.
type Subscriber interface {
	// Subscribe reports updates of a resource to one client until stop is called. m is the client's request. ctx ends
	// with the request, not with the subscription. updated accepts notifications/resources/updated and does not block;
	// stop must not block either. An error is the reply to resources/subscribe. If it occurs in a subscription of the
	// modern era, that resource is left out.
	Subscribe(ctx context.Context, m interop.Message, uri string, updated func(interop.Message)) (stop func(), err error)
}

// Unsubscriber is a [Backend] that answers resources/unsubscribe for resources without a subscription.
type Unsubscriber interface {
	// Unsubscribe answers resources/unsubscribe of a session that is not subscribed to the resource.
	Unsubscribe(ctx context.Context, m interop.Message, uri string) error
}

// Follower is a [Backend] that reports the states of tasks.
type Follower interface {
	// Follow reports the states of tasks that a subscriptions/listen names, until stop is called. agreed lists the
	// tasks that the backend accepts. notify accepts notifications/tasks and does not block. ctx ends with the
	// subscription. An error is the reply to subscriptions/listen.
	Follow(
		ctx context.Context, m interop.Message, ids []string, notify func(interop.Message),
	) (agreed []string, stop func(), err error)
}

// Namer is a [Backend] with a name of its own.
type Namer interface {
	// Info returns the name as a JSON object. If it is nil, Options.Info is used.
	Info() json.RawMessage
}

// Tools returns a [Backend] that publishes a toolbox. tools/list returns its snapshots, and tools/call uses its exact
// entry (Do). A nil src has no tools.
//
// Schemas and whole tools are published as their owners wrote them, except for the name. Parts for which clients of an
// era refuse a whole list are left out. A tool with an input schema that is not of type "object" is not published.
//
// It uses the options Library, Page, Keys, Exact, Parameters and Logger.
func Tools(src toolbox.Source, opts *Options) Backend {
	if opts == nil {
		opts = &Options{}
	}
	t := tools.New(src, tools.Options{
		Exact: opts.Exact, Parameters: opts.Parameters, Page: opts.Page, Keys: opts.Keys, Logger: opts.Logger,
	})
	if opts.Library == nil {
		return t
	}
	return &libraryBackend{t, opts.Library}
}

// CallError converts the error of a tools/call into the reply for the client, as [Tools] does: the error of the server,
// or a failed result with a text. name is the tool's name. A [Backend] that calls tools itself uses it.
func CallError(
	ctx context.Context, m interop.Message, name string, err error, log *slog.Logger,
) (json.RawMessage, error) {
	return tools.ErrorReply(ctx, m, name, err, cmp.Or(log, slog.New(slog.DiscardHandler)))
}

var (
	_ Settler       = (*tools.Backend)(nil)
	_ HeaderChecker = (*tools.Backend)(nil)
	_ Subscriber    = (*tools.Backend)(nil)
	_ Subscriber    = (*libraryBackend)(nil)
)
