package wire

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns a JSON value without spaces, with the members of its objects in order, and with one spelling of each
// string. Numbers stay as they are written, so no two numbers become equal. If a value repeats a member or is not UTF-8,
// it has no such form, and Canonical returns raw.
func Canonical(raw json.RawMessage) json.RawMessage {
	v := jsontext.Value(raw).Clone()
	if v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)) != nil {
		return raw
	}
	return json.RawMessage(v)
}
