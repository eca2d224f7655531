package interop

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
)

// lostError is a connection that died under a call.
type lostError struct{ cause error }

func (e *lostError) Error() string { return "connection lost: " + e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// unsentError is a connection that had died before a call went out, or on which the
// server has refused to run it: it may go out on another one.
type unsentError struct{ *lostError }

func (e *unsentError) Unwrap() error { return e.lostError }

// parseRPCError reads the error of a response; see [protocol.ParseError].
func parseRPCError(raw json.RawMessage, secrets *secret.Set) *RPCError {
	code, message, data := protocol.ParseError(raw)
	return &RPCError{Code: code, Message: secrets.Mask(message), Data: secrets.JSON(data)}
}

// encodeRPCError writes err as the error of a response; what is no [*RPCError]
// is an internal error.
func encodeRPCError(err error) json.RawMessage {
	var e *RPCError
	if !errors.As(err, &e) {
		e = &RPCError{Code: CodeInternal, Message: err.Error()}
	}
	return protocol.EncodeError(e.Code, e.Message, e.Data)
}

// answerServer answers a request of a server's. We declare no client
// capabilities, so all but ping is the receiver's to answer or to refuse: one
// that only listens to notifications returns no result, which is a refusal.
func answerServer(ctx context.Context, m Message, receive Peer) (json.RawMessage, error) {
	if m.Method == protocol.MethodPing {
		return json.RawMessage(`{}`), nil
	}
	if receive != nil {
		result, err := receive(ctx, m)
		switch {
		case err != nil:
			return nil, err
		case len(result) > 0 && !wire.Valid(result):
			return nil, &RPCError{Code: CodeInternal, Message: "the client's answer is not valid JSON"}
		case len(result) > 0:
			return result, nil
		}
	}
	return nil, &RPCError{Code: CodeMethodNotFound, Message: "method not found: " + m.Method}
}
