package llm

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/text"
)

const (
	// maxFault limits the bytes that are read of an error's body.
	maxFault = 64 << 10
	// maxReason limits the displayed reason of an error, in bytes.
	maxReason = 1000
	// maxSilence is the longest time without data from a server. A local server first loads its model, which takes
	// minutes. Without this limit a script could wait forever.
	maxSilence = 15 * time.Minute
)

// Server is the HTTP endpoint of a model server.
type Server struct {
	// Header is sent with each request. It must be complete before the first request.
	Header http.Header

	name    string
	address string
	client  http.Client
	secrets *secret.Set
}

// NewServer makes a server for an address. Errors begin with the name. They contain neither the key nor a secret of the
// address. client may be nil.
func NewServer(name, address, key string, client *http.Client) *Server {
	s := &Server{
		Header:  http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"indus"}},
		name:    name,
		address: address,
		secrets: secret.New(append(secret.FindInURL(address), key)...),
	}
	if client != nil {
		s.client = *client
	}
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s
}

// Ask sends body as JSON, and calls each with the data of each event of the answer until each returns Last. It returns
// the context's error or an *agent.ProviderError.
func (s *Server) Ask(ctx context.Context, body any, handle func(data []byte) (Progress, error)) error {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(maxSilence, func() { cancel(Malformed("the server has sent nothing for %v", maxSilence)) })
	defer silence.Stop()
	resp, err := s.post(limited, body)
	if err == nil {
		defer resp.Body.Close()
		err = stream(&idleTimeoutReader{resp.Body, silence}, handle)
	}
	switch timeout, ok := errors.AsType[*agent.ProviderError](context.Cause(limited)); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case ok:
		return s.providerError(timeout)
	}
	return s.providerError(err)
}

// idleTimeoutReader reads the body of an answer. Each read restarts the timer of maxSilence.
type idleTimeoutReader struct {
	io.Reader
	timer *time.Timer
}

// Read implements io.Reader.
func (h *idleTimeoutReader) Read(b []byte) (int, error) {
	n, err := h.Reader.Read(b)
	h.timer.Reset(maxSilence)
	return n, err
}

// post sends a request and returns its answer if that is a stream.
func (s *Server) post(ctx context.Context, body any) (*http.Response, error) {
	if u, err := url.Parse(s.address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, Malformed("the base URL %q is none: it is like \"https://example.com/v1\"", secret.URL(s.address))
	}
	b, err := text.JSON(body)
	if err != nil {
		return nil, Malformed("the request cannot be written as JSON: %v", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address, bytes.NewReader(wellFormed(b)))
	if err != nil {
		return nil, err
	}
	r.Header = s.Header.Clone()
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && kind != "application/json" && kind != "text/html" {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, s.statusError(resp, kind)
}

// statusError returns the error for an answer that is not a stream.
func (s *Server) statusError(resp *http.Response, kind string) *agent.ProviderError {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxFault)) // incomplete bodies are used too
	e := readFault(body)
	e.Status, e.RetryAfter = resp.StatusCode, retryAfter(resp.Header, time.Now())
	prefix := "POST " + secret.URL(s.address)
	switch {
	case e.Status >= 300 && e.Status < 400:
		to, err := resp.Location()
		if err != nil {
			to = &url.URL{}
		}
		e.Message = fmt.Sprintf("%s: it redirects to %q, where neither the key nor the conversation is sent; "+
			"if that is the right address, set it as the base URL", prefix, secret.URL(to.String()))
	case e.Status == http.StatusOK:
		e.Message = text.Clip(fmt.Sprintf("%s: the answer is %s and no stream: %s", prefix, kind, e.Message), maxReason)
	case e.Message == "":
		e.Message = prefix + ": no reason is given"
	case e.Code == "" && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed):
		e.Message = prefix + ": " + e.Message // perhaps the base URL is wrong
	}
	e.TooLong = tooLong(e)
	return e
}

// Malformed returns an error for an invalid answer. The error is final, because a retry would not help.
func Malformed(format string, args ...any) error {
	return &agent.ProviderError{Final: true, Message: fmt.Sprintf(format, args...)}
}

// providerError converts an error to an *agent.ProviderError for the caller.
func (s *Server) providerError(err error) *agent.ProviderError {
	var e *agent.ProviderError
	var urlErr *url.Error
	switch {
	case errors.As(err, &e):
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		e = &agent.ProviderError{Message: "the answer broke off", Err: io.ErrUnexpectedEOF}
	case errors.As(err, &urlErr):
		e = &agent.ProviderError{Message: urlErr.Err.Error(), Err: err}
	default:
		e = &agent.ProviderError{Message: err.Error(), Err: err}
	}
	e.Provider, e.Final = s.name, e.Final || errors.As(err, new(*tls.CertificateVerificationError))
	e.Message = text.Clip(text.OneLine(s.secrets.Mask(e.Message)), maxReason)
	e.Code = text.Clip(text.OneLine(s.secrets.Mask(e.Code)), 100)
	return e
}
