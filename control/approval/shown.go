package approval

import (
	"bytes"
	"encoding/json"

	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

const (
	maxShown = 8 << 10 // of the arguments, as JSON
	// maxMasked limits the texts that are searched for secrets, because the search takes 1 ms for 64 KiB. A secret may
	// cross that limit: seam bytes before it are dropped.
	maxMasked = 64 << 10
	seam      = 2 << 10
)

// shorter holds the lengths to which strings are cut, one after the other, until the arguments fit.
var shorter = []int{4 << 10, 1 << 10, 256, 64}

// shownOf returns arguments for an approver: with likely secrets masked, and in at most maxShown bytes of JSON. If they
// do not fit, long strings are cut. If that is not enough, it returns the beginning of the text as a JSON string.
func shownOf(arguments []byte) (shown json.RawMessage, partial bool) {
	raw := bytes.TrimSpace(arguments)
	if len(raw) == 0 {
		return json.RawMessage("{}"), false
	}
	if wire.Valid(raw) && len(raw) <= maxMasked {
		shown = secret.MaskLikely(raw)
	}
	for i := 0; len(shown) > maxShown && i < len(shorter); i++ {
		partial = true
		shown = clipStrings(shown, shorter[i])
	}
	if shown != nil && len(shown) <= maxShown {
		return shown, partial
	}
	return beginning(raw), true
}

// clipStrings returns a JSON value with its strings and the names of members cut to limit bytes. It returns nil if the
// value has too many parts.
func clipStrings(raw json.RawMessage, limit int) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '{':
		members, err := wire.Members(raw)
		if err != nil {
			return nil
		}
		out := wire.Object{}
		for _, m := range members {
			value := clipStrings(m.Value, limit)
			if value == nil {
				return nil
			}
			out = out.Raw(text.Clip(m.Key, limit), value)
		}
		return out.JSON()
	case '[':
		failed := false
		out, err := wire.MapParts(raw, func(_ string, raw json.RawMessage) json.RawMessage {
			part := clipStrings(raw, limit)
			failed = failed || part == nil
			return part
		})
		if failed || err != nil {
			return nil
		}
		return out
	case '"':
		if s, _ := wire.Unquote(raw); len(s) > limit {
			return wire.Quote(text.Clip(s, limit))
		}
	}
	return raw
}

// beginning returns the beginning of a text as a JSON string of at most maxShown bytes, with likely secrets masked.
func beginning(raw []byte) json.RawMessage {
	s := string(raw)
	if len(s) > maxMasked {
		s = text.Cut(s, maxMasked)
	}
	s = string(secret.MaskLikely([]byte(s)))
	if len(raw) > maxMasked {
		s = text.Cut(s, len(s)-seam)
	}
	return wire.Quote(clipJSON(s, maxShown-2)) // without the quotes
}

// clipJSON returns the beginning of s that takes at most limit bytes as a JSON string, and an ellipsis if s is longer.
func clipJSON(s string, limit int) string {
	if len(wire.Quote(s))-2 <= limit {
		return s
	}
	const ellipsis = len("…")
	s = text.Cut(s, limit-ellipsis)
	for over := len(wire.Quote(s)) - 2 + ellipsis - limit; over > 0; over = len(wire.Quote(s)) - 2 + ellipsis - limit {
		s = text.Cut(s, len(s)-(over+5)/6) // a byte takes at most six bytes
	}
	return s + "…"
}
