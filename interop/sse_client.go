package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// sseEndpointWait is what the first event may take once the stream is open: it
// is all that tells HTTP+SSE from any other stream of events.
const sseEndpointWait = 10 * time.Second

// sseFramer is HTTP+SSE, the transport of 2024-11-05, as one duplex stream: a
// GET that brings all messages, and a POST for each that goes out.
type sseFramer struct {
	*httpLife
	server  *httpServer // at the URL of the stream
	posts   *httpServer // at the URL that the endpoint event named
	reply   *httpReply
	events  *wire.Events
	version atomic.Value // string; "" before the handshake
}

var _ framer = (*sseFramer)(nil)

// openSSE opens the stream and takes its endpoint event, for which it waits so long.
func openSSE(ctx context.Context, s *httpServer, wait time.Duration) (*sseFramer, error) {
	f := &sseFramer{httpLife: newHTTPLife(), server: s}
	f.version.Store("")
	h := s.headers()
	h[httpKeyAccept] = httpAcceptEvents
	r, err := s.send(ctx, f.httpLife, http.MethodGet, h, nil)
	if err != nil {
		f.end()
		return nil, err
	}
	if kind := r.kind(); kind != answerEvents {
		if kind == answerFailed {
			err = s.failure(r)
		} else {
			err = s.odd(r)
		}
		r.close()
		f.end()
		return nil, err
	}
	f.reply, f.events = r, s.events(r)
	if err := f.endpoint(ctx, wait); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// endpoint waits for the event that says where messages go to: another origin
// would get what is configured for this one.
func (f *sseFramer) endpoint(ctx context.Context, wait time.Duration) error {
	var late atomic.Bool
	t := time.AfterFunc(wait, func() { late.Store(true); f.reply.cancel() })
	defer t.Stop()
	for {
		ev, err := f.events.Next()
		switch {
		case err != nil && late.Load():
			return &protocolError{fmt.Sprintf("no endpoint event within %v", wait), nil}
		case err != nil:
			return orContext(ctx, f.httpLife, &cutError{err})
		case ev.Name != "endpoint":
			if len(ev.Data) > 0 {
				return &protocolError{"a stream of events that does not begin with its endpoint", nil}
			}
			continue
		}
		u, err := f.reply.Request.URL.Parse(string(ev.Data))
		if err != nil {
			return &protocolError{"an endpoint event that is no URL", nil}
		}
		if !sameOrigin(u, f.server.url) {
			return &protocolError{"an endpoint of another origin: " + originText(u), nil}
		}
		if !t.Stop() && late.Load() {
			continue // the stream has been ended
		}
		f.reply.leave() // from here on the stream lives as long as the connection
		f.posts = f.server.at(u)
		return nil
	}
}

// at is the same server, at another of its URLs.
func (s *httpServer) at(u *url.URL) *httpServer {
	other := *s
	other.url = u
	return &other
}

func (f *sseFramer) read() (wire.Envelope, error) {
	for {
		ev, err := f.events.Next()
		var long *wire.TooLong
		switch {
		case errors.As(err, &long):
			id, _ := long.ID()
			return wire.Envelope{}, &wire.BadFrame{ID: id, Err: err}
		case err == io.EOF:
			return wire.Envelope{}, errors.New("the server ended the stream of events")
		case err != nil:
			return wire.Envelope{}, err
		}
		if ev.Name != "message" || len(ev.Data) == 0 {
			continue
		}
		return wire.ReadMessage(ev.Data)
	}
}

func (f *sseFramer) write(ctx context.Context, e wire.Envelope) error {
	h := f.server.headers()
	h[httpKeyAccept], h[httpKeyType] = httpAcceptBoth, httpTypeJSON
	if v := f.version.Load().(string); v != "" {
		h[httpKeyVersion] = []string{v}
	}
	body := wire.EncodeEnvelope(e)
	r, err := f.posts.send(ctx, f.httpLife, http.MethodPost, h, body)
	if err != nil {
		return err
	}
	if r.StatusCode/100 == 2 {
		r.drain(f.httpLife)
		return nil
	}
	defer r.close()
	return f.posts.failure(r)
}

func (f *sseFramer) close() {
	f.end()
	if f.reply != nil {
		f.reply.close()
	}
	f.server.close()
}

// sseConn is a stream connection of which one POST can fail alone.
type sseConn struct{ *streamConn }

var _ conn = sseConn{}

func (c sseConn) call(ctx context.Context, x exchange) (json.RawMessage, error) {
	result, err := c.streamConn.call(ctx, x)
	var lost *lostError
	if errors.As(err, &lost) && c.err() == nil {
		err = lost.cause
	}
	return result, err
}

// close cancels what is in flight first: a server may keep it running otherwise.
func (c sseConn) close() {
	if c.err() == nil {
		c.mu.Lock()
		ids := slices.Collect(maps.Keys(c.pending))
		c.mu.Unlock()
		c.die(errClosed)
		ctx, cancel := context.WithTimeout(context.Background(), httpLeaveWait)
		defer cancel()
		tellAll(ctx, c.notify, ids)
	}
	c.streamConn.close()
}

// dialSSE connects to a server that speaks HTTP+SSE and nothing else.
func dialSSE(ctx context.Context, o httpOptions) (conn, handshake, error) {
	s, err := newHTTPServer(o)
	if err != nil {
		return nil, handshake{}, err
	}
	c, h, err := openSSEConn(ctx, s, o)
	if err != nil {
		s.close()
		if he, ok := errors.AsType[*HTTPError](err); ok && (he.Status == 400 || he.Status == 405 || he.Status == 406 || he.Status == 415) {
			err = &notSSEError{err}
		}
		return nil, handshake{}, err
	}
	return c, h, nil
}

// notSSEError is a server that was to speak HTTP+SSE, and seems to speak streamable HTTP.
type notSSEError struct{ cause error }

func (e *notSSEError) Error() string { return e.cause.Error() }
func (e *notSSEError) Unwrap() error { return e.cause }

// openSSEConn opens the stream and shakes hands.
func openSSEConn(ctx context.Context, s *httpServer, o httpOptions) (conn, handshake, error) {
	f, err := openSSE(ctx, s, sseEndpointWait)
	if err != nil {
		return nil, handshake{}, err
	}
	c := sseConn{newStreamConn(f, o.receive, o.secrets)}
	h, err := withVersion(protocol.VersionLegacy, func(version string) (handshake, error) {
		x := exchange{method: protocol.MethodInitialize, params: initializeParams(o.info, version), quiet: true}
		result, err := c.call(ctx, x)
		if err != nil {
			return handshake{}, err
		}
		return parseInitialize(result)
	})
	if err == nil {
		f.version.Store(h.version)
		err = c.notify(ctx, protocol.NoteInitialized, nil)
	}
	if err != nil {
		c.close()
		return nil, handshake{}, err
	}
	return c, h, nil
}
