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
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/text"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Texts of clients and servers are cut to these lengths on a span.
const (
	maxName = 128
	maxText = 1024
)

var (
	asServer   = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}
	asClient   = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient)}
	asInternal = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindInternal)}
)

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
	a.operation.shorten()
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
	if link.SpanContext.IsValid() {
		a.span.AddLink(link)
	}
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

// shorten releases the memory of the request, and cuts texts.
func (o *Operation) shorten() {
	o.Meta = nil
	for _, s := range []*string{&o.Method, &o.Tool, &o.Prompt, &o.Server, &o.View, &o.Era, &o.Protocol, &o.RequestID} {
		*s = cut(*s, maxName)
	}
	o.URI = cut(plainURI(o.URI), maxText)
}

// cut is [text.Cut] without a reference to the rest.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.Clone(text.Cut(s, limit))
}

// attributes appends the attributes that are known at the start.
func (o *Operation) attributes(list []attribute.KeyValue, served bool) []attribute.KeyValue {
	add := func(key attribute.Key, value string) {
		if value != "" {
			list = append(list, key.String(value))
		}
	}
	add(keyMethod, o.Method)
	add(keyTool, o.Tool)
	add(keyPrompt, o.Prompt)
	add(keyURI, o.URI)
	add(keyServer, o.Server)
	add(keyView, o.View)
	add(keyEra, o.Era)
	add(keyProtocol, o.Protocol)
	add(keyRequestID, o.RequestID)
	if o.Method == protocol.MethodToolsCall {
		add(keyOperation, executeTool)
	}
	if o.Session != "" && o.Era != "modern" {
		add(keySession, digest(o.Session))
	}
	transport, application := network(o.Transport)
	add(keyTransport, transport)
	add(keyNetworkProtocol, application)
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
