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
	// Call sends a request under an id of the connection's own and waits for its
	// result. When ctx ends, the server is notified in the transport's own way (legacy
	// and stdio: notifications/cancelled; modern HTTP: the stream closes) without waiting
	// for it, and Call returns ctx.Err().
	//
	// Errors are as they came: a [*protocol.RPCError] is the server's own answer.
	Call(ctx context.Context, r Request) (json.RawMessage, error)
	// Notify sends a notification of the client's, within 5 s. A modern server takes none.
	Notify(ctx context.Context, method string, params json.RawMessage) error
	// Unasked waits until the requests that the server has sent so far have their answers, or ctx ends.
	Unasked(ctx context.Context)
	// Done is closed when the connection is dead; Err then says why.
	Done() <-chan struct{}
	Err() error
	// Noise is how many lines were received that were no messages.
	Noise() int
	// Close ends the connection in bounded time and waits for all that it started. It may
	// be called twice.
	Close()
}

// Request is one request to a server.
type Request struct {
	Method string
	Params json.RawMessage // complete, _meta included; nil: none
	Name   string          // the Mcp-Name header of modern HTTP; "": none
	// ParamHeaders are the arguments that modern HTTP repeats in Mcp-Param-* headers.
	ParamHeaders []protocol.ParamHeader
	Token        int64 // the progressToken within Params; 0: none
	// Receive takes the notifications that belong to this request, in wire order, one at a time, before a
	// question that follows them, and never after Call has returned. nil: they are dropped.
	Receive Receiver
	Of      uint64 // Message.Of of whatever belongs to this request

	quiet bool // part of the handshake: it is not cancelled, and does not end a session
}

// Message is one request or notification of the server's.
type Message struct {
	ID, Params json.RawMessage // ID is nil for a notification
	Method     string
	Era        protocol.Era
	Of         uint64 // Request.Of of the request that it belongs to; 0: none
}

// Receiver takes a message. For a request it returns the result or an error, of which a
// [*protocol.RPCError] reaches the server as it is; neither is a refusal.
type Receiver func(context.Context, Message) (json.RawMessage, error)

// Handshake is what a server said about itself when the connection was opened.
type Handshake struct {
	Era          protocol.Era
	Version      string          // the revision that was agreed on
	ServerInfo   json.RawMessage // an object as the server wrote it; nil: none
	Capabilities json.RawMessage // likewise
	Instructions string
	// Dual: a modern server that says that it speaks a legacy revision of ours, too.
	Dual bool
	// Asks: the server has a way to ask us something. A legacy one over streamable HTTP that
	// gives no session has none.
	Asks bool
}

// Options are what every transport is dialled with. The zero value is good.
type Options struct {
	Info protocol.Info // our own name
	// Capabilities is what we declare: to a legacy server in initialize, to a modern one with
	// server/discover. An object; nil: nothing.
	Capabilities json.RawMessage
	Era          protocol.Era   // the only era to speak; "": find out
	LastEra      protocol.Era   // what the server spoke last, tried first; "": not known
	MaxMessage   int            // bytes of one message; 0: [MaxMessage]
	Memory       *memory.Budget // of all messages; nil: no bound
	// Receive takes the server's requests, and its notifications that belong to no request
	// of ours. nil: requests are refused and notifications dropped.
	Receive Receiver
	// Belongs is asked, by method, for which request (Request.Of) a notification can only be
	// that names none, in the order in which messages arrive; 0: for none. nil: for none.
	Belongs func(method string) (of uint64)
	// Missed is called when notifications may have been lost. nil: nothing is.
	Missed  func()
	Logger  *slog.Logger // nil: silent
	Secrets *secret.Set  // masked in whatever the server says
	// ProbeWait is how long server/discover may be unanswered before initialize is
	// tried. 0: 3 s on a stream, 10 s over HTTP.
	ProbeWait time.Duration
	Trace     Trace

	wakeAfter time.Duration // 0: 1 s
}

// Trace is called at the steps of connecting over stdio. nil functions are not called.
type Trace struct {
	Started  func(pid int, stderr func() string)
	Answered func(method string, took time.Duration, err error)
	Noise    func(line string)
}

// URL is where a server is reached over HTTP.
type URL struct {
	URL    string
	Header http.Header  // sent with every request; shared, never changed
	Client *http.Client // nil: one of the connection's own
	TLS    *tls.Config  // of the connection's own; nil: the defaults
	// Wrap wraps what carries the requests; nil: nothing does.
	Wrap func(base http.RoundTripper) http.RoundTripper
	// Forwards: a request may have headers of its own, see [WithHeader].
	Forwards bool
}

// MaxMessage is the default bound of one message, in bytes.
const MaxMessage = 64 << 20

func (o Options) withDefaults() Options {
	o.wakeAfter = cmp.Or(o.wakeAfter, wakeAfter)
	o.MaxMessage = cmp.Or(o.MaxMessage, MaxMessage)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}
