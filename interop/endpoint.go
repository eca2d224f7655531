package interop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// EndpointOptions tune one endpoint. nil and the zero value are good.
type EndpointOptions struct {
	// Receive takes the server's requests and notifications. A request for which it returns
	// neither result nor error is refused; its context ends when the server no
	// longer wants the answer. nil: notifications are dropped, requests are
	// refused, and ping is answered in any case.
	Receive Peer
	// Capabilities is what we declare to the server, an object, where no client's request is
	// passed on (see [Client]): what Receive can be asked. A modern server asks by a result;
	// the request then goes out again with what Receive has answered, up to ten times.
	// nil: nothing.
	Capabilities json.RawMessage
	// Around wraps everything that is sent, tools and all else; the first is outermost.
	Around []func(next Peer) Peer
	// Typed takes a result for a modern client that is of another type than "complete", such as what its server asks
	// for, or a task, and returns what that client gets in its place. nil: it stays.
	Typed func(ctx context.Context, m Message, kind string, result json.RawMessage) (json.RawMessage, error)
	// Transport replaces the server's configured transport, which is then never
	// used (tests, in-process servers). For HTTP, inject HTTPClient. nil: none.
	Transport mcp.Transport
	// HTTPClient sends every HTTP request, whatever Server.TLS says. nil: a client of the endpoint's own.
	HTTPClient *http.Client
	// RoundTripper wraps what carries HTTP to the server, such as a sign-in; base is HTTPClient's, else one
	// of the connection's own with what Server.TLS says. An error of its own is in the chain of the fault;
	// one that has a method SignIn() (resource, who string) asks for a person, and one that has a method Unsent() says that the
	// request was not run. who is Principal. nil: nothing is wrapped.
	RoundTripper func(s Server, who toolbox.Principal, base http.RoundTripper) http.RoundTripper
	// Credential is called with the Authorization that a sign-in (RoundTripper) or a forwarded header ([Forward])
	// puts on requests, before the first request that has it is sent. It must not block. nil: it is not called.
	Credential func(authorization Secret)
	// Tap is shown each request and notification that goes over the connection, but for those of the
	// handshake: sent to the server, or received of it. A request's result or error is then given to
	// answered; both nil is a refusal. It must neither block nor change bytes. What the server says
	// is masked as [Server.Mask] has it. nil: none.
	Tap func(sent bool, m Message) (answered func(result json.RawMessage, err error))
	// Trace is called at the steps of connecting over stdio. nil: none.
	Trace *Trace
	// Era is what the server spoke when it was last seen: tried first, where Server.Era
	// does not say what it is. "": not known.
	Era Era
	// Info is how we name ourselves. Zero: [ClientInfo].
	Info Info
	// MaxMessage bounds each message from the server, in bytes. 0: [MaxMessage].
	MaxMessage int
	// Memory bounds the bytes of all messages together; nil: each is bounded alone,
	// except in a [Fleet], which gives its own.
	Memory *Memory
	// MaxPages bounds one listing. 0: 1,000.
	MaxPages int
	// Limits bound each tool's input schema; beyond them the tool is quarantined.
	// Zero: 64 levels, 10,000 nodes, 1 MiB.
	Limits schema.Limits
	// CancelBeforeCallOnly is the seeds' way: a call looks at its context before it
	// goes out, and is then left to end by itself or by our own deadlines.
	CancelBeforeCallOnly bool
	// Logger logs what no caller is there to see. nil: silent.
	Logger *slog.Logger
	// Principal is for whom alone the connection is, whose credentials it takes. A [Fleet] sets it on those of a server with
	// [PerPrincipal], and [AnyPrincipal] on the one that lists for all. "": it is for all, or for the one who has no name.
	Principal toolbox.Principal

	stale     chan struct{}                               // the fleet's: gets a value when the list has changed
	outside   func(Message)                               // the fleet's: takes what the server says outside of requests, for everybody
	gap       func()                                      // the fleet's: updates of resources may have been lost
	lane      func()                                      // it belongs to one client, which declares Capabilities, and which alone its server can ask: called when it does; nil: it does not
	private   bool                                        // it is one principal's: what is said of tasks is for nobody else
	named     func(string) *listedTool                    // the fleet's: a tool as it was last listed
	result    func(method string, result json.RawMessage) // the fleet's: sees what requests bring
	habits    *habits                                     // the fleet's: learns which requests ask; nil: nothing does
	retired   context.Context                             // the fleet's: when it ends nobody is asked any more; nil: it never does
	probeWait time.Duration
}

// EndpointStatus is an endpoint's health at one moment.
type EndpointStatus struct {
	Server  string
	Phase   Phase
	Era     Era           // "" before ready
	Version string        // the revision that was agreed on; "" before ready
	Tools   int           // in the cached listing; 0 before the first
	Fault   *Fault        // why it is faulted; nil otherwise
	Took    time.Duration // from Open to ready; 0 before
	Noise   int           // lines on stdout that were no messages
	// Replacing: it serves, and a successor with a newer configuration is being
	// connected beside it. Only a [Fleet] says so.
	Replacing bool
}

// Endpoint is one connection to one MCP server. It is single-shot: once Closed
// or Faulted it stays so, and a [Fleet] mints a new one. All methods may be
// called from any goroutine.
type Endpoint struct {
	server  Server
	secrets *secret.Set
	opts    EndpointOptions
	do      Peer   // send, with all of Around about it
	modern  []byte // the members of _meta that a modern server gets

	forwards []string // names of headers, see [Forward.Names]

	greeted chan struct{} // closed when the server has what it asks for at first, see [Endpoint.greet]; nil: nothing waits for that
	greets  atomic.Bool   // a request does so

	tokens  atomic.Int64
	silent  atomic.Int64 // requests in a row that were not answered in time
	talks   talks
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup
	gone    chan struct{} // closed when the phase is terminal

	mu          sync.Mutex
	phase       Phase
	fault       *Fault
	attempt     *attempt // of Open
	conn        conn.Conn
	shake       conn.Handshake
	took        time.Duration
	list        *listing // the last one that is still good
	config      *toolConfig
	calls       int    // requests of others that are under way
	begun       uint64 // and how many there were
	quiet       chan struct{}
	listing     *listAttempt
	listenAgain func() // makes the subscription to changes of lists again; nil: there is none
	changes     uint64 // how often the server said list_changed
}

type attempt struct {
	done chan struct{}
	err  error // set before done is closed
}

// NewEndpoint is an idle endpoint; nothing is started before [Endpoint.Open].
func NewEndpoint(s Server, opts *EndpointOptions) *Endpoint {
	s = s.clone()
	e := &Endpoint{server: s, forwards: s.Forward.Names(), config: toolConfigOf(s), secrets: s.secrets(), phase: Idle, gone: make(chan struct{})}
	if opts != nil {
		e.opts = *opts
	}
	e.opts.Info = cmp.Or(e.opts.Info, ClientInfo())
	e.opts.MaxMessage = cmp.Or(e.opts.MaxMessage, MaxMessage)
	e.opts.MaxPages = cmp.Or(e.opts.MaxPages, 1000)
	if learn := e.opts.Credential; learn != nil {
		e.secrets.Reporting(func(value string) { learn(NewSecret(value)) })
	}
	e.opts.Logger = e.secrets.Logger(cmp.Or(e.opts.Logger, slog.New(slog.DiscardHandler)))
	if e.opts.lane != nil && protocol.MayAsk(e.opts.Capabilities, protocol.MethodRoots, nil) == nil {
		e.greeted = make(chan struct{})
	}
	meta := conn.ModernMeta(e.opts.Info, e.opts.Capabilities)
	e.modern = meta[1 : len(meta)-1]
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.do = e.send
	for i := len(e.opts.Around) - 1; i >= 0; i-- {
		e.do = e.opts.Around[i](e.do)
	}
	return e
}

// Format is what every verb of package fmt prints: the server and the phase.
func (e *Endpoint) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "%v: %s", e.server, e.Phase())
}

// Server is the configuration that the endpoint was made with; of a fleet's, Tools
// and Profile are those that were applied last.
func (e *Endpoint) Server() Server {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.config.of(e.server)
}

// Phase is where the endpoint stands.
func (e *Endpoint) Phase() Phase {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.phase
}

// Era is what the server turned out to speak; "" before ready.
func (e *Endpoint) Era() Era { return e.handshake().Era }

// Capabilities is what the server says it can do, as it wrote it; nil before ready.
func (e *Endpoint) Capabilities() json.RawMessage { return e.handshake().Capabilities }

// Instructions is what the server says to whoever uses it; "" before ready.
func (e *Endpoint) Instructions() string { return e.handshake().Instructions }

// ServerInfo is how the server names itself, an object as it wrote it; nil before ready, or
// where it does not.
func (e *Endpoint) ServerInfo() json.RawMessage { return e.handshake().ServerInfo }

func (e *Endpoint) handshake() conn.Handshake {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shake
}

// Done is closed once the endpoint is Closed or Faulted.
func (e *Endpoint) Done() <-chan struct{} { return e.gone }

// Status is a snapshot of the endpoint's health.
func (e *Endpoint) Status() EndpointStatus {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := EndpointStatus{
		Server: e.server.ID, Phase: e.phase, Era: e.shake.Era, Version: e.shake.Version,
		Fault: e.fault, Took: e.took,
	}
	if e.list != nil {
		s.Tools = len(e.list.tools)
	}
	if e.conn != nil {
		s.Noise = e.conn.Noise()
	}
	return s
}

// to is the one place where the phase changes. It reports whether the step is
// one that the life of an endpoint has. Call it with mu held.
func (e *Endpoint) to(next Phase) bool {
	ok := false
	switch next {
	case Connecting:
		ok = e.phase == Idle
	case Ready:
		ok = e.phase == Connecting
	case Closing:
		ok = !e.phase.Terminal() && e.phase != Closing
	case Closed:
		ok = e.phase == Closing
	case Faulted:
		ok = e.phase == Connecting || e.phase == Ready
	}
	if ok {
		e.phase = next
		if next.Terminal() {
			close(e.gone)
		}
	}
	return ok
}

// Open connects and shakes hands. Concurrent callers share one attempt and its
// result; a caller whose context ends gets its error and leaves the attempt to
// the others. Open on a ready endpoint is nil, on a faulted one the fault that
// is stored, on a closed one NotConnected.
func (e *Endpoint) Open(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e.mu.Lock()
	switch e.phase {
	case Ready:
		e.mu.Unlock()
		return nil
	case Faulted, Closing, Closed:
		defer e.mu.Unlock()
		if e.fault != nil {
			return e.fault
		}
		return e.notConnected()
	case Idle:
		e.to(Connecting)
		e.attempt = &attempt{done: make(chan struct{})}
		e.running.Go(func() { e.connect(e.attempt) })
	}
	a := e.attempt
	e.mu.Unlock()
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// connect is the one attempt of the endpoint's life.
func (e *Endpoint) connect(a *attempt) {
	start := time.Now()
	ctx, cancel := withDeadline(e.ctx, e.server.Timeouts.Connect, protocol.DefaultConnect)
	c, shake, err := e.dial(ctx)
	if err == nil && e.opts.Tap != nil {
		c = tapped{c, e}
	}
	shake.Instructions = e.secrets.Mask(shake.Instructions)
	for _, said := range []*json.RawMessage{&shake.Capabilities, &shake.ServerInfo} {
		if *said = e.secrets.JSON(*said); len(*said) > 0 && (*said)[0] != '{' {
			*said = nil // it cannot be shown without a secret
		}
	}
	if err != nil {
		err = e.connectFault(ctx, err)
	}
	cancel()

	e.mu.Lock()
	switch {
	case err == nil && e.to(Ready):
		e.conn, e.shake, e.took = c, shake, time.Since(start)
		e.running.Go(func() { e.attend(c, shake) })
	case err == nil: // closed meanwhile
		err = e.notConnected()
		defer c.Close()
	default:
		if e.to(Faulted) {
			errors.As(err, &e.fault)
		}
	}
	e.mu.Unlock()
	a.err = err
	close(a.done)
}

// connectFault gives a failure to connect its kind: by the transport that was
// tried, or Timeout where our own deadline ended it.
func (e *Endpoint) connectFault(ctx context.Context, err error) error {
	if e.ctx.Err() != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.notConnected()
	}
	var late *conn.DeadlineError
	if errors.As(context.Cause(ctx), &late) {
		if !errors.As(err, &late) { // else it says more than late alone
			err = late
		}
		return e.newFault(Timeout, "connect", err)
	}
	kind := Transport
	if _, ok := e.server.Transport.(Stdio); ok && e.opts.Transport == nil {
		kind = SpawnFailed
	}
	return e.newFault(kind, "connect", err)
}

// attend waits for the connection's death, and keeps a modern server's
// subscription while it lives.
func (e *Endpoint) attend(c conn.Conn, shake conn.Handshake) {
	if shake.Era == Modern && len(e.changing()) > 0 {
		e.running.Go(func() { e.listen(c) })
	}
	<-c.Done()
	e.lose("connection lost", c.Err())
	c.Close()
}

// lose makes the endpoint a faulted one, unless it is over already, and reports whether it did.
func (e *Endpoint) lose(doing string, cause error) bool {
	e.mu.Lock()
	lost := e.to(Faulted)
	if lost {
		e.fault = e.newFault(Transport, doing, cause)
	}
	e.mu.Unlock()
	if lost {
		e.opts.Logger.Warn(doing, "server", e.server.ID, "kind", Transport, "err", cause)
	}
	return lost
}

// Close ends the connection in bounded time and waits for all that the
// endpoint started, its process included, and for Receive to return. It never
// fails and may be called twice, but not from within Receive or Around. A
// faulted endpoint stays faulted, with its fault.
func (e *Endpoint) Close() {
	e.mu.Lock()
	mine := e.to(Closing)
	c := e.conn
	e.mu.Unlock()
	e.cancel()
	if c != nil {
		c.Close()
	}
	e.running.Wait()
	if mine {
		e.mu.Lock()
		e.to(Closed)
		e.mu.Unlock()
		return
	}
	<-e.gone
}

// notConnected is the fault of whatever needs a ready endpoint. Call it with mu held.
func (e *Endpoint) notConnected() *Fault {
	var cause error
	if e.fault != nil {
		cause = e.fault
	}
	return NewFault(NotConnected, e.server.ID, fmt.Sprintf("not connected (%s)", e.phase), cause)
}

// ready is the connection of a ready endpoint.
func (e *Endpoint) ready() (conn.Conn, conn.Handshake, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.phase.Usable() {
		return nil, conn.Handshake{}, e.notConnected()
	}
	return e.conn, e.shake, nil
}

// Invoke calls one of the server's tools by the server's own name for it.
// Where the tool ran and failed, the result's IsError is true and err is nil.
// The caller's own cancellation or deadline comes back as ctx.Err(). A tool that
// Server.Tools leaves out is a [*Fault] of kind ToolError, and nothing goes out.
func (e *Endpoint) Invoke(ctx context.Context, tool string, args json.RawMessage) (*toolbox.Result, error) {
	e.begin()
	defer e.end()
	r, err := e.callTool(ctx, tool, toolbox.Call{Name: tool, Input: args})
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}
