package telemetry

import (
	"context"
	"encoding/hex"
	"encoding/json"

	"github.com/indusagi/indus/internal/wire"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The members of _meta (SEP-414), and the headers of HTTP (W3C Trace Context).
const (
	traceparent = "traceparent"
	tracestate  = "tracestate"
)

// withParent returns ctx with the remote parent of the operation. The link is the context of the HTTP request, if it is
// another one.
func withParent(ctx context.Context, o *Operation) (context.Context, trace.Link) {
	within := withRemote(ctx, metaText(o.Meta, traceparent), metaText(o.Meta, tracestate))
	if o.Traceparent == "" {
		return within, trace.Link{}
	}
	meta := trace.SpanContextFromContext(within)
	around := withRemote(ctx, o.Traceparent, o.Tracestate)
	if !meta.IsValid() {
		return around, trace.Link{}
	}
	header := trace.SpanContextFromContext(around)
	if header.SpanID() == meta.SpanID() && header.TraceID() == meta.TraceID() {
		return within, trace.Link{}
	}
	return within, trace.Link{SpanContext: header} // an invalid link is left out
}

// withRemote returns ctx with a context of W3C, or ctx if the parent is absent or malformed.
func withRemote(ctx context.Context, parent, state string) context.Context {
	if parent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, carrier{parent, state})
}

// metaText returns a text of _meta, or "".
func metaText(meta json.RawMessage, key string) string {
	if len(meta) == 0 {
		return ""
	}
	raw, ok := wire.Lookup(meta, key)
	if !ok {
		return ""
	}
	s, _ := wire.Unquote(raw)
	return s
}

// metaEdit has the changes to the _meta of one request, in memory of its operation.
type metaEdit struct {
	edits  [2]wire.Edit
	parent [57]byte // the quoted traceparent
}

// set removes the tracestate of another trace, if the span has none.
func (m *metaEdit) set(c trace.SpanContext) []wire.Edit {
	if !c.IsValid() {
		return nil
	}
	id, span := c.TraceID(), c.SpanID()
	parent := append(m.parent[:0], `"00-`...)
	parent = append(hex.AppendEncode(parent, id[:]), '-')
	parent = append(hex.AppendEncode(parent, span[:]), '-')
	parent = append(hex.AppendEncode(parent, []byte{byte(c.TraceFlags())}), '"')
	m.edits = [2]wire.Edit{{Key: traceparent, Value: parent}, {Key: tracestate}}
	if state := c.TraceState().String(); state != "" {
		m.edits[1].Value = wire.Quote(state)
	}
	return m.edits[:]
}

// carrier is the pair of texts for [propagation.TraceContext].
type carrier struct{ parent, state string }

var _ propagation.TextMapCarrier = carrier{}

func (c carrier) Get(key string) string {
	switch key {
	case traceparent:
		return c.parent
	case tracestate:
		return c.state
	}
	return ""
}

func (carrier) Set(string, string) {}
func (carrier) Keys() []string     { return []string{traceparent, tracestate} }
