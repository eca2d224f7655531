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

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sdkwire"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Defaults of [Options].
const (
	defaultSessionIdle = time.Hour
	defaultMaxSessions = 10_000
	defaultMaxClient   = 1000
	defaultMaxInFlight = 10_000
	defaultKeepAlive   = 25 * time.Second // below the half minute that proxies wait for a header
	defaultListWait    = 3 * time.Second  // @openai/agents gives up after 5 s, its start included
)

// Options tune a [Host]. nil and the zero value are good.
type Options struct {
	// Info is how the host names itself. Zero: [DefaultInfo].
	Info interop.Info
	// Instructions tell a client's model how to use the host; the backend's own, such as
	// those of its servers, are behind them. "": only those.
	Instructions string
	// MaxMessage bounds each message from a client, in bytes. 0: [interop.MaxMessage].
	MaxMessage int64
	// Memory bounds the bytes of all messages from clients; give it that of the fleet
	// ([interop.MountOptions].Memory), so that clients that do not read make room for
	// answers. nil: 256 MiB of its own.
	Memory *interop.Memory
	// Keys seal what clients hold for us, such as the ids of sessions. Hosts that stand for one
	// another have the same. nil: random ones, whose tokens end with the host.
	Keys *Keys
	// Replica is the address of this host for its peers, which stands sealed in the ids of its
	// sessions. "": it has none.
	Replica string
	// Logger gets the errors that no client sees. nil: silent.
	Logger *slog.Logger
	// Authenticate says who sends an HTTP request, such as identity.Guard.Principal. Its error refuses
	// the request: with the status, header and body of an [*interop.HTTPError] in its chain, or of one with the method
	// Refuse() (status int, header http.Header, body string), otherwise with 401 and no reason. A session belongs
	// to who opened it. For a stream that stays open (a GET, subscriptions/listen) it is asked again
	// every five seconds, and ends it by another answer. nil: everyone is "".
	Authenticate func(*http.Request) (toolbox.Principal, error)
	// Forward gives the names of the headers of HTTP requests that the backend gets to see
	// ([interop.Client].Header), as [http.CanonicalHeaderKey] writes them; it is called for each request.
	// nil: none.
	Forward func() []string
	// AllowedHosts are Host headers accepted in addition to the loopback names: a name, or
	// name:port. nil: on a loopback address none, on others any.
	AllowedHosts []string
	// AllowedOrigins are Origin headers accepted in addition to loopback origins and the
	// server's own, which is an address or one of AllowedHosts: "https://app.example".
	// Their pages may read the answers (CORS). nil: none.
	AllowedOrigins []string
	// SessionIdle is how long a legacy HTTP session without stream and call lives.
	// 0: an hour, negative: for good.
	SessionIdle time.Duration
	// MaxSessions bounds the legacy HTTP sessions; of the client who has most, the one
	// idle for longest makes room. 0: 10,000, negative: no bound.
	MaxSessions int
	// MaxClientSessions bounds those of one client, which is a principal, or without one an address
	// (of IPv6: a network of 64 bits); of his, the one idle for longest makes room.
	// Behind a proxy all have one address. 0: 1,000, negative: no bound.
	MaxClientSessions int
	// Beside is another host: what a client has open, parked or in flight at both counts for its bounds at each, and the sessions and
	// parked calls of both are bounded by the other's SessionIdle, MaxSessions, MaxClientSessions, MaxParked, MaxClientParked and ParkedWait. Both have the same Keys, Replica and Replay. It may be closed before
	// this one. nil: none.
	Beside *Host
	// MaxInFlight bounds the requests that one client (see MaxClientSessions) or one
	// connection of [Host.Serve] has in flight: those beyond are refused with HTTP 429,
	// and a connection is not read any further. A server's own calls have a bound
	// before: [interop.FleetOptions].MaxCalls. 0: 10,000.
	MaxInFlight int
	// Rates bounds how many requests a client (see MaxClientSessions) sends over HTTP: those beyond are refused with HTTP 429, and
	// Retry-After says when to send the next. Answers to what clients are asked do not count, nor do cancellations. nil: no bound.
	Rates *Rates
	// KeepAlive is the silence on an open HTTP answer after which a comment is
	// sent, for which a pending answer becomes an event stream. 0: 25 s, negative: never.
	KeepAlive time.Duration
	// Replay keeps what legacy clients were sent over HTTP, so that one that lost its connection gets
	// what it missed. nil: [NewReplay] of its own.
	Replay *Replay
	// ListWait bounds how long the first list on stdio waits for servers that have
	// not been heard yet, and of which nothing is listed because it is known: many clients
	// list once. 0: 3 s, negative: not at all.
	ListWait time.Duration
	// Library is prompts and resources that are published beside the tools. It concerns [New] and [Tools]. nil: none.
	Library *Library
	// MaxParked bounds the calls of modern clients that wait for answers to what their clients were asked
	// (SEP-2322). One more fails. 0: 1,000.
	MaxParked int
	// MaxClientParked bounds those of one principal. 0: 100.
	MaxClientParked int
	// ParkedWait is how long such a call waits for each answer. Then it is cancelled. 0: 5 min.
	ParkedWait time.Duration
	// Page is how many tools are on one page of tools/list. It concerns [New] and [Tools]. 0:
	// all, because many clients read one page.
	Page int
	// Exact publishes tools and results as their servers wrote them even where the
	// clients of an era refuse a whole list for it (a null title), or a result (one that
	// is no object, before 2026-07-28). false: what they cannot read is left out.
	Exact bool
	// Parameters is the seeds' way: tools are published with the schema that
	// models see instead of their owner's. It concerns [New] and [Tools].
	Parameters bool
}

// Keys seal tokens that clients hold, and open them: nobody else can read or alter one.
type Keys = sealed.Keys

// NewKeys takes keys of 32 random bytes. The first seals, all open: put a new one in front
// of the old one, and drop that when its tokens are no longer of use.
func NewKeys(keys ...[]byte) (*Keys, error) { return sealed.NewKeys(keys...) }

// KeyFile reads keys from a file: one on each line, in hexadecimal or base64, two while one
// replaces the other. Where there is no file, one is made with a new key, for its owner alone
// (0600); processes that do so at once agree. A file that others may read or write is refused.
func KeyFile(ctx context.Context, path string) (*Keys, error) { return sealed.KeyFile(ctx, path) }

// DefaultInfo is how a host names itself, unless its options say otherwise.
func DefaultInfo() interop.Info {
	return interop.Info{Name: "indus-provider-host", Version: "0.1.0"}
}

// Host publishes a [Backend] to MCP clients: over HTTP, stdio, or a transport
// that is handed to it, of which one host may serve any number at once.
//
// Every client is answered in its own era: a request with the modern _meta is
// served by itself, an initialize opens a legacy session.
type Host struct {
	front    *front
	opts     Options
	sessions *hostSessions
	parking  *parking
	ctx      context.Context // ends with the host, cause errHostClosed
	cancel   context.CancelCauseFunc

	inFlight *tally[client] // requests over HTTP to all hosts that stand beside one another
	serving  group          // requests and connections that Close waits for
}

// The causes for which the host itself refuses or ends a call.
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

// NewFront publishes any backend, which must not be nil. It starts nothing. What a backend returns is
// valid JSON that it does not change any more: the front keeps lists. See [Backend] for the methods that a backend may have.
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
	o.Keys = cmp.Or(o.Keys, sealed.Random())
	o.Replay = cmp.Or(o.Replay, NewReplay(0, 0))
	o.Memory = cmp.Or(o.Memory, interop.NewMemory(0))
	o.SessionIdle = protocol.Duration(o.SessionIdle, defaultSessionIdle)
	o.KeepAlive = protocol.Duration(o.KeepAlive, defaultKeepAlive)
	o.ListWait = protocol.Duration(o.ListWait, defaultListWait)
	if b := o.Beside; b != nil {
		h.inFlight, h.sessions, h.parking = b.inFlight, b.sessions, b.parking
	} else {
		h.inFlight, h.sessions, h.parking = &tally[client]{}, newHostSessions(o), newParking(o)
	}
	h.ctx, h.cancel = context.WithCancelCause(context.Background())
	h.front = newFront(b, o, h.parking)
	return h
}

// ServeStdio serves one client on this process's stdin and stdout, in either
// era. It blocks until stdin ends, which is no error, or ctx does; see [Host.ServeIO]. It closes neither of them.
func (h *Host) ServeStdio(ctx context.Context) error {
	in, restoreIn := pollable(os.Stdin, os.O_RDONLY)
	defer restoreIn()
	out, restoreOut := pollable(os.Stdout, os.O_WRONLY)
	defer restoreOut()
	return h.ServeIO(ctx, struct{ io.Reader }{in}, struct{ io.Writer }{out})
}

// ServeIO serves one client on a pair of streams with a message on each line.
// It blocks until r ends, ctx ends or the host is closed, and then returns nil.
// When r has ended, calls in flight have ten seconds to finish; otherwise they
// are cancelled at once, and so are calls that wait for an answer of the client. Subscriptions
// end with their result. The error is a [*interop.Fault] of kind [interop.Transport]: r or w failed, or the host
// was closed before.
//
// Before it returns, ServeIO closes r and w if they are an [io.Closer]. A Read of an r that cannot be closed
// goes on in one goroutine until it returns by itself.
func (h *Host) ServeIO(ctx context.Context, r io.Reader, w io.Writer) error {
	return h.servePipe(ctx, newLineWire(r, w, &h.opts), h.opts.ListWait)
}

// Serve serves one client on a transport of the SDK's: in memory, or IO. It
// ends as [Host.ServeIO] does. The first tools/list does not wait for servers.
func (h *Host) Serve(ctx context.Context, t mcp.Transport) error {
	c, err := sdkwire.Dial(ctx, t, int(h.opts.MaxMessage))
	if err != nil {
		return interop.NewFault(interop.Transport, "", "serve", err)
	}
	return h.servePipe(ctx, sdkWire{c}, 0)
}

// Drain is the first half of a gentle end, of which [Host.Close] is the other: new
// requests are refused from now on, save pings, and those in flight go on, with their progress
// and their cancellation; but what servers ask clients in their course ends without an answer, which is
// theirs to make a result of. It returns when all are answered or ctx ends, whose error that is.
// It may be called twice, and concurrently.
func (h *Host) Drain(ctx context.Context) error {
	select {
	case <-h.front.drain():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends all sessions and streams, cancels the calls in flight and waits
// for everything that the host has started; what comes later is refused. It may
// be called twice. It does not wait for a reader that cannot be interrupted,
// such as a terminal's stdin.
func (h *Host) Close() {
	idle := h.serving.close()
	h.cancel(errHostClosed)
	h.sessions.close(h, errHostClosed)
	<-idle
	h.front.close()
}

// enter counts one that Close must wait for, and that a client has in flight.
func (h *Host) enter(c client) error {
	if !h.serving.enter() {
		return errDraining
	}
	if c != (client{}) && !h.inFlight.add(c, 1, h.opts.MaxInFlight, math.MaxInt) {
		h.serving.leave()
		return errBusy
	}
	return nil
}

func (h *Host) leave(c client) {
	if c != (client{}) {
		h.inFlight.remove(c, 1)
	}
	h.serving.leave()
}
