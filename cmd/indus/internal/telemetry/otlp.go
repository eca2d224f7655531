package telemetry

import (
	"encoding/hex"
	"strconv"
	"time"

	"github.com/indusagi/indus/internal/wire"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The flags of a span tell whether its parent is in another process (trace.proto, SpanFlags).
const (
	flagHasRemote = 0x100
	flagRemote    = 0x200
)

// encoder appends the JSON form of opentelemetry-proto 1.11 (trace/v1/trace.proto). Ids are hexadecimal, 64-bit
// integers are texts, and enumerations are numbers. Each key comes with the bytes around it.
type encoder []byte

// encode returns a request with the spans. All of them have one resource and one scope, and none has events.
func encode(spans []sdktrace.ReadOnlySpan) []byte {
	const size = 1 << 10 // more than most spans take
	e := make(encoder, 0, size*(1+len(spans)))
	r, scope := spans[0].Resource(), spans[0].InstrumentationScope()
	e.raw(`{"resourceSpans":[{"resource":{"attributes":`)
	e.attributes(r.Attributes())
	e.raw(`}`)
	e.text(`,"schemaUrl":`, r.SchemaURL())
	e.raw(`,"scopeSpans":[{"scope":{"name":`)
	e.quote(scope.Name)
	e.text(`,"version":`, scope.Version)
	e.raw(`},"spans":[`)
	for i, s := range spans {
		e.separate(i)
		e.span(s)
	}
	e.raw(`]}]}]}`)
	return e
}

func (e *encoder) span(s sdktrace.ReadOnlySpan) {
	e.context(s.SpanContext(), s.Parent())
	if parent := s.Parent().SpanID(); parent.IsValid() {
		e.id(`,"parentSpanId":"`, parent[:])
	}
	e.raw(`,"name":`)
	e.quote(s.Name())
	e.number(`,"kind":`, int64(s.SpanKind()))
	e.time(`,"startTimeUnixNano":"`, s.StartTime())
	e.time(`,"endTimeUnixNano":"`, s.EndTime())
	e.raw(`,"attributes":`)
	e.attributes(s.Attributes())
	e.number(`,"droppedAttributesCount":`, int64(s.DroppedAttributes()))
	e.raw(`,"links":[`)
	for i, l := range s.Links() {
		e.separate(i)
		e.context(l.SpanContext, l.SpanContext)
		e.raw(`}`)
	}
	e.raw(`]`)
	e.number(`,"droppedLinksCount":`, int64(s.DroppedLinks()))
	e.status(s.Status())
	e.raw(`}`)
}

// context begins a span or a link. The flags tell whether the other context is remote.
func (e *encoder) context(c, other trace.SpanContext) {
	traceID, spanID := c.TraceID(), c.SpanID()
	e.id(`{"traceId":"`, traceID[:])
	e.id(`,"spanId":"`, spanID[:])
	e.text(`,"traceState":`, c.TraceState().String())
	flags := int64(c.TraceFlags()) | flagHasRemote
	if other.IsRemote() {
		flags |= flagRemote
	}
	e.number(`,"flags":`, flags)
}

// status writes the codes of the API, which have another order than those of the protocol.
func (e *encoder) status(s sdktrace.Status) {
	switch s.Code {
	case codes.Ok:
		e.raw(`,"status":{"code":1}`)
	case codes.Error:
		e.raw(`,"status":{"code":2`)
		e.text(`,"message":`, s.Description)
		e.raw(`}`)
	}
}

// attributes writes a list. All values of indus are texts and integers. Any other value becomes a text.
func (e *encoder) attributes(list []attribute.KeyValue) {
	e.raw(`[`)
	for i, kv := range list {
		e.separate(i)
		e.raw(`{"key":`)
		e.quote(string(kv.Key))
		if kv.Value.Type() == attribute.INT64 {
			*e = append(strconv.AppendInt(append(*e, `,"value":{"intValue":"`...), kv.Value.AsInt64(), 10), `"}}`...)
			continue
		}
		e.raw(`,"value":{"stringValue":`)
		e.quote(kv.Value.String())
		e.raw(`}}`)
	}
	e.raw(`]`)
}

// separate begins the next element of a list.
func (e *encoder) separate(i int) {
	if i > 0 {
		e.raw(`,`)
	}
}

func (e *encoder) raw(s string) { *e = append(*e, s...) }

func (e *encoder) quote(s string) { *e = wire.AppendQuote(*e, s) }

// text writes a member, unless s is "".
func (e *encoder) text(key, s string) {
	if s != "" {
		e.raw(key)
		e.quote(s)
	}
}

// number writes a member, unless n is 0.
func (e *encoder) number(key string, n int64) {
	if n != 0 {
		*e = strconv.AppendInt(append(*e, key...), n, 10)
	}
}

func (e *encoder) id(key string, id []byte) {
	*e = append(hex.AppendEncode(append(*e, key...), id), '"')
}

func (e *encoder) time(key string, t time.Time) {
	*e = append(strconv.AppendInt(append(*e, key...), t.UnixNano(), 10), '"')
}
