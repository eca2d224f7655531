package telemetry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/text"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Texts of clients and servers are cut to these lengths on a span.
const (
	maxName    = 128
	maxText    = 1024
	attributes = 24 // more than a span has
)

var (
	asServer   = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}
	asClient   = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient)}
	asInternal = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindInternal)}
)

// lists has slices for the attributes of a span. The SDK copies them.
var lists = sync.Pool{New: func() any { return new([attributes]attribute.KeyValue) }}

func (t *Telemetry) start(ctx context.Context, a *Active, o *Operation, served bool) context.Context {
	a.telemetry, a.operation, a.began, a.served, a.outer = t, *o, time.Now(), served, activeIn(ctx)
	switch {
	case !served:
		a.outer.waits(a.began)
	case a.outer == nil: // no part of another
		t.active.Add(1)
	}
	if t.tracer != nil {
		ctx = a.startSpan(ctx)
	}
	return ctx
}

// within is the context within a served operation. It is a part of the operation, and so needs no memory of its own.
type within struct {
	context.Context
	active *Active
}

// Value implements [context.Context].
func (w *within) Value(key any) any {
	if key == (activeKey{}) {
		return w.active
	}
	return w.Context.Value(key)
}

func (a *Active) startSpan(ctx context.Context) context.Context {
	o, options := &a.operation, asClient
	var link trace.Link
	switch {
	case !a.served:
	case a.outer != nil:
		options = asInternal
	default:
		options = asServer
		ctx, link = withParent(ctx, o)
	}
	ctx, a.span = a.telemetry.tracer.Start(ctx, a.telemetry.spanName(o), options...)
	if !a.span.IsRecording() {
		return ctx
	}
	if link.SpanContext.IsValid() {
		a.span.AddLink(link)
	}
	list := lists.Get().(*[attributes]attribute.KeyValue)
	a.span.SetAttributes(o.attributes(list[:0], a.served)...)
	lists.Put(list)
	return ctx
}

// spanName returns the method, with the tool or the prompt. It has no part that a client can choose freely.
func (t *Telemetry) spanName(o *Operation) string {
	method, target := knownMethod(o.Method), cmp.Or(o.Tool, o.Prompt)
	if !o.Known || target == "" {
		return method
	}
	key := [2]string{method, target}
	t.mu.RLock()
	name := t.names[key]
	t.mu.RUnlock()
	if name != "" {
		return name
	}
	name = method + " " + text.Cut(target, maxName)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.names) < t.max {
		t.names[key] = name
	}
	return name
}

func knownMethod(name string) string {
	if methods[name] {
		return name
	}
	return Other
}

// attributes appends the attributes that are known at the start.
func (o *Operation) attributes(list []attribute.KeyValue, served bool) []attribute.KeyValue {
	add := func(key attribute.Key, value string, limit int) {
		if value != "" {
			list = append(list, key.String(text.Cut(value, limit)))
		}
	}
	add(keyMethod, o.Method, maxName)
	add(keyTool, o.Tool, maxName)
	add(keyPrompt, o.Prompt, maxName)
	add(keyURI, plainURI(o.URI), maxText)
	add(keyServer, o.Server, maxName)
	add(keyView, o.View, maxName)
	add(keyEra, o.Era, maxName)
	add(keyProtocol, o.Protocol, maxName)
	add(keyRequestID, o.RequestID, maxName)
	if o.Method == protocol.MethodToolsCall {
		add(keyOperation, executeTool, maxName)
	}
	if o.Session != "" && o.Era != "modern" {
		add(keySession, digest(o.Session), maxName)
	}
	transport, application := network(o.Transport)
	add(keyTransport, transport, maxName)
	add(keyNetworkProtocol, application, maxName)
	return o.appendAddress(list, served)
}

func (o *Operation) appendAddress(list []attribute.KeyValue, served bool) []attribute.KeyValue {
	if o.Address == "" {
		return list
	}
	address, port := keyServerAddress, keyServerPort
	if served {
		address, port = keyClientAddress, keyClientPort
	}
	if _, err := netip.ParseAddr(o.Address); err == nil {
		return append(list, address.String(o.Address))
	}
	name, number, err := net.SplitHostPort(o.Address)
	if err != nil {
		return append(list, address.String(text.Cut(o.Address, maxName)))
	}
	list = append(list, address.String(text.Cut(name, maxName)))
	n, err := strconv.Atoi(number)
	if err != nil {
		return list
	}
	return append(list, port.Int(n))
}

// network returns network.transport and network.protocol.name.
func network(transport string) (string, string) {
	switch transport {
	case "http", "sse":
		return "tcp", "http"
	case "stdio", "memory":
		return "pipe", ""
	}
	return "", ""
}

// plainURI leaves out the parts of a URI that often have secrets.
func plainURI(s string) string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil {
		scheme, _, _ := strings.Cut(s, ":")
		return scheme + ":"
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

// digest identifies a session without giving access to it.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

func (a *Active) end(o *Outcome) {
	now := time.Now()
	kind := a.errorType(o)
	if a.span != nil {
		a.endSpan(o, kind)
	}
	if !a.served {
		a.outer.waitEnded(now)
	} else if a.outer == nil {
		a.telemetry.active.Add(-1)
	}
	if a.telemetry.instruments != nil {
		a.record(o, kind, now)
	}
}

// errorType returns the value of error.type, or "" if the operation did not fail by the convention.
func (a *Active) errorType(o *Outcome) string {
	switch {
	case o.Code == 0:
		return o.ErrorType
	case a.served && callerFaults[o.Code]:
		return ""
	case o.ErrorType != "":
		return o.ErrorType
	}
	return strconv.FormatInt(o.Code, 10)
}

func (a *Active) endSpan(o *Outcome, kind string) {
	if a.span.IsRecording() {
		if o.Code != 0 {
			a.span.SetAttributes(keyStatusCode.String(strconv.FormatInt(o.Code, 10)))
		}
		if kind != "" {
			a.span.SetAttributes(keyErrorType.String(kind))
			a.span.SetStatus(codes.Error, text.Cut(o.Message, maxText))
		}
	}
	a.span.End()
}

// waits notes that a wait began, here and in the operations around.
func (a *Active) waits(now time.Time) {
	for ; a != nil; a = a.outer {
		a.mu.Lock()
		if a.waiting == 0 {
			a.since = now
		}
		a.waiting++
		a.mu.Unlock()
	}
}

// waitEnded notes that a wait ended, here and in the operations around.
func (a *Active) waitEnded(now time.Time) {
	for ; a != nil; a = a.outer {
		a.mu.Lock()
		a.waiting--
		if a.waiting == 0 {
			a.waited += now.Sub(a.since)
		}
		a.mu.Unlock()
	}
}

// overhead returns the part of the duration in which neither a server nor anything else was waited for.
func (a *Active) overhead(now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	waited := a.waited
	if a.waiting > 0 {
		waited += now.Sub(a.since)
	}
	return max(0, now.Sub(a.began)-waited)
}
