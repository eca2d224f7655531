package gateway

import (
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/interop"
)

// What servers ask their clients, and what they say of it.
const (
	askElicit    = protocol.MethodElicit
	askSampling  = protocol.MethodSample
	askRoots     = protocol.MethodRoots
	noteElicited = protocol.NoteElicited
	noteRoots    = "notifications/roots/list_changed"
)

// metaServer is the member of _meta that says which server asks.
const metaServer = "com.indusagi/server"

// requestDigest is the digest of the parts that stay the same in all requests of one exchange.
func requestDigest(m interop.Message) [32]byte {
	return sealed.Digest([]byte(m.Method), protocol.LastingParams(m.Params))
}
