package conn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// sseEndpointWait is how long the first event may take once the stream is open. Only that event distinguishes HTTP+SSE
// from any other stream of events.
const sseEndpointWait = 10 * time.Second

// sseEventsBefore is how many other events may come before the endpoint, such as a greeting or a keep-alive.
const sseEventsBefore = 100

// sse is HTTP+SSE, the transport of 2024-11-05, as one duplex stream. A GET receives all messages, and each sent
// message is a POST.
type sse struct {
	s      *session
	server *httpServer // at the URL of the stream
	posts  *httpServer // at the URL of the endpoint event
	reply  *httpReply
	events *wire.Events
	named  bool // the stream has named an endpoint
}

// DialSSE connects to a server that speaks only HTTP+SSE.
func DialSSE(ctx context.Context, u URL, o Options) (Conn, Handshake, error) {
	server, err := newHTTPServer(u, o.withDefaults())
	if err != nil {
		return nil, Handshake{}, err
	}
	c, h, err := openSSE(ctx, server, sseEndpointWait)
	if err != nil {
		server.close()
		httpErr, ok := errors.AsType[*HTTPError](err)
		if ok && slices.Contains([]int{400, 405, 406, 415}, httpErr.Status) && !errors.As(err, new(*spokenError)) {
			err = &NotSSEError{err}
		}
		return nil, Handshake{}, err
	}
	return c, h, nil
}

// openSSE opens the stream, waits at most wait for its endpoint event, and shakes hands.
func openSSE(ctx context.Context, server *httpServer, wait time.Duration) (Conn, Handshake, error) {
	s := newSession(server.opts, httpLeaveWait)
	f := &sse{s: s, server: server}
	err := f.open(ctx, wait)
	if err != nil {
		f.events = nil // there is no way to send an answer
	}
	s.run(f)
	var h Handshake
	if err == nil {
		h, err = s.initialize(ctx, protocol.VersionLegacy)
		if err != nil {
			if other := offeredVersion(err, protocol.VersionLegacy); other != "" {
				h, err = s.initialize(ctx, other)
			}
		}
	}
	if err != nil {
		s.Close()
		if f.named && ctx.Err() == nil {
			err = &spokenError{err}
		}
		return nil, Handshake{}, err
	}
	return s, h, nil
}

// open opens the stream and waits for the event with the URL for messages. It refuses another origin, which would
// receive the headers configured for this one.
func (f *sse) open(ctx context.Context, wait time.Duration) (err error) {
	f.reply, err = f.server.openEvents(ctx, f.s.transport, f.server.headers(httpAcceptEvents))
	if err != nil {
		return err
	}
	f.events = f.server.events(f.reply)
	if req := f.reply.Request; req != nil { // every answer arrives on this stream
		f.server.opts.Secrets.Learn(req.Header.Get("Authorization"))
	}
	var late atomic.Bool
	t := time.AfterFunc(wait, func() { late.Store(true); f.reply.cancel() })
	defer t.Stop()
	for others := 0; ; {
		ev, err := f.events.Next()
		switch {
		case err != nil && late.Load():
			return &ProtocolError{fmt.Sprintf("no endpoint event within %v", wait), nil}
		case err != nil && others > 0 && ctx.Err() == nil:
			return &ProtocolError{"a stream of events without its endpoint", &CutError{err}}
		case err != nil:
			return contextErrorOr(ctx, f.s.transport, &CutError{err})
		case ev.Name != "endpoint":
			if others++; others > sseEventsBefore {
				return &ProtocolError{"a stream of events without its endpoint", nil}
			}
			continue
		}
		f.named = true
		u, err := f.reply.Request.URL.Parse(string(ev.Data))
		if err != nil {
			return &ProtocolError{"an endpoint event that is no URL", nil}
		}
		if !sameOrigin(u, f.server.url) {
			return &ProtocolError{"an endpoint of another origin", &OriginError{origin(u)}}
		}
		if !t.Stop() && late.Load() {
			continue // the timer has ended the stream
		}
		f.reply.detachCaller() // from here on the stream lives as long as the connection
		posts := *f.server
		posts.url = u
		f.posts = &posts
		return nil
	}
}

func (f *sse) read() (wire.Envelope, error) {
	if f.events == nil {
		return wire.Envelope{}, io.EOF
	}
	for {
		ev, err := f.events.Next()
		var long *wire.TooLong
		switch {
		case errors.As(err, &long):
			return wire.Envelope{}, long.Frame()
		case err == io.EOF:
			return wire.Envelope{}, errors.New("the server ended the stream of events")
		case err != nil:
			return wire.Envelope{}, err
		}
		if ev.Name == "message" && len(ev.Data) > 0 {
			return wire.ReadMessage(ev.Data)
		}
	}
}

func (f *sse) write(ctx context.Context, e wire.Envelope) error {
	h := f.server.headers(httpAcceptBoth)
	if handshake := f.s.handshake.Load(); handshake != nil {
		h[httpKeyVersion] = []string{handshake.Version}
	}
	err := f.posts.deliver(ctx, f.s.transport, h, e)
	if status := statusOf(err); status == 404 || status == 405 || status == 410 {
		err = &EndpointError{f.posts.url.Path, err}
	}
	return err
}

func (f *sse) close() {
	if f.reply != nil {
		f.reply.close()
	}
	f.server.close()
}
