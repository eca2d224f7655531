package interop

import (
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/internal/conn"
)

// Kind is the class of a [Fault]: a closed set of six. A kind is itself an
// error, so that errors.Is(err, interop.Timeout) holds on a fault of that kind.
//
// The kind says where a failure happened, not what the failure looked like.
type Kind string

// The six kinds.
const (
	// Transport: a server behind a URL could not be reached, or the host could not start.
	Transport Kind = "transport"
	// Protocol: a listing failed, or a server sent what the protocol does not allow.
	Protocol Kind = "protocol"
	// Timeout: a deadline of ours passed; the caller's own is its context's error.
	Timeout Kind = "timeout"
	// ToolError: a call failed on its way or at its server. A tool that ran and
	// reports failure is a result, not a fault.
	ToolError Kind = "tool_error"
	// NotConnected: the endpoint was not ready.
	NotConnected Kind = "not_connected"
	// SpawnFailed: a server's process did not start, or did not shake hands.
	SpawnFailed Kind = "spawn_failed"
)

func (k Kind) Error() string { return string(k) }

// Fault is every failure of the bridge. Its kind and its cause both answer
// errors.Is and errors.As. A Fault is immutable and may be shared.
type Fault struct {
	Kind   Kind
	Server string // the server's id, "" where none is concerned
	Tool   string // the server's own name of the tool, "" where none is concerned
	// Message is what happened, without the kind: "weather: connect: dial tcp …".
	Message string
	Cause   error // nil where the fault is the first to know
}

// NewFault is a fault whose message is "server: doing: cause".
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

// Error is the message, without the kind.
func (f *Fault) Error() string { return f.Message }

// Unwrap gives the kind and the cause.
func (f *Fault) Unwrap() []error {
	if f.Cause == nil {
		return []error{f.Kind}
	}
	return []error{f.Kind, f.Cause}
}

// RPCError is the error of a JSON-RPC response, as its sender wrote it: Code, Message and
// Data, which is nil where there is none. Object is the JSON-RPC error object.
type RPCError = protocol.RPCError

// Error codes of JSON-RPC 2.0 and of MCP 2026-07-28 (basic/index, "Error codes").
const (
	CodeParse          = protocol.CodeParse
	CodeInvalidRequest = protocol.CodeInvalidRequest
	CodeMethodNotFound = protocol.CodeMethodNotFound
	CodeInvalidParams  = protocol.CodeInvalidParams
	CodeInternal       = protocol.CodeInternal
)

// HTTPError is an HTTP answer that was not what the protocol asks for: its Status, the
// beginning of its Body, made safe to print, and its Header. It is in the cause chain of a
// fault, so that a 401 can be recognised; Authorized says whether the request had an
// Authorization header.
type HTTPError = conn.HTTPError
