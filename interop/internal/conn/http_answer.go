package conn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/indusagi/indus/internal/memory"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
)

const (
	httpErrorBytes = 256 << 10 // read of an error's body
	httpMasked     = 64 << 10  // part of it in which secrets are masked
	httpExcerpt    = 300       // part of that in an error's text
)

// events returns a reader for an answer that is a stream.
func (s *httpServer) events(r *httpReply) *wire.Events {
	return wire.NewEvents(&r.body, s.opts.MaxMessage).Within(s.opts.Memory)
}

// response reads the whole body as one message that answers the request id.
func (s *httpServer) response(r *httpReply, id json.RawMessage) (json.RawMessage, error) {
	body, err := s.readBody(r, s.opts.MaxMessage)
	if err != nil {
		return nil, err
	}
	env, err := scanLenient(body)
	if err != nil {
		return nil, &ProtocolError{"a broken answer", err}
	}
	if env.Kind() != wire.Response {
		return nil, &ProtocolError{"an answer that is no response", nil}
	}
	return s.result(r, &env, id)
}

// secrets returns the secrets to mask in a reply. They are the configured ones and the credential of the request, which
// may come from a sign-in or the caller.
func (s *httpServer) secrets(r *httpReply) *secret.Set {
	if r.Request == nil {
		return s.opts.Secrets
	}
	return s.opts.Secrets.With(r.Request.Header["Authorization"]...)
}

// credentialLearner adds the credential of each request to the secrets before the request is sent. On HTTP+SSE and on
// standing streams, a message that quotes the credential may arrive before the answer.
type credentialLearner struct {
	base http.RoundTripper
	set  *secret.Set
}

// RoundTrip sends a request.
func (l credentialLearner) RoundTrip(r *http.Request) (*http.Response, error) {
	l.set.Learn(r.Header.Get("Authorization"))
	return l.base.RoundTrip(r)
}

// result returns the result of a response if it answers the request id. An error without an id can only belong to the
// request of this reply.
func (s *httpServer) result(r *httpReply, env *wire.Envelope, id json.RawMessage) (json.RawMessage, error) {
	if !sameID(env.ID, id) && (env.Error == nil || string(env.ID) != "null") {
		answered := protocol.Printable(string(env.ID), 40)
		return nil, &ProtocolError{fmt.Sprintf("an answer to %s, where %s was asked", answered, id), nil}
	}
	if env.Error != nil {
		return nil, rpcError(env.Error, s.secrets(r))
	}
	return s.opts.Secrets.Result(env.Result), nil
}

// readBody reads a body of at most limit bytes. If a body is longer or cut off, it also returns the beginning.
func (s *httpServer) readBody(r *httpReply, limit int) ([]byte, error) {
	b, err := wire.ReadAll(&r.body, r.ContentLength, limit, memory.Meter{Budget: s.opts.Memory})
	var long *wire.TooLong
	switch {
	case errors.As(err, &long):
		return long.Prefix, tooLong(limit, long)
	case err != nil || int64(len(b)) < r.ContentLength:
		return b, &CutError{err}
	}
	return b, nil
}

func tooLong(limit int, long *wire.TooLong) error {
	if long.Size <= int64(limit) {
		return &ProtocolError{"an answer that is not taken", long}
	}
	return &ProtocolError{fmt.Sprintf("an answer of more than %d bytes", limit), long}
}

// failure returns the error for an answer with a status other than 2xx. It is an [*HTTPError], or the JSON-RPC error in
// the body. The latter needs a status with which the server itself may answer, and not an intermediary.
func (s *httpServer) failure(r *httpReply) error {
	body, _ := s.readBody(r, min(httpErrorBytes, s.opts.MaxMessage))
	if len(body) == 0 { // longer by its declared length; the beginning is enough
		body, _ = io.ReadAll(io.LimitReader(&r.body, httpErrorBytes))
	}
	he, secrets := s.httpError(r, body), s.secrets(r)
	if to := r.Header.Get("Location"); r.StatusCode/100 == 3 && to != "" {
		if u, err := r.Request.URL.Parse(to); err == nil {
			path := protocol.Printable(secrets.Mask(u.EscapedPath()), 200)
			he.Body = "redirects to " + secrets.Mask(origin(u)) + path + ", which is not followed"
		}
	}
	if !ownStatus(r.StatusCode) {
		return he
	}
	if env, err := wire.Scan(body); err == nil && env.Error != nil && env.Result == nil && env.Method == nil {
		return &AnsweredError{rpcError(env.Error, secrets), he}
	}
	return he
}

// httpError returns an error with the beginning of an answer, masked before it is cut.
func (s *httpServer) httpError(r *httpReply, body []byte) *HTTPError {
	h, secrets := r.Header.Clone(), s.secrets(r)
	secrets.Header(h)
	body = body[:min(len(body), httpMasked)]
	return &HTTPError{
		Status: r.StatusCode, Body: protocol.Printable(secrets.Mask(string(body)), httpExcerpt), Header: h,
		Authorized: r.Request != nil && r.Request.Header.Get("Authorization") != "",
	}
}

// ownStatus reports whether an MCP server itself may answer a request with a status. The other statuses concern access,
// load and intermediaries.
func ownStatus(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false
	}
	return status >= 400
}

// unexpectedType returns the error for a 2xx answer with a type other than the two allowed ones.
func (s *httpServer) unexpectedType(r *httpReply) error {
	if r.StatusCode == http.StatusAccepted || r.StatusCode == http.StatusNoContent {
		return &ProtocolError{fmt.Sprintf("HTTP %d in place of an answer", r.StatusCode), nil}
	}
	body, _ := s.readBody(r, min(httpErrorBytes, s.opts.MaxMessage))
	return &ProtocolError{
		fmt.Sprintf("an answer of type %q", protocol.Printable(r.Header.Get(httpKeyType), 80)),
		s.httpError(r, body),
	}
}

// isStream reports whether a reply is a stream of events. Otherwise it is one message. If the reply is not an answer,
// the error is the reason. A missing type means JSON.
func (s *httpServer) isStream(r *httpReply) (bool, error) {
	if r.StatusCode/100 != 2 {
		return false, s.failure(r)
	}
	switch t := r.mediaType(); {
	case t == "text/event-stream":
		return true, nil
	case t == "application/json", t == "" && r.StatusCode == http.StatusOK:
		return false, nil
	}
	return false, s.unexpectedType(r)
}

// readAnswer reads an answer that is no stream, and ends the reply. err is the error of isStream.
func (s *httpServer) readAnswer(
	ctx context.Context, l *lifetime, r *httpReply, id json.RawMessage, err error,
) (json.RawMessage, error) {
	defer r.close()
	var result json.RawMessage
	if err == nil {
		result, err = s.response(r, id)
	}
	_, isCut := errors.AsType[*CutError](err)
	_, answered := errors.AsType[*protocol.RPCError](err)
	if isCut || ctx.Err() != nil && err != nil && !answered {
		err = contextErrorOr(ctx, l, err)
	}
	return result, err
}
