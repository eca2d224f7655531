package wire

import (
	"bytes"
	"encoding/json"
	"strings"
)

// EachOf stands in a path for each element of an array; where there is one object in the place of
// an array, for that.
const EachOf = "*"

// Disguises reports whether a string in valid JSON begins with a word of which a letter, or the colon behind it, is an
// escape. Encoders write none: who looks for such words by their bytes would miss it.
func Disguises(b []byte) bool {
	if !bytes.Contains(b, []byte(`\u00`)) {
		return false
	}
	for {
		n := bytes.IndexByte(b, '"')
		if n < 0 {
			return false
		}
		b = b[n+1:]
		i := 0
		for i < len(b) && isLetter(rune(b[i])) {
			i++
		}
		if u := unit(b[i:]); u == ':' || isLetter(u) {
			return true
		}
	}
}

func isLetter(r rune) bool { return 'a' <= r|' ' && r|' ' <= 'z' }

// EditStrings is raw with the strings at a path replaced by what edit makes of them; raw itself where
// nothing is. What is of another shape stays as it is; where a key stands twice, or in another case, each is edited.
func EditStrings(raw json.RawMessage, path []string, edit func(string) string) json.RawMessage {
	if len(path) == 0 {
		s, ok := Unquote(raw)
		if !ok {
			return raw
		}
		if edited := edit(s); edited != s {
			return Quote(edited)
		}
		return raw
	}
	if len(raw) > 0 && raw[0] == '[' && path[0] == EachOf {
		out, err := Map(raw, func(e json.RawMessage) json.RawMessage { return EditStrings(e, path[1:], edit) })
		if err != nil {
			return raw
		}
		return out
	}
	if path[0] == EachOf { // one in the place of an array
		return EditStrings(raw, path[1:], edit)
	}
	members, err := Members(raw)
	if err != nil {
		return raw
	}
	var out []byte
	from := 0
	for i := range members { // all that one client or another takes for the one
		m := &members[i]
		if !strings.EqualFold(m.Key, path[0]) {
			continue
		}
		edited := EditStrings(m.Value, path[1:], edit)
		if len(edited) != len(m.Value) || &edited[0] != &m.Value[0] {
			out = append(append(out, raw[from:m.End-len(m.Value)]...), edited...)
			from = m.End
		}
	}
	if from == 0 {
		return raw
	}
	return append(out, raw[from:]...)
}
