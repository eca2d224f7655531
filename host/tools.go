package host

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

// toolsBackend is a [Backend] over a toolbox.
type toolsBackend struct {
	src        toolbox.Source
	parameters bool         // publish the schemas for models
	exact      bool         // send results and tools unchanged
	library    *Library     // nil: only tools
	size       int          // tools on a page of tools/list; 0: all
	keys       *Keys        // seal cursors
	log        *slog.Logger // nil: silent

	mu      sync.Mutex
	lists   map[toolbox.Principal]*toolList // the last list of each principal
	release *time.Timer                     // of memory; nil before the first large list
}

var _ Backend = (*toolsBackend)(nil)

// Tools returns a [Backend] that publishes a toolbox. tools/list returns its snapshots, and tools/call uses its exact
// entry (Do). A nil src has no tools.
//
// Schemas and whole tools are published as their owners wrote them, except for the name. Parts for which clients of an
// era refuse a whole list are left out. A tool with an input schema that is not of type "object" is not published.
//
// It uses the options Library, Page, Keys, Exact, Parameters and Logger.
func Tools(src toolbox.Source, opts *Options) Backend {
	b := &toolsBackend{src: cmp.Or(src, toolbox.Join())}
	if opts != nil {
		b.parameters, b.exact, b.size = opts.Parameters, opts.Exact, max(opts.Page, 0)
		b.log, b.keys, b.library = opts.Logger, opts.Keys, opts.Library
	}
	b.keys = cmp.Or(b.keys, sealed.Random())
	return b
}

// Handle implements [Backend].
func (t *toolsBackend) Handle(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	switch m.Method {
	case protocol.MethodDiscover:
		caps := `{"logging":{},"tools":{"listChanged":true}}`
		if t.library != nil {
			caps = `{"logging":{},"tools":{"listChanged":true},"prompts":{"listChanged":true},` +
				`"resources":{"subscribe":true,"listChanged":true},"completions":{}}`
		}
		s := t.src.Snapshot(m.Caller)
		o := wire.Object{}.Raw("capabilities", []byte(caps)).Text("instructions", instructionsOf(s))
		if len(s.Pending) > 0 { // pending servers may add instructions
			o = o.Raw("ttlMs", []byte("0"))
		}
		return o.JSON(), nil
	case protocol.MethodToolsList:
		return t.page(m, t.list(m.Caller).forEra(m.Era))
	case protocol.MethodToolsCall:
		return t.call(ctx, m, back)
	}
	return t.handleLibrary(ctx, m, back)
}

// Watch implements [Backend].
func (t *toolsBackend) Watch(notify func(interop.Message)) (stop func()) {
	stopTools := t.src.Watch(func() { notify(interop.Message{Method: protocol.NoteToolsChanged}) })
	if t.library == nil {
		return stopTools
	}
	stopLibrary := t.library.watch(notify)
	return func() {
		stopTools()
		stopLibrary()
	}
}

// Subscribe implements [Subscriber].
func (t *toolsBackend) Subscribe(
	_ context.Context, m interop.Message, uri string, updated func(interop.Message),
) (stop func(), err error) {
	if t.library == nil {
		return nil, &interop.RPCError{Code: interop.CodeMethodNotFound, Message: "method not found: " + m.Method}
	}
	return t.library.subscribe(uri, updated)
}

// Settle waits until at least one tool of each pending server is listed, or until ctx ends; see [Settler].
func (t *toolsBackend) Settle(ctx context.Context, p toolbox.Principal) {
	watch.Until(ctx, t.src.Watch, func() bool { return !hasUnlisted(t.src.Snapshot(p)) })
}

// hasUnlisted reports whether there is a pending server without a listed tool.
func hasUnlisted(s *toolbox.Snapshot) bool {
	return slices.ContainsFunc(s.Pending, func(server string) bool {
		return !slices.ContainsFunc(s.Tools, func(d toolbox.Descriptor) bool { return d.Server == server })
	})
}

// call runs one tool. An invalid request is an error. A failed tool is a result. If the tool's server answered with an
// error of its own, that error is returned.
func (t *toolsBackend) call(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	c, meta, err := readCall(m)
	if err != nil {
		return nil, &interop.RPCError{Code: interop.CodeInvalidParams, Message: "tools/call: " + err.Error()}
	}
	if token := protocol.ProgressToken(meta); token != nil && back != nil {
		c.Progress = func(p toolbox.Progress) {
			if params := progressParams(p, token); params != nil {
				_, _ = back(ctx, interop.Message{Method: protocol.NoteProgress, Params: params})
			}
		}
	}
	r, err := t.src.Do(withClient(ctx, m, back), c)
	if err != nil {
		return t.errorReply(ctx, c, err)
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

// readCall splits the params of tools/call. The arguments are not changed.
func readCall(m interop.Message) (c toolbox.Call, meta json.RawMessage, err error) {
	if len(m.Params) == 0 {
		return c, nil, errors.New("no params")
	}
	members, err := wire.Members(m.Params)
	if err != nil {
		return c, nil, err
	}
	if err := wire.Unique(members); err != nil {
		return c, nil, err
	}
	hasName := false
	for i := range members {
		switch v := members[i].Value; members[i].Key {
		case "name":
			c.Name, hasName = wire.Unquote(v)
		case "arguments":
			c.Input = v
		case "_meta":
			meta = v
		}
	}
	if !hasName {
		return c, nil, errors.New("no name")
	}
	c.Wire = toolbox.Wire{Format: protocol.FormatLegacy, JSON: m.Params}
	if m.Era == interop.Modern {
		c.Wire.Format = protocol.FormatModern
	}
	if s, ok := wire.Unquote(m.ID); ok {
		c.ID = s
	} else {
		c.ID = string(m.ID)
	}
	c.Caller = m.Caller
	return c, meta, nil
}

// errorReply converts the error of a call without a result into the reply for the client.
func (t *toolsBackend) errorReply(ctx context.Context, c toolbox.Call, err error) (json.RawMessage, error) {
	var unknown *toolbox.UnknownTool
	var rpc *interop.RPCError
	var fault *interop.Fault
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, err
	case errors.As(err, &unknown):
		return nil, &interop.RPCError{Code: interop.CodeInvalidParams, Message: unknown.Error()}
	case errors.As(err, &fault) && fault.Kind != interop.ToolError && fault.Kind != interop.Protocol:
		return failedResult(faultText(fault)), nil // an RPC error in it does not answer this call
	case errors.As(err, &rpc):
		return nil, rpc
	case errors.As(err, &fault) && fault.Kind == interop.Protocol:
		return nil, fault
	case errors.As(err, &fault):
		return failedResult(faultText(fault)), nil
	}
	if text, ok := toolbox.ErrorText(err); ok {
		return failedResult(text), nil
	}
	if t.log != nil {
		t.log.Error("a tool failed", "tool", c.Name, "caller", c.Caller, "err", err)
	}
	return failedResult(c.Name + ": internal error"), nil
}

// failedResult returns the result of a tool that failed.
func failedResult(text string) json.RawMessage {
	b := append([]byte(`{"content":[{"type":"text","text":`), wire.Quote(text)...)
	return append(b, `}],"isError":true}`...)
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
