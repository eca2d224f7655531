// Package payload reads and writes the parts of MCP messages that a bridge must know: the params of requests, their
// results, the questions in a result, and the tasks in it. Everything else passes as the bytes that a peer wrote.
//
// What a server sends is hostile until it is checked. An error is a [*conn.ProtocolError] if a result is invalid, and
// otherwise the reason why params cannot be sent. The functions are pure, and may be called from any goroutine. [Tasks]
// has a lock.
package payload

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/toolbox"
)

// ServerParams returns params for one server: the reserved keys of _meta are replaced by reserved, and other keys stay.
// reserved holds the members that a modern server receives, and is nil for a legacy server.
func ServerParams(params json.RawMessage, reserved []byte, token int64) (json.RawMessage, error) {
	if params == nil {
		params = json.RawMessage(`{}`)
	}
	meta, ok := wire.Lookup(params, "_meta")
	if !ok && reserved == nil && token == 0 {
		return params, nil
	}
	out := append(make([]byte, 0, len(meta)+len(reserved)+40), '{')
	if ok && meta[0] == '{' {
		members, err := wire.Members(meta)
		if err != nil {
			return nil, err
		}
		for i := range members {
			if m := &members[i]; !protocol.Reserved(m.Key) && m.Key != "progressToken" {
				out = append(append(out, meta[m.Start:m.End]...), ',')
			}
		}
	}
	if token != 0 {
		out = append(strconv.AppendInt(append(out, `"progressToken":`...), token, 10), ',')
	}
	if reserved != nil {
		out = append(append(out, reserved...), ',')
	}
	if out[len(out)-1] == ',' {
		out = out[:len(out)-1]
	}
	return wire.Rewrite(params, wire.Edit{Key: "_meta", Value: append(out, '}')})
}

// CallParams returns the params of a tools/call: those of the request that caused the call, or else new ones.
func CallParams(c toolbox.Call) (json.RawMessage, error) {
	if c.Wire.JSON != nil {
		return c.Wire.JSON, nil
	}
	return protocol.CallParams(c.Name, c.Input)
}

// WithName returns the params of a tools/call with the server's own name of the tool. The arguments are not changed.
func WithName(params json.RawMessage, name string) (json.RawMessage, error) {
	value, err := protocol.OneMember(params, "name")
	own := wire.Quote(name)
	if err != nil || bytes.Equal(value, own) {
		return params, err
	}
	return wire.Rewrite(params, wire.Edit{Key: "name", Value: own})
}

// maxCapabilities bounds the capabilities of a client in bytes. They go out with each
// request, and are part of the key of a connection.
const maxCapabilities = 16 << 10

// Capabilities returns the part of a client's capabilities that a server receives: the capabilities that can be
// relayed, as the client wrote them. It returns nil if there are none. All extensions pass, because their data travels
// in requests, results and _meta. mayAsk reports that the client can be asked, and sameEra that the server speaks the
// client's era.
func Capabilities(declared json.RawMessage, mayAsk, sameEra bool) json.RawMessage {
	if len(declared) > maxCapabilities {
		return nil
	}
	var relayed wire.Object
	for _, key := range [...]string{"elicitation", "sampling", "roots", "extensions"} {
		value, ok := wire.Lookup(declared, key)
		if !ok || value[0] != '{' || key != "extensions" && !mayAsk {
			continue
		}
		if key == "roots" && !sameEra { // listChanged needs a session
			value = json.RawMessage(`{}`)
		}
		relayed = relayed.Raw(key, value)
	}
	if relayed == nil {
		return nil
	}
	return relayed.JSON()
}

// tasksExtension is the key of the tasks extension (SEP-2663).
const tasksExtension = protocol.MetaPrefix + "tasks"

// DeclaresTasks reports whether capabilities that may be relayed declare the tasks extension.
func DeclaresTasks(declared json.RawMessage) bool {
	if len(declared) > maxCapabilities || !bytes.Contains(declared, []byte(tasksExtension)) {
		return false
	}
	extensions, _ := wire.Lookup(declared, "extensions")
	_, ok := wire.Lookup(extensions, tasksExtension)
	return ok
}
