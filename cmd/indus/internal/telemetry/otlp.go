package telemetry

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The types are the JSON form of opentelemetry-proto 1.11 (trace/v1/trace.proto): ids are hexadecimal, 64-bit integers
// are texts, and enumerations are numbers.
type (
	traces struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   origin       `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
		SchemaURL  string       `json:"schemaUrl,omitempty"`
	}
	scopeSpans struct {
		Scope origin `json:"scope"`
		Spans []span `json:"spans"`
	}
	origin struct {
		Name       string     `json:"name,omitempty"`
		Version    string     `json:"version,omitempty"`
		Attributes []keyValue `json:"attributes,omitempty"`
	}
	span struct {
		TraceID           string     `json:"traceId"`
		SpanID            string     `json:"spanId"`
		TraceState        string     `json:"traceState,omitempty"`
		ParentSpanID      string     `json:"parentSpanId,omitempty"`
		Flags             uint32     `json:"flags"`
		Name              string     `json:"name"`
		Kind              int        `json:"kind"`
		Start             string     `json:"startTimeUnixNano"`
		End               string     `json:"endTimeUnixNano"`
		Attributes        []keyValue `json:"attributes,omitempty"`
		DroppedAttributes int        `json:"droppedAttributesCount,omitempty"`
		Events            []event    `json:"events,omitempty"`
		DroppedEvents     int        `json:"droppedEventsCount,omitempty"`
		Links             []link     `json:"links,omitempty"`
		DroppedLinks      int        `json:"droppedLinksCount,omitempty"`
		Status            spanStatus `json:"status"`
	}
	event struct {
		Time              string     `json:"timeUnixNano"`
		Name              string     `json:"name"`
		Attributes        []keyValue `json:"attributes,omitempty"`
		DroppedAttributes int        `json:"droppedAttributesCount,omitempty"`
	}
	link struct {
		TraceID           string     `json:"traceId"`
		SpanID            string     `json:"spanId"`
		TraceState        string     `json:"traceState,omitempty"`
		Attributes        []keyValue `json:"attributes,omitempty"`
		DroppedAttributes int        `json:"droppedAttributesCount,omitempty"`
		Flags             uint32     `json:"flags"`
	}
	spanStatus struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code,omitempty"`
	}
	keyValue struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

// The flags of a span tell whether its parent is in another process (trace.proto, SpanFlags).
const (
	flagHasRemote = 0x100
	flagRemote    = 0x200
)

// newTraces groups spans by their scope. All spans of one exporter have one resource.
func newTraces(spans []sdktrace.ReadOnlySpan) *traces {
	var scopes []scopeSpans
	places := map[string]int{}
	for _, s := range spans {
		scope := s.InstrumentationScope()
		i, ok := places[scope.Name]
		if !ok {
			i = len(scopes)
			places[scope.Name] = i
			scopes = append(scopes, scopeSpans{Scope: origin{
				Name: scope.Name, Version: scope.Version, Attributes: keyValues(scope.Attributes.ToSlice()),
			}})
		}
		scopes[i].Spans = append(scopes[i].Spans, newSpan(s))
	}
	r := spans[0].Resource()
	return &traces{ResourceSpans: []resourceSpans{{
		Resource: origin{Attributes: keyValues(r.Attributes())}, ScopeSpans: scopes, SchemaURL: r.SchemaURL(),
	}}}
}

func newSpan(s sdktrace.ReadOnlySpan) span {
	c := s.SpanContext()
	out := span{
		TraceID: c.TraceID().String(), SpanID: c.SpanID().String(), TraceState: c.TraceState().String(),
		Flags: flagsOf(c, s.Parent()), Name: s.Name(), Kind: int(s.SpanKind()),
		Start: nanoseconds(s.StartTime()), End: nanoseconds(s.EndTime()),
		Attributes: keyValues(s.Attributes()), DroppedAttributes: s.DroppedAttributes(),
		DroppedEvents: s.DroppedEvents(), DroppedLinks: s.DroppedLinks(), Status: newStatus(s.Status()),
	}
	if s.Parent().SpanID().IsValid() {
		out.ParentSpanID = s.Parent().SpanID().String()
	}
	for _, e := range s.Events() {
		out.Events = append(out.Events, event{nanoseconds(e.Time), e.Name, keyValues(e.Attributes), e.DroppedAttributeCount})
	}
	for _, l := range s.Links() {
		c := l.SpanContext
		out.Links = append(out.Links, link{c.TraceID().String(), c.SpanID().String(), c.TraceState().String(),
			keyValues(l.Attributes), l.DroppedAttributeCount, flagsOf(c, c)})
	}
	return out
}

// flagsOf returns the flags of c, and whether the other context is remote.
func flagsOf(c, other trace.SpanContext) uint32 {
	flags := uint32(c.TraceFlags()) | flagHasRemote
	if other.IsRemote() {
		flags |= flagRemote
	}
	return flags
}

// newStatus converts the codes of the API, which have another order than those of the protocol.
func newStatus(s sdktrace.Status) spanStatus {
	out := spanStatus{Message: s.Description}
	switch s.Code {
	case codes.Ok:
		out.Code = 1
	case codes.Error:
		out.Code = 2
	}
	return out
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func keyValues(list []attribute.KeyValue) []keyValue {
	out := make([]keyValue, 0, len(list))
	for _, kv := range list {
		out = append(out, keyValue{string(kv.Key), anyValue(kv.Value)})
	}
	return out
}

// anyValue returns the AnyValue of common.proto. A value of a later type of the API is a text.
func anyValue(v attribute.Value) map[string]any {
	switch v.Type() {
	case attribute.EMPTY:
		return map[string]any{}
	case attribute.BOOL:
		return map[string]any{"boolValue": v.AsBool()}
	case attribute.INT64:
		return map[string]any{"intValue": strconv.FormatInt(v.AsInt64(), 10)}
	case attribute.FLOAT64:
		return map[string]any{"doubleValue": double(v.AsFloat64())}
	case attribute.BYTESLICE:
		return map[string]any{"bytesValue": base64.StdEncoding.EncodeToString(v.AsByteSlice())}
	case attribute.STRINGSLICE:
		return arrayValue(v.AsStringSlice(), attribute.StringValue)
	case attribute.INT64SLICE:
		return arrayValue(v.AsInt64Slice(), attribute.Int64Value)
	case attribute.FLOAT64SLICE:
		return arrayValue(v.AsFloat64Slice(), attribute.Float64Value)
	case attribute.BOOLSLICE:
		return arrayValue(v.AsBoolSlice(), attribute.BoolValue)
	}
	return map[string]any{"stringValue": v.String()}
}

func arrayValue[T any](list []T, value func(T) attribute.Value) map[string]any {
	values := make([]any, 0, len(list))
	for _, x := range list {
		values = append(values, anyValue(value(x)))
	}
	return map[string]any{"arrayValue": map[string]any{"values": values}}
}

// double returns a number for JSON. Protobuf writes the numbers that JSON lacks as texts.
func double(f float64) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return f
}
