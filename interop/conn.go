package interop

import (
	"context"
	"encoding/json"
)

// conn is one connection to a server, in one era. All methods may be called
// from any goroutine.
type conn interface {
	// call sends a request under an id of the connection's own and waits for its
	// result. What the server tells on this exchange meanwhile goes to x.back, in
	// wire order, from the calling goroutine, and never after call has returned.
	// When ctx ends, the server is told in the transport's own idiom (legacy and
	// stdio: notifications/cancelled; modern HTTP: the stream closes) without
	// waiting for it, and call returns ctx.Err().
	//
	// Errors are bare (an [*RPCError] is the server's own answer); the endpoint makes faults of them.
	call(ctx context.Context, x exchange) (json.RawMessage, error)
	// notify sends a notification; best effort where the transport has none.
	notify(ctx context.Context, method string, params json.RawMessage) error
	// done is closed when the connection is dead; err then says why.
	done() <-chan struct{}
	err() error
	// close ends the connection, in bounded time, and waits for all it started.
	close()
}

// exchange is one request on its way to a server.
type exchange struct {
	method string
	params json.RawMessage // complete, _meta included; nil: none
	name   string          // what Mcp-Name says over modern HTTP; "": the method has none
	header []Pair          // Mcp-Param-* of the call
	token  int64           // the progressToken within params; 0: none
	back   Peer            // takes what belongs to this exchange; nil: it is dropped
	of     uint64          // Message.Of of what goes to back
	quiet  bool            // when ctx ends, the server is not told (initialize must not be cancelled)
}
