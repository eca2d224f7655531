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

	"github.com/indusagi/indus/internal/httpconn"
	"github.com/indusagi/indus/internal/protocol"
)

var (
	// errClosed is the cause of a connection that the client closed.
	errClosed = errors.New("connection closed")
	// errSilent is the reason in a message that the server ignores, see wake.
	errSilent = errors.New("no request: the server has been silent")
	// errServerCancelled is the error of a request that the server ended itself, such as a subscription (2026-07-28,
	// basic/patterns/cancellation).
	errServerCancelled = errors.New("the server cancelled the request")
)

// LostError is the error of a call after its connection died.
type LostError struct{ Cause error }

func (e *LostError) Error() string { return "connection lost: " + e.Cause.Error() }
func (e *LostError) Unwrap() error { return e.Cause }

// UnsentError is the error of a call that did not run. The connection was dead before, or the server refused to run the
// call. The call may be sent again on another connection.
type UnsentError struct{ *LostError }

func (e *UnsentError) Unwrap() error { return e.LostError }

// ProtocolError reports a message that the protocol does not allow.
type ProtocolError struct {
	What  string // for example "a result that is not valid JSON"
	Cause error  // nil: none
}

func (e *ProtocolError) Error() string {
	if e.Cause == nil {
		return "protocol: " + e.What
	}
	return "protocol: " + e.What + ": " + e.Cause.Error()
}

func (e *ProtocolError) Unwrap() error { return e.Cause }

// VersionError reports that a server supports none of the requested revisions.
type VersionError struct{ Supported []string }

func (e *VersionError) Error() string {
	if len(e.Supported) == 0 {
		return "the server names no protocol version that it supports"
	}
	return "the server supports only protocol versions " + protocol.Printable(strings.Join(e.Supported, ", "), 200)
}

// legacy returns the newest legacy version that the server supports, or "" if it supports none.
func (e *VersionError) legacy() string {
	for _, v := range protocol.LegacyVersions() {
		if slices.Contains(e.Supported, v) {
			return v
		}
	}
	return ""
}

// DeadlineError reports which deadline of the client has passed.
type DeadlineError struct {
	After time.Duration
	What  string // "no answer", "no result in all"
}

func (e *DeadlineError) Error() string { return fmt.Sprintf("%s within %v", e.What, e.After) }

// HTTPError is an HTTP answer that the protocol does not expect.
type HTTPError struct {
	Status int         // for example 401
	Body   string      // the beginning of the body, made safe to print
	Header http.Header // of the answer, for example WWW-Authenticate
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

// statusOf returns the status of the HTTPError in an error's chain, or 0 if there is none.
func statusOf(err error) int {
	if he, ok := errors.AsType[*HTTPError](err); ok {
		return he.Status
	}
	return 0
}

// AnsweredError is a server's own JSON-RPC error with an HTTP status of failure.
type AnsweredError struct {
	RPC  *protocol.RPCError
	HTTP *HTTPError
}

func (e *AnsweredError) Error() string   { return e.RPC.Error() }
func (e *AnsweredError) Unwrap() []error { return []error{e.RPC, e.HTTP} }

// CutError is a stream or a body that ended before the answer was complete.
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

// SessionError is the cause of a connection that died because the server no longer knows its session.
type SessionError struct{ Cause error }

func (e *SessionError) Error() string {
	return "the server has ended the bridge's session with it: " + e.Cause.Error()
}
func (e *SessionError) Unwrap() error { return e.Cause }

// NotSSEError reports a server that seems to speak streamable HTTP, while HTTP+SSE was expected.
type NotSSEError struct{ Cause error }

func (e *NotSSEError) Error() string { return e.Cause.Error() }
func (e *NotSSEError) Unwrap() error { return e.Cause }

// EndpointError reports that there is nothing at the path to which the server's endpoint event leads.
type EndpointError struct {
	Path  string
	Cause error
}

func (e *EndpointError) Error() string {
	return "POST to " + protocol.Printable(e.Path, 200) + ", which the server's endpoint event names: " + e.Cause.Error()
}
func (e *EndpointError) Unwrap() error { return e.Cause }

// OriginError is an endpoint event that leads to another origin than that of its stream.
type OriginError struct{ Origin string }

func (e *OriginError) Error() string { return e.Origin }

// InitializedError reports that notifications/initialized failed, after the server had answered initialize.
type InitializedError struct{ Cause error }

func (e *InitializedError) Error() string { return protocol.NoteInitialized + ": " + e.Cause.Error() }
func (e *InitializedError) Unwrap() error { return e.Cause }

// networkError is the error of a request without an answer. Its text shows only the origin of the URL, because the rest
// may be secret.
type networkError struct {
	method string
	url    *url.URL
	err    error
}

func (e *networkError) Error() string {
	if e.url.Host == Unlocated {
		return e.err.Error()
	}
	return fmt.Sprintf("%s %s: %v", e.method, origin(e.url), e.err)
}

func (e *networkError) Unwrap() error { return e.err }

// newNetworkError returns an error that names the origin once.
func newNetworkError(method string, u *url.URL, err error) error {
	return &networkError{method, u, httpconn.Reason(err)}
}

func origin(u *url.URL) string { return protocol.Printable(u.Scheme+"://"+u.Host, 200) }
