package protocol

import (
	"encoding/json"
	"time"
)

// Era is the family of revisions that a message, a server or a client speaks.
type Era string

const (
	// Legacy is MCP up to 2025-11-25: a handshake, then a session.
	Legacy Era = "legacy"
	// Modern is MCP from 2026-07-28 on: stateless requests.
	Modern Era = "modern"
)

// Info is how a client or a host names itself.
type Info struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// EncodeInfo is info as JSON.
func EncodeInfo(info Info) json.RawMessage {
	b, _ := json.Marshal(info) // three strings: it cannot fail
	return b
}

// How long a server has to connect, and to list, where interop.Timeouts does not say.
const (
	DefaultConnect = 30 * time.Second // a cold npx downloads first
	DefaultList    = 30 * time.Second
)

// Duration is what a duration among options means on both sides of the bridge:
// 0 the default, negative none.
func Duration(d, byDefault time.Duration) time.Duration {
	switch {
	case d < 0:
		return 0
	case d == 0:
		return byDefault
	}
	return d
}
