// Package canonical compares JSON values without regard to their spelling. Start with [Equal].
package canonical

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON returns a value without spaces, with ordered members and one spelling of each string. Numbers stay as they are
// written. A value that repeats a member or is not UTF-8 has no such form, and is returned as it is.
func JSON(raw json.RawMessage) json.RawMessage {
	v := jsontext.Value(raw).Clone()
	if v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)) != nil {
		return raw
	}
	return json.RawMessage(v)
}

// Equal reports whether two values are the same. Spaces, the order of members and the spelling of strings do not count.
func Equal(a, b json.RawMessage) bool { return bytes.Equal(a, b) || bytes.Equal(JSON(a), JSON(b)) }
