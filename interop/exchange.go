package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/indusagi/indus/internal/memory"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/internal/conn"
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
	e.begin()
	defer e.end()
	if m.Params != nil && !wire.Valid(m.Params) {
		return nil, NewFault(siteKind(m.Method), e.server.ID, m.Method, errors.New("the params are not valid JSON"))
	}
	if m.Method == protocol.MethodToolsCall {
		if _, err := protocol.OneMember(m.Params, "name"); err != nil {
			return nil, e.badParams(paramName(m), err)
		}
		if err := e.denied(paramName(m)); err != nil {
			return nil, err
		}
		m.tool = e.toolNamed(paramName(m))
	}
	if m.back == nil {
		m.back = e.backOf(ctx)
	}
	result, _, err := e.exchange(ctx, m)
	return result, err
}

// backOf returns the peer that receives messages related to a request.
func (e *Endpoint) backOf(ctx context.Context) Peer {
	if c := ClientOf(ctx); c != nil {
		return c.Back
	}
	return e.opts.Receive
}

// denied returns the fault of a call to a tool that the configuration leaves out, or nil if the call is allowed. It
// depends only on the name, so it holds before any listing.
func (e *Endpoint) denied(tool string) error {
	e.mu.Lock()
	why := e.config.rules.leftOut(tool)
	e.mu.Unlock()
	if why == "" {
		return nil
	}
	f := NewFault(ToolError, e.server.ID, protocol.MethodToolsCall+" "+protocol.Printable(tool, 80), &deniedError{why})
	f.Tool = tool
	return f
}

// deniedError is the reason why a tool is left out.
type deniedError struct{ why string }

func (e *deniedError) Error() string { return e.why }

// badParams returns the fault of a call with params that cannot be sent.
func (e *Endpoint) badParams(tool string, why error) *Fault {
	f := NewFault(ToolError, e.server.ID, protocol.MethodToolsCall+" "+protocol.Printable(tool, 80), &RPCError{Code: CodeInvalidParams, Message: why.Error()})
	f.Tool = tool
	return f
}

// begin counts a caller's request as in flight, until end. A replaced connection stays open for such requests.
func (e *Endpoint) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls++
	e.begun++
}

func (e *Endpoint) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.calls--; e.calls == 0 && e.quiet != nil {
		close(e.quiet)
		e.quiet = nil
	}
}

// counts returns how many requests of callers there were, and how many are in flight.
func (e *Endpoint) counts() (begun uint64, calls int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.begun, e.calls
}

// busy returns how many requests are in flight, and a channel that is closed once there are none.
func (e *Endpoint) busy() (calls int, quiet <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.quiet == nil {
		e.quiet = make(chan struct{})
	}
	if quiet = e.quiet; e.calls == 0 {
		close(e.quiet)
		e.quiet = nil
	}
	return e.calls, quiet
}

// send is the innermost [Peer], which Around wraps.
func (e *Endpoint) send(ctx context.Context, m Message) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, shake, err := e.ready()
	if err != nil {
		return nil, err
	}
	var client *Client
	if !m.bounded { // a bounded message belongs to no client
		client = ClientOf(ctx)
	}
	x := conn.Request{Method: m.Method}
	token := progressToken(client, m)
	if token != nil || m.progress || client == nil && m.back != nil && m.Method == protocol.MethodToolsCall {
		x.Token = e.tokens.Add(1)
	}
	name := paramName(m)
	if shake.Era == Modern {
		x.Name = name
	}
	if m.tool != nil {
		x.ParamHeaders = m.tool.params
	}
	var ours []byte
	if shake.Era == Modern {
		ours = e.metaFor(client)
	}
	if x.Params, err = hopParams(m.Params, ours, x.Token); err != nil {
		return nil, NewFault(siteKind(m.Method), e.server.ID, m.Method, err)
	}
	outer, inner, heard := ctx, ctx, func() {}
	var d *callDeadlines
	if !m.bounded && m.Method != protocol.MethodListen { // a listen request is silent until an event happens
		if e.opts.CancelBeforeCallOnly {
			outer = context.WithoutCancel(ctx)
		}
		inner, d = withCallDeadlines(outer, e.server.Timeouts)
		defer d.stop()
		heard = d.reset
	}
	greets := false
	if e.greeted != nil && client != nil && client.Era == Modern && !client.listing {
		if greets = e.greets.CompareAndSwap(false, true); !greets {
			select {
			case <-e.greeted:
			case <-inner.Done():
			}
		}
	}
	asks := e.opts.Receive != nil || e.opts.lane != nil // d is held while a client is asked
	if m.Of != 0 || client != nil && client.Back != nil || asks && d != nil {
		x.Of = e.talks.join(&talk{inner, client, m.Caller, m.Of, d, subjectOf(m.Method, name)})
		defer func() { e.talks.leave(x.Of, err == nil || isAnswer(err)) }()
	}
	if greets {
		e.greet(inner, c)
	}
	x.Receive = e.receiver(m, client, token, heard)
	if e.forwards != nil && client != nil {
		if h := protocol.PickHeaders(client.Header, e.forwards); h != nil {
			inner = conn.WithHeader(inner, h)
		}
	}
	result, err := c.Call(inner, x)
	if m.Method == protocol.MethodListen {
		e.unlistened()
	}
	switch {
	case err == nil || isAnswer(err):
		e.answered()
	case outer.Err() == nil && errors.As(context.Cause(inner), new(*conn.DeadlineError)):
		e.unanswered(c, shake)
	}
	if err == nil && e.opts.result != nil {
		e.opts.result(m.Method, result)
	}
	if !e.opts.Memory.Own(string(m.Caller), result) {
		result, err = nil, &conn.ProtocolError{What: "an answer that is not taken", Cause: memory.NoRoom{}}
	}
	if bad := badUTF8(m.Method, result, err); bad != nil {
		result, err = nil, bad
	}
	if shake.Era == Legacy && client != nil && protocol.MayRequireInput(m.Method) {
		result = withAskingType(result)
	}
	return result, e.sendFault(outer, inner, m, name, err)
}

// greet lets a legacy server ask a modern client for its roots before the first request goes out. A server that wants
// the roots asks for them when the connection begins. The client can answer only during a request, and that request
// would end too soon.
func (e *Endpoint) greet(ctx context.Context, c conn.Conn) {
	defer close(e.greeted)
	soon, cancel := context.WithTimeout(ctx, levelWait)
	defer cancel()
	_, _ = c.Call(soon, conn.Request{Method: protocol.MethodPing}) // the server asks before it replies
	c.Unasked(ctx)
}

// badUTF8 returns the error of a reply that is not UTF-8, because strict readers would lose the whole stream (RFC 8259,
// section 8.1). For tools/list only the bad rows are dropped, later.
func badUTF8(method string, result json.RawMessage, err error) error {
	var rpc *RPCError
	if errors.As(err, &rpc) {
		result = rpc.Data
	}
	if bad := wire.CheckUTF8(result); bad != nil && method != protocol.MethodToolsList {
		return &conn.ProtocolError{What: "a broken answer", Cause: bad}
	}
	return nil
}

// sendFault converts an error of the connection to the error that the caller receives.
func (e *Endpoint) sendFault(outer, inner context.Context, m Message, name string, err error) error {
	if err == nil {
		return nil
	}
	explained := errors.As(err, new(*conn.UnmatchedError))
	if outer.Err() != nil && !isAnswer(err) && !explained {
		return outer.Err()
	}
	doing := m.Method
	if name != "" {
		doing += " " + protocol.Printable(name, 80)
	}
	kind := siteKind(m.Method)
	var late *conn.DeadlineError
	var bad *conn.ProtocolError
	var unsent *conn.UnsentError
	switch {
	case inner.Err() != nil && !isAnswer(err) && errors.As(context.Cause(inner), &late):
		if kind = Timeout; !explained {
			err = late
		}
	case errors.As(err, &bad):
		kind = Protocol
	case errors.As(err, &unsent):
		kind = NotConnected
	}
	f := e.newFault(kind, doing, err)
	if m.Method == protocol.MethodToolsCall {
		f.Tool = name
	}
	return f
}

func isAnswer(err error) bool {
	var rpc *RPCError
	return errors.As(err, &rpc)
}

// siteKind returns the kind of a failure by its place.
func siteKind(method string) Kind {
	if method == protocol.MethodToolsCall {
		return ToolError
	}
	return Protocol
}

// progressToken returns the client's own token if the client receives the progress of this request, or nil otherwise.
func progressToken(client *Client, m Message) json.RawMessage {
	if client == nil || m.back == nil || m.progress || !bytes.Contains(m.Params, []byte("progressToken")) {
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

// hopParams returns params for one server: the reserved keys of _meta are replaced by ours, and other keys stay. ours
// holds the members that a modern server receives, and is nil for a legacy server.
func hopParams(params json.RawMessage, ours []byte, token int64) (json.RawMessage, error) {
	if params == nil {
		params = json.RawMessage(`{}`)
	}
	given, has := wire.Lookup(params, "_meta")
	if !has && ours == nil && token == 0 {
		return params, nil
	}
	meta := append(make([]byte, 0, len(given)+len(ours)+40), '{')
	if has && given[0] == '{' {
		members, err := wire.Members(given)
		if err != nil {
			return nil, err
		}
		for i := range members {
			if m := &members[i]; !protocol.Reserved(m.Key) && m.Key != "progressToken" {
				meta = append(append(meta, given[m.Start:m.End]...), ',')
			}
		}
	}
	if token != 0 {
		meta = append(strconv.AppendInt(append(meta, `"progressToken":`...), token, 10), ',')
	}
	if ours != nil {
		meta = append(append(meta, ours...), ',')
	}
	if meta[len(meta)-1] == ',' {
		meta = meta[:len(meta)-1]
	}
	return wire.Rewrite(params, wire.Edit{Key: "_meta", Value: append(meta, '}')})
}

// callTool calls a tool by the server's own name for it. If c.Wire is set, it holds the params of the original request,
// and unknown members in it are passed on.
func (e *Endpoint) callTool(ctx context.Context, name string, c toolbox.Call) (*toolbox.Result, error) {
	if err := e.denied(name); err != nil {
		return nil, err
	}
	params, err := callParams(name, c)
	if err != nil {
		return nil, e.badParams(name, err)
	}
	m := Message{Method: protocol.MethodToolsCall, Params: params, Caller: c.Caller, back: e.backOf(ctx)}
	if c.Progress != nil {
		m.back, m.progress = progressTo(c.Progress, e.format(), m.back), true
	}
	m.tool = e.toolNamed(name)
	result, kind, err := e.exchange(ctx, m)
	if err != nil {
		return nil, err
	}
	if err := e.takes(ctx, result, kind); err != nil {
		return nil, e.resultFault(m, err)
	}
	return toolbox.WireResult(toolbox.Wire{Format: e.format(), JSON: result}, func(w toolbox.Wire) toolbox.Decoded {
		if err := checkReadable(m, w.JSON); err != nil {
			return toolbox.Decoded{Err: e.resultFault(m, err)}
		}
		return decodeResult(w)
	}), nil
}

// toolNamed returns the tool as it was last listed, or nil if it never was.
func (e *Endpoint) toolNamed(name string) *listedTool {
	if e.opts.named != nil {
		return e.opts.named(name)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.list.tool(name)
}

// callParams returns the params of tools/call, with the arguments unchanged.
func callParams(name string, c toolbox.Call) (json.RawMessage, error) {
	if c.Wire.JSON != nil {
		if _, err := protocol.OneMember(c.Wire.JSON, "name"); err != nil {
			return nil, err
		}
		return wire.Rewrite(c.Wire.JSON, wire.Edit{Key: "name", Value: wire.Quote(name)})
	}
	args := c.Input
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	if !wire.Valid(args) {
		return nil, errors.New("the arguments are not valid JSON")
	}
	b := make([]byte, 0, len(args)+len(name)+32)
	b = append(append(b, `{"name":`...), wire.Quote(name)...)
	b = append(append(b, `,"arguments":`...), args...)
	return append(b, '}'), nil
}

// progressTo returns a peer that reports a call's progress and passes other messages to rest.
func progressTo(progress func(toolbox.Progress), format string, rest Peer) Peer {
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
