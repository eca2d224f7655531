package conn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sdkwire"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// probeWait is how long server/discover stays the only request on a stream before initialize is sent after it. Many
	// servers from before 2026-07-28 ignore unknown methods. A silent server is not killed, because a cold npx needs
	// time to start.
	probeWait = 3 * time.Second
	// streamLeaveWait bounds how long Close waits to notify a server on a stream that its calls are cancelled. A
	// program often interrupts a call and closes the connection right after.
	streamLeaveWait = 250 * time.Millisecond
)

// DialTransport connects over a transport of the SDK.
func DialTransport(ctx context.Context, t mcp.Transport, o Options) (Conn, Handshake, error) {
	o = o.withDefaults()
	c, err := sdkwire.Dial(ctx, t, o.MaxMessage)
	if err != nil {
		return nil, Handshake{}, err
	}
	return openStream(ctx, injected{c}, o, cmp.Or(o.Era, o.LastEra))
}

// openStream shakes hands over f, and closes it if that fails.
func openStream(ctx context.Context, f framer, o Options, era protocol.Era) (Conn, Handshake, error) {
	s := newSession(o, streamLeaveWait)
	s.run(f)
	h, err := s.probe(ctx, era)
	if err == nil {
		s.handshake.Store(&h)
		if h.Era == protocol.Legacy {
			err = s.notifyInitialized(ctx)
		}
	}
	if err != nil {
		s.Close()
		if ctx.Err() != nil && !errors.As(err, new(*InitializedError)) {
			err = context.Cause(ctx)
			if lateErr := s.lateError(ctx, 0); lateErr != ctx.Err() { //nolint:errorlint // it may be ctx.Err() itself
				err = lateErr
			}
			if p, ok := f.(*stdio); ok {
				err = fmt.Errorf("%w%s", err, stderrNote(p.stderr()))
			}
		}
		return nil, Handshake{}, err
	}
	return s, h, nil
}

// opening is the outcome of one of the two opening requests. Its era is "" if the connection or the time to connect
// ended first.
type opening struct {
	handshake Handshake
	err       error
	era       protocol.Era
}

// final reports an outcome after which no other request is tried.
func (o *opening) final() bool {
	return o.err == nil || o.era == "" || errors.As(o.err, new(*LostError)) ||
		errors.Is(o.err, context.Canceled) || errors.Is(o.err, context.DeadlineExceeded)
}

// probe finds out the era of the server. It sends server/discover first. After an error, or silence for a while, it
// sends initialize on the same stream. The first valid answer decides (2026-07-28, basic/versioning).
func (s *session) probe(ctx context.Context, era protocol.Era) (Handshake, error) {
	outcomes := make(chan opening, 2)
	ask := func(era protocol.Era) {
		s.spawn(func(context.Context) {
			h, err := s.open(ctx, era)
			outcomes <- opening{h, err, era}
		})
	}
	next := func(silence <-chan time.Time) (out opening, silent bool) {
		select {
		case out = <-outcomes:
		case <-silence:
			return opening{}, true
		case <-ctx.Done():
			out.err = context.Cause(ctx)
		case <-s.Done():
			out.err = &LostError{s.Err()}
		}
		return out, false
	}
	if era == protocol.Legacy {
		ask(protocol.Legacy)
		out, _ := next(nil)
		return out.handshake, out.err
	}
	ask(protocol.Modern)
	if s.opts.Era == protocol.Modern {
		out, _ := next(nil)
		return out.handshake, out.err
	}
	timer := time.After(cmp.Or(s.opts.ProbeWait, probeWait))
	out, silent := next(timer)
	if !silent && out.final() {
		return out.handshake, out.err
	}
	failed := map[protocol.Era]error{protocol.Modern: out.err}
	ask(protocol.Legacy)
	for len(failed) < 2 || failed[protocol.Modern] == nil {
		out, _ = next(nil)
		if out.final() {
			return out.handshake, out.err
		}
		failed[out.era] = out.err
	}
	return Handshake{}, probeError(failed[protocol.Modern], failed[protocol.Legacy])
}

// open sends the opening request of one era.
func (s *session) open(ctx context.Context, era protocol.Era) (Handshake, error) {
	r, parse := discoverRequest(s.opts), parseDiscover
	if era == protocol.Legacy {
		r, parse = initializeRequest(s.opts, protocol.VersionLegacy), parseInitialize
	}
	at := time.Now()
	result, err := s.Call(ctx, r)
	if s.opts.Trace.Answered != nil {
		s.opts.Trace.Answered(r.Method, time.Since(at), err)
	}
	if err != nil {
		return Handshake{}, fmt.Errorf("%s: %w", r.Method, err)
	}
	return parse(result)
}

// probeError returns the error to show if both requests failed. If a modern server names its versions, it is the error
// of the first request.
func probeError(discover, initialize error) error {
	if errors.As(discover, new(*VersionError)) {
		return discover
	}
	if version := unsupportedVersion(discover); version != nil {
		return fmt.Errorf("%w: %w", version, discover)
	}
	return initialize
}

// mayRetryLegacy reports whether a handshake may have failed because it began with server/discover. The server left, or
// refused the initialize that followed, for a reason other than its version. Some servers treat any first message as
// the beginning of a session.
func mayRetryLegacy(err error) bool {
	rpc, answered := errors.AsType[*protocol.RPCError](err)
	switch {
	case errors.As(err, new(*LostError)):
		return true
	case errors.As(err, new(*VersionError)):
		return false
	case answered:
		return rpc.Code != protocol.CodeMethodNotFound && rpc.Code != protocol.CodeUnsupportedVersion
	}
	return errors.As(err, new(*ProtocolError))
}
