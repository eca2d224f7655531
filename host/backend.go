package host

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// Backend is what is behind a [Host]'s front: it answers the requests of
// clients, in both eras, and reports changes. [Tools] is one over a toolbox.
//
// All methods are called concurrently. A backend may implement [Settler], [HeaderChecker], [Subscriber],
// [Unsubscriber], [Follower] and [Namer] too; a line such as var _ host.Settler = (*myBackend)(nil) has the compiler check that it does. The end
// of a client's session is that of [interop.Client].Life.
type Backend interface {
	// Handle answers a request, or takes a client's notification. m.Client is who sent it. back,
	// which is m.Client.Back, takes what concerns this request while it runs: notifications, in
	// their order, and requests for which the client declared the capability; it
	// returns the client's result, or its error as an [*interop.RPCError]. A modern client can be asked in tools/call,
	// prompts/get and resources/read alone; the call is parked meanwhile. What is still asked
	// when Handle has returned is withdrawn, and back is not called any more.
	//
	// The front itself asks for "server/discover" and takes capabilities and
	// instructions from the result. An error that is no [*interop.RPCError] and no
	// [*interop.Fault] is logged, and the client reads "internal error". The front adapts the
	// result's hop fields (resultType, reserved _meta keys) to the client's era.
	Handle(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error)
	// Watch reports notifications for all clients (notifications/tools/list_changed). Updates of
	// resources are not among them: see [Subscriber].
	// notify must not block. After stop has returned it is not called again.
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
	// CheckHeader returns why the headers do not match; nil: they do.
	CheckHeader(m interop.Message, h http.Header) error
}

// Subscriber is a [Backend] that reports updates of resources: legacy clients may then send resources/subscribe, and
// modern ones name resources in subscriptions/listen.
type Subscriber interface {
	// Subscribe reports updates of a resource to one client until stop is called. m is the client's request, and ctx
	// ends with it, not with the subscription. updated takes notifications/resources/updated and does not block.
	// stop must not block either. An error is the answer of resources/subscribe. A subscription of the modern era leaves
	// the resource out.
	Subscribe(ctx context.Context, m interop.Message, uri string, updated func(interop.Message)) (stop func(), err error)
}

// Unsubscriber is a [Backend] that answers for resources to which a session is not subscribed.
type Unsubscriber interface {
	// Unsubscribe answers resources/unsubscribe of a session that is not subscribed to the resource.
	Unsubscribe(ctx context.Context, m interop.Message, uri string) error
}

// Follower is a [Backend] that reports states of tasks.
type Follower interface {
	// Follow reports the states of those of the tasks that it agrees to, which a subscriptions/listen names, until
	// stop is called. told takes notifications/tasks and does not block; ctx ends with the subscription. An error is
	// the answer.
	Follow(ctx context.Context, m interop.Message, ids []string, told func(interop.Message)) (agreed []string, stop func(), err error)
}

// Namer is a [Backend] with a name of its own.
type Namer interface {
	// Info is the name as a JSON object. nil: Options.Info is the name.
	Info() json.RawMessage
}

var (
	_ Settler       = (*toolsBackend)(nil)
	_ HeaderChecker = (*toolsBackend)(nil)
	_ Subscriber    = (*toolsBackend)(nil)
)
