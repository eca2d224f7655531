package telemetry

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/wire"
	"go.opentelemetry.io/otel/trace"
)

// Operation describes one request or notification. The zero value of a field leaves its attributes out.
type Operation struct {
	Method string
	Tool   string // the server's own name of a tool
	Prompt string
	// Known reports that the server lists the tool or the prompt. Other names are on spans, and on no metric.
	Known  bool
	URI    string // on spans only; userinfo, query and fragment are left out
	Server string
	View   string
	// Era is "legacy" or "modern". It keeps the session out of modern spans, as the convention requires.
	Era      string
	Protocol string // the version of MCP
	// Transport is "http", "sse", "stdio" or "memory".
	Transport string
	// Session is the id of a legacy session. Spans have a digest of it, because the id gives access to the session.
	Session   string
	RequestID string // the JSON-RPC id
	// Address is the peer: HOST:PORT or HOST. It is the client of a served operation, and the server of one that is
	// sent. It is on spans only.
	Address string
	// Meta is the _meta of the request. Its traceparent is the parent of the span.
	Meta json.RawMessage
	// Traceparent and Tracestate are headers of the HTTP request. They are the parent if Meta has none, and otherwise a
	// link of the span, if they differ.
	Traceparent, Tracestate string
}

// Outcome describes the end of an operation. The zero value is a success.
type Outcome struct {
	// Code is the JSON-RPC code of an error, or 0. Without ErrorType, it is the type of the error.
	Code int64
	// ErrorType is "" for a success, [ToolError], or another name from a small set: "timeout", "cancelled", "denied".
	ErrorType string
	// Message describes the error. It is on spans only; the caller has masked secrets in it.
	Message string
	// BytesIn and BytesOut are the sizes of the request and of its answer.
	BytesIn, BytesOut int
	// Tokens estimates the tokens of the answer for a model. If it is 0, BytesOut of a tool call is the estimate.
	Tokens int
}

// Active is an operation that has begun. A nil Active does nothing.
type Active struct {
	telemetry *Telemetry
	operation Operation
	span      trace.Span // nil without tracing
	outer     *Active    // the served operation of one that is sent
	began     time.Time
	served    bool
	within    within   // of a served operation: only that has parts
	meta      metaEdit // set for MetaEdits

	mu      sync.Mutex
	waiting int           // requests to servers that run now, and other waits
	since   time.Time     // when waiting became positive
	waited  time.Duration // how long there was at least one of them
}

// Start begins an operation that a client requested. Its span has the kind SERVER. If ctx has an operation already, the
// new one is a part of it, of kind INTERNAL: a call within a batch.
func (t *Telemetry) Start(ctx context.Context, o *Operation) (context.Context, *Active) {
	if t == nil {
		return ctx, nil
	}
	a := new(Active)
	return t.StartIn(ctx, a, o), a
}

// StartIn is Start in the memory of a zero Active. The context that it returns refers to it.
func (t *Telemetry) StartIn(ctx context.Context, a *Active, o *Operation) context.Context {
	ctx = t.start(ctx, a, o, true)
	a.within = within{ctx, a}
	return &a.within
}

// Upstream begins a request to a server. Its span has the kind CLIENT, and is a child of the operation in ctx.
func (t *Telemetry) Upstream(ctx context.Context, o *Operation) (context.Context, *Active) {
	if t == nil {
		return ctx, nil
	}
	a := new(Active)
	return t.start(ctx, a, o, false), a
}

// Wait notes that the operation in ctx waits for something beside a request to a server: an approval, a queue, a
// connection. This time is no overhead of the gateway. ended notes the end of the wait, and must be called once.
func (t *Telemetry) Wait(ctx context.Context) (ended func()) {
	a := activeIn(ctx)
	if t == nil || a == nil {
		return func() {}
	}
	a.waits(time.Now())
	return func() { a.waitEnded(time.Now()) }
}

// Sent notes the id and the revision of MCP with which a request goes to a server.
func (a *Active) Sent(id int64, revision string) {
	a.operation.Protocol = revision
	if a.span != nil {
		a.operation.RequestID = strconv.FormatInt(id, 10)
	}
}

// Reached notes the server that the operation reached, and the prompt that this server lists, or "".
func (a *Active) Reached(server, prompt string) {
	o := &a.operation
	o.Server = cut(server, maxName)
	if prompt == "" {
		return
	}
	o.Prompt, o.Known = cut(prompt, maxName), true
	if a.span != nil {
		a.span.SetName(a.telemetry.spanName(o))
	}
}

// MetaEdits returns the changes to the _meta of the request to a server: the members traceparent and tracestate. All
// other members stay as they are. It returns nil if there is no span: then _meta is passed on unchanged. The edits are
// valid until the next call.
func (a *Active) MetaEdits() []wire.Edit {
	if a == nil || a.span == nil {
		return nil
	}
	return a.meta.set(a.span.SpanContext())
}

// TraceID returns the id of the trace for log and audit, or "" without tracing.
func (a *Active) TraceID() string {
	if a == nil || a.span == nil || !a.span.SpanContext().HasTraceID() {
		return ""
	}
	return a.span.SpanContext().TraceID().String()
}
