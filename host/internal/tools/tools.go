// Package tools publishes a toolbox to MCP clients: its lists, its calls, and the client of a call for local tools.
//
// [New] returns a [Backend], which implements host.Backend. It knows no transport and no session: the host passes it
// requests that are valid, and fits its results to the era of the client.
//
// # Concurrency
//
// All methods may be called from any goroutine. A list is rendered once for each snapshot.
//
// # Faults
//
// An unknown tool is an [*interop.RPCError], and so is the server's own error. Any other failure of a tool is a result
// with isError true.
package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// Options configure a [Backend]. host.Options describes the fields, whose zero values are valid.
type Options struct {
	Exact, Parameters bool
	Page              int
	Keys              *sealed.Keys // seal cursors
	Logger            *slog.Logger
}

// Backend publishes a toolbox.
type Backend struct {
	src  toolbox.Source
	opts Options

	mu      sync.Mutex
	lists   map[toolbox.Principal]*toolList // the last list of each principal
	release *time.Timer                     // of memory; nil before the first large list
}

// New returns a backend over a toolbox. A nil src has no tools.
func New(src toolbox.Source, opts Options) *Backend {
	opts.Page = max(opts.Page, 0)
	if opts.Keys == nil {
		opts.Keys = sealed.Random()
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Backend{src: cmp.Or(src, toolbox.Join()), opts: opts}
}

// Handle answers tools/list and tools/call, and describes the toolbox for server/discover.
func (t *Backend) Handle(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	switch m.Method {
	case protocol.MethodDiscover:
		const caps = `{"logging":{},"tools":{"listChanged":true}}`
		s := t.src.Snapshot(m.Caller)
		o := wire.Object{}.Raw("capabilities", []byte(caps)).Text("instructions", instructionsOf(s))
		if len(s.Pending) > 0 { // pending servers may add instructions
			o = o.Raw("ttlMs", []byte("0"))
		}
		return o.JSON(), nil
	case protocol.MethodToolsList:
		l := t.list(m.Caller)
		if m.Era == interop.Modern {
			return t.Page(m, l.modern)
		}
		return t.Page(m, l.legacy)
	case protocol.MethodToolsCall:
		return t.call(ctx, m, back)
	}
	return nil, protocol.MethodNotFound(m.Method)
}

// Watch reports changes of the list.
func (t *Backend) Watch(notify func(interop.Message)) (stop func()) {
	return t.src.Watch(func() { notify(interop.Message{Method: protocol.NoteToolsChanged}) })
}

// Subscribe refuses subscriptions, because a toolbox has no resources.
func (t *Backend) Subscribe(
	_ context.Context, m interop.Message, _ string, _ func(interop.Message),
) (stop func(), err error) {
	return nil, protocol.MethodNotFound(m.Method)
}

// Settle waits until at least one tool of each pending server is listed, or until ctx ends.
func (t *Backend) Settle(ctx context.Context, p toolbox.Principal) {
	watch.Until(ctx, t.src.Watch, func() bool { return !hasUnlisted(t.src.Snapshot(p)) })
}

// hasUnlisted reports whether there is a pending server without a listed tool.
func hasUnlisted(s *toolbox.Snapshot) bool {
	return slices.ContainsFunc(s.Pending, func(server string) bool {
		return !slices.ContainsFunc(s.Tools, func(d toolbox.Descriptor) bool { return d.Server == server })
	})
}

// Page returns the page of a list that a request asks for.
func (t *Backend) Page(m interop.Message, l *protocol.List) (json.RawMessage, error) {
	cursor, _ := wire.Lookup(m.Params, "cursor")
	var cursors protocol.Cursors
	if t.opts.Page > 0 {
		cursors = t.opts.Keys.Cursors(string(m.Caller), m.Method)
	}
	return l.Page(m.Method, cursor, t.opts.Page, cursors)
}

// call runs one tool. An invalid request is an error. A failed tool is a result. If the tool's server answered with an
// error of its own, that error is returned.
func (t *Backend) call(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	name, arguments, meta, err := protocol.ReadCall(m.Params)
	if err != nil {
		return nil, protocol.InvalidParams(m.Method, "%v", err)
	}
	c := toolbox.Call{ID: string(m.ID), Name: name, Input: arguments, Caller: m.Caller}
	if id, ok := wire.Unquote(m.ID); ok {
		c.ID = id
	}
	c.Wire = toolbox.Wire{Format: protocol.FormatLegacy, JSON: m.Params}
	if m.Era == interop.Modern {
		c.Wire.Format = protocol.FormatModern
	}
	if token := protocol.ProgressToken(meta); token != nil && back != nil {
		c.Progress = func(p toolbox.Progress) {
			if params := progressParams(p, token); params != nil {
				_, _ = back(ctx, interop.Message{Method: protocol.NoteProgress, Params: params})
			}
		}
	}
	r, err := t.src.Do(WithClient(ctx, m, back), c)
	if err != nil {
		return ErrorReply(ctx, m, c.Name, err, t.opts.Logger)
	}
	if r == nil {
		r = toolbox.NewResult()
	}
	if w := r.Wire(); isMCP(w) {
		return w.JSON, nil
	}
	result, err := localResult(r, m.Era)
	if err != nil {
		return nil, &interop.RPCError{Code: interop.CodeInternal, Message: "tools/call: " + err.Error()}
	}
	return result, nil
}

// ErrorReply converts the error of a call without a result into the reply for the client.
func ErrorReply(
	ctx context.Context, m interop.Message, name string, err error, log *slog.Logger,
) (json.RawMessage, error) {
	var unknown *toolbox.UnknownTool
	var rpc *interop.RPCError
	var fault *interop.Fault
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, err
	case errors.As(err, &unknown):
		return nil, &interop.RPCError{Code: interop.CodeInvalidParams, Message: unknown.Error()}
	case errors.As(err, &fault) && fault.Kind != interop.ToolError && fault.Kind != interop.Protocol:
		return protocol.FailedResult(FaultText(fault)), nil // an RPC error in it does not answer this call
	case errors.As(err, &rpc):
		return nil, rpc
	case errors.As(err, &fault) && fault.Kind == interop.Protocol:
		return nil, fault
	case errors.As(err, &fault):
		return protocol.FailedResult(FaultText(fault)), nil
	}
	if text, ok := toolbox.ErrorText(err); ok {
		return protocol.FailedResult(text), nil
	}
	log.Error("a tool failed", "tool", name, "caller", m.Caller, "err", err)
	return protocol.FailedResult(name + ": internal error"), nil
}

// FaultText returns the message of a fault with its advice.
func FaultText(fault *interop.Fault) string {
	if advice := fault.Advice(); advice != "" {
		return fault.Message + "; what to try: " + advice
	}
	return fault.Message
}

// localResult returns the result of a tool that belongs to no server.
func localResult(r *toolbox.Result, era interop.Era) (json.RawMessage, error) {
	b := []byte(`{"content":[`)
	for i, block := range r.Blocks() {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		b, err = appendBlock(b, block)
		if err != nil {
			return nil, err
		}
	}
	b = append(b, ']')
	if s := r.Structured(); s != nil {
		if !wire.Valid(s) {
			return nil, errors.New("the tool gave a structured result that is not valid JSON")
		}
		// Before 2026-07-28 a structured result is an object (SEP-2106).
		if era == interop.Modern || s[0] == '{' {
			b = append(append(b, `,"structuredContent":`...), s...)
		}
	}
	if r.IsError() {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}'), nil
}

// appendBlock appends a content block.
func appendBlock(b []byte, block toolbox.Block) ([]byte, error) {
	switch {
	case block.Text != nil:
		return appendText(b, *block.Text), nil
	case isMCP(block.Wire):
		if !wire.Valid(block.Wire.JSON) {
			return nil, errors.New("the tool gave a block that is not valid JSON")
		}
		return append(b, block.Wire.JSON...), nil
	case block.JSON != nil:
		return appendText(b, string(block.JSON)), nil
	}
	return nil, fmt.Errorf("the tool gave a block in the format %q, which is not MCP's: "+
		"toolbox.Image, Audio, Link and Embedded make blocks of media", block.Wire.Format)
}

func appendText(b []byte, s string) []byte {
	b = append(b, `{"type":"text","text":`...)
	return append(wire.AppendQuote(b, s), '}')
}

// progressParams returns the params of a progress notification with the client's token. The other members of a server's
// own notification are kept.
func progressParams(p toolbox.Progress, token json.RawMessage) json.RawMessage {
	if isMCP(p.Wire) {
		params, err := wire.Rewrite(p.Wire.JSON, wire.Edit{Key: "progressToken", Value: token})
		if err != nil {
			return nil
		}
		return params
	}
	o := wire.Object{}.Raw("progressToken", token).Raw("progress", jsonNumber(p.Done))
	if p.Total != 0 {
		o = o.Raw("total", jsonNumber(p.Total))
	}
	return o.Text("message", p.Message).JSON()
}

// jsonNumber returns a float as JSON, which has no infinities. They become 0.
func jsonNumber(f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		f = 0
	}
	return strconv.AppendFloat(nil, f, 'f', -1, 64)
}
