package protocol

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/indusagi/indus/internal/wire"
)

// ReadCall splits the params of tools/call. The arguments are not changed. Params that two readers may understand
// differently are refused.
func ReadCall(params json.RawMessage) (name string, arguments, meta json.RawMessage, err error) {
	if len(params) == 0 {
		return "", nil, nil, errors.New("no params")
	}
	members, err := wire.Members(params)
	if err == nil {
		err = wire.Unique(members)
	}
	if err != nil {
		return "", nil, nil, err
	}
	hasName := false
	for i := range members {
		switch v := members[i].Value; members[i].Key {
		case "name":
			name, hasName = wire.Unquote(v)
		case "arguments":
			arguments = v
		case "_meta":
			meta = v
		}
	}
	if !hasName {
		return "", nil, nil, errors.New("no name")
	}
	return name, arguments, meta, nil
}

// CallParams returns the params of a tools/call. Without arguments, they are an empty object.
func CallParams(name string, arguments json.RawMessage) (json.RawMessage, error) {
	if len(arguments) == 0 {
		arguments = json.RawMessage(`{}`)
	}
	if !wire.Valid(arguments) {
		return nil, errors.New("the arguments are not valid JSON")
	}
	b := make([]byte, 0, len(arguments)+len(name)+32)
	b = append(append(b, `{"name":`...), wire.Quote(name)...)
	b = append(append(b, `,"arguments":`...), arguments...)
	return append(b, '}'), nil
}

// FailedResult returns the result of a tool that failed with a text.
func FailedResult(text string) json.RawMessage {
	b := append([]byte(`{"content":[{"type":"text","text":`), wire.Quote(text)...)
	return append(b, `}],"isError":true}`...)
}

// IsToolError reports whether a result has isError. Most results do not contain its end, which a search finds fast: its
// first letter is rare, and a quote is not.
func IsToolError(result json.RawMessage) bool {
	if !bytes.Contains(result, []byte(`Error"`)) {
		return false
	}
	value, _ := wire.Lookup(result, "isError")
	return string(value) == "true"
}
