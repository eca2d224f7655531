package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/indusagi/indus/internal/memory"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
)

const (
	httpErrorBytes = 256 << 10 // read of a body that is an error
	httpMasked     = 64 << 10  // of which secrets are masked
	httpExcerpt    = 300       // shown of that
	httpFirstRead  = 8 << 10   // room for a body whose length is not told
	httpKeptBuffer = 1 << 20   // of such room, to be used again
)

// events reads an answer that is a stream.
func (s *httpServer) events(r *httpReply) *wire.Events {
	return wire.NewEvents(&r.body, s.opts.MaxMessage).Within(s.scratch.memory)
}

// response reads the whole body as one message that answers the request id.
func (s *httpServer) response(r *httpReply, id json.RawMessage) (json.RawMessage, error) {
	body, err := s.scratch.readBounded(&r.body, r.ContentLength, s.opts.MaxMessage)
	if err != nil {
		return nil, err
	}
	env, err := wire.Scan(body)
	if err != nil {
		return nil, &ProtocolError{"a broken answer", err}
	}
	if env.Kind() != wire.Response {
		return nil, &ProtocolError{"an answer that is no response", nil}
	}
	return httpResult(&env, id, s.opts.Secrets)
}

// httpResult is what a response says, if it is the response to the request id.
// An error without an id can only mean the request whose answer it came as.
func httpResult(env *wire.Envelope, id json.RawMessage, secrets *secret.Set) (json.RawMessage, error) {
	if !bytes.Equal(env.ID, id) && (env.Error == nil || string(env.ID) != "null") {
		return nil, &ProtocolError{fmt.Sprintf("an answer to %s, where %s was asked", protocol.Printable(string(env.ID), 40), id), nil}
	}
	if env.Error != nil {
		return nil, rpcError(env.Error, secrets)
	}
	return env.Result, nil
}

// scratch keeps buffers in which bodies of unknown length are gathered: what is
// returned of them is a copy of the right size.
type scratch struct {
	pool   sync.Pool
	memory *memory.Budget
}

// readBounded reads a body of at most limit bytes, in one allocation of the
// right size. length is -1 where it is not told.
func (s *scratch) readBounded(r io.Reader, length int64, limit int) ([]byte, error) {
	if length > int64(limit) {
		return nil, tooLong(limit)
	}
	if length >= 0 && length <= memory.Small {
		return readWhole(r, length)
	}
	m := memory.Meter{Budget: s.memory}
	b, err := s.read(m.Read(r), length, limit)
	if err != nil {
		m.Drop()
	} else {
		m.Keep(b)
	}
	return b, err
}

func (s *scratch) read(r io.Reader, length int64, limit int) ([]byte, error) {
	if length >= 0 {
		return readWhole(r, length)
	}
	buf, _ := s.pool.Get().(*[]byte)
	if buf == nil {
		buf = new(make([]byte, 0, httpFirstRead))
	}
	b, err := readAll((*buf)[:0], r, limit)
	out := append(make([]byte, 0, len(b)), b...)
	if cap(b) <= httpKeptBuffer {
		*buf = b
		s.pool.Put(buf)
	}
	return out, err
}

func readWhole(r io.Reader, length int64) ([]byte, error) {
	b := make([]byte, length)
	if n, err := io.ReadFull(r, b); err != nil && length > 0 {
		return b[:n], bodyError(err)
	}
	return b, nil
}

// bodyError is a body that could not be read to its end.
func bodyError(err error) error {
	if noRoom := (memory.NoRoom{}); errors.As(err, &noRoom) {
		return &ProtocolError{"an answer that is not taken", noRoom}
	}
	return &CutError{err}
}

// readAll reads r to its end into b, which grows as it must.
func readAll(b []byte, r io.Reader, limit int) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = slices.Grow(b, min(len(b), limit+1-len(b)))
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case len(b) > limit:
			return b[:limit], tooLong(limit)
		case err == io.EOF:
			return b, nil
		case err != nil:
			return b, bodyError(err)
		}
	}
}

func tooLong(limit int) error {
	return &LongError{ProtocolError{fmt.Sprintf("an answer of more than %d bytes", limit), nil}}
}

// failure makes an error of an answer whose status is not 2xx: an
// [*HTTPError], or the JSON-RPC error in its body where the status lets that
// be the server's own answer and not that of something before it.
func (s *httpServer) failure(r *httpReply) error {
	body, _ := s.scratch.readBounded(&r.body, r.ContentLength, min(httpErrorBytes, s.opts.MaxMessage))
	if len(body) == 0 { // longer than that by its own account: its beginning will do
		body, _ = io.ReadAll(io.LimitReader(&r.body, httpErrorBytes))
	}
	he := s.httpError(r, body)
	if to := r.Header.Get("Location"); r.StatusCode/100 == 3 && to != "" {
		if u, err := r.Request.URL.Parse(to); err == nil {
			he.Body = "redirects to " + s.opts.Secrets.Mask(origin(u)) + protocol.Printable(s.opts.Secrets.Mask(u.EscapedPath()), 200) + ", which is not followed"
		}
	}
	if !ownStatus(r.StatusCode) {
		return he
	}
	if env, err := wire.Scan(body); err == nil && env.Error != nil && env.Result == nil && env.Method == nil {
		return &AnsweredError{rpcError(env.Error, s.opts.Secrets), he}
	}
	return he
}

// httpError shows the beginning of an answer, masked before it is cut.
func (s *httpServer) httpError(r *httpReply, body []byte) *HTTPError {
	h := r.Header.Clone()
	s.opts.Secrets.Header(h)
	body = body[:min(len(body), httpMasked)]
	return &HTTPError{
		Status: r.StatusCode, Body: protocol.Printable(s.opts.Secrets.Mask(string(body)), httpExcerpt), Header: h,
		Authorized: r.Request != nil && r.Request.Header.Get("Authorization") != "",
	}
}

// ownStatus reports a status with which an MCP server itself may answer a
// request. The others speak of access, load and what stands in between.
func ownStatus(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false
	}
	return status >= 400
}

// odd is the error of a 2xx that is neither of the two types that may answer.
func (s *httpServer) odd(r *httpReply) error {
	if r.StatusCode == http.StatusAccepted || r.StatusCode == http.StatusNoContent {
		return &ProtocolError{fmt.Sprintf("HTTP %d in place of an answer", r.StatusCode), nil}
	}
	body, _ := s.scratch.readBounded(&r.body, -1, min(httpErrorBytes, s.opts.MaxMessage))
	return &ProtocolError{
		fmt.Sprintf("an answer of type %q", protocol.Printable(r.Header.Get(httpKeyType), 80)),
		s.httpError(r, body),
	}
}

// answerKind is how a reply answers a request.
type answerKind int

const (
	answerJSON answerKind = iota
	answerEvents
	answerFailed // not 2xx
	answerOdd    // 2xx, and yet no answer
)

func (r *httpReply) kind() answerKind {
	if r.StatusCode/100 != 2 {
		return answerFailed
	}
	switch r.mediaType() {
	case "application/json":
		return answerJSON
	case "text/event-stream":
		return answerEvents
	case "":
		if r.StatusCode == http.StatusOK { // a server that names no type means the usual one
			return answerJSON
		}
	}
	return answerOdd
}

// once reads an answer that is no stream, and ends the reply.
func (s *httpServer) once(ctx context.Context, l *lifetime, r *httpReply, id json.RawMessage) (json.RawMessage, error) {
	defer r.close()
	var result json.RawMessage
	var err error
	switch r.kind() {
	case answerJSON:
		result, err = s.response(r, id)
	case answerFailed:
		err = s.failure(r)
	default:
		err = s.odd(r)
	}
	var cut *CutError
	var rpc *protocol.RPCError
	if errors.As(err, &cut) || ctx.Err() != nil && err != nil && !errors.As(err, &rpc) {
		err = orContext(ctx, l, err)
	}
	return result, err
}
