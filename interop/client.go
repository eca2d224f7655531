package interop

import (
	"context"
	"encoding/json"
	"net/http"
)

// A Client is whose request is passed on to a server: what the server may know of it, and
// the ways back to it. A host sets it on each [Message] of a client's, and [WithClient]
// carries it through packages that know no MCP, such as a toolbox.
//
// A server is shown the capabilities of the client that asks, never more and never less:
// a modern one with each request, a legacy one on a connection of a [Fleet]'s that is made for
// them. What passes is elicitation, sampling, roots and extensions, and nothing beyond 16 KiB.
// Without a Client a server is shown none, and cannot ask.
type Client struct {
	// Era is that of the client's request.
	Era Era
	// Session names the client's legacy session, or its connection on stdio: requests with the
	// same one come from the same program. "": a modern request over HTTP, which stands alone.
	Session string
	// Capabilities is what the client declares, an object as it wrote it; nil: nothing.
	Capabilities json.RawMessage
	// LogLevel is from which level on the client wants log messages with its
	// answer, such as "info"; "": none.
	LogLevel string
	// Header is those of its request's headers that some server gets; see [Server].Forward. nil: none.
	Header http.Header
	// Opened: the client says that it has opened the URLs that the answer to this request asked for before.
	Opened bool
	// Back takes what the server says while it handles this request (notifications) and, where
	// the client can be asked meanwhile, what it asks (requests). It is not called once the
	// request is answered. nil: nothing is passed on.
	Back Peer
	// Always takes what the server says and asks outside of any request, for as long as
	// the client's session lives. nil: the client has no session, or cannot be reached in it.
	Always Peer
	// Life ends with the session. A connection that a [Fleet] made for the session stays open until then. nil: the
	// fleet is not notified of the end, and closes the connection after FleetOptions.LaneIdle without a request.
	Life context.Context

	listing bool // see Listing
}

type clientKey struct{}

// WithClient is ctx with the client whose request is handled in it.
func WithClient(ctx context.Context, c *Client) context.Context {
	if c == nil {
		return ctx
	}
	return context.WithValue(ctx, clientKey{}, c)
}

// ClientOf is the client whose request is handled in ctx; nil: there is none.
func ClientOf(ctx context.Context) *Client {
	c, _ := ctx.Value(clientKey{}).(*Client)
	return c
}
