package interop

import (
	"errors"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/internal/advice"
	"github.com/indusagi/indus/interop/internal/conn"
)

// Kind is the class of a [Fault]: a closed set of six. A kind is itself an error, so
// errors.Is(err, interop.Timeout) is true for a fault of that kind.
//
// The kind gives the place of a failure. The cause has the details.
type Kind string

// The six kinds.
const (
	// Transport means that a server behind a URL could not be reached, or that the host
	// could not start.
	Transport Kind = "transport"
	// Protocol means that a listing failed, or that a server's message broke the protocol.
	Protocol Kind = "protocol"
	// Timeout means that one of our own deadlines passed. The caller's own deadline is the
	// error of its context.
	Timeout Kind = "timeout"
	// ToolError means that a call failed on its way or at its server. A tool that ran and
	// reports failure is a result, not a fault.
	ToolError Kind = "tool_error"
	// NotConnected means that the endpoint was not ready.
	NotConnected Kind = "not_connected"
	// SpawnFailed means that a server's process did not start, or did not complete the
	// handshake.
	SpawnFailed Kind = "spawn_failed"
)

func (k Kind) Error() string { return string(k) }

// Fault is the error type of every failure of the bridge. errors.Is and errors.As match
// both its kind and its cause. A Fault is immutable and may be shared.
type Fault struct {
	Kind   Kind
	Server string // the server's id, "" if there is none
	Tool   string // the server's own name of the tool, "" if there is none
	// Message describes the failure without the kind: "weather: connect: dial tcp …".
	Message string
	Cause   error // nil if the fault has no earlier cause
}

// NewFault returns a fault with the message "server: doing: cause".
func NewFault(kind Kind, server, doing string, cause error) *Fault {
	msg := doing
	if server != "" {
		msg = server + ": " + doing
	}
	if cause != nil {
		msg += ": " + cause.Error()
	}
	return &Fault{Kind: kind, Server: server, Message: msg, Cause: cause}
}

// Error returns the message, without the kind.
func (f *Fault) Error() string { return f.Message }

// Unwrap returns the kind and the cause.
func (f *Fault) Unwrap() []error {
	if f.Cause == nil {
		return []error{f.Kind}
	}
	return []error{f.Kind, f.Cause}
}

// Advice returns one sentence for a person: the next step to try after this fault. It depends on the cause, or on the
// kind if the cause gives no more detail. The command, the host, the status page and docs/faults.md all use it.
func (f *Fault) Advice() string {
	var cause *Fault
	if f.Kind == NotConnected && !f.NeedsSignIn() && errors.As(f.Cause, &cause) { // which has more detail
		return cause.Advice()
	}
	return advice.For(advice.Failure{Err: f, Kind: string(f.Kind), Server: f.Server, Calling: f.Tool != ""})
}

// NeedsSignIn reports whether a person must sign in to the server. This is so if an error in the chain has a method
// SignIn() (resource, who string), such as the error of package oauth.
func (f *Fault) NeedsSignIn() bool {
	_, _, needed := advice.SignIn(f.Cause)
	return needed
}

// RPCError is the error of a JSON-RPC response, as its sender wrote it: Code, Message and
// Data. Data is nil if there is none. Object is the JSON-RPC error object.
type RPCError = protocol.RPCError

// Error codes of JSON-RPC 2.0 and of MCP 2026-07-28 (basic/index, "Error codes").
const (
	CodeInvalidRequest = protocol.CodeInvalidRequest
	CodeMethodNotFound = protocol.CodeMethodNotFound
	CodeInvalidParams  = protocol.CodeInvalidParams
	CodeInternal       = protocol.CodeInternal
)

// HTTPError is an HTTP response that is not the expected MCP reply. It has the Status, the
// beginning of the Body, made safe to print, and the Header. It is in the cause chain of a
// fault, so that a caller can recognise a 401. Authorized reports whether the request had
// an Authorization header.
type HTTPError = conn.HTTPError
