package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/indusagi/indus/internal/wire"
)

// mark is by what a version of a tool is told from another: Entry.Sum and
// Entry.Seal.
type mark struct{ sum, seal string }

// sealed is the members that models and people go by, in the order in which they
// are hashed. The rest (icons, _meta, how a tool is executed) may change freely.
var sealed = [...]string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"}

func markOf(c *Capability) mark {
	raw := c.Wire.JSON
	if len(raw) == 0 {
		raw = c.object()
	}
	sum := sha256.Sum256(raw)
	return mark{sum: hex.EncodeToString(sum[:]), seal: sealOf(raw)}
}

// object is the tool object of a tool that came without one.
func (c *Capability) object() json.RawMessage {
	out := wire.AppendQuote([]byte(`{"name":`), c.Tool)
	out = wire.AppendQuote(append(out, `,"description":`...), c.Description)
	if len(c.Schema) > 0 {
		out = append(append(out, `,"inputSchema":`...), c.Schema...)
	}
	return append(out, '}')
}

// sealOf hashes the bytes of the sealed members, each with its length before it, so
// that no two lists of members are one text. What is no object is hashed whole.
func sealOf(raw json.RawMessage) string {
	h := sha256.New()
	part := func(b []byte) {
		h.Write(strconv.AppendInt(nil, int64(len(b)), 10))
		h.Write([]byte{':'})
		h.Write(b)
	}
	members, err := wire.Members(raw)
	if err != nil {
		part(raw)
	}
	for _, key := range sealed {
		for _, m := range members {
			if m.Key == key {
				part([]byte(key))
				part(m.Value)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
