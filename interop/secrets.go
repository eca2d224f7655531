package interop

import (
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// newFault returns a fault of the endpoint. Its cause may contain text of the server, so the message is
// masked.
func (e *Endpoint) newFault(kind Kind, doing string, cause error) *Fault {
	f := NewFault(kind, e.server.ID, doing, nil)
	f.Cause = cause
	if cause != nil {
		f.Message += ": " + e.secrets.Mask(cause.Error())
	}
	return f
}

// maskParams masks the params of a server's own message. It returns false if the message cannot be passed on:
// it is not UTF-8, or masking is impossible, as for a secret number.
func (e *Endpoint) maskParams(m *Message) bool {
	params := m.Params
	if err := wire.CheckUTF8(params); err != nil {
		e.opts.Logger.Warn("a message of a server is dropped",
			"server", e.server.ID, "caller", m.Caller, "method", protocol.Printable(m.Method, 80), "err", err)
		return false
	}
	m.Params = e.secrets.JSON(params)
	return len(m.Params) == 0 || m.Params[0] == params[0]
}
