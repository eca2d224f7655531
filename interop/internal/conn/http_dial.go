package conn

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/indusagi/indus/internal/protocol"
)

// httpProbeWait is how long a server may have server/discover before initialize is tried. A server from before
// 2026-07-28 may open a stream for it and send nothing.
const httpProbeWait = 10 * time.Second

// DialHTTP finds out which HTTP transport a server speaks, and connects. It tries server/discover of 2026-07-28, then
// initialize, then HTTP+SSE. Only these three requests may be sent twice.
func DialHTTP(ctx context.Context, u URL, o Options) (Conn, Handshake, error) {
	o = o.withDefaults()
	o.ProbeWait = cmp.Or(o.ProbeWait, httpProbeWait)
	server, err := newHTTPServer(u, o)
	if err != nil {
		return nil, Handshake{}, err
	}
	c, h, err := (&httpDial{Options: o, server: server}).run(ctx)
	if err != nil {
		server.close()
		return nil, Handshake{}, endedBy(ctx, err)
	}
	return c, h, nil
}

// endedBy returns the cause of the end of the context instead of the error of a step, if it has ended. A step names
// itself only if its deadline passed after initialize had been answered.
func endedBy(ctx context.Context, err error) error {
	started, ok := errors.AsType[*InitializedError](err)
	switch {
	case ctx.Err() == nil:
		return err
	case ok && errors.As(started, new(*DeadlineError)):
		return started
	}
	return ctx.Err()
}

// httpDial is one attempt to connect, with the errors of its steps so far.
type httpDial struct {
	Options
	server *httpServer
	steps  []httpStep
	silent bool // server/discover was not answered in time
}

type httpStep struct {
	name string // "server/discover", "initialize", "notifications/initialized", "HTTP+SSE"
	err  error
}

const stepSSE = "HTTP+SSE"

func (d *httpDial) run(ctx context.Context) (Conn, Handshake, error) {
	tried := d.Era == protocol.Legacy || d.Era == "" && d.LastEra == protocol.Legacy
	var failed error // of initialize
	if tried {
		c, h, err := d.initialize(ctx, protocol.VersionLegacy)
		if err == nil || isFinal(err) || ctx.Err() != nil {
			return c, h, d.fail(err)
		}
		failed = err
		if d.Era == protocol.Legacy {
			return d.fallback(ctx, failed)
		}
	}
	c, h, err := d.discover(ctx)
	if err == nil || isFinal(err) || ctx.Err() != nil || d.Era == protocol.Modern {
		return c, h, d.fail(err)
	}
	version := protocol.VersionLegacy
	var other *VersionError
	if errors.As(err, &other) {
		version = other.legacy()
		if version == "" {
			return nil, Handshake{}, d.fail(err)
		}
	}
	if !tried {
		c, h, failed = d.initialize(ctx, version)
	}
	if failed != nil && d.silent && ctx.Err() == nil { // the server may only have been starting
		if c, h, err := d.discover(ctx); err == nil {
			return c, h, nil
		}
	}
	h.Unprobed = d.silent
	if failed == nil || isFinal(failed) || ctx.Err() != nil {
		return c, h, d.fail(failed)
	}
	return d.fallback(ctx, failed)
}

// fallback tries HTTP+SSE, if the error of initialize allows it.
func (d *httpDial) fallback(ctx context.Context, err error) (Conn, Handshake, error) {
	if !maybeSSE(err) {
		return nil, Handshake{}, d.fail(err)
	}
	c, h, err := openSSE(ctx, d.server, sseEndpointWait)
	if err != nil {
		d.record(stepSSE, err)
	}
	return c, h, d.fail(err)
}

// record stores the last error of a step.
func (d *httpDial) record(name string, err error) {
	if unsent, ok := errors.AsType[*UnsentError](err); ok {
		err = unsent.Cause // there was no connection that could be lost
	}
	if name == protocol.MethodInitialize && errors.As(err, new(*InitializedError)) {
		name = protocol.NoteInitialized
	}
	d.steps = slices.DeleteFunc(d.steps, func(s httpStep) bool { return s.name == name })
	d.steps = append(d.steps, httpStep{name, err})
}

// discover tries the modern era. If a server refuses 2026-07-28 but names it as supported, discover tries once more.
func (d *httpDial) discover(ctx context.Context) (Conn, Handshake, error) {
	c := newModern(d.server)
	h, err := d.tryDiscover(ctx, c)
	var other *VersionError
	if errors.As(err, &other) && slices.Contains(other.Supported, protocol.VersionModern) {
		c.Close()
		c = newModern(d.server)
		h, err = d.tryDiscover(ctx, c)
	}
	if err != nil {
		c.Close()
		d.record(protocol.MethodDiscover, err)
		return nil, Handshake{}, err
	}
	c.handshake.Store(&h)
	return c, h, nil
}

func (d *httpDial) tryDiscover(ctx context.Context, c *session) (Handshake, error) {
	silence := &DeadlineError{d.ProbeWait, "no answer"}
	if d.Era != protocol.Modern {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		timer := time.AfterFunc(d.ProbeWait, func() { cancel(silence) })
		timer.Stop()
		defer timer.Stop()
		ctx = context.WithValue(ctx, probeKey{}, probeTimer{timer, d.ProbeWait})
	}
	result, err := c.Call(ctx, discoverRequest(d.Options))
	if err == nil {
		return parseDiscover(result)
	}
	if context.Cause(ctx) == error(silence) {
		d.silent, err = true, silence
	}
	if v := unsupportedVersion(err); v != nil {
		return Handshake{}, v
	}
	return Handshake{}, err
}

type probeKey struct{}

// probeTimer bounds how long a server may have a request without an answer.
type probeTimer struct {
	*time.Timer
	wait time.Duration
}

// probeTransport runs the timer of a request only while the server has the request. A wrapper of the transport holds it
// during a sign-in, in which a person may need minutes.
type probeTransport struct{ base http.RoundTripper }

// RoundTrip sends a request.
func (t probeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	timer, ok := r.Context().Value(probeKey{}).(probeTimer)
	if !ok {
		return t.base.RoundTrip(r)
	}
	timer.Reset(timer.wait)
	res, err := t.base.RoundTrip(r)
	if err != nil || res.StatusCode/100 != 2 {
		timer.Stop()
	}
	return res, err
}

// initialize tries streamable HTTP up to 2025-11-25. If the server refuses the version and names a supported one, it
// tries once more.
func (d *httpDial) initialize(ctx context.Context, version string) (Conn, Handshake, error) {
	c, h, err := openStreamable(ctx, d.server, version)
	if other := offeredVersion(err, version); other != "" {
		c, h, err = openStreamable(ctx, d.server, other)
	}
	if err != nil {
		d.record(protocol.MethodInitialize, err)
	}
	return c, h, err
}

// isFinal reports whether no further step can succeed: there is no server, access is refused, or a modern server has
// refused (2026-07-28, basic/transports/streamable-http, "Backward Compatibility"). A 403 is not final, because some
// gates allow only the methods that they know.
func isFinal(err error) bool {
	if rpc, ok := errors.AsType[*protocol.RPCError](err); ok {
		return rpc.Code == protocol.CodeHeaderMismatch || rpc.Code == protocol.CodeMissingCapability
	}
	switch status := statusOf(err); status {
	case 0: // a server that closed the connection may only have disliked this request
		return errors.As(err, new(*networkError)) &&
			!errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET)
	case http.StatusUnauthorized, http.StatusProxyAuthRequired, http.StatusTooManyRequests:
		return true
	default:
		return status/100 == 3
	}
}

// maybeSSE reports whether a server that gave this answer to initialize may speak HTTP+SSE. Such a server accepts no
// POST at this URL.
func maybeSSE(err error) bool {
	if errors.As(err, new(*InitializedError)) {
		return false
	}
	status := statusOf(err)
	return status != http.StatusForbidden && status != http.StatusRequestTimeout && status/100 == 4 ||
		status == http.StatusNotImplemented || status/100 == 2
}

// spokenError is the failure of a step in which the server spoke the transport. The other steps explain less.
type spokenError struct{ error }

func (e *spokenError) Unwrap() error { return e.error }

// dialError is the error for a server that no transport reached. The most informative step comes first.
type dialError struct{ steps []httpStep }

// Decisive returns the error of the most informative step if err is the error of an attempt over HTTP. Otherwise it
// returns err.
func Decisive(err error) error {
	if e, ok := errors.AsType[*dialError](err); ok {
		return e.steps[0].err
	}
	return err
}

// fail joins the errors of all steps into one error.
func (d *httpDial) fail(err error) error {
	if err == nil {
		return nil
	}
	e := &dialError{steps: slices.Clone(d.steps)}
	slices.SortStableFunc(e.steps, func(a, b httpStep) int { return stepRank(b) - stepRank(a) })
	if len(e.steps) == 0 {
		return err
	}
	return e
}

// stepRank returns how informative the error of a step is. A step in which the server spoke the transport comes first,
// then refused access and versions, then streamable HTTP.
func stepRank(s httpStep) int {
	if s.name == protocol.NoteInitialized || errors.As(s.err, new(*spokenError)) {
		return 8
	}
	rank := map[string]int{protocol.MethodInitialize: 2, protocol.MethodDiscover: 1}[s.name]
	status := statusOf(s.err)
	if status == http.StatusUnauthorized || status == http.StatusForbidden || errors.As(s.err, new(*VersionError)) {
		rank += 4
	}
	return rank
}

// Error returns the whole error of the first step, and shortened errors of the others. Steps with the same error share
// one text.
func (e *dialError) Error() string {
	var steps, texts []string
	for i, s := range e.steps {
		text := strings.TrimPrefix(s.err.Error(), s.name+": ")
		if i > 0 {
			text = protocol.Printable(text, 100)
		}
		if k := slices.Index(texts, text); k >= 0 {
			steps[k] += ", " + s.name
			continue
		}
		steps, texts = append(steps, s.name), append(texts, text)
	}
	for i := range steps {
		steps[i] += ": " + texts[i]
	}
	if len(steps) == 1 {
		return steps[0]
	}
	return steps[0] + " (" + strings.Join(steps[1:], "; ") + ")"
}

func (e *dialError) Unwrap() []error {
	list := make([]error, 0, len(e.steps))
	for _, s := range e.steps {
		list = append(list, s.err)
	}
	return list
}
