package telemetry

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"

	"github.com/indusagi/indus/internal/wire"
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
	parent := remoteOf(metaText(o.Meta, traceparent), metaText(o.Meta, tracestate))
	var link trace.Link
	header := remoteOf([]byte(o.Traceparent), []byte(o.Tracestate))
	switch {
	case !parent.IsValid():
		parent = header
	case header.SpanID() != parent.SpanID() || header.TraceID() != parent.TraceID():
		link.SpanContext = header // an invalid link is left out
	}
	if parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	}
	return ctx, link
}

// remoteOf reads a context of W3C. It returns an invalid one if the parent is absent or malformed. Later versions may
// have more at the end.
func remoteOf(parent, state []byte) trace.SpanContext {
	const version, traceID, spanID, flags = 0, 3, 36, 53 // where they begin
	const end = flags + 2
	if len(parent) < end || parent[traceID-1] != '-' || parent[spanID-1] != '-' || parent[flags-1] != '-' {
		return trace.SpanContext{}
	}
	first := parent[0] == '0' && parent[1] == '0'
	if len(parent) > end && (first || parent[end] != '-') {
		return trace.SpanContext{}
	}
	var v, f [1]byte
	c := trace.SpanContextConfig{Remote: true}
	read := readHex(v[:], parent[version:]) && readHex(c.TraceID[:], parent[traceID:]) &&
		readHex(c.SpanID[:], parent[spanID:]) && readHex(f[:], parent[flags:])
	if !read || v[0] == 0xff || first && f[0] > 3 {
		return trace.SpanContext{}
	}
	c.TraceFlags = trace.TraceFlags(f[0]) & (trace.FlagsSampled | trace.FlagsRandom)
	if len(state) > 0 {
		c.TraceState, _ = trace.ParseTraceState(string(state)) // a malformed state is left out
	}
	return trace.NewSpanContext(c)
}

// readHex decodes the beginning of text into dst. Upper-case digits are malformed.
func readHex(dst, text []byte) bool {
	text = text[:2*len(dst)]
	_, err := hex.Decode(dst, text)
	return err == nil && !bytes.ContainsAny(text, "ABCDEF")
}

// metaText returns a text of _meta, or nothing.
func metaText(meta json.RawMessage, key string) []byte {
	raw, _ := wire.Lookup(meta, key)
	return wire.Text(raw)
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
