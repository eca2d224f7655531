package sdkwire

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// codec carries messages over a connection of the SDK. The codec of that connection may escape
// strings in its own way.
type codec struct {
	c       mcp.Connection
	writing turn
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	once    sync.Once
}

var _ Conn = (*codec)(nil)

func newCodec(c mcp.Connection) *codec {
	f := &codec{c: c, writing: make(turn, 1)}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f
}

func (f *codec) Read() (wire.Envelope, error) {
	m, err := f.c.Read(f.ctx)
	if err != nil {
		return wire.Envelope{}, err
	}
	return fromSDK(m)
}

func (f *codec) Write(ctx context.Context, e wire.Envelope) error {
	m, err := toSDK(e)
	if err != nil {
		return err
	}
	return f.writing.do(ctx, f.ctx, func() error { return f.c.Write(f.ctx, m) })
}

func (f *codec) Close() {
	f.once.Do(func() {
		f.stop()
		_ = f.c.Close()
	})
}

// fromSDK returns the envelope of a message that the SDK has decoded.
func fromSDK(m jsonrpc.Message) (wire.Envelope, error) {
	switch m := m.(type) {
	case *jsonrpc.Request:
		e := wire.Envelope{Version: jsonrpcVersion(), Method: wire.Quote(m.Method), Params: m.Params}
		if m.ID.IsValid() {
			e.ID = rawID(m.ID)
		}
		return e, nil
	case *jsonrpc.Response:
		e := wire.Envelope{Version: jsonrpcVersion(), ID: rawID(m.ID), Result: m.Result}
		if m.Error != nil {
			e.Result, e.Error = nil, encodeError(m.Error)
		}
		return e, nil
	}
	return wire.Envelope{}, &wire.BadFrame{Err: errors.New("not a message")}
}

// toSDK returns the message that the SDK encodes for an envelope.
func toSDK(e wire.Envelope) (jsonrpc.Message, error) {
	var id jsonrpc.ID
	if e.ID != nil {
		var v any
		if err := json.Unmarshal(e.ID, &v); err != nil {
			return nil, err
		}
		var err error
		if id, err = jsonrpc.MakeID(v); err != nil {
			return nil, err
		}
	}
	if e.Method != nil {
		return &jsonrpc.Request{ID: id, Method: e.MethodName(), Params: e.Params}, nil
	}
	r := &jsonrpc.Response{ID: id, Result: e.Result}
	if e.Error != nil {
		failed := protocol.ParseError(e.Error)
		r.Error = &jsonrpc.Error{Code: failed.Code, Message: failed.Message, Data: failed.Data}
	}
	return r, nil
}

func jsonrpcVersion() json.RawMessage { return json.RawMessage(`"2.0"`) }

func rawID(id jsonrpc.ID) json.RawMessage {
	b, err := json.Marshal(id.Raw())
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}

func encodeError(err error) json.RawMessage {
	if w, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return protocol.EncodeError(w.Code, w.Message, w.Data)
	}
	return protocol.EncodeError(jsonrpc.CodeInternalError, err.Error(), nil)
}
