package conn

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/indusagi/indus/internal/memory"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
)

// Conn is one connection to a server, in one era. All methods may be called from any goroutine.
type Conn interface {
	// Call sends a request under an id of the connection and waits for its result. When ctx ends, Call returns
	// ctx.Err() and notifies the server in the transport's own way, without waiting for it. On stdio and in the legacy
	// era, the server receives notifications/cancelled. On modern HTTP, the stream closes.
	//
	// Errors are not converted: a [*protocol.RPCError] is the server's own answer.
	Call(ctx context.Context, r Request) (json.RawMessage, error)
	// Notify sends a client's notification, within 5 s. Modern servers accept none, and it sends nothing.
	Notify(ctx context.Context, method string, params json.RawMessage) error
	// Unasked waits until all requests that the server has sent so far are answered, or ctx ends.
	Unasked(ctx context.Context)
	// Done is closed when the connection is dead. Then Err returns the cause.
	Done() <-chan struct{}
	Err() error
	// Noise returns the number of received lines that were no messages.
	Noise() int
	// Close ends the connection in bounded time and waits for everything that it started. It may be called twice.
	Close()
}

// Request is one request to a server.
type Request struct {
	Method string
	Params json.RawMessage // complete, with _meta; nil: none
	Name   string          // the Mcp-Name header of modern HTTP; "": none
	// ParamHeaders holds the tool's arguments that modern HTTP also sends as Mcp-Param-* headers.
	ParamHeaders []protocol.ParamHeader
	Token        int64 // the progressToken within Params; 0: none
	// Receive receives the notifications that belong to this request, in wire order, one at a time. It receives them
	// before a question that follows them, and never after Call has returned. If Receive is nil, they are dropped.
	Receive Receiver
	Of      uint64 // Message.Of of all messages that belong to this request
	// Sending is called before the request is sent, with its id and the revision of the connection. It may be nil.
	Sending interface {
		Sent(id int64, revision string)
	}

	quiet bool // part of the handshake: it is not cancelled, and does not end a session
}

// Message is a request or notification from the server.
type Message struct {
	ID, Params json.RawMessage // ID is nil for a notification
	Method     string
	Era        protocol.Era
	Of         uint64 // Request.Of of the request that it belongs to; 0: none
}

// Receiver receives a message. For a request it returns the result or an error. A [*protocol.RPCError] is sent to the
// server unchanged. If both are nil, the request is refused.
type Receiver func(context.Context, Message) (json.RawMessage, error)

// Handshake is the server's description of itself from the opening of the connection.
type Handshake struct {
	Era          protocol.Era
	Version      string          // the agreed revision
	ServerInfo   json.RawMessage // an object as the server wrote it; nil: none
	Capabilities json.RawMessage // an object as the server wrote it; nil: none
	Instructions string
	// Dual reports that a modern server also supports a legacy revision that the client supports.
	Dual bool
	// Asks reports that the server is able to send requests. A legacy server over streamable HTTP without a session is
	// not.
	Asks bool
	// Unprobed reports that a server at a URL did not answer server/discover in time. It may be modern and slow.
	Unprobed bool
}

// Options are used for every transport. The zero value is valid.
type Options struct {
	Info protocol.Info // name and version of the client
	// Capabilities are the capabilities of the client, as an object. A legacy server receives them in initialize, a
	// modern one with server/discover. If it is nil, the client declares none.
	Capabilities json.RawMessage
	Era          protocol.Era   // the only era to use; "": find out
	LastEra      protocol.Era   // the server's last known era, tried first; "": not known
	MaxMessage   int            // bytes of one message; 0: [MaxMessage]
	Memory       *memory.Budget // of all messages; nil: no bound
	// Receive receives the server's requests, and notifications that belong to no request of the client. If it is nil,
	// requests are refused and notifications dropped.
	Receive Receiver
	// Belongs returns the Request.Of of the only request to which a notification of a method can belong if it names
	// none. It returns 0 if there is no such request. It is called in the order in which messages arrive. If it is nil,
	// such a notification belongs to no request.
	Belongs func(method string) (of uint64)
	// Missed is called when notifications may have been lost. It may be nil.
	Missed  func()
	Logger  *slog.Logger // nil: silent
	Secrets *secret.Set  // masked in all output of the server
	// ProbeWait is how long server/discover may be unanswered before initialize is tried. Zero means 3 s on a stream,
	// and 10 s over HTTP.
	ProbeWait time.Duration
	Trace     Trace
	// Lease bounds the life of a process. If it is nil, only the connection does.
	Lease Lease

	wakeAfter time.Duration // 0: 1 s
}

// Trace is called at the steps of connecting over stdio. nil functions are not called.
type Trace struct {
	Started  func(pid int, stderr func() string)
	Answered func(method string, took time.Duration, err error)
	Noise    func(line string)
}

// URL is the address of a server over HTTP.
type URL struct {
	URL    string
	Header http.Header  // sent with every request; shared, never changed
	Client *http.Client // nil: a client of the connection's own
	TLS    *tls.Config  // of the connection's own client; nil: the defaults
	// Wrap wraps the transport of the requests. If it is nil, the transport is used as it is.
	Wrap func(base http.RoundTripper) http.RoundTripper
	// Forwards allows a request to have headers of its own, see [WithHeader].
	Forwards bool
}

// Unlocated is the host of the URL of a server that is reached by URL.Client alone. Errors do not show it.
const Unlocated = "unlocated.invalid"

// MaxMessage is the default bound of one message, in bytes.
const MaxMessage = 64 << 20

func (o Options) withDefaults() Options {
	o.wakeAfter = cmp.Or(o.wakeAfter, wakeAfter)
	o.MaxMessage = cmp.Or(o.MaxMessage, MaxMessage)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}
