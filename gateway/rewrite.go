package gateway

import (
	"encoding/json"
	"fmt"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// requiredMember returns the value of a key in the params of a request. It returns an error if the key is missing or
// stands twice, because the value decides which server gets the request.
func requiredMember(m interop.Message, obj json.RawMessage, key string) (json.RawMessage, error) {
	value, err := protocol.OneMember(obj, key)
	switch {
	case err != nil:
		return nil, invalidParams(m, "%v", err)
	case value == nil:
		return nil, invalidParams(m, "the params lack %q", key)
	}
	return value, nil
}

// requiredString is requiredMember for a string.
func requiredString(m interop.Message, obj json.RawMessage, key string) (string, error) {
	raw, err := requiredMember(m, obj, key)
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
