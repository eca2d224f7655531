package host

import (
	"context"
	"encoding/json"

	"github.com/indusagi/indus/interop"
)

// Backend is what stands behind a [Host]'s front: it answers the requests of
// clients, in both eras, and tells of changes. [Tools] is one over a toolbox.
//
// All methods are called concurrently.
type Backend interface {
	// Handle answers a request. back takes what concerns this request while it
	// runs: notifications (progress) and, where the client can be asked, requests.
	// It must not be called after Handle has returned.
	//
	// The front itself asks for "server/discover" and takes capabilities and
	// instructions from the result. An error that is no [*interop.RPCError] and no
	// [*interop.Fault] reaches the client as an internal error. The front adapts the
	// result's hop fields (resultType, reserved _meta keys) to the client's era.
	Handle(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error)
	// Watch tells of notifications for all clients (notifications/tools/list_changed).
	// notify must not block. After stop has returned it is not called again.
	Watch(notify func(interop.Message)) (stop func())
}
