package interop

import (
	"context"
	"encoding/json"

	"github.com/indusagi/indus/internal/memory"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/toolbox"
)

// Era is the family of revisions that a message, a server or a client speaks: [Legacy] or [Modern].
type Era = protocol.Era

const (
	// Legacy is MCP up to 2025-11-25: a handshake, then a session.
	Legacy = protocol.Legacy
	// Modern is MCP from 2026-07-28 on: stateless requests.
	Modern = protocol.Modern
)

// Message is one request or notification, in either direction, its params
// untouched bytes. A notification has a nil ID.
type Message struct {
	ID, Params json.RawMessage
	Method     string
	Era        Era
	Caller     toolbox.Principal
	// Client is who sent a request to a host; nil: a message from elsewhere. An endpoint
	// takes it from the context ([WithClient]).
	Client *Client
	// Server is who sent a message to us: the id of the server. "": it goes to one.
	Server string
	// Of is the exchange that the message belongs to; 0 where it belongs to none.
	// The value set for [Endpoint.Do] is found again on the notifications and requests that
	// the server sends meanwhile.
	Of uint64

	back     Peer        // takes what belongs to the exchange; nil: Receive does
	tool     *listedTool // the tool that is called, where it is known
	progress bool        // back takes progress as toolbox.Call.Progress does
	bounded  bool        // ctx carries the deadline: none is added
	subject  string      // the kind of the request, see habits
}

// Peer takes a message. For a request it returns the result's bytes or an
// error, of which an [*RPCError] reaches the asker as it is. For a
// notification what it returns is ignored.
type Peer func(context.Context, Message) (result json.RawMessage, err error)

// MaxMessage is the default bound of one message at every inlet, in bytes.
const MaxMessage = conn.MaxMessage

// Info is how a client or a host names itself: Name, Title and Version.
type Info = protocol.Info

// ClientInfo is how the bridge names itself to servers.
func ClientInfo() Info { return Info{Name: "indus-protocol-bridge", Version: "0.1.0"} }

// Memory is a budget for the bytes of the messages that are held at once, of any number
// of fleets and hosts, counted until nobody holds them. Messages of up to 64 KiB are not
// counted. What is a principal's may be three times as much as is left: three quarters, if nobody else has any. Where there is no room a transfer with a client that has stalled for a second
// is ended, and a message that finds none within three seconds is refused; for a call
// that is a fault of kind ToolError, for an HTTP client 503. A while after much was held,
// memory is given back to the system.
type Memory = memory.Budget

// NewMemory is a budget of so many bytes. 0: 256 MiB; negative: no bound.
func NewMemory(bytes int64) *Memory { return memory.New(bytes) }
