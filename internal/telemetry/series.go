package telemetry

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/text"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// labels identify one set of labels. No field has a value that a client or a server can choose freely.
type labels struct {
	served                             bool
	method, tool, prompt, server, view string
	protocol, transport, kind, code    string
}

// series has the labels of the instruments as options, made once.
type series struct {
	duration, overhead []metric.RecordOption
	in, out, tokens    []metric.AddOption
}

func (o *Operation) labels(served bool, code int64, kind string) labels {
	l := labels{
		served: served, method: knownMethod(o.Method), server: o.Server, view: o.View, kind: kind, code: knownCode(code),
		protocol: knownVersion(o.Protocol), transport: o.Transport,
	}
	if kind != "" && l.code == Other {
		l.kind = Other
	}
	if o.Known {
		l.tool, l.prompt = o.Tool, o.Prompt
	} else {
		l.tool, l.prompt = otherThan(o.Tool), otherThan(o.Prompt)
	}
	return l
}

// otherThan returns [Other] for a name that is no label.
func otherThan(name string) string {
	if name == "" {
		return ""
	}
	return Other
}

// knownCode returns a code of JSON-RPC and of MCP as text. A server may send any other.
func knownCode(code int64) string {
	switch {
	case code == 0:
		return ""
	case code == -32700, code <= -32600 && code >= -32603, code <= -32000 && code >= -32099:
		return strconv.FormatInt(code, 10)
	}
	return Other
}

// knownVersion returns a revision of MCP that indus supports.
func knownVersion(v string) string {
	if v == "" || v == protocol.VersionModern || slices.Contains(legacyVersions, v) {
		return v
	}
	return Other
}

var legacyVersions = protocol.LegacyVersions()

// seriesOf returns the series of l. If there are too many, it returns one without the names in l.
func (t *Telemetry) seriesOf(l labels) *series {
	t.mu.RLock()
	s := t.series[l]
	t.mu.RUnlock()
	if s != nil {
		return s
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.series) >= t.max {
		l = l.anonymous()
	}
	if t.series[l] == nil {
		t.series[l] = newSeries(l)
	}
	return t.series[l]
}

// anonymous returns l without the labels that can have many values. The remaining sets are few.
func (l labels) anonymous() labels {
	l.tool, l.prompt, l.server, l.view = otherThan(l.tool), otherThan(l.prompt), otherThan(l.server), otherThan(l.view)
	l.protocol, l.transport, l.kind, l.code = "", "", otherThan(l.kind), otherThan(l.code)
	return l
}

func newSeries(l labels) *series {
	o := Operation{
		Method: l.method, Tool: l.tool, Prompt: l.prompt, Server: l.server, View: l.view, Protocol: l.protocol,
		Transport: l.transport,
	}
	all := append(o.attributes(nil, l.served), keyErrorType.String(l.kind), keyStatusCode.String(l.code))
	target := []attribute.KeyValue{keyMethod.String(l.method), keyServer.String(l.server)}
	of := append(target[:2:2], keyTool.String(l.tool))
	return &series{
		duration: []metric.RecordOption{labelSet(all)},
		overhead: []metric.RecordOption{labelSet(target)},
		in:       []metric.AddOption{labelSet(append(of[:3:3], keyDirection.String("receive")))},
		out:      []metric.AddOption{labelSet(append(of[:3:3], keyDirection.String("transmit")))},
		tokens:   []metric.AddOption{labelSet(of[1:])},
	}
}

// labelSet leaves out labels without a value.
func labelSet(list []attribute.KeyValue) metric.MeasurementOption {
	set, _ := attribute.NewSetWithFiltered(list, func(kv attribute.KeyValue) bool { return kv.Value.AsString() != "" })
	return metric.WithAttributeSet(set)
}

func (t *Telemetry) record(e *completed) {
	o, kind := &e.outcome, e.errorType()
	s := t.seriesOf(e.operation.labels(e.served, o.Code, kind))
	m, ctx := t.instruments, context.Background()
	if !e.served {
		m.sent.Record(ctx, e.lasted.Seconds(), s.duration...)
		return
	}
	m.served.Record(ctx, e.lasted.Seconds(), s.duration...)
	if e.part {
		return // the outer operation has the overhead and the bytes
	}
	m.overhead.Record(ctx, e.overhead.Seconds(), s.overhead...)
	m.bytes.Add(ctx, int64(o.BytesIn), s.in...)
	m.bytes.Add(ctx, int64(o.BytesOut), s.out...)
	if e.operation.Method == protocol.MethodToolsCall {
		m.tokens.Add(ctx, int64(o.tokens()), s.tokens...)
	}
}

func (o *Outcome) tokens() int {
	if o.Tokens > 0 {
		return o.Tokens
	}
	return o.BytesOut / text.BytesPerToken
}

// SessionEnded records how long a session lasted. It is a connection to a server if o names one, and otherwise the
// session of a client. Of o, Server, Protocol and Transport count.
func (t *Telemetry) SessionEnded(o *Operation, lasted time.Duration, errorType string) {
	if t == nil || t.instruments == nil {
		return
	}
	session := Operation{Server: o.Server, Protocol: knownVersion(o.Protocol), Transport: o.Transport}
	set := labelSet(append(session.attributes(nil, false), keyErrorType.String(errorType)))
	histogram := t.instruments.servedSession
	if o.Server != "" {
		histogram = t.instruments.sentSession
	}
	histogram.Record(context.Background(), lasted.Seconds(), set)
}
