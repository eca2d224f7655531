package interop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sdkwire"
)

// probeWait is how long server/discover stays alone on a stream before
// initialize goes out beside it: many servers of before 2026-07-28 ignore what
// they do not know, and a cold npx is to be waited for, not killed.
const probeWait = 3 * time.Second

// dial connects by the configured transport, or the injected one.
func (e *Endpoint) dial(ctx context.Context) (conn, handshake, error) {
	if e.opts.Transport != nil {
		c, err := sdkwire.Dial(ctx, e.opts.Transport, e.opts.MaxMessage)
		if err != nil {
			return nil, handshake{}, err
		}
		return e.openStream(ctx, injectedFramer{c}, cmp.Or(e.server.Era, e.opts.Era))
	}
	switch t := e.server.Transport.(type) {
	case Stdio:
		return e.dialStdio(ctx, t)
	case HTTP:
		return dialHTTP(ctx, e.httpOptions(t.URL, t.Headers))
	case SSE:
		if e.server.Era == Modern {
			return nil, handshake{}, errors.New("HTTP+SSE is older than the modern era: set interop.HTTP, or another era")
		}
		return dialSSE(ctx, e.httpOptions(t.URL, t.Headers))
	}
	return nil, handshake{}, errors.New("the server has no transport: set interop.Stdio, HTTP or SSE")
}

func (e *Endpoint) httpOptions(url string, headers []Pair) httpOptions {
	return httpOptions{
		url: url, headers: headers, client: e.opts.HTTPClient, info: e.opts.Info, era: e.opts.Era, pin: e.server.Era,
		max: e.opts.MaxMessage, memory: e.opts.Memory, receive: e.received, gap: e.listChanged, logger: e.opts.Logger, secrets: e.secrets,
	}
}

// dialStdio starts the process. One that the probe may have upset is started again, and
// only spoken to as a legacy server.
func (e *Endpoint) dialStdio(ctx context.Context, t Stdio) (conn, handshake, error) {
	era := cmp.Or(e.server.Era, e.opts.Era)
	c, shake, err := e.startIn(ctx, t, era)
	if err == nil || era == Legacy || e.server.Era != "" || ctx.Err() != nil || !maybeUpset(err) {
		return c, shake, err
	}
	return e.startIn(ctx, t, Legacy)
}

func (e *Endpoint) startIn(ctx context.Context, t Stdio, era Era) (conn, handshake, error) {
	f, err := startStdio(ctx, t, &e.opts, e.secrets)
	if err != nil {
		return nil, handshake{}, err
	}
	return e.openStream(ctx, f, era)
}

// maybeUpset reports whether a handshake that began with server/discover may have failed
// because of it: the server left, or has refused the initialize that followed, and not for
// its version. Some take the first message, whatever it is, for the beginning of a session.
func maybeUpset(err error) bool {
	var lost *lostError
	var version *versionError
	var rpc *RPCError
	var bad *protocolError
	switch {
	case errors.As(err, &lost):
		return true
	case errors.As(err, &version):
		return false
	case errors.As(err, &rpc):
		return rpc.Code != CodeMethodNotFound && rpc.Code != protocol.CodeUnsupportedVersion
	}
	return errors.As(err, &bad)
}

// openStream shakes hands over f, and closes it where that fails.
func (e *Endpoint) openStream(ctx context.Context, f framer, era Era) (conn, handshake, error) {
	c := newStreamConn(f, e.received, e.secrets)
	shake, err := e.shakeHands(ctx, c, era)
	if err == nil && shake.era == Legacy {
		err = c.notify(ctx, protocol.NoteInitialized, nil)
	}
	if err != nil {
		c.close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
			if sf, ok := f.(*stdioFramer); ok {
				err = fmt.Errorf("%w%s", err, stderrNote(sf.stderr()))
			}
		}
		return nil, handshake{}, err
	}
	c.era.Store(shake.era)
	return c, shake, nil
}

// answer is what came of one of the two questions.
type answer struct {
	shake handshake
	err   error
	era   Era
}

// shakeHands finds out which era the server speaks. server/discover goes first;
// any error, or silence for a while, sends initialize after it on the same
// stream, and the first valid answer decides (2026-07-28, basic/versioning).
func (e *Endpoint) shakeHands(ctx context.Context, c *streamConn, era Era) (handshake, error) {
	answers := make(chan answer, 2)
	ask := func(era Era) {
		c.goWhileAlive(func(context.Context) {
			shake, err := e.ask(ctx, c, era)
			answers <- answer{shake, err, era}
		})
	}
	if era == Legacy {
		ask(Legacy)
		return first(ctx, c, answers)
	}
	ask(Modern)
	if e.server.Era == Modern {
		return first(ctx, c, answers)
	}
	silence := time.NewTimer(e.opts.probeWait)
	defer silence.Stop()
	select {
	case a := <-answers:
		if a.err == nil || fatal(a.err) {
			return a.shake, a.err
		}
		ask(Legacy)
		shake, err := first(ctx, c, answers)
		return shake, moreTelling(a.err, err)
	case <-silence.C:
	case <-ctx.Done():
		return handshake{}, context.Cause(ctx)
	case <-c.done():
		return handshake{}, &lostError{c.err()}
	}
	ask(Legacy)
	var failed [2]error // of discover, of initialize
	for range failed {
		a := next(ctx, c, answers)
		if a.err == nil || fatal(a.err) {
			return a.shake, a.err
		}
		if a.era == Modern {
			failed[0] = a.err
		} else {
			failed[1] = a.err
		}
	}
	return handshake{}, moreTelling(failed[0], failed[1])
}

// moreTelling is the error to show where both questions failed: of a modern
// server that names its versions, what it said to the first.
func moreTelling(discover, initialize error) error {
	var version *versionError
	var rpc *RPCError
	switch {
	case initialize == nil || fatal(initialize):
	case errors.As(discover, &version):
		return discover
	case errors.As(discover, &rpc) && rpc.Code == protocol.CodeUnsupportedVersion:
		return fmt.Errorf("%w: %w", unsupportedVersion(rpc), discover)
	}
	return initialize
}

// fatal reports an error after which there is nobody to ask again.
func fatal(err error) bool {
	var lost *lostError
	return errors.As(err, &lost) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func first(ctx context.Context, c *streamConn, answers <-chan answer) (handshake, error) {
	a := next(ctx, c, answers)
	return a.shake, a.err
}

func next(ctx context.Context, c *streamConn, answers <-chan answer) answer {
	select {
	case a := <-answers:
		return a
	case <-ctx.Done():
		return answer{err: context.Cause(ctx)}
	case <-c.done():
		return answer{err: &lostError{c.err()}}
	}
}

// ask puts the opening question of one era.
func (e *Endpoint) ask(ctx context.Context, c *streamConn, era Era) (handshake, error) {
	x := exchange{method: protocol.MethodDiscover, params: discoverParams(e.opts.Info), quiet: true}
	parse := parseDiscover
	if era == Legacy {
		x.method, x.params, parse = protocol.MethodInitialize, initializeParams(e.opts.Info, protocol.VersionLegacy), parseInitialize
	}
	at := time.Now()
	result, err := c.call(ctx, x)
	e.opts.Trace.answered(x.method, at, err)
	if err != nil {
		return handshake{}, fmt.Errorf("%s: %w", x.method, err)
	}
	return parse(result)
}
