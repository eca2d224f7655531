package protocol

import (
	"encoding/json"
	"strconv"

	"github.com/indusagi/indus/internal/wire"
)

// codeInternal is the internal error of JSON-RPC 2.0.
const codeInternal = -32603

// EncodeError writes the error of a response. data goes in as it is; nil: none.
func EncodeError(code int64, message string, data json.RawMessage) json.RawMessage {
	b := append([]byte(`{"code":`), strconv.AppendInt(nil, code, 10)...)
	b = append(append(b, `,"message":`...), wire.Quote(message)...)
	if data != nil {
		b = append(append(b, `,"data":`...), data...)
	}
	return append(b, '}')
}

// ParseError reads the error of a response. It is total: what is no error
// object becomes an internal error that shows it as its data.
func ParseError(raw json.RawMessage) (code int64, message string, data json.RawMessage) {
	var e struct {
		Code    json.Number     `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return codeInternal, "unreadable error", raw
	}
	code, err := strconv.ParseInt(e.Code.String(), 10, 64)
	if err != nil {
		code = codeInternal
	}
	return code, e.Message, e.Data
}
