package conn

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/protocol"
)

var (
	// errClosed is the end of a connection that we closed ourselves.
	errClosed = errors.New("connection closed")
	// errSilent is why a server is sent a message that it ignores.
	errSilent = errors.New("no request: the server has been silent")
	// errServerCancelled is the end of a request that the server ended itself: a
	// subscription that it tears down (2026-07-28, basic/patterns/cancellation).
	errServerCancelled = errors.New("the server cancelled the request")
)

// LostError is a connection that died under a call.
type LostError struct{ Cause error }

func (e *LostError) Error() string { return "connection lost: " + e.Cause.Error() }
func (e *LostError) Unwrap() error { return e.Cause }

// UnsentError is a connection that had died before a call went out, or on which the
// server refused to run it: the call may be sent again on another one.
type UnsentError struct{ *LostError }

func (e *UnsentError) Unwrap() error { return e.LostError }

// ProtocolError says that a peer sent what the protocol does not allow.
type ProtocolError struct {
	What  string // "a result that is not valid JSON"
	Cause error  // nil: none
}

func (e *ProtocolError) Error() string {
	if e.Cause == nil {
		return "protocol: " + e.What
	}
	return "protocol: " + e.What + ": " + e.Cause.Error()
}

func (e *ProtocolError) Unwrap() error { return e.Cause }

// VersionError says that a server supports none of the revisions that it was asked for.
type VersionError struct{ Supported []string }

func (e *VersionError) Error() string {
	if len(e.Supported) == 0 {
		return "the server names no protocol version that it supports"
	}
	return "the server supports only protocol versions " + protocol.Printable(strings.Join(e.Supported, ", "), 200)
}

// legacy is the newest of our legacy versions that the server supports; "" where there is none.
func (e *VersionError) legacy() string {
	for _, v := range protocol.LegacyVersions() {
		if slices.Contains(e.Supported, v) {
			return v
		}
	}
	return ""
}

// DeadlineError says which of our own deadlines has passed.
type DeadlineError struct {
	After time.Duration
	What  string // "no answer", "no result in all"
}

func (e *DeadlineError) Error() string { return fmt.Sprintf("%s within %v", e.What, e.After) }

// HTTPError is an HTTP answer that was not what the protocol asks for.
type HTTPError struct {
	Status int         // for example 401
	Body   string      // the beginning of the body, made safe to print
	Header http.Header // of the answer, for WWW-Authenticate and the like
	// Authorized reports that the request had an Authorization header.
	Authorized bool
}

func (e *HTTPError) Error() string {
	s := "HTTP " + strconv.Itoa(e.Status)
	if t := http.StatusText(e.Status); t != "" {
		s += " " + t
	}
	if e.Body != "" {
		s += ": " + e.Body
	}
	return s
}

// AnsweredError is a server's own JSON-RPC error that came with an HTTP status of failure.
type AnsweredError struct {
	RPC  *protocol.RPCError
	HTTP *HTTPError
}

func (e *AnsweredError) Error() string   { return e.RPC.Error() }
func (e *AnsweredError) Unwrap() []error { return []error{e.RPC, e.HTTP} }

// CutError is a stream or a body that ended before the answer did.
type CutError struct{ Cause error }

func (e *CutError) Error() string {
	if e.Cause == nil || errors.Is(e.Cause, io.EOF) || errors.Is(e.Cause, io.ErrUnexpectedEOF) {
		return "the connection ended before the answer"
	}
	return "the connection broke before the answer ended: " + e.Cause.Error()
}

func (e *CutError) Unwrap() error {
	if e.Cause == nil || e.Cause == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return e.Cause
}

// SessionError is the death of a connection whose session the server no longer knows.
type SessionError struct{ Cause error }

func (e *SessionError) Error() string {
	return "the server has ended the bridge's session with it: " + e.Cause.Error()
}
func (e *SessionError) Unwrap() error { return e.Cause }

// NotSSEError is a server that was expected to speak HTTP+SSE and seems to speak streamable HTTP.
type NotSSEError struct{ Cause error }

func (e *NotSSEError) Error() string { return e.Cause.Error() }
func (e *NotSSEError) Unwrap() error { return e.Cause }

// networkError is a request that got no answer. Its text shows only the origin of the URL:
// the rest may be secret.
type networkError struct {
	method string
	url    *url.URL
	err    error
}

func (e *networkError) Error() string {
	return fmt.Sprintf("%s %s: %v", e.method, origin(e.url), e.err)
}

func (e *networkError) Unwrap() error { return e.err }

// newNetworkError unwraps the error of net/http, which shows the whole URL.
func newNetworkError(method string, u *url.URL, err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	return &networkError{method, u, err}
}

func origin(u *url.URL) string { return protocol.Printable(u.Scheme+"://"+u.Host, 200) }
