package protocol

import (
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
