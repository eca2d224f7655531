package host

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"time"

	"github.com/indusagi/indus/host/internal/count"
	"github.com/indusagi/indus/host/internal/parked"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sdkwire"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/replica"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Defaults of [Options].
const (
	defaultSessionIdle = time.Hour
	defaultMaxSessions = 10_000
	defaultMaxClient   = 1000
	defaultMaxInFlight = 10_000
	defaultKeepAlive   = 8 * time.Second // some clients end a stream after 10 s of silence, and proxies after 30 s
	defaultListWait    = 3 * time.Second // @openai/agents gives up after 5 s, its start included
)

// Options configure a [Host]. nil and the zero value are valid.
type Options struct {
	// Info is the host's name and version. Zero: [DefaultInfo].
	Info interop.Info
	// Instructions explain to a client's model how to use the host. The backend's own instructions follow them, for
	// example the instructions of its servers. If Instructions is "", clients get only the backend's.
	Instructions string
	// MaxMessage bounds each message from a client, in bytes. Zero means [interop.MaxMessage].
	MaxMessage int64
	// Memory bounds the bytes of all messages from clients. Share the memory of the fleet
	// ([interop.MountOptions].Memory), so that clients that do not read make room for answers. If it is nil, the host
	// has 256 MiB of its own.
	Memory *interop.Memory
	// Keys seal tokens that clients hold, such as the ids of sessions. Replicas of one host need the same keys. If it
	// is nil, the host makes random keys, and tokens become invalid when the host ends.
	Keys *Keys
	// Replica forwards requests for state that another replica holds: a session, a waiting call, a task. Its name is
	// sealed in the ids that clients get. All replicas have the same Keys. If it is nil, the host is the only one.
	Replica *replica.Replica
	// Logger receives errors that no client sees. If it is nil, nothing is logged.
	Logger *slog.Logger
	// Authenticate returns the caller of an HTTP request, for example identity.Guard.Principal. If it returns an error,
	// the request is refused. The status, header and body come from an [*interop.HTTPError] in the chain of the error,
	// or from an error with the method Refuse() (status int, header http.Header, body string). Any other error is
	// answered with 401 and no reason. A session belongs to the caller that opened it. While a stream stays open (a
	// GET, subscriptions/listen), Authenticate is called again every five seconds. An error or another caller ends the
	// stream. If it is nil, every caller is "".
	Authenticate func(*http.Request) (toolbox.Principal, error)
	// Forward returns the names of the headers of HTTP requests that the backend may see ([interop.Client].Header), in
	// the form of [http.CanonicalHeaderKey]. It is called for each request. If it is nil, the backend sees no header.
	Forward func() []string
	// AllowedHosts are Host headers accepted in addition to the loopback names: a name, or name:port. If it is nil, a
	// host on a loopback address accepts no other name, and a host on another address accepts any name.
	AllowedHosts []string
	// AllowedOrigins are Origin headers, such as "https://app.example". They are accepted in addition to loopback
	// origins and the server's own origin, which names an address or one of AllowedHosts. Pages of these origins may
	// read the answers (CORS).
	AllowedOrigins []string
	// SessionIdle is how long a legacy HTTP session without a stream or call lives. Zero means an hour, and a negative
	// value means forever.
	SessionIdle time.Duration
	// MaxSessions bounds the legacy HTTP sessions. When it is reached, the client with the most sessions loses the one
	// that was idle longest. Zero means 10,000, and a negative value means no bound.
	MaxSessions int
	// MaxClientSessions bounds the sessions of one client. When it is reached, the client loses the session that was
	// idle longest. A client is a principal, or without a principal an address (in IPv6 a network of 64 bits). Behind a
	// proxy all clients have one address. Zero means 1,000, and a negative value means no bound.
	MaxClientSessions int
	// Beside is another host that shares its bounds with this one. Sessions, parked calls and requests in flight of a
	// client at both hosts are counted together. The other host's SessionIdle, MaxSessions, MaxClientSessions,
	// MaxParked, MaxClientParked and ParkedWait apply to both. Both must have the same Keys, Replica and Replay. The
	// other host may be closed before this one. If it is nil, the host has bounds of its own.
	Beside *Host
	// MaxInFlight bounds the requests in flight of one client (see MaxClientSessions), or of one connection of
	// [Host.Serve]. More requests are refused with HTTP 429; a connection is not read until one of its requests is
	// answered. Calls to a server are bounded before that by [interop.FleetOptions].MaxCalls. Zero means 10,000.
	MaxInFlight int
	// Rates bounds the rate of requests of a client (see MaxClientSessions) over HTTP. More requests are refused with
	// HTTP 429, and Retry-After is the time until the next one is allowed. Answers to questions and cancellations do
	// not count. If it is nil, there is no bound.
	Rates *Rates
	// KeepAlive is the silence on an open HTTP answer after which a comment is sent. A pending answer becomes an event
	// stream for it. Zero means 8 s, and a negative value means never.
	KeepAlive time.Duration
	// Replay keeps the messages sent to legacy clients over HTTP. A client that lost its connection receives the
	// messages it missed. If it is nil, the host has its own, made by NewReplay(0, 0).
	Replay *Replay
	// ListWait bounds how long the first list on stdio waits for servers that have not answered yet and of which no
	// cached tools are listed. Many clients list only once. Zero means 3 s. With a negative value the list does not
	// wait.
	ListWait time.Duration
	// Library holds prompts and resources to publish beside the tools. [New] and [Tools] use it.
	Library *Library
	// MaxParked bounds the calls of modern clients that wait for answers to questions (SEP-2322). One more fails. Zero
	// means 1,000.
	MaxParked int
	// MaxClientParked bounds the parked calls of one principal. Zero means 100.
	MaxClientParked int
	// ParkedWait is how long a parked call waits for each answer before it is cancelled. Zero means
	// 5 min.
	ParkedWait time.Duration
	// Page is how many tools are on one page of tools/list. [New] and [Tools] use it. Zero means all tools, because
	// many clients read only one page.
	Page int
	// Exact publishes tools and results as their servers wrote them, even if clients of an era refuse them. Such
	// clients refuse a whole list for a null title, or before 2026-07-28 a result that is not an object. If Exact is
	// false, the parts that clients cannot read are left out.
	Exact bool
	// SessionEnded is called at the end of each session of a client: a legacy session over HTTP, or a connection that is
	// no HTTP. version is the revision of MCP that a legacy client agreed on, or "". transport is "http", "sse",
	// "stdio" or "memory". It must not block. If it is nil, nothing is called.
	SessionEnded func(version, transport string, lasted time.Duration)
	// Parameters publishes tools with the schema for models instead of their owner's schema. The Rust and Python
	// editions do that. [New] and [Tools] use it.
	Parameters bool
}

// Keys seal tokens that clients hold, and open them. No other program can read or change them.
type Keys = sealed.Keys

// NewKeys makes Keys from keys of 32 random bytes each. The first key seals, all keys open. To replace a key, put the
// new one in front of the old one. Drop the old one when its tokens are no longer needed.
func NewKeys(keys ...[]byte) (*Keys, error) { return sealed.NewKeys(keys...) }

// KeyFile reads keys from a file, one on each line, in hexadecimal or base64. The file holds two keys while one
// replaces the other. If there is no file, it creates one with a new key, readable only by its owner (0600). Processes
// that do so at the same time agree on one key. A file that other users may read or write is refused.
func KeyFile(ctx context.Context, path string) (*Keys, error) { return sealed.KeyFile(ctx, path) }

// DefaultInfo returns the name and version of a host without Options.Info.
func DefaultInfo() interop.Info {
	return interop.Info{Name: "indus-provider-host", Version: "0.1.0"}
}

// Host publishes a [Backend] to MCP clients over HTTP, stdio, or a transport that the program passes to it. One host
// may serve any number of them at once.
//
// Each client is answered in its own era. A request with the modern _meta stands alone; an initialize opens a legacy
// session.
type Host struct {
	front    *front
	opts     Options
	sessions *hostSessions
	parking  *parked.Pool
	ctx      context.Context // ends with the host, with the cause errHostClosed
	cancel   context.CancelCauseFunc

	inFlight *count.Tally[client] // requests over HTTP to this host and the hosts beside it
	serving  count.Group          // requests and connections that Close waits for
}

// The causes with which the host itself refuses or ends a call.
var (
	errBusy         = hostError("too many requests of this client are in flight")
	errHostClosed   = hostError("the host is closing; whether the call took effect is not known")
	errDraining     = hostError("the host is closing and takes no new requests; try again once it is back")
	errSessionEnded = hostError("the session has ended")
	errCallDropped  = hostError("cancelled by the client")
)

// New publishes the tools of src, and Options.Library. It starts nothing. A nil src has no tools.
func New(src toolbox.Source, opts *Options) *Host {
	return NewFront(Tools(src, opts), opts)
}

// NewFront publishes any backend, which must not be nil. It starts nothing. The backend must return valid JSON and must
// not change it later, because the front caches lists. [Backend] lists the optional methods.
func NewFront(b Backend, opts *Options) *Host {
	h := &Host{}
	if opts != nil {
		h.opts = *opts
	}
	o := &h.opts
	o.Info = cmp.Or(o.Info, DefaultInfo())
	o.MaxMessage = cmp.Or(max(o.MaxMessage, 0), interop.MaxMessage)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.MaxSessions = cmp.Or(o.MaxSessions, defaultMaxSessions)
	o.MaxClientSessions = cmp.Or(o.MaxClientSessions, defaultMaxClient)
	o.MaxInFlight = cmp.Or(max(o.MaxInFlight, 0), defaultMaxInFlight)
	o.Keys = cmp.Or(o.Keys, sealed.Random()).For(o.Replica.Name())
	o.Replay = cmp.Or(o.Replay, NewReplay(0, 0))
	o.Memory = cmp.Or(o.Memory, interop.NewMemory(0))
	o.SessionIdle = protocol.Duration(o.SessionIdle, defaultSessionIdle)
	o.KeepAlive = protocol.Duration(o.KeepAlive, defaultKeepAlive)
	o.ListWait = protocol.Duration(o.ListWait, defaultListWait)
	if b := o.Beside; b != nil {
		h.inFlight, h.sessions, h.parking = b.inFlight, b.sessions, b.parking
	} else {
		h.inFlight, h.sessions = &count.Tally[client]{}, newHostSessions(o)
		h.parking = parked.NewPool(parked.Options{
			Keys: o.Keys, MaxTotal: o.MaxParked, MaxPerCaller: o.MaxClientParked, Wait: o.ParkedWait,
		})
	}
	h.ctx, h.cancel = context.WithCancelCause(context.Background())
	h.front = newFront(b, o, h.parking)
	return h
}

// ServeStdio serves one client on this process's stdin and stdout, in either era. It blocks until stdin ends or ctx
// ends. The end of stdin is not an error; see [Host.ServeIO]. It closes neither stdin nor stdout.
func (h *Host) ServeStdio(ctx context.Context) error {
	in, restoreIn := pollable(os.Stdin, os.O_RDONLY)
	defer restoreIn()
	out, restoreOut := pollable(os.Stdout, os.O_WRONLY)
	defer restoreOut()
	return h.ServeIO(ctx, struct{ io.Reader }{in}, struct{ io.Writer }{out})
}

// ServeIO serves one client on a pair of streams with a message on each line. It blocks until r ends, ctx ends or the
// host is closed, and then returns nil. When r ends, open questions to the client end without an answer, and calls in
// flight have ten seconds to finish. When ctx ends or the host is closed, all calls are cancelled at once. Parked calls
// are cancelled, and subscriptions end with their result. The error is an [*interop.Fault] of kind [interop.Transport]:
// r or w failed, or the host was closed before.
//
// Before it returns, ServeIO closes r and w if they are an [io.Closer]. If r cannot be closed, one goroutine remains in
// its Read until that returns.
func (h *Host) ServeIO(ctx context.Context, r io.Reader, w io.Writer) error {
	lines := wire.NewLines(r, int(h.opts.MaxMessage)).Within(h.opts.Memory)
	return h.servePipe(ctx, &lineWire{lines: lines, r: r, w: w}, "stdio", h.opts.ListWait)
}

// Serve serves one client on a transport of the SDK: in memory, or IO. It ends as [Host.ServeIO] does. The first
// tools/list does not wait for servers.
func (h *Host) Serve(ctx context.Context, t mcp.Transport) error {
	c, err := sdkwire.Dial(ctx, t, int(h.opts.MaxMessage))
	if err != nil {
		return interop.NewFault(interop.Transport, "", "serve", err)
	}
	return h.servePipe(ctx, sdkWire{c}, "memory", 0)
}

// Drain is the first half of a graceful shutdown, before [Host.Close]. From now on, new requests except pings are
// refused. Requests in flight continue, with their progress and cancellation. Open questions to clients end without an
// answer, and the server that asked decides on the result. Drain returns nil when all requests are answered, or the
// error of ctx if ctx ends. It may be called twice, and concurrently.
func (h *Host) Drain(ctx context.Context) error {
	select {
	case <-h.front.drain():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends all sessions and streams, cancels the calls in flight and waits for everything that the host has started.
// Later requests are refused. It may be called twice. It does not wait for a reader that cannot be interrupted, such as
// the stdin of a terminal.
func (h *Host) Close() {
	idle := h.serving.Close()
	h.cancel(errHostClosed)
	h.sessions.close(h, errHostClosed)
	<-idle
	h.front.close()
}

// Counts returns the open sessions, the parked calls and the open streams, of this host and the hosts beside it. A
// session is a legacy session over HTTP, or a connection that is no HTTP. A stream is a GET of a session, or a
// subscriptions/listen over HTTP.
func (h *Host) Counts() (sessions, parked, streams int) {
	sessions, streams = h.sessions.counted()
	return sessions, h.parking.Count(), streams
}

// enter counts a request that Close must wait for and that its client has in flight.
func (h *Host) enter(c client) error {
	if !h.serving.Enter() {
		return errDraining
	}
	if c != (client{}) && !h.inFlight.Add(c, 1, h.opts.MaxInFlight, math.MaxInt) {
		h.serving.Leave()
		return errBusy
	}
	return nil
}

func (h *Host) leave(c client) {
	if c != (client{}) {
		h.inFlight.Remove(c, 1)
	}
	h.serving.Leave()
}
