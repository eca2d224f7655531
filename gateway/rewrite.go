package gateway

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// editStrings is raw with the strings at a path replaced by what edit makes of them; raw itself where
// nothing is. What is of another shape stays as it is; where a key stands twice, or in another case, each is edited.
func editStrings(raw json.RawMessage, path []string, edit func(string) string) json.RawMessage {
	if len(path) == 0 {
		s, ok := wire.Unquote(raw)
		if !ok {
			return raw
		}
		if edited := edit(s); edited != s {
			return wire.Quote(edited)
		}
		return raw
	}
	if len(raw) > 0 && raw[0] == '[' && path[0] == eachOf {
		out, err := wire.Map(raw, func(e json.RawMessage) json.RawMessage { return editStrings(e, path[1:], edit) })
		if err != nil {
			return raw
		}
		return out
	}
	if path[0] == eachOf { // one in the place of an array
		return editStrings(raw, path[1:], edit)
	}
	members, err := wire.Members(raw)
	if err != nil {
		return raw
	}
	var out []byte
	from := 0
	for i := range members { // all that one client or another takes for the one
		m := &members[i]
		if !strings.EqualFold(m.Key, path[0]) {
			continue
		}
		edited := editStrings(m.Value, path[1:], edit)
		if len(edited) != len(m.Value) || &edited[0] != &m.Value[0] {
			out = append(append(out, raw[from:m.End-len(m.Value)]...), edited...)
			from = m.End
		}
	}
	if from == 0 {
		return raw
	}
	return append(out, raw[from:]...)
}

// oneMember is the value of a key of a request's params that says whom it concerns, and says it once.
func oneMember(m interop.Message, obj json.RawMessage, key string) (json.RawMessage, error) {
	value, err := protocol.OneMember(obj, key)
	switch {
	case err != nil:
		return nil, invalidParams(m, "%v", err)
	case value == nil:
		return nil, invalidParams(m, "the params lack %q", key)
	}
	return value, nil
}

// oneString is oneMember of a string.
func oneString(m interop.Message, obj json.RawMessage, key string) (string, error) {
	raw, err := oneMember(m, obj, key)
	if err != nil {
		return "", err
	}
	s, ok := wire.Unquote(raw)
	if !ok {
		return "", invalidParams(m, "%q is not a string", key)
	}
	return s, nil
}

func invalidParams(m interop.Message, format string, args ...any) error {
	return &interop.RPCError{Code: interop.CodeInvalidParams, Message: m.Method + ": " + fmt.Sprintf(format, args...)}
}

func methodNotFound(m interop.Message) error {
	return &interop.RPCError{Code: interop.CodeMethodNotFound, Message: "method not found: " + m.Method}
}
