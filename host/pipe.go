package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"github.com/indusagi/indus/host/internal/count"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sdkwire"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

const (
	// maxListens bounds the subscriptions of one connection.
	maxListens = 100
	// answerGrace is how long calls may continue after their client has closed its side. So piped requests are
	// answered, even if the servers have to start first.
	answerGrace = 10 * time.Second
	// writeGrace is how long a client that does not read can delay the end.
	writeGrace = 2 * time.Second
)

// hostWire is a client on a duplex stream. Writes are not concurrent.
type hostWire interface {
	// read blocks for the next message. A [*wire.BadFrame] concerns only that message; any other error ends the stream.
	read() (wire.Envelope, error)
	// write sends one message, which is in pieces.
	write(frame [][]byte) error
	// close unblocks read and the writes. It returns false if it cannot.
	close() bool
}

// hostPipe is one client on a duplex stream.
type hostPipe struct {
	host    *Host
	wire    hostWire
	out     *outlet // over wire
	session *frontSession
	ctx     context.Context // of its calls: has values and no end
	slots   chan struct{}
	listens chan struct{}
	quit    context.Context // its end ends the subscriptions
	stop    context.CancelCauseFunc

	running count.Group
}

// servePipe serves a client. transport is its name for [Options].SessionEnded.
func (h *Host) servePipe(ctx context.Context, w hostWire, transport string, listWait time.Duration) error {
	if err := h.enter(client{}); err != nil {
		w.close()
		return interop.NewFault(interop.Transport, "", "serve", err)
	}
	defer h.leave(client{})
	p := &hostPipe{
		host: h, wire: w, out: newOutlet(w.write), session: newFrontSession(h.front), ctx: context.WithoutCancel(ctx),
		slots: make(chan struct{}, h.opts.MaxInFlight), listens: make(chan struct{}, maxListens),
	}
	h.sessions.pipes.Add(1)
	defer h.sessions.pipes.Add(-1)
	p.session.listWait, p.session.transport = listWait, transport
	// Otherwise waiting requests could use all slots, and reading would stop.
	p.session.maxQuestions = min(maxQuestions, h.opts.MaxInFlight-1)
	p.quit, p.stop = context.WithCancelCause(p.ctx)
	ended := make(chan error, 1)
	go func() { ended <- p.readAll() }()
	p.running.Run(p.sendNotes)
	var err error
	select {
	case err = <-ended:
		ended <- nil
		p.session.refuseQuestions(errClientGone)
		select {
		case <-p.halt():
		case <-time.After(answerGrace):
		case <-ctx.Done():
		case <-h.ctx.Done():
		}
	case <-p.out.broken:
		err = p.out.err
	case <-ctx.Done():
	case <-h.ctx.Done():
	}
	idle := p.halt()
	p.session.end(errHostClosed)
	waitBriefly(idle)
	if w.close() {
		waitBriefly(ended)
		waitBriefly(idle)
	}
	if err != nil {
		return interop.NewFault(interop.Transport, "", "serve", err)
	}
	return nil
}

// waitBriefly waits for done at the end, at most writeGrace.
func waitBriefly[T any](done <-chan T) {
	select {
	case <-done:
	case <-time.After(writeGrace):
	}
}

// halt ends the subscriptions. Calls continue, but no new task is started.
func (p *hostPipe) halt() (idle <-chan struct{}) {
	defer p.stop(errHostClosed)
	return p.running.Close()
}

// readAll serves messages until the stream ends.
func (p *hostPipe) readAll() error {
	for {
		env, err := p.wire.read()
		var bad *wire.BadFrame
		switch {
		case err == nil:
			p.dispatch(&env)
		case errors.As(err, &bad):
			if p.session.rejectAnswer(bad) {
				continue
			}
			e := badFrameError(bad)
			p.run(p.slots, func() { _ = p.out.send(nil, answerFrame(bad.ID, frontAnswer{err: e})) })
		case endOfStream(err):
			return nil
		default:
			return err
		}
		if p.session.ended() != nil {
			return nil
		}
	}
}

// run starts f when there is a slot for it. Only the reader calls it.
func (p *hostPipe) run(slots chan struct{}, f func()) {
	select {
	case slots <- struct{}{}:
	case <-p.quit.Done():
		return
	}
	if !p.running.Run(func() { defer func() { <-slots }(); f() }) {
		<-slots
	}
}

func (p *hostPipe) dispatch(env *wire.Envelope) {
	method := env.MethodName()
	switch env.Kind() {
	case wire.Notification:
		m := interop.Message{Params: env.Params, Method: method, Era: interop.Legacy}
		if method == protocol.NoteInitialized || method == protocol.NoteCancelled {
			p.host.front.handleNotification(p.ctx, p.session, m, "")
		} else {
			p.run(p.slots, func() { p.host.front.handleNotification(p.ctx, p.session, m, "") })
		}
	case wire.Response:
		p.session.receiveResponse(env)
	case wire.Request:
		p.request(env, method)
	}
}

// request serves one request in a goroutine of its own. Only a handshake is served before request returns, because the
// next message may rely on its result.
func (p *hostPipe) request(env *wire.Envelope, method string) {
	r := &outletReply{outlet: p.out, id: env.ID}
	q := &frontRequest{
		id: env.ID, params: env.Params, meta: protocol.MetaOf(env.Params), method: method,
		session: p.session, send: r.sendMessage,
	}
	q.era = p.era(method, q.meta)
	answer := func(a frontAnswer) { p.run(p.slots, func() { r.finish(a) }) }
	slots := p.slots
	if method == protocol.MethodListen {
		slots = p.listens
		if len(slots) == cap(slots) {
			answer(frontError(0, interop.CodeInternal, "too many subscriptions"))
			return
		}
	}
	if q.era == interop.Modern {
		if a := checkModern(q.meta); !a.isEmpty() {
			answer(a)
			return
		}
	}
	ctx, call, err := p.session.begin(p.ctx, q.id)
	switch {
	case err != nil:
		answer(frontError(0, interop.CodeInvalidRequest, "%v", err))
	case method == protocol.MethodInitialize:
		answer(p.session.serve(ctx, call, q))
	default:
		p.run(slots, func() {
			if method == protocol.MethodListen {
				defer context.AfterFunc(p.quit, func() { call.cancel(errHostClosed) })()
			}
			r.finish(p.session.serve(ctx, call, q))
		})
	}
}

// era returns the era of a request. A request that states a version is modern. A handshake, a ping and all requests
// after a handshake are legacy. Other requests are modern, and are refused because they state no version.
func (p *hostPipe) era(method string, meta json.RawMessage) interop.Era {
	if _, stated := wire.Lookup(meta, protocol.MetaVersion); stated {
		return interop.Modern
	}
	if method == protocol.MethodInitialize || method == protocol.MethodPing || p.session.agreedVersion() != "" {
		return interop.Legacy
	}
	return interop.Modern
}

// sendNotes sends a legacy client its notifications.
func (p *hostPipe) sendNotes() {
	for {
		select {
		case <-p.session.notes.signal:
			_ = p.session.sendNotes(p.out)
		case <-p.quit.Done():
			return
		}
	}
}

// smallFrame is the size up to which a frame is copied for a single write. It is the size of a pipe's buffer.
const smallFrame = 64 << 10

// lineWire is a client on a pair of byte streams, with a message on each line.
type lineWire struct {
	lines *wire.Lines
	r     io.Reader
	w     io.Writer
	buf   []byte

	once     sync.Once
	unblocks bool
}

func (l *lineWire) read() (wire.Envelope, error) {
	line, err := l.lines.Next()
	if long, ok := errors.AsType[*wire.TooLong](err); ok {
		return wire.Envelope{}, long.Frame()
	} else if err != nil {
		return wire.Envelope{}, err
	}
	env, bad := readMessage(line)
	if bad != nil {
		return wire.Envelope{}, bad
	}
	return env, nil
}

// write sends a frame as one line. It sends a small frame in one write, and copies nothing of a large one.
func (l *lineWire) write(frame [][]byte) error {
	size := 1
	for i, p := range frame {
		frame[i] = wire.OneLine(p)
		size += len(p)
	}
	if size <= smallFrame {
		l.buf = l.buf[:0]
		for _, p := range frame {
			l.buf = append(l.buf, p...)
		}
		_, err := l.w.Write(append(l.buf, '\n'))
		return err
	}
	for _, p := range frame {
		if _, err := l.w.Write(p); err != nil {
			return err
		}
	}
	_, err := l.w.Write([]byte("\n"))
	return err
}

func (l *lineWire) close() bool {
	l.once.Do(func() {
		if c, ok := l.w.(io.Closer); ok {
			_ = c.Close()
		}
		c, ok := l.r.(io.Closer)
		if f, file := l.r.(*os.File); file { // closing does not end a read of a terminal
			ok = f.SetReadDeadline(time.Now()) == nil
		}
		if c != nil {
			_ = c.Close()
		}
		l.unblocks = ok
	})
	return l.unblocks
}

// sdkWire is a client on a connection of the SDK.
type sdkWire struct{ c sdkwire.Conn }

func (s sdkWire) read() (wire.Envelope, error) {
	env, err := s.c.Read()
	for _, raw := range [...]json.RawMessage{env.Params, env.Result, env.Error} {
		if bad := wire.CheckUTF8(raw); err == nil && bad != nil {
			return wire.Envelope{}, &wire.BadFrame{ID: env.ID, HasMethod: env.Method != nil, Err: bad}
		}
	}
	return env, err
}

func (s sdkWire) write(frame [][]byte) error {
	env, err := wire.Scan(join(frame))
	if err != nil || string(env.ID) == "null" { // the SDK cannot send an id that is null
		return err
	}
	return s.c.Write(context.Background(), env)
}

func (s sdkWire) close() bool {
	s.c.Close()
	return true
}

// join joins pieces. It returns nil if there are none.
func join(pieces [][]byte) json.RawMessage {
	if len(pieces) == 1 {
		return pieces[0]
	}
	return bytes.Join(pieces, nil)
}

// endOfStream reports whether an error of a read only means that one of the two sides has closed.
func endOfStream(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, fs.ErrClosed) || errors.Is(err, context.Canceled)
}
