package replica

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Request is a request to forward.
type Request struct {
	To        string // the name of the owner
	Principal string // the authenticated principal of the request
	Body      []byte // the whole body; nil: there is none
	// Service is a service of the owner that receives the request ([Options].Services). "" means the owner's own clients.
	Service string
}

// ErrGone is returned if the owner of a request cannot be reached or does not accept it. The request did not run, and
// nothing was written.
var ErrGone = errors.New("the replica does not take the request")

// ErrLate is returned with [ErrGone] if the owner of a request does not accept it in time, but answers others
// meanwhile, or is a member of the cluster.
var ErrLate = errors.New("the replica is busy")

// ErrUntrusted is returned with [ErrGone] if the credentials of the owner do not fit those of this replica.
var ErrUntrusted = errors.New("the credentials of the replicas do not fit")

// Lost is returned if the connection to the owner was lost after it had received the request, which may have run.
type Lost struct {
	// Begun reports that a part of the answer was written. Event reports that this part is an event stream and ends with
	// a whole event, so that more events may follow.
	Begun, Event bool
	Err          error
}

func (l *Lost) Error() string { return "the connection to the replica was lost: " + l.Err.Error() }

func (l *Lost) Unwrap() error { return l.Err }

// Forward sends a request to its owner, once, and writes the answer to w while it arrives. It returns when the answer
// is complete or the context of in ends. If a write to w fails, it returns that error. Other errors are or wrap
// [ErrGone], or are a [*Lost].
func (r *Replica) Forward(w http.ResponseWriter, in *http.Request, q Request) error {
	if q.To == r.opts.Name {
		return fmt.Errorf("%w: %s is this replica", ErrGone, q.To)
	}
	ctx, cancel := context.WithCancelCause(in.Context())
	defer cancel(nil)
	answer, err := r.send(ctx, cancel, in, q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return relay(w, answer)
}

// Do sends a request of this replica to a service of another one, or of itself, once. The caller closes the body of the
// answer and ends the context of in. Errors are those of [Replica.Forward].
func (r *Replica) Do(in *http.Request, q Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(in.Context())
	return r.send(ctx, cancel, in, q)
}

// send sends a request with the context ctx, which cancel ends, and returns the answer.
func (r *Replica) send(
	ctx context.Context, cancel context.CancelCauseFunc, in *http.Request, q Request,
) (*http.Response, error) {
	address, err := r.peers.address(ctx, q.To)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrGone, q.To, err)
	}
	r.dropStale()
	sent := &delivery{body: bytes.NewReader(q.Body), accepted: func() { r.heard.Store(address, time.Now()) }}
	began := time.Now()
	late := time.AfterFunc(answerWait, func() {
		if sent.giveUp() {
			err := fmt.Errorf("it does not accept a request within %v", answerWait)
			if r.isAlive(q.To, address, began) {
				err = fmt.Errorf("%w: %w", ErrLate, err)
			}
			cancel(err)
		} else {
			r.endIfSilent(q.To, address, sent, cancel)
		}
	})
	end := func() {
		late.Stop()
		r.inFlight.remove(address, sent)
	}
	// A new connection is an answer as well: over a slow network, it takes most of the time.
	connected := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if !c.Reused && late.Stop() {
			sent.accepted()
			late.Reset(answerWait)
		}
	}}
	out := r.outgoing(httptrace.WithClientTrace(ctx, connected), in, address, q, sent)
	answer, err := r.transport.RoundTrip(out)
	err = r.judge(q.To, address, err)
	if err == nil {
		sent.accepted()
	}
	switch {
	case err == nil && !sent.begin():
		answer.Body.Close()
		err = context.Cause(ctx)
	case err == nil && answer.Header.Get(headerMark) == refusedMark:
		defer end()
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 500))
		answer.Body.Close()
		return nil, fmt.Errorf("%w: %s: %s", ErrGone, q.To, strings.TrimSpace(string(text)))
	case err == nil:
		answer.Body = &answerBody{answer.Body, ctx, end}
	}
	if err != nil {
		end()
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		if !sent.giveUp() && len(q.Body) > 0 {
			return nil, &Lost{Err: err}
		}
		return nil, fmt.Errorf("%w: %s: %w", ErrGone, q.To, err)
	}
	return answer, nil
}

// isAlive reports whether an owner that is late has answered since a time, or has its lease.
func (r *Replica) isAlive(name, address string, since time.Time) bool {
	heard, ok := r.heard.Load(address)
	return ok && heard.(time.Time).After(since) || r.peers.members != nil && r.peers.members(name) == address
}

// Check reports whether a replica answers, in at most 3 seconds. The errors are those of [Replica.Forward].
func (r *Replica) Check(ctx context.Context, name string) error {
	address, err := r.peers.address(ctx, name)
	if err == nil {
		err = r.check(ctx, name, address)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrGone, name, err)
	}
	return nil
}

// check reports whether the replica at an address answers.
func (r *Replica) check(ctx context.Context, name, address string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	r.dropStale()
	// The server of net/http answers OPTIONS * itself.
	to := &url.URL{Scheme: "https", Host: address, Opaque: "*"}
	out := &http.Request{Method: http.MethodOptions, URL: to, Header: http.Header{}}
	answer, err := r.transport.RoundTrip(out.WithContext(ctx))
	if err == nil {
		answer.Body.Close()
	}
	return r.judge(name, address, err)
}

// judge returns the error of a request to a replica. If one side refuses the credentials of the other, the error wraps
// ErrUntrusted, and the replica is reported once until a request succeeds.
func (r *Replica) judge(name, address string, err error) error {
	remote, _ := errors.AsType[*net.OpError](err)
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	reason := "this replica refuses its credentials"
	switch {
	case err == nil:
		r.untrusted.Delete(name)
		return nil
	case remote != nil && remote.Op == "remote error": // an alert of TLS
		reason = "it refuses the credentials of this replica"
	case !unverified && !errors.Is(err, errForeignKey):
		return err
	}
	if _, known := r.untrusted.LoadOrStore(name, true); !known && r.opts.Report != nil {
		r.opts.Report(fmt.Sprintf("the replica %s at %s: %s (%v): %s", name, address, reason, err,
			r.opts.Credentials.remedy))
	}
	return fmt.Errorf("%w: %w", ErrUntrusted, err)
}

// dropStale closes unused connections that were made with other credentials.
func (r *Replica) dropStale() {
	_, changes, _ := r.opts.Credentials.current()
	if now := int64(changes); r.credentials.Swap(now) != now {
		r.transport.CloseIdleConnections()
	}
}

// dialTLS returns a function that connects to a peer with the current credentials.
func (r *Replica) dialTLS(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		config, err := r.opts.Credentials.config()
		if err != nil {
			return nil, err
		}
		config.ServerName = host
		ctx, cancel := context.WithTimeout(ctx, dialWait)
		defer cancel()
		return (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, network, address)
	}
}

// outgoing returns the request for the owner.
func (r *Replica) outgoing(
	ctx context.Context, in *http.Request, address string, q Request, sent *delivery,
) *http.Request {
	u := &url.URL{
		Scheme: "https", Host: address, Path: in.URL.Path, RawPath: in.URL.RawPath, RawQuery: in.URL.RawQuery,
		ForceQuery: in.URL.ForceQuery,
	}
	out := (&http.Request{
		Method: in.Method, URL: u, Host: in.Host, Header: in.Header.Clone(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	dropHopHeaders(out.Header)
	if _, stated := out.Header["User-Agent"]; !stated {
		out.Header["User-Agent"] = []string{""} // else net/http adds its own
	}
	m := mark{To: q.To, From: r.opts.Name, Address: in.RemoteAddr, Principal: q.Principal, Service: q.Service}
	if r.opts.Claims != nil && q.Service == "" {
		m.Claims = r.opts.Claims(in)
	}
	out.Header[headerMark] = []string{m.encode()}
	if len(q.Body) > 0 {
		// There is no GetBody, without which net/http never sends the request a second time.
		out.Body, out.ContentLength = sent, int64(len(q.Body))
		out.Header["Expect"] = []string{"100-continue"}
	}
	return out
}

// dropHopHeaders removes the headers that belong to one connection (RFC 9110, section 7.6.1).
func dropHopHeaders(h http.Header) {
	for _, value := range h["Connection"] {
		for name := range strings.SplitSeq(value, ",") {
			h.Del(textproto.TrimString(name))
		}
	}
	for _, name := range []string{
		"Connection", "Expect", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te",
		"Trailer", "Transfer-Encoding", "Upgrade",
	} {
		delete(h, name)
	}
}

var errGivenUp = errors.New("the request was given up")

// delivery is the body of a request. net/http reads it when the owner asks for it.
type delivery struct {
	body *bytes.Reader
	// accepted is called when the owner accepts the connection, reads the request or answers it.
	accepted func()
	decided  sync.Once // whether the request is sent
	isSent   bool      // the owner reads the request, and may run it
	isOver   bool      // guarded by inFlight.mu
}

// begin reports whether the request may be sent.
func (d *delivery) begin() bool {
	d.decided.Do(func() { d.isSent = true })
	return d.isSent
}

// giveUp prevents that the request is sent. It returns false if it was sent already.
func (d *delivery) giveUp() bool {
	d.decided.Do(func() {})
	return !d.isSent
}

func (d *delivery) Read(p []byte) (int, error) {
	if !d.begin() {
		return 0, errGivenUp
	}
	d.accepted()
	return d.body.Read(p)
}

func (d *delivery) Close() error { return nil }

const (
	// writeWait bounds the write of one piece of an answer to a client that has stopped reading.
	writeWait = 30 * time.Second
	// A stream is read in small pieces, because many streams are open and most are silent.
	streamPiece, plainPiece = 4 << 10, 32 << 10
)

// relay writes an answer to a client.
func relay(w http.ResponseWriter, answer *http.Response) error {
	header := w.Header()
	dropHopHeaders(answer.Header)
	for name, values := range answer.Header {
		header[name] = values // the owner also decides about headers that are set already
	}
	w.WriteHeader(answer.StatusCode)
	piece, isStream := plainPiece, answer.ContentLength < 0
	c := http.NewResponseController(w)
	if isStream {
		piece = streamPiece
		_ = c.Flush()
	}
	defer func() { _ = c.SetWriteDeadline(time.Time{}) }() // the connection is used again
	end := eventEnd{whole: true}
	buffer := make([]byte, piece)
	for {
		n, err := answer.Body.Read(buffer)
		if n > 0 {
			end.add(buffer[:n])
			_ = c.SetWriteDeadline(time.Now().Add(writeWait))
			if _, err := w.Write(buffer[:n]); err != nil {
				return err
			}
			if isStream {
				if err := c.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
					return err
				}
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			events := strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream")
			return &Lost{Begun: true, Event: events && end.whole, Err: err}
		}
	}
}

// eventEnd finds whether an event stream ends with a whole event, which an empty line ends.
type eventEnd struct {
	last  byte
	whole bool
}

func (e *eventEnd) add(p []byte) {
	before := e.last
	if len(p) > 1 {
		before = p[len(p)-2]
	}
	e.last = p[len(p)-1]
	e.whole = before == '\n' && e.last == '\n'
}
