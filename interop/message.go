package interop

import (
	"context"
	"encoding/json"

	"github.com/indusagi/indus/internal/memory"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/lane"
	"github.com/indusagi/indus/interop/internal/listing"
	"github.com/indusagi/indus/toolbox"
)

// Era is the family of protocol revisions that a message, a server or a client uses: [Legacy] or [Modern].
type Era = protocol.Era

const (
	// Legacy is MCP up to 2025-11-25: a handshake, then a session.
	Legacy = protocol.Legacy
	// Modern is MCP from 2026-07-28 on: stateless requests.
	Modern = protocol.Modern
)

// Message is one request or notification, in either direction. Its params are unchanged bytes. A notification has a nil
// ID.
type Message struct {
	ID, Params json.RawMessage
	Method     string
	Era        Era
	Caller     toolbox.Principal
	// Client is the client that sent a request to a host, or nil for other messages. An endpoint takes the client from
	// the context ([WithClient]).
	Client *Client
	// Server is the id of the server that sent the message. It is empty if the message goes to a server.
	Server string
	// Of identifies the exchange that the message belongs to, or is 0 if it belongs to none. A value set for
	// [Endpoint.Do] is repeated on the notifications and requests that the server sends meanwhile.
	Of uint64
	// Tool is the name under which a fleet lists the tool of a tools/call: see [Fleet.Request]. "" means that the params
	// have the server's own name.
	Tool string
	// Progress receives the progress of a call of a listed tool, in wire order and never after the call has ended. If it
	// is nil, the client of the context receives it, if its params ask for that.
	Progress func(toolbox.Progress)
	// Sending is called before a request is sent to a server, with its id on the connection and the revision of MCP there.
	// It must not block. If it is nil, nothing is called.
	Sending interface {
		Sent(id int64, revision string)
	}

	back    Peer          // receives messages of the exchange; if it is nil, Receive does
	tool    *listing.Tool // the called tool, if it is known
	bounded bool          // ctx has the deadline: none is added
	subject lane.Subject  // the kind of the request, see habits
}

// Peer handles a message. For a request it returns the bytes of the result, or an error. An [*RPCError] reaches the
// sender of the request unchanged. For a notification the returned values are ignored.
type Peer func(context.Context, Message) (result json.RawMessage, err error)

// MaxMessage is the default bound of one incoming message, in bytes.
const MaxMessage = conn.MaxMessage

// Info is the name of a client or a host: Name, Title and Version.
type Info = protocol.Info

// ClientInfo returns the name and version that the bridge sends to servers.
func ClientInfo() Info { return Info{Name: "indus-protocol-bridge", Version: "0.1.0"} }

// Memory is a budget for the bytes of all messages held at one time. Any number of fleets and hosts may share it. Bytes
// count until no code holds them. Messages of up to 64 KiB are not counted. One principal may hold up to three times
// the free bytes, which is three quarters of the budget if no other principal holds any. If the budget is used up, a
// transfer with a client that has stalled for a second is ended. A message that finds no room within three seconds is
// refused. For a call this is a fault of kind ToolError, and for an HTTP client status 503. Some time after a peak,
// memory is returned to the system.
type Memory = memory.Budget

// NewMemory returns a budget of that many bytes. Zero means 256 MiB, and a negative value means no bound.
func NewMemory(bytes int64) *Memory { return memory.New(bytes) }
