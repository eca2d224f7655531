package interop

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/payload"
)

// Client describes the client of a request that is passed on to a server: the facts that the server may know, and
// the ways to reach the client. A host sets it on each [Message] of a client. [WithClient] carries it through
// packages without MCP, such as a toolbox.
//
// A server receives exactly the capabilities of the client that asks. A modern server receives them with each
// request. A legacy server receives them on a connection that a [Fleet] makes for these capabilities. Only
// elicitation, sampling, roots and extensions pass, and nothing if the capabilities exceed 16 KiB. Without a
// Client, a server receives no capabilities and cannot ask.
type Client struct {
	// Era is the era of the client's request.
	Era Era
	// Session identifies the client's legacy session, or its connection on stdio. Requests with the same Session
	// come from the same program. It is empty for a modern request over HTTP, which belongs to no session.
	Session string
	// Name and Version identify the client's program as it states them (clientInfo), for logs and for people. They
	// are claims: a client may send any text, and another one with each request. Each has at most 256 bytes of valid
	// UTF-8 on one line, without control characters. They are "" if the client states none, or a text of several KiB.
	Name, Version string
	// Address is the IP address from which the client's HTTP request came. Behind a proxy it is the proxy's address.
	// It is "" on other transports.
	Address string
	// Protocol is the revision of MCP of the request, or "" before the handshake. Transport is "http", "sse", "stdio" or
	// "memory".
	Protocol, Transport string
	// Capabilities is the object of capabilities that the client declares, as the client wrote it. If it is nil,
	// the client declares nothing.
	Capabilities json.RawMessage
	// LogLevel is the lowest level of the log messages that the client wants during its request, such as "info".
	// If it is empty, the client wants none.
	LogLevel string
	// Header holds the headers of the client's request that some server receives; see [config.Server].Forward. It may be
	// nil.
	Header http.Header
	// Opened reports that the client has opened the URLs that the previous reply to this request required.
	Opened bool
	// Back receives the server's notifications during this request. If the client can be asked meanwhile, it also
	// receives the server's requests. It is not called after the reply. If it is nil, nothing is passed on.
	Back Peer
	// Always receives the server's notifications and requests outside of any request, until the client's session
	// ends. It is nil if the client has no session, or cannot be reached in it.
	Always Peer
	// Life ends with the session. A connection that a [Fleet] made for the session stays open until then. If it is
	// nil, the fleet is not notified of the end, and closes the connection after FleetOptions.LaneIdle without a
	// request.
	Life context.Context

	listing bool // see Listing
}

type clientKey struct{}

// WithClient returns a copy of ctx that carries the client of the current request.
func WithClient(ctx context.Context, c *Client) context.Context {
	if c == nil {
		return ctx
	}
	return context.WithValue(ctx, clientKey{}, c)
}

// ClientOf returns the client of the request that ctx belongs to, or nil if there is none.
func ClientOf(ctx context.Context) *Client {
	c, _ := ctx.Value(clientKey{}).(*Client)
	return c
}

// capabilitiesFor returns the client's capabilities that a server of an era receives, or nil if there are none.
func (c *Client) capabilitiesFor(era Era) json.RawMessage {
	mayAsk := c.Back != nil || c.Era == Modern && era == Modern // a modern client sends its answers with the next request
	return payload.Capabilities(c.Capabilities, mayAsk, c.Era == era)
}

// metaFor returns the members of _meta that a modern server receives with a client's
// request.
func (e *Endpoint) metaFor(c *Client) []byte {
	if c == nil {
		return e.modernMeta
	}
	capabilities := c.capabilitiesFor(Modern)
	if capabilities == nil && c.LogLevel == "" && e.opts.Capabilities == nil {
		return e.modernMeta
	}
	meta := conn.ModernMeta(e.opts.Info, capabilities)
	meta = meta[1 : len(meta)-1]
	if c.LogLevel != "" {
		meta = append(append(meta, `,"`+protocol.MetaLogLevel+`":`...), wire.Quote(c.LogLevel)...)
	}
	return meta
}

// declaresTasks reports whether a client declares the tasks extension.
func (c *Client) declaresTasks() bool { return c != nil && payload.DeclaresTasks(c.Capabilities) }
