package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/indusagi/indus/internal/wire"
)

// Error codes of JSON-RPC 2.0, which MCP uses as they are (2026-07-28, basic/index, "Error codes").
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
	Data    json.RawMessage // nil where there is none
}

func (e *RPCError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Object is the error as a JSON-RPC error object.
func (e *RPCError) Object() json.RawMessage { return EncodeError(e.Code, e.Message, e.Data) }

// ErrorObject writes any error as the error of a response; one that is no [*RPCError] is
// an internal error.
func ErrorObject(err error) json.RawMessage {
	var e *RPCError
	if errors.As(err, &e) {
		return e.Object()
	}
	return EncodeError(CodeInternal, err.Error(), nil)
}

// EncodeError writes the error of a response. data goes in as it is; nil: none.
func EncodeError(code int64, message string, data json.RawMessage) json.RawMessage {
	return wire.Object{}.Raw("code", strconv.AppendInt(nil, code, 10)).Raw("message", wire.Quote(message)).Raw("data", data).JSON()
}

// EncodeRefusal is the body of the answer to an HTTP request that is not served. Its error has no id,
// because it does not concern the message (2025-11-25, basic/transports).
func EncodeRefusal(code int64, message string) []byte {
	return wire.Object{}.Text("jsonrpc", "2.0").Raw("error", EncodeError(code, message, nil)).JSON()
}

// ParseError reads the error of a response. It is total: what is no error
// object becomes an internal error that shows it as its data.
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
