package control

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

// maxMasked bounds the arguments, results and texts that are masked, in bytes. Records and approvals hold less of them.
const maxMasked = 2 * audit.MaxContent

// mask masks secrets in arguments or a result for a person or a record. The end of long JSON is cut off.
func (c *Control) mask(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxMasked {
		raw = raw[:maxMasked]
	}
	if c.Mask != nil {
		return c.Mask(raw)
	}
	return secret.MaskLikely(raw)
}

// maskText is mask for a text: a server's error, or a URI.
func (c *Control) maskText(s string) string {
	if s == "" {
		return s
	}
	rest := ""
	if len(s) > maxMasked/2 { // its digest tells it from others with the same beginning
		rest = fmt.Sprintf("… (%d bytes, sha256:%x)", len(s), sha256.Sum256([]byte(s)))
		s = text.Cut(s, maxMasked/2)
	}
	masked, _ := wire.Unquote(c.mask(wire.Quote(s)))
	return masked + rest
}
