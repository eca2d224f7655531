package llm

import (
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
	"github.com/indusagi/indus/internal/wire"
)

const (
	// maxEvent bounds one event: some servers send a whole call in one.
	maxEvent = 16 << 20
	// maxStream bounds all of an answer, of which events repeat some 400 bytes for each few characters.
	maxStream = 128 << 20
	// maxFault bounds what is read of the body of an error.
	maxFault = 64 << 10
	// maxReason bounds what is shown of a reason.
	maxReason = 1000
	// maxSilence is how long a server may send nothing: one on this machine first loads its model, which takes minutes. Without it
	// a script would wait for ever.
	maxSilence = 15 * time.Minute
)

// Server is a model's server.
type Server struct {
	name    string
	client  http.Client
	secrets *secret.Set
	// misaddressed says what is wrong with the address; "" where nothing is.
	misaddressed string
}

// NewServer makes a server at an address, whose errors have a name, and neither the key nor other secrets. client may be
// nil.
func NewServer(name, address, key string, client *http.Client) *Server {
	s := &Server{name: name, secrets: secret.New(append(secret.InURL(address), key)...)}
	if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		s.misaddressed = fmt.Sprintf("the base URL %q is none: it is like \"https://example.com/v1\"", secret.URL(address))
	}
	if client != nil {
		s.client = *client
	}
	next := s.client.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	s.client.Transport = transport{s, next}
	return s
}

// Client is for an SDK. Its answers are streams of events: all others are errors.
func (s *Server) Client() *http.Client { return &s.client }

type transport struct {
	server *Server
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	l := &listening{cancel: cancel, cause: func() error { return context.Cause(ctx) }}
	l.silence = time.AfterFunc(maxSilence, func() { cancel(Malformed("the server has sent nothing for %v", maxSilence)) })
	resp, err := t.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		err = l.why(err)
		l.end()
		return nil, err
	}
	l.ReadCloser, resp.Body = resp.Body, l
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && kind != "application/json" && kind != "text/html" {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, t.server.answered(resp, kind)
}

// listening is the body of an answer, which ends where nothing comes any more.
type listening struct {
	io.ReadCloser
	silence *time.Timer
	cancel  context.CancelCauseFunc
	cause   func() error // of the request's context
}

// Read implements io.Reader.
func (l *listening) Read(b []byte) (int, error) {
	n, err := l.ReadCloser.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, l.why(err)
	}
	l.silence.Reset(maxSilence)
	return n, err
}

// Close implements io.Closer.
func (l *listening) Close() error {
	l.end()
	return l.ReadCloser.Close()
}

func (l *listening) end() {
	l.silence.Stop()
	l.cancel(nil)
}

// why is err, or the silence that has led to it.
func (l *listening) why(err error) error {
	if silent, ok := errors.AsType[*agent.ProviderError](l.cause()); ok {
		return silent
	}
	return err
}

// answered is what an answer says that is no stream.
func (s *Server) answered(resp *http.Response, kind string) *agent.ProviderError {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxFault)) // what there is
	e := readFault(body)
	e.Status, e.RetryAfter = resp.StatusCode, retryAfter(resp.Header, time.Now())
	asked := fmt.Sprintf("%s %s", resp.Request.Method, secret.URL(resp.Request.URL.String()))
	switch {
	case e.Status >= 300 && e.Status < 400:
		to, err := resp.Location()
		if err != nil {
			to = &url.URL{}
		}
		e.Message = fmt.Sprintf("%s: it redirects to %q, where neither the key nor the conversation is sent; if that is the right address, set it as the base URL", asked, secret.URL(to.String()))
	case e.Status == http.StatusOK:
		e.Message = text.Clip(fmt.Sprintf("%s: the answer is %s and no stream: %s", asked, kind, e.Message), maxReason)
	case e.Message == "":
		e.Message = asked + ": no reason is given"
	case e.Code == "" && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed):
		e.Message = asked + ": " + e.Message // perhaps the wrong base URL
	}
	e.TooLong = tooLong(e)
	return e
}

// Progress is how far a message has come.
type Progress int

const (
	// More: more of the message is to come.
	More Progress = iota
	// Whole: the message is complete; what may follow says something about it.
	Whole
	// Last: nothing follows.
	Last
)

// Stream reads the events of an answer until the last one. It is io.ErrUnexpectedEOF where the answer ends before the
// message is whole; that it breaks off behind the message is no error.
func (s *Server) Stream(resp *http.Response, each func(data []byte) (Progress, error)) error {
	defer resp.Body.Close()
	body := &io.LimitedReader{R: resp.Body, N: maxStream}
	events := wire.NewEvents(body, maxEvent)
	events.AtOnce = true
	for progress := More; progress < Last; {
		e, err := events.Next()
		switch {
		case body.N <= 0:
			return Malformed("the answer has more than %d MiB", maxStream>>20)
		case errors.As(err, new(*wire.TooLong)):
			return Malformed("an event of the answer has more than %d MiB", maxEvent>>20)
		case err != nil && progress == Whole:
			return nil
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case len(e.Data) == 0:
			continue
		}
		if progress, err = each(e.Data); err != nil {
			return err
		}
	}
	return nil
}

// Malformed is an error for an answer that makes no sense, and would not if it came again.
func Malformed(format string, args ...any) error {
	return &agent.ProviderError{Final: true, Message: fmt.Sprintf(format, args...)}
}

// Fault is an error of a request as agent.Provider has it.
func (s *Server) Fault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var e *agent.ProviderError
	var at *url.Error
	switch {
	case s.misaddressed != "":
		e = &agent.ProviderError{Message: s.misaddressed, Final: true, Err: err}
	case errors.As(err, &e):
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		e = &agent.ProviderError{Message: "the answer broke off", Err: io.ErrUnexpectedEOF}
	case errors.As(err, &at):
		e = &agent.ProviderError{Message: at.Err.Error(), Err: err}
	default:
		e = &agent.ProviderError{Message: err.Error(), Err: err}
	}
	e.Provider, e.Final = s.name, e.Final || errors.As(err, new(*tls.CertificateVerificationError))
	e.Message = text.Clip(text.OneLine(s.secrets.Mask(e.Message)), maxReason)
	e.Code = text.Clip(text.OneLine(s.secrets.Mask(e.Code)), 100)
	return e
}
