package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/indusagi/indus/internal/wire"
)

// Error codes of JSON-RPC 2.0, which MCP adopts unchanged (2026-07-28, basic/index, "Error codes").
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// RPCError is the error of a JSON-RPC response, as its sender wrote it.
type RPCError struct {
	Code    int64
	Message string
	Data    json.RawMessage // nil if there is none
}

func (e *RPCError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Object returns the error as a JSON-RPC error object.
func (e *RPCError) Object() json.RawMessage { return EncodeError(e.Code, e.Message, e.Data) }

// InvalidParams returns the error for params that a method does not accept.
func InvalidParams(method, format string, args ...any) *RPCError {
	return &RPCError{Code: CodeInvalidParams, Message: method + ": " + fmt.Sprintf(format, args...)}
}

// MethodNotFound returns the error for a method that the receiver does not have.
func MethodNotFound(method string) *RPCError {
	return &RPCError{Code: CodeMethodNotFound, Message: "method not found: " + method}
}

// TooSoon is the error of a request that its client may send again after a time. Over HTTP, a modern
// client gets it with the status 429.
type TooSoon struct {
	*RPCError
	After time.Duration
}

// Unwrap returns the error of the response.
func (e *TooSoon) Unwrap() error { return e.RPCError }

// ErrorObject encodes any error as the error of a response. An error that is not an [*RPCError]
// becomes an internal error.
func ErrorObject(err error) json.RawMessage {
	if e, ok := errors.AsType[*RPCError](err); ok {
		return e.Object()
	}
	return EncodeError(CodeInternal, err.Error(), nil)
}

// EncodeError encodes the error of a response. data is written as it is. If it is nil, the member is
// left out.
func EncodeError(code int64, message string, data json.RawMessage) json.RawMessage {
	number := strconv.AppendInt(nil, code, 10)
	return wire.Object{}.Raw("code", number).Raw("message", wire.Quote(message)).Raw("data", data).JSON()
}

// EncodeRefusal returns the body of the response to a refused HTTP request. Its error has no id,
// because it does not concern the message (2025-11-25, basic/transports).
func EncodeRefusal(code int64, message string) []byte {
	return wire.Object{}.Text("jsonrpc", "2.0").Raw("error", EncodeError(code, message, nil)).JSON()
}

// ParseError reads the error of a response. It never fails: a value that is not an error object
// becomes an internal error with the value as its data.
func ParseError(raw json.RawMessage) *RPCError {
	var e struct {
		Code    json.Number     `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return &RPCError{CodeInternal, "unreadable error", raw}
	}
	code, err := strconv.ParseInt(e.Code.String(), 10, 64)
	if err != nil {
		code = CodeInternal
	}
	return &RPCError{code, e.Message, e.Data}
}
