package protocol_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/indusagi/indus/internal/protocol"
)

// A server may ask a client only for its declared capabilities. Other requests are refused as the
// specification requires.
func TestMayAsk(t *testing.T) {
	for _, tt := range []struct {
		capabilities, method, params string
		code                         int64 // 0 means that it is allowed
	}{
		{``, "roots/list", ``, -32601},
		{`{"roots":{}}`, "roots/list", ``, 0},
		{`{"roots":true}`, "roots/list", ``, -32601},
		{`{"roots":{}}`, "tasks/get", `{}`, -32601},
		{`{"elicitation":{}}`, "elicitation/create", `{}`, 0},
		{`{"elicitation":{}}`, "elicitation/create", `{"mode":"form"}`, 0},
		{`{"elicitation":{}}`, "elicitation/create", `{"mode":"url"}`, -32602},
		{`{"elicitation":{}}`, "elicitation/create", `{"mode":7}`, -32602},
		{`{"elicitation":{}}`, "elicitation/create", `{"mode":"form","m\u006fde":"url"}`, -32602},
		{`{"elicitation":{"url":{}}}`, "elicitation/create", `{"mode":"url"}`, 0},
		{`{"elicitation":{"url":{}}}`, "elicitation/create", `{}`, -32602},
		{`{"elicitation":{"url":{},"form":{}}}`, "elicitation/create", `{}`, 0},
		{`{"sampling":{}}`, "sampling/createMessage", `{"messages":[]}`, 0},
		{`{"sampling":{}}`, "sampling/createMessage", `{"tools":[]}`, -32602},
		{`{"sampling":{}}`, "sampling/createMessage", `{"toolChoice":{}}`, -32602},
		{`{"sampling":{"tools":{}}}`, "sampling/createMessage", `{"tools":[],"toolChoice":{}}`, 0},
		{`{"sampling":{}}`, "sampling/createMessage", `[]`, -32602},
	} {
		err := protocol.CheckClientRequest(json.RawMessage(tt.capabilities), tt.method, json.RawMessage(tt.params))
		var rpc *protocol.RPCError
		if errors.As(err, &rpc) != (tt.code != 0) || rpc != nil && rpc.Code != tt.code {
			t.Errorf("%s asked %s %s: %v, want %d", tt.capabilities, tt.method, tt.params, err, tt.code)
		}
	}
}
