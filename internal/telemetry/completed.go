package telemetry

import (
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Operations that have ended are completed in groups. No client waits for that. It takes less time for each of them,
// because code and data are in the caches of the processor.
const (
	groupSize  = 64
	groupDelay = time.Second
	maxWaiting = 16 * groupSize // with more, End flushes
)

// group collects ended operations.
type group struct {
	due *time.Timer // calls Flush

	mu      sync.Mutex
	waiting []completed

	flushing sync.Mutex  // held during a flush, before mu
	spare    []completed // for reuse
	list     []attribute.KeyValue
	options  [1]trace.SpanEndOption
}

// completed is an operation that has ended. It refers to no memory of its request.
type completed struct {
	operation        Operation
	outcome          Outcome
	span             trace.Span // nil without tracing
	at               time.Time
	lasted, overhead time.Duration
	served           bool
	part             bool // of a served operation
}

// End notes the end of the operation. [Telemetry.Flush] ends the span and records the metrics.
func (a *Active) End(o Outcome) {
	if a == nil {
		return
	}
	now := time.Now()
	part := a.served && a.outer != nil
	if !a.served {
		a.outer.waitEnded(now)
	} else if !part {
		a.telemetry.active.Add(-1)
	}
	o.Message = cut(o.Message, maxText)
	e := completed{a.operation, o, a.span, now, now.Sub(a.began), a.overhead(now), a.served, part}
	if a.telemetry.ended.add(&e) {
		a.telemetry.Flush()
	}
}

// add reports whether too many operations wait.
func (g *group) add(e *completed) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, *e)
	switch len(g.waiting) {
	case 1:
		g.due.Reset(groupDelay)
	case groupSize:
		g.due.Reset(0)
	}
	return len(g.waiting) >= maxWaiting
}

// Flush ends the spans of the operations that have ended, and records their metrics. This happens within a second of
// their end, and before the metrics are read. Call it before the provider of spans is shut down.
func (t *Telemetry) Flush() {
	if t == nil {
		return
	}
	g := &t.ended
	g.flushing.Lock()
	defer g.flushing.Unlock()
	g.mu.Lock()
	list := g.waiting
	g.waiting = g.spare
	g.mu.Unlock()
	for i := range list {
		e := &list[i]
		if e.span != nil {
			g.endSpan(e)
		}
		if t.instruments != nil {
			t.record(e)
		}
	}
	clear(list)
	g.spare = list[:0]
}

// endSpan ends the span of e. The SDK copies the attributes.
func (g *group) endSpan(e *completed) {
	if !e.span.IsRecording() {
		return
	}
	g.list = e.operation.attributes(g.list[:0], e.served)
	if code := e.outcome.Code; code != 0 {
		g.list = append(g.list, keyStatusCode.String(strconv.FormatInt(code, 10)))
	}
	if kind := e.errorType(); kind != "" {
		g.list = append(g.list, keyErrorType.String(kind))
		e.span.SetStatus(codes.Error, e.outcome.Message)
	}
	e.span.SetAttributes(g.list...)
	g.options[0] = trace.WithTimestamp(e.at)
	e.span.End(g.options[:]...)
}

// errorType returns the value of error.type, or "" if the operation did not fail by the convention.
func (e *completed) errorType() string {
	o := &e.outcome
	switch {
	case o.Code == 0:
		return o.ErrorType
	case e.served && callerFaults[o.Code]:
		return ""
	case o.ErrorType != "":
		return o.ErrorType
	}
	return strconv.FormatInt(o.Code, 10)
}
