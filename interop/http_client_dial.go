package interop

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// httpProbeWait is what server/discover may take before initialize is tried
// instead: a server of before 2026-07-28 may open a stream for it and be silent.
const httpProbeWait = 10 * time.Second

// dialHTTP finds out which of the transports over HTTP a server speaks, and
// connects: server/discover of 2026-07-28, else initialize, else HTTP+SSE. No
// request goes out twice but these three.
func dialHTTP(ctx context.Context, o httpOptions) (conn, handshake, error) {
	s, err := newHTTPServer(o)
	if err != nil {
		return nil, handshake{}, err
	}
	if o.probe == 0 {
		o.probe = httpProbeWait
	}
	d := &httpDial{o: o, server: s}
	c, h, err := d.run(ctx)
	if err == nil {
		return c, h, nil
	}
	s.close()
	if cerr := ctx.Err(); cerr != nil {
		return nil, handshake{}, cerr
	}
	return nil, handshake{}, err
}

// httpDial is one attempt to connect, and how its steps failed so far.
type httpDial struct {
	o      httpOptions
	server *httpServer
	steps  []httpStep
	silent bool // server/discover was not answered in time
}

type httpStep struct {
	name string // "server/discover", "initialize", "HTTP+SSE"
	err  error
}

const stepSSE = "HTTP+SSE"

func (d *httpDial) run(ctx context.Context) (conn, handshake, error) {
	tried := d.o.pin == Legacy || d.o.pin == "" && d.o.era == Legacy
	var failed error // of initialize
	if tried {
		c, h, err := d.initialize(ctx, protocol.VersionLegacy)
		if err == nil || final(err) || ctx.Err() != nil {
			return c, h, d.verdict(err)
		}
		if failed = err; d.o.pin == Legacy {
			return d.fallBack(ctx, failed)
		}
	}
	c, h, err := d.discover(ctx)
	if err == nil || final(err) || ctx.Err() != nil || d.o.pin == Modern {
		return c, h, d.verdict(err)
	}
	version := protocol.VersionLegacy
	var other *versionError
	if errors.As(err, &other) {
		if version = other.legacy(); version == "" {
			return nil, handshake{}, d.verdict(err)
		}
	}
	if !tried {
		c, h, failed = d.initialize(ctx, version)
	}
	if failed != nil && d.silent && ctx.Err() == nil { // it may only have been starting
		if c, h, err := d.discover(ctx); err == nil {
			return c, h, nil
		}
	}
	if failed == nil || final(failed) || ctx.Err() != nil {
		return c, h, d.verdict(failed)
	}
	return d.fallBack(ctx, failed)
}

// fallBack tries HTTP+SSE, where what initialize got leaves room for it.
func (d *httpDial) fallBack(ctx context.Context, err error) (conn, handshake, error) {
	if d.o.noSSE || !maybeSSE(err) {
		return nil, handshake{}, d.verdict(err)
	}
	c, h, err := openSSEConn(ctx, d.server, d.o)
	if err != nil {
		d.record(stepSSE, err)
	}
	return c, h, d.verdict(err)
}

// record keeps how a step failed the last time.
func (d *httpDial) record(name string, err error) {
	if unsent, ok := errors.AsType[*unsentError](err); ok {
		err = unsent.cause // nothing was connected that could be lost
	}
	d.steps = slices.DeleteFunc(d.steps, func(s httpStep) bool { return s.name == name })
	d.steps = append(d.steps, httpStep{name, err})
}

// discover tries the modern era. A server may refuse our version and name it
// as one that it supports: then it is asked once more.
func (d *httpDial) discover(ctx context.Context) (conn, handshake, error) {
	c := newHTTPModern(d.server)
	h, err := d.askDiscover(ctx, c)
	var other *versionError
	if errors.As(err, &other) && slices.Contains(other.supported, protocol.VersionModern) {
		c.close()
		c = newHTTPModern(d.server)
		h, err = d.askDiscover(ctx, c)
	}
	if err != nil {
		c.close()
		d.record(protocol.MethodDiscover, err)
		return nil, handshake{}, err
	}
	return c, h, nil
}

func (d *httpDial) askDiscover(ctx context.Context, c *httpModern) (handshake, error) {
	silence := &deadlineError{d.o.probe, "no answer"}
	if d.o.pin != Modern {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d.o.probe, silence)
		defer cancel()
	}
	result, err := c.call(ctx, exchange{method: protocol.MethodDiscover, params: discoverParams(d.o.info)})
	if err == nil {
		return parseDiscover(result)
	}
	if context.Cause(ctx) == error(silence) {
		d.silent, err = true, silence
	}
	var rpc *RPCError
	if errors.As(err, &rpc) {
		if v := unsupportedVersion(rpc); v != nil {
			return handshake{}, v
		}
	}
	return handshake{}, err
}

// initialize tries streamable HTTP up to 2025-11-25.
func (d *httpDial) initialize(ctx context.Context, version string) (conn, handshake, error) {
	var c *httpLegacy
	h, err := withVersion(version, func(v string) (handshake, error) {
		if c != nil {
			c.close()
		}
		c = newHTTPLegacy(d.server, d.o.receive, d.o.gap)
		return c.open(ctx, d.o.info, v)
	})
	if err != nil {
		c.close()
		d.record(protocol.MethodInitialize, err)
		return nil, handshake{}, err
	}
	return c, h, nil
}

// withVersion shakes hands with one of our legacy versions, and once more with
// another where the server refuses that one and names what it supports.
func withVersion(version string, shake func(version string) (handshake, error)) (handshake, error) {
	h, err := shake(version)
	var rpc *RPCError
	if !errors.As(err, &rpc) {
		return h, err
	}
	supported, _ := wire.Lookup(rpc.Data, "supported")
	other := (&versionError{stringList(supported)}).legacy()
	if other == "" || other == version {
		return h, err
	}
	return shake(other)
}

// final reports a failure after which another step could not do better: there
// is nobody, nobody may enter, or a modern server has refused (2026-07-28,
// basic/transports/streamable-http, "Backward Compatibility"). A 403 is not
// final for the next step: some gates let pass only the methods that they know.
func final(err error) bool {
	var ne *netError
	var he *HTTPError
	var rpc *RPCError
	switch {
	case errors.As(err, &rpc):
		return rpc.Code == protocol.CodeHeaderMismatch || rpc.Code == protocol.CodeMissingCapability
	case errors.As(err, &he):
		return he.Status/100 == 3 || he.Status == http.StatusUnauthorized ||
			he.Status == http.StatusProxyAuthRequired || he.Status == http.StatusTooManyRequests
	case errors.As(err, &ne): // one that hung up may only not have liked the question
		return !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET)
	}
	return false
}

// maybeSSE reports whether a server that gave this answer to initialize may be
// one of HTTP+SSE, which knows no POST at this URL.
func maybeSSE(err error) bool {
	var he *HTTPError
	if !errors.As(err, &he) {
		return false
	}
	return he.Status != http.StatusForbidden && he.Status != http.StatusRequestTimeout && he.Status/100 == 4 ||
		he.Status == http.StatusNotImplemented || he.Status/100 == 2
}
