package interop

import (
	"encoding/json"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// headersFor is the headers of one call. The values are as they are: whoever
// sends them encodes them.
func headersFor(list []protocol.ParamHeader, args json.RawMessage) []Pair {
	var out []Pair
	for _, h := range list {
		value, ok := args, true
		for _, key := range h.Path {
			if value, ok = wire.Lookup(value, key); !ok {
				break
			}
		}
		if !ok {
			continue
		}
		if s, ok := protocol.PrimitiveText(value); ok {
			out = append(out, Pair{Name: protocol.HeaderParam + h.Name, Value: NewSecret(s)})
		}
	}
	return out
}
