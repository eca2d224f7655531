package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/oklog/ulid/v2"
)

// Key is what a tool is enrolled under. Of two enrollments with one key the later
// one stands.
type Key string

const (
	contentPrefix = "bk_"
	contentChars  = 32
)

// ContentKey is a pure function of a tool's identity, which is its qualified name,
// [interop.QualifiedName], and its schema as its owner wrote it; nil is none. The same tool
// has the same key in every process, whatever the order of its schema's members,
// and one whose schema changed has another.
//
// It is "bk_" and 32 hex digits of the SHA-256 of {"name":…,"schema":…} in
// canonical form (RFC 8785), or of its bytes where it has none: it is defined for
// every input. The canonical form rounds large numbers, so no guard against change
// goes by keys: see [Entry].
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
	sum := sha256.Sum256(identity)
	return Key(contentPrefix + hex.EncodeToString(sum[:])[:contentChars])
}

// quoteRaw keeps the bytes of a string that is not UTF-8, which has no canonical
// form: no two names become one.
func quoteRaw(dst []byte, s string) []byte {
	if utf8.ValidString(s) {
		return wire.AppendQuote(dst, s)
	}
	return append(append(append(dst, '"'), s...), '"')
}

// NewKey is a key of its own, a ULID, for what has no lasting identity. Keys of one
// process sort in the order in which they were minted.
func NewKey() Key { return Key(ulid.Make().String()) }

// ServerOf is what is before the first "__" of a qualified name; "" where there
// is none, or nothing before it. It is for names of which nothing else is known: an
// [Entry] says whose it is.
func ServerOf(qualified string) string {
	if server, _, ok := strings.Cut(qualified, interop.Qualifier); ok {
		return server
	}
	return ""
}

// ToolOf is the bare name: what stands after the server's, or all where [ServerOf]
// is "".
func ToolOf(qualified string) string {
	if server, tool, ok := strings.Cut(qualified, interop.Qualifier); ok && server != "" {
		return tool
	}
	return qualified
}
