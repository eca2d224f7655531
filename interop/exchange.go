package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/indusagi/indus/internal/memory"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/internal/advice"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/lane"
	"github.com/indusagi/indus/interop/internal/listing"
	"github.com/indusagi/indus/interop/internal/payload"
	"github.com/indusagi/indus/toolbox"
)

// Do sends one request of any method and waits for its result. [Endpoint.Tools] and [Endpoint.Invoke] are built on it.
// Notifications and requests that the server sends meanwhile go to [ClientOf] ctx, or else to EndpointOptions.Receive,
// with m.Of set.
//
// The reserved keys of _meta are set for the server's era. All other bytes of the params and of the result pass
// unchanged. There is one exception: if a modern server asks by a result, Do obtains the answers and repeats the
// request. It does so if ctx has a legacy client, or if EndpointOptions.Capabilities declares the answers. A failed
// request leaves the endpoint ready.
//
// The caller's own cancellation or deadline is returned as ctx.Err(). Every other failure is a [*Fault]. An [*RPCError]
// in its chain is the server's own error reply. Of Server.Tools, only Allow and Deny apply here. A tools/call is
// refused as in [Endpoint.Invoke]. A tools/list returns the server's own list.
func (e *Endpoint) Do(ctx context.Context, m Message) (json.RawMessage, error) {
	e.beginCall()
	defer e.endCall()
	if m.Params != nil && !wire.Valid(m.Params) {
		return nil, NewFault(failureKind(m.Method), e.server.ID, m.Method, errors.New("the params are not valid JSON"))
	}
	if m.Method == protocol.MethodToolsCall {
		if _, err := protocol.OneMember(m.Params, "name"); err != nil {
			return nil, e.paramsFault(paramName(m), err)
		}
		if err := e.deniedFault(paramName(m)); err != nil {
			return nil, err
		}
		m.tool = e.findTool(paramName(m))
	}
	if m.back == nil {
		m.back = e.peerFor(ctx)
	}
	result, _, err := e.exchange(ctx, m)
	return result, err
}

// peerFor returns the peer that receives messages related to a request.
func (e *Endpoint) peerFor(ctx context.Context) Peer {
	if c := ClientOf(ctx); c != nil {
		return c.Back
	}
	return e.opts.Receive
}

// deniedFault returns the fault of a call to a tool that the configuration leaves out, or nil if the call is allowed.
// It depends only on the name, so it holds before any listing.
func (e *Endpoint) deniedFault(tool string) error {
	e.mu.Lock()
	why := e.config.Tools.DeniedReason(tool)
	e.mu.Unlock()
	if why == "" {
		return nil
	}
	return e.requestFault(ToolError, protocol.MethodToolsCall, tool, &advice.DeniedError{Why: why})
}

// paramsFault returns the fault of a call with params that cannot be sent.
func (e *Endpoint) paramsFault(tool string, why error) *Fault {
	cause := &RPCError{Code: CodeInvalidParams, Message: why.Error()}
	return e.requestFault(ToolError, protocol.MethodToolsCall, tool, cause)
}

// requestFault returns the fault of a request. name is the name in its params, or "" if there is none.
func (e *Endpoint) requestFault(kind Kind, method, name string, cause error) *Fault {
	doing := method
	if name != "" {
		doing += " " + protocol.Printable(name, 80)
	}
	f := e.newFault(kind, doing, cause)
	if method == protocol.MethodToolsCall {
		f.Tool = name
	}
	return f
}

// beginCall counts a caller's request as in flight, until endCall. A replaced connection stays open for such requests.
func (e *Endpoint) beginCall() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.inFlight++
	e.startedCalls++
}

func (e *Endpoint) endCall() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.inFlight--
	if e.inFlight == 0 {
		e.drained.All()
	}
}

// callCounts returns how many requests of callers there were, and how many are in flight.
func (e *Endpoint) callCounts() (begun uint64, calls int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.startedCalls, e.inFlight
}

// pendingCalls returns how many requests are in flight, and a channel that is closed when there are none any more.
func (e *Endpoint) pendingCalls() (calls int, drained <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.inFlight, e.drained.Next()
}

// send is the innermost [Peer], which Around wraps.
func (e *Endpoint) send(ctx context.Context, m Message) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, handshake, err := e.readyConn()
	if err != nil {
		return nil, err
	}
	var client *Client
	if !m.bounded { // a bounded message belongs to no client
		client = ClientOf(ctx)
	}
	request := conn.Request{Method: m.Method, Sending: m.Sending}
	token := progressToken(client, m)
	if token != nil || m.Progress != nil || client == nil && m.back != nil && m.Method == protocol.MethodToolsCall {
		request.Token = e.tokens.Add(1)
	}
	name := paramName(m)
	if handshake.Era == Modern {
		request.Name = name
	}
	if m.tool != nil {
		request.ParamHeaders = m.tool.Params
	}
	var reserved []byte
	if handshake.Era == Modern {
		reserved = e.metaFor(client)
	}
	if request.Params, err = payload.ServerParams(m.Params, reserved, request.Token); err != nil {
		return nil, NewFault(failureKind(m.Method), e.server.ID, m.Method, err)
	}
	outer, inner := ctx, ctx
	onMessage := func() {}
	var deadlines *conn.CallDeadlines
	if !m.bounded && m.Method != protocol.MethodListen { // a listen request is silent until an event happens
		if e.opts.CancelBeforeCallOnly {
			outer = context.WithoutCancel(ctx)
		}
		inner, deadlines = conn.WithCallDeadlines(outer, e.server.Timeouts.Call, e.server.Timeouts.Total)
		defer deadlines.Stop()
		onMessage = deadlines.Reset
	}
	greeting := false
	if e.greeted != nil && client != nil && client.Era == Modern && !client.listing {
		greeting = e.greeting.CompareAndSwap(false, true)
		if !greeting {
			select {
			case <-e.greeted:
			case <-inner.Done():
			}
		}
	}
	mayAsk := e.opts.Receive != nil || e.opts.onQuestion != nil // deadlines is paused while a client is asked
	if m.Of != 0 || client != nil && client.Back != nil || mayAsk && deadlines != nil {
		subject := lane.SubjectOf(m.Method, name)
		request.Of = e.active.Add(&flight{
			Ctx: inner, Client: (*flightClient)(client), Caller: m.Caller, Exchange: m.Of, Limits: deadlines, Subject: subject,
		})
		defer func() { e.active.Remove(request.Of, err == nil || isErrorReply(err)) }()
	}
	if greeting {
		e.greet(inner, c)
	}
	request.Receive = e.receiver(m, client, token, onMessage)
	if e.forwardedHeaders != nil && client != nil {
		if h := protocol.PickHeaders(client.Header, e.forwardedHeaders); h != nil {
			inner = conn.WithHeader(inner, h)
		}
	}
	result, err := c.Call(inner, request)
	if m.Method == protocol.MethodListen {
		e.listenEnded()
	}
	switch {
	case err == nil || isErrorReply(err):
		e.recordReply()
	case outer.Err() == nil && errors.As(context.Cause(inner), new(*conn.DeadlineError)):
		e.recordTimeout(c, handshake)
	}
	if err == nil && e.opts.onResult != nil {
		e.opts.onResult(m.Method, result)
	}
	if !e.opts.Memory.Own(string(m.Caller), result) {
		result, err = nil, &conn.ProtocolError{What: "an answer that is not taken", Cause: memory.NoRoom{}}
	}
	if invalid := payload.CheckUTF8(m.Method, result, err); invalid != nil {
		result, err = nil, invalid
	}
	if handshake.Era == Legacy && client != nil && protocol.MayRequireInput(m.Method) {
		result = payload.WithInputRequiredType(result)
	}
	return result, e.sendFault(outer, inner, m, name, err)
}

// greet lets a legacy server ask a modern client for its roots before the first request goes out. A server that wants
// the roots asks for them when the connection begins. The client can answer only during a request, and that request
// would end too soon.
func (e *Endpoint) greet(ctx context.Context, c conn.Conn) {
	defer close(e.greeted)
	pingCtx, cancel := context.WithTimeout(ctx, levelWait)
	defer cancel()
	_, _ = c.Call(pingCtx, conn.Request{Method: protocol.MethodPing}) // the server asks before it replies
	c.Unasked(ctx)
}

// sendFault converts an error of the connection to the error that the caller receives.
func (e *Endpoint) sendFault(outer, inner context.Context, m Message, name string, err error) error {
	if err == nil {
		return nil
	}
	explained := errors.As(err, new(*conn.UnmatchedError))
	if outer.Err() != nil && !isErrorReply(err) && !explained {
		return outer.Err()
	}
	kind := failureKind(m.Method)
	var late *conn.DeadlineError
	switch {
	case inner.Err() != nil && !isErrorReply(err) && errors.As(context.Cause(inner), &late):
		kind = Timeout
		if !explained {
			err = late
		}
	case errors.As(err, new(*conn.ProtocolError)):
		kind = Protocol
	case errors.As(err, new(*conn.UnsentError)):
		kind = NotConnected
	}
	return e.requestFault(kind, m.Method, name, err)
}

func isErrorReply(err error) bool { return errors.As(err, new(*RPCError)) }

// failureKind returns the kind of a failure by its place.
func failureKind(method string) Kind {
	if method == protocol.MethodToolsCall {
		return ToolError
	}
	return Protocol
}

// progressToken returns the client's own token if the client receives the progress of this request, or nil otherwise.
func progressToken(client *Client, m Message) json.RawMessage {
	if client == nil || m.back == nil || m.Progress != nil || !bytes.Contains(m.Params, []byte("progressToken")) {
		return nil
	}
	meta, _ := wire.Lookup(m.Params, "_meta")
	token, _ := wire.Lookup(meta, "progressToken")
	return token
}

// paramName returns the name in the params that a request is about; see [protocol.NamingParam].
func paramName(m Message) string {
	key := protocol.NamingParam(m.Method)
	if key == "" {
		return ""
	}
	name, _ := protocol.LookupString(m.Params, key)
	return name
}

// call calls a tool by the server's own name for it. Unknown members of the params are passed on. The result is an
// object of a type that the client can handle.
func (e *Endpoint) call(ctx context.Context, name string, m Message) (json.RawMessage, error) {
	if err := e.deniedFault(name); err != nil {
		return nil, err
	}
	var err error
	if m.Params, err = payload.WithName(m.Params, name); err != nil {
		return nil, e.paramsFault(name, err)
	}
	m.back = e.peerFor(ctx)
	if m.Progress != nil {
		m.back = progressPeer(m.Progress, e.format(), m.back)
	}
	m.tool = e.findTool(name)
	result, kind, err := e.exchange(ctx, m)
	if err != nil {
		return nil, err
	}
	client := ClientOf(ctx) // of a legacy server too: see payload.WithInputRequiredType
	isModern := client != nil && client.Era == Modern
	if err := payload.CheckResult(result, kind, isModern, kind == "task" && client.declaresTasks()); err != nil {
		return nil, e.resultFault(Protocol, m, err)
	}
	return result, nil
}

// newResult returns the result of a call for a program or a model. e is the endpoint that it came from, or nil if that
// is not known any more. name is the server's own name of the tool.
func newResult(e *Endpoint, name string, m Message, result json.RawMessage) *toolbox.Result {
	format := protocol.FormatLegacy
	if e != nil {
		format = e.format()
	}
	return toolbox.WireResult(toolbox.Wire{Format: format, JSON: result}, func(w toolbox.Wire) toolbox.Decoded {
		err := payload.CheckReadable(m.Params, w.JSON)
		switch {
		case err == nil:
			return payload.DecodeResult(w)
		case e == nil:
			return toolbox.Decoded{Err: NewFault(Protocol, "", m.Method, err)}
		}
		return toolbox.Decoded{Err: e.requestFault(Protocol, m.Method, name, err)}
	})
}

// findTool returns the tool as it was last listed, or nil if it never was.
func (e *Endpoint) findTool(name string) *listing.Tool {
	if e.opts.findTool != nil {
		return e.opts.findTool(name)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.list.Find(name)
}

// progressPeer returns a peer that reports a call's progress and passes other messages to rest.
func progressPeer(progress func(toolbox.Progress), format string, rest Peer) Peer {
	return func(ctx context.Context, m Message) (json.RawMessage, error) {
		if m.Method != protocol.NoteProgress {
			if rest == nil {
				return nil, nil
			}
			return rest(ctx, m)
		}
		var p struct {
			Progress float64 `json:"progress"`
			Total    float64 `json:"total"`
			Message  string  `json:"message"`
		}
		_ = json.Unmarshal(m.Params, &p) // fields that do not decode stay available in the bytes
		progress(toolbox.Progress{
			Done: p.Progress, Total: p.Total, Message: p.Message,
			Wire: toolbox.Wire{Format: format, JSON: m.Params},
		})
		return nil, nil
	}
}
