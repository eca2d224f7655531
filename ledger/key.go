package ledger

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
	"github.com/indusagi/indus/internal/chain"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/config"
	"github.com/oklog/ulid/v2"
)

// Key is the key under which a tool is enrolled. Of two enrollments with one key, the later one counts.
type Key string

// ContentKey returns a pure function of a tool's identity: its qualified name, [config.QualifiedName], and its schema
// as the server wrote it. A nil schema means none. The same tool has the same key in every process, whatever the order
// of its schema's members. If its schema changes, it has another key.
//
// The key is "bk_" and 32 hex digits of the SHA-256 of {"name":…,"schema":…} in canonical form (RFC 8785). If there is
// no canonical form, its bytes are hashed: the key is defined for every input. The canonical form rounds large numbers,
// so protection against changes does not use keys. See [Entry].
func ContentKey(qualified string, schema json.RawMessage) Key {
	if len(schema) == 0 {
		schema = json.RawMessage("null")
	}
	identity := append(quoteRaw([]byte(`{"name":`), qualified), `,"schema":`...)
	identity = append(append(identity, schema...), '}')
	if json.Valid(schema) {
		if canonical, err := jcs.Transform(identity); err == nil {
			identity = canonical
		}
	}
	return Key("bk_" + chain.Hash(identity)[:32])
}

// quoteRaw keeps the bytes of a string that is not UTF-8, because it has no canonical form. Thus two names never become
// equal.
func quoteRaw(dst []byte, s string) []byte {
	if utf8.ValidString(s) {
		return wire.AppendQuote(dst, s)
	}
	return append(append(append(dst, '"'), s...), '"')
}

// NewKey returns a new unique key, a ULID, for things without a lasting identity. The keys of one process sort in the
// order in which they were made.
func NewKey() Key { return Key(ulid.Make().String()) }

// SplitName splits a qualified name at the first "__". If there is no "__", or nothing before it, the server is "" and
// the tool is the whole name. Use it only for names without an [Entry], which has both.
func SplitName(qualified string) (server, tool string) {
	server, tool, ok := strings.Cut(qualified, config.Qualifier)
	if !ok || server == "" {
		return "", qualified
	}
	return server, tool
}
