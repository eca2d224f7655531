package interop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/inflight"
	"github.com/indusagi/indus/interop/internal/lane"
	"github.com/indusagi/indus/interop/internal/listing"
	"github.com/indusagi/indus/interop/internal/payload"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// EndpointOptions configures one endpoint. Nil and the zero value are valid.
type EndpointOptions struct {
	// Receive handles the server's requests and notifications. If it returns neither a result nor an error, the request
	// is refused. The context of a request ends when the server no longer wants the answer. If Receive is nil,
	// notifications are dropped and requests are refused. Ping is always answered.
	Receive Peer
	// Capabilities is the object of capabilities that we declare if the request belongs to no client (see [Client]). It
	// declares the questions that Receive can answer. A modern server asks by a result. The request is then sent again
	// with the answers of Receive, up to ten times. If it is nil, nothing is declared.
	Capabilities json.RawMessage
	// Around wraps every request that is sent, tool calls and all others. The first wrapper is the outermost.
	Around []func(next Peer) Peer
	// Typed receives a result for a modern client with another type than "complete", such as a question or a task. It
	// returns the result that the client receives instead. If it is nil, the result stays unchanged.
	Typed func(ctx context.Context, m Message, kind string, result json.RawMessage) (json.RawMessage, error)
	// Transport replaces the server's configured transport, which is then never used (tests, in-process servers). For
	// HTTP, set HTTPClient instead. If it is nil, the configured transport is used.
	Transport mcp.Transport
	// HTTPClient sends every HTTP request, and Server.TLS then has no effect. If it is nil, the endpoint makes its own
	// client.
	HTTPClient *http.Client
	// RoundTripper wraps the transport of HTTP requests to the server, for example with a sign-in. base is the
	// transport of HTTPClient, or else one of the connection that follows Server.TLS. Its own errors are in the chain
	// of the fault. An error with a method SignIn() (resource, who string) asks for a person. An error with a method
	// Unsent() means that the request was not run. The argument who is Principal. If RoundTripper is nil, nothing is
	// wrapped.
	RoundTripper func(s config.Server, who toolbox.Principal, base http.RoundTripper) http.RoundTripper
	// Credential is called with the Authorization value that a sign-in (RoundTripper) or a forwarded header
	// ([config.Forward]) adds to requests. It is called before the first request with that value is sent, and must not
	// block. If it is nil, it is not called.
	Credential func(authorization config.Secret)
	// Tap receives each request and notification that passes over the connection in either direction, except in the
	// handshake. answered then receives the result or the error of a request, or two nils for a refusal. It must neither
	// block nor change bytes. Messages of the server are masked as in [config.Server.Mask]. If Tap is nil, nothing is
	// reported.
	Tap func(sent bool, m Message) (answered func(result json.RawMessage, err error))
	// Ended is called at the end of a connection that was ready, with its last status. It must not block. If it is nil,
	// nothing is called.
	Ended func(s EndpointStatus, lasted time.Duration)
	// Trace is called at the steps of connecting over stdio. If it is nil, nothing is traced.
	Trace *Trace
	// Lease bounds the life of the process of a server that runs once ([config.Server].Single), such as a *cluster.Lease.
	// Left is the time until the process must have ended, and 0 when the lease is over. Then Done is closed. The process
	// is then killed, receives nothing and is not started again. If Lease is nil, only the connection bounds its life.
	Lease interface {
		Left() time.Duration
		Done() <-chan struct{}
	}
	// Elsewhere sends requests to the process of a server that another program runs ([config.Server].Single), where it is
	// served over streamable HTTP of 2026-07-28. Their URL names no host. If it is nil, the process is started here.
	Elsewhere http.RoundTripper
	// Era is the era that the server spoke in its last connection. It is tried first, unless Server.Era sets the era.
	// It is empty if it is not known.
	Era Era
	// Info is the name and version that we send. The zero value means [ClientInfo].
	Info Info
	// MaxMessage bounds each message from the server, in bytes. Zero means [MaxMessage].
	MaxMessage int
	// Memory bounds the bytes of all messages together. If it is nil, each message is only bounded alone. A [Fleet]
	// sets its own.
	Memory *Memory
	// MaxPages bounds the pages of one listing. Zero means 1,000.
	MaxPages int
	// Limits bounds the input schema of each tool. A tool beyond them is quarantined. The zero value means 64 levels,
	// 10,000 nodes and 1 MiB.
	Limits schema.Limits
	// CancelBeforeCallOnly checks the context only before a call is sent, as the seeds did. The call then ends by
	// itself or by our own deadlines.
	CancelBeforeCallOnly bool
	// Logger logs events that no caller receives as a result or an error. If it is nil, nothing is logged.
	Logger *slog.Logger
	// Principal is the only user of the connection, and provides its credentials. A [Fleet] sets it on the connections of
	// a server with [config.PerPrincipal], and sets [config.AnyPrincipal] on the connection that lists for all. If it is
	// empty, the connection serves all principals, or the one without a name.
	Principal toolbox.Principal

	// The fleet sets the fields below.
	stale       chan struct{} // receives a value when the list has changed
	broadcast   func(Message) // receives the server's messages outside of requests that concern all clients
	updatesLost func()        // called if updates of resources may have been lost
	// onQuestion is set if only one client, which declares Capabilities, can be asked here. It is called for each
	// question.
	onQuestion func()
	private    bool                                        // it serves one principal, which alone sees its tasks
	findTool   func(string) *listing.Tool                  // returns a tool as it was last listed
	onResult   func(method string, result json.RawMessage) // receives the results of requests
	habits     *lane.Habits                                // records which kinds of requests ask; may be nil
	retired    context.Context                             // at its end, questions end too; nil if it never ends

	probeWait time.Duration
}

// EndpointStatus describes the health of an endpoint at one moment.
type EndpointStatus struct {
	Server  string
	Phase   Phase
	Era     Era           // empty before ready
	Version string        // the agreed protocol revision; empty before ready
	Tools   int           // the number of tools in the cached list; 0 before the first list
	Fault   *Fault        // the reason if it is faulted; nil otherwise
	Took    time.Duration // from Open to ready; 0 before
	Noise   int           // lines on stdout that were not messages
	// Unprobed reports that the server did not answer the question for its era in time. It is used as a legacy server. A
	// [Fleet] asks again with the next connection, once.
	Unprobed bool
	// Replacing reports that the server serves while a successor with a newer configuration connects beside it. Only a
	// [Fleet] sets it.
	Replacing bool
	// Retry is the time of the next attempt to connect, if the server is down and an attempt follows. It is in the past
	// while the attempt runs. Only a [Fleet] sets it.
	Retry time.Time
}

// Endpoint is one connection to one MCP server. It is used once: it stays Closed or Faulted, and a [Fleet] makes a new
// one. All methods may be called from any goroutine.
type Endpoint struct {
	server     config.Server
	secrets    *secret.Set
	opts       EndpointOptions
	do         Peer   // send, wrapped by all of Around
	modernMeta []byte // the members of _meta that a modern server receives

	forwardedHeaders []string // names of headers, see [config.Forward.Names]

	// greeted is closed when the server has the answers to its first questions; see [Endpoint.greet]. It is nil if there
	// is nothing to wait for.
	greeted  chan struct{}
	greeting atomic.Bool // a request has started to greet the server

	stderr atomic.Pointer[func() string] // the end of the process's stderr; nil: there is no process

	denials denials

	tokens   atomic.Int64
	timeouts atomic.Int64 // requests in a row without a reply in time
	active   inflight.Table[*flightClient]
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	running  sync.WaitGroup
	done     chan struct{} // closed when the phase is terminal

	mu           sync.Mutex
	phase        Phase
	fault        *Fault
	opened       chan struct{} // closed at the end of the attempt to connect
	openErr      error         // of that attempt; set before opened is closed
	conn         conn.Conn
	negotiated   conn.Handshake
	connectTime  time.Duration
	list         *listing.List  // the last list, if it is still valid
	config       *config.Server // server, with the settings that were applied last; immutable
	inFlight     int            // requests of callers that are in flight
	startedCalls uint64         // requests of callers so far
	drained      watch.Wake     // at the end of the last request in flight
	listRequest  *listAttempt
	renewListen  func() // renews the subscription to list changes; nil if there is none
	listChanges  uint64 // the number of list_changed notifications
}

// NewEndpoint returns an idle endpoint. It starts nothing: [Endpoint.Open] does.
func NewEndpoint(s config.Server, opts *EndpointOptions) *Endpoint {
	s = s.Clone()
	e := &Endpoint{
		server: s, forwardedHeaders: s.Forward.Names(), config: &s, secrets: secret.New(s.Hidden()...),
		phase: Idle, done: make(chan struct{}), opened: make(chan struct{}),
	}
	if opts != nil {
		e.opts = *opts
	}
	e.opts.Info = cmp.Or(e.opts.Info, ClientInfo())
	e.opts.MaxMessage = cmp.Or(e.opts.MaxMessage, MaxMessage)
	e.opts.MaxPages = cmp.Or(e.opts.MaxPages, 1000)
	if learn := e.opts.Credential; learn != nil {
		e.secrets.OnLearn(func(value string) { learn(config.NewSecret(value)) })
	}
	e.opts.Logger = e.secrets.Logger(cmp.Or(e.opts.Logger, slog.New(slog.DiscardHandler)))
	if e.opts.onQuestion != nil && protocol.CheckClientRequest(e.opts.Capabilities, protocol.MethodRoots, nil) == nil {
		e.greeted = make(chan struct{})
	}
	meta := conn.ModernMeta(e.opts.Info, e.opts.Capabilities)
	e.modernMeta = meta[1 : len(meta)-1]
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.do = e.send
	if t, ok := s.Transport.(config.Stdio); ok && t.Sandbox != nil {
		e.do = e.withDenials(e.do)
	}
	for i := len(e.opts.Around) - 1; i >= 0; i-- {
		e.do = e.opts.Around[i](e.do)
	}
	return e
}

// Format prints the server and the phase for every verb of package fmt.
func (e *Endpoint) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "%v: %s", e.server, e.Phase())
}

// Server returns the configuration of the endpoint. In a fleet, Tools and Profile are the values that were applied
// last.
func (e *Endpoint) Server() config.Server {
	e.mu.Lock()
	defer e.mu.Unlock()
	return *e.config
}

// Phase returns the current phase of the endpoint.
func (e *Endpoint) Phase() Phase {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.phase
}

// Era returns the era that the server speaks, or "" before ready.
func (e *Endpoint) Era() Era { return e.handshake().Era }

// Capabilities returns the server's capabilities as it wrote them, or nil before ready.
func (e *Endpoint) Capabilities() json.RawMessage { return e.handshake().Capabilities }

// Instructions returns the server's instructions for its users, or "" before ready.
func (e *Endpoint) Instructions() string { return e.handshake().Instructions }

// ServerInfo returns the object in which the server names itself, as it wrote it. It returns nil before ready, or if
// the server sent none.
func (e *Endpoint) ServerInfo() json.RawMessage { return e.handshake().ServerInfo }

func (e *Endpoint) handshake() conn.Handshake {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.negotiated
}

// Done returns a channel that is closed once the endpoint is Closed or Faulted.
func (e *Endpoint) Done() <-chan struct{} { return e.done }

// Stderr returns the end of the output of the server's process on stderr: at most 8 KiB, with secrets masked, and safe
// for a terminal. It is "" if the server is no process. It may be called after the end of the process.
func (e *Endpoint) Stderr() string {
	if read := e.stderr.Load(); read != nil {
		return (*read)()
	}
	return ""
}

// Status returns a snapshot of the endpoint's health.
func (e *Endpoint) Status() EndpointStatus {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := EndpointStatus{
		Server: e.server.ID, Phase: e.phase, Era: e.negotiated.Era, Version: e.negotiated.Version,
		Fault: e.fault, Took: e.connectTime, Unprobed: e.negotiated.Unprobed,
	}
	if e.list != nil {
		s.Tools = len(e.list.Tools)
	}
	if e.conn != nil {
		s.Noise = e.conn.Noise()
	}
	return s
}

// phasesBefore holds the phases from which an endpoint can change to a phase.
var phasesBefore = map[Phase][]Phase{
	Connecting: {Idle},
	Ready:      {Connecting},
	Closing:    {Idle, Connecting, Ready},
	Closed:     {Closing},
	Faulted:    {Connecting, Ready},
}

// setPhase changes the phase, and is the only place that does. It reports whether the life of an endpoint allows this
// step. Call it with mu held.
func (e *Endpoint) setPhase(next Phase) bool {
	if !slices.Contains(phasesBefore[next], e.phase) {
		return false
	}
	e.phase = next
	if next.Terminal() {
		close(e.done)
	}
	return true
}

// Open connects and performs the handshake. Concurrent callers share one attempt and its result. If the context of a
// caller ends, that caller receives its error, and the attempt goes on for the others. On a ready endpoint Open returns
// nil, on a faulted endpoint the stored fault, and on a closed endpoint NotConnected.
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
		e.setPhase(Connecting)
		e.running.Go(e.connect)
	}
	e.mu.Unlock()
	select {
	case <-e.opened:
		return e.openErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// connect runs the only attempt of the endpoint's life.
func (e *Endpoint) connect() {
	start := time.Now()
	ctx, cancel := conn.WithDeadline(e.ctx, e.server.ConnectTime(), 0)
	c, handshake, err := e.dial(ctx)
	if err == nil && e.opts.Tap != nil {
		c = tappedConn{c, e}
	}
	handshake.Instructions = e.secrets.Mask(handshake.Instructions)
	for _, field := range []*json.RawMessage{&handshake.Capabilities, &handshake.ServerInfo} {
		*field = e.secrets.JSON(*field)
		if len(*field) > 0 && (*field)[0] != '{' {
			*field = nil // masking made it invalid, so it cannot be shown
		}
	}
	if err != nil {
		err = e.connectFault(ctx, err)
	}
	cancel()

	e.mu.Lock()
	switch {
	case err == nil && e.setPhase(Ready):
		e.conn, e.negotiated, e.connectTime = c, handshake, time.Since(start)
		e.running.Go(func() { e.watchConnection(c, handshake) })
	case err == nil: // closed meanwhile
		err = e.notConnected()
		defer c.Close()
	default:
		if e.setPhase(Faulted) {
			errors.As(err, &e.fault)
		}
	}
	e.mu.Unlock()
	e.openErr = err
	close(e.opened)
}

// connectFault returns the fault of a failed connection. Its kind depends on the transport, or is Timeout if our own
// deadline ended the attempt.
func (e *Endpoint) connectFault(ctx context.Context, err error) error {
	if e.ctx.Err() != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.notConnected()
	}
	if late, ok := errors.AsType[*conn.DeadlineError](context.Cause(ctx)); ok {
		if !errors.As(err, new(*conn.DeadlineError)) { // otherwise err has more detail than late alone
			err = late
		}
		return e.newFault(Timeout, "connect", err)
	}
	kind := Transport
	if _, ok := e.server.Transport.(config.Stdio); ok && e.opts.Transport == nil && e.opts.Elsewhere == nil {
		kind = SpawnFailed
	}
	return e.newFault(kind, "connect", err)
}

// watchConnection waits until the connection ends. Meanwhile it keeps the subscription at a modern server.
func (e *Endpoint) watchConnection(c conn.Conn, handshake conn.Handshake) {
	began := time.Now()
	if handshake.Era == Modern && len(e.watchedKinds()) > 0 {
		e.running.Go(func() { e.listen(c) })
	}
	<-c.Done()
	e.fail("connection lost", c.Err())
	c.Close()
	if e.opts.Ended != nil {
		e.opts.Ended(e.Status(), time.Since(began))
	}
}

// fail changes the endpoint to Faulted unless it has already ended. It reports whether it did.
func (e *Endpoint) fail(doing string, cause error) bool {
	e.mu.Lock()
	lost := e.setPhase(Faulted)
	if lost {
		e.fault = e.newFault(Transport, doing, cause)
	}
	e.mu.Unlock()
	if lost {
		e.opts.Logger.Warn(doing, "server", e.server.ID, "kind", Transport, "err", cause)
	}
	return lost
}

// Close ends the connection in bounded time. It waits for everything that the endpoint started, its process included,
// and for Receive to return. It never fails and may be called twice, but not from within Receive or Around. A faulted
// endpoint stays faulted, with its fault.
func (e *Endpoint) Close() {
	e.mu.Lock()
	closing := e.setPhase(Closing)
	c := e.conn
	e.mu.Unlock()
	e.cancel()
	if c != nil {
		c.Close()
	}
	e.running.Wait()
	if closing {
		e.mu.Lock()
		e.setPhase(Closed)
		e.mu.Unlock()
		return
	}
	<-e.done
}

// notConnected returns the fault of an operation that needs a ready endpoint. Call it with mu held.
func (e *Endpoint) notConnected() *Fault {
	var cause error
	if e.fault != nil {
		cause = e.fault
	}
	return NewFault(NotConnected, e.server.ID, fmt.Sprintf("not connected (%s)", e.phase), cause)
}

// readyConn returns the connection of a ready endpoint.
func (e *Endpoint) readyConn() (conn.Conn, conn.Handshake, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.phase.Usable() {
		return nil, conn.Handshake{}, e.notConnected()
	}
	return e.conn, e.negotiated, nil
}

// Invoke calls one of the server's tools by the server's own name for it. If the tool ran and failed, the result's
// IsError is true and err is nil. The caller's own cancellation or deadline is returned as ctx.Err(). If Server.Tools
// leaves the tool out, Invoke returns a [*Fault] of kind ToolError and sends nothing.
func (e *Endpoint) Invoke(ctx context.Context, tool string, args json.RawMessage) (*toolbox.Result, error) {
	e.beginCall()
	defer e.endCall()
	if err := e.deniedFault(tool); err != nil {
		return nil, err
	}
	params, err := payload.CallParams(toolbox.Call{Name: tool, Input: args})
	if err != nil {
		return nil, e.paramsFault(tool, err)
	}
	m := Message{Method: protocol.MethodToolsCall, Params: params}
	result, err := e.call(ctx, tool, m)
	if err != nil {
		return nil, err
	}
	r := newResult(e, tool, m, result)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return r, nil
}
