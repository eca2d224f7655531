package gateway

import (
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/interop"
)

// These are the questions of servers to their clients, and the notifications about them.
const (
	askElicit    = protocol.MethodElicit
	askSampling  = protocol.MethodSample
	askRoots     = protocol.MethodRoots
	noteElicited = protocol.NoteElicited
	noteRoots    = "notifications/roots/list_changed"
)

// metaServer is the member of _meta that names the asking server.
const metaServer = "com.indusagi/server"

// requestDigest returns the digest of the parts that are equal in all requests of one exchange.
func requestDigest(m interop.Message) [32]byte {
	return sealed.Digest([]byte(m.Method), protocol.LastingParams(m.Params))
}
