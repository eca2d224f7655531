package conn

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/httpconn"
	"github.com/indusagi/indus/internal/wire"
)

// Values and canonical keys of headers. The slices are shared and never changed.
var (
	httpAcceptBoth   = []string{"application/json, text/event-stream"}
	httpAcceptEvents = []string{"text/event-stream"}
	httpTypeJSON     = []string{"application/json"}
)

const (
	httpKeyVersion   = "Mcp-Protocol-Version" // protocol.HeaderVersion as http.Header spells it
	httpKeyLastEvent = "Last-Event-Id"        // Last-Event-ID as http.Header spells it
	httpKeyAccept    = "Accept"
	httpKeyType      = "Content-Type"

	httpDrainBytes = 32 << 10
	// httpDrainTime is how long a stream may take to end after its final message. Then the connection can be used
	// again.
	httpDrainTime = time.Second
	// httpAnswerWait is how long the answer to a message without a result is awaited after its sender has gone.
	httpAnswerWait = 250 * time.Millisecond
)

// headers returns a new header with the configured headers, and room for more.
func (s *httpServer) headers(accept []string) http.Header {
	h := make(http.Header, len(s.header)+8)
	maps.Copy(h, s.header)
	h[httpKeyAccept] = accept
	return h
}

type headerKey struct{}

// WithHeader returns ctx for a call with additional headers. Only its own request and the requests that resume its
// answer have them. The URL must allow it (Forwards).
func WithHeader(ctx context.Context, h http.Header) context.Context {
	return context.WithValue(ctx, headerKey{}, h)
}

// httpReply is an answer with an open body. Until it is closed or detached, it ends with the caller's context.
type httpReply struct {
	*http.Response
	body             endReader
	cancel           context.CancelFunc
	detachCaller     func() bool // detaches it from the caller's context
	detachConnection func() bool // detaches it from the connection's context
}

// endReader records whether its end was reached.
type endReader struct {
	io.ReadCloser
	ended bool
}

func (r *endReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err == io.EOF {
		r.ended = true
	}
	return n, err
}

// send makes one request, which ends when ctx or the connection does. It has a context of its own, so that drain can
// detach it from the caller's.
func (s *httpServer) send(
	ctx context.Context, l *lifetime, method string, h http.Header, body []byte,
) (*httpReply, error) {
	rctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &httpReply{
		cancel:           cancel,
		detachCaller:     context.AfterFunc(ctx, cancel),
		detachConnection: context.AfterFunc(l.ctx, cancel),
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
		h[httpKeyType] = httpTypeJSON
	}
	if s.forwards && (body != nil || h[httpKeyLastEvent] != nil) { // the latter resumes the answer of a call
		extra, _ := ctx.Value(headerKey{}).(http.Header)
		maps.Copy(h, extra)
	}
	req, err := http.NewRequestWithContext(rctx, method, s.url.String(), reader)
	if err == nil {
		req.Header = h
		if s.host != "" {
			req.Host = s.host
		}
		r.Response, err = s.client.Do(req)
	}
	if err != nil {
		r.release()
		return nil, contextErrorOr(ctx, l, newNetworkError(method, s.url, err))
	}
	s.idle.Learn(r.Header)
	err = httpconn.Decode(r.Response)
	r.body.ReadCloser = r.Response.Body
	if err != nil {
		r.close()
		return nil, &ProtocolError{err.Error(), nil}
	}
	return r, nil
}

func (r *httpReply) release() {
	r.detachCaller()
	r.detachConnection()
	r.cancel()
}

// close ends the reply immediately.
func (r *httpReply) close() {
	_ = r.body.Close()
	r.release()
}

// drain reads the rest of the stream, so that the connection can be used again. It gives up after httpDrainTime.
func (r *httpReply) drain(l *lifetime) {
	if r.body.ended || r.ContentLength == 0 {
		r.close()
		return
	}
	r.detachCaller()
	ok := l.spawn(func(context.Context) {
		late := time.AfterFunc(httpDrainTime, r.cancel)
		_, _ = io.CopyN(io.Discard, &r.body, httpDrainBytes)
		late.Stop()
		r.close()
	})
	if !ok {
		r.close()
	}
}

// mediaType returns the type of the answer, in lower case and without parameters.
func (r *httpReply) mediaType() string {
	t, _, _ := strings.Cut(r.Header.Get(httpKeyType), ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// openEvents opens a stream of events.
func (s *httpServer) openEvents(ctx context.Context, l *lifetime, h http.Header) (*httpReply, error) {
	r, err := s.send(ctx, l, http.MethodGet, h, nil)
	if err != nil {
		return nil, err
	}
	streams, err := s.isStream(r)
	if streams {
		return r, nil
	}
	if err == nil {
		err = s.unexpectedType(r)
	}
	r.close()
	return nil, err
}

// deliver posts a message that has no answer. The specification requires status 202; the body of another 2xx is
// ignored.
//
// If ctx ends meanwhile, the request is not ended at once. net/http (Go 1.26) gives the connection to another request
// before it returns an answer without a body. Ending this request would then cancel the other one, and its call would
// fail (its issue 41600 was similar).
func (s *httpServer) deliver(ctx context.Context, l *lifetime, h http.Header, e wire.Envelope) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(httpAnswerWait, cancel) })()
	r, err := s.send(sending, l, http.MethodPost, h, wire.EncodeEnvelope(e))
	if err != nil {
		return contextErrorOr(ctx, l, err)
	}
	if r.StatusCode/100 == 2 {
		r.drain(l)
		return nil
	}
	defer r.close()
	return s.failure(r)
}
