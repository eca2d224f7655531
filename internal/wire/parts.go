package wire

import "encoding/json"

// Editor returns the value to write instead of the value of a key, or nil to leave the part out. The key is decoded,
// and is "" in an array.
type Editor func(key string, value json.RawMessage) json.RawMessage

// MapParts returns a valid JSON object or array with each value replaced by the result of edit. If nothing changes, it
// returns raw itself. Otherwise the parts keep their order, with only commas between them. It refuses the same inputs
// as [Members].
func MapParts(raw json.RawMessage, edit Editor) (json.RawMessage, error) {
	open := byte('{')
	if i := skipSpace(raw, 0); i < len(raw) && raw[i] == '[' {
		open = '['
	}
	c, ok := openContainer(raw, open)
	if !ok {
		return nil, c.fail()
	}
	out, changed := append(make([]byte, 0, len(raw)), open), false
	for n := 0; c.next(); n++ {
		if n == MaxParts {
			return nil, ErrTooManyParts
		}
		key, value := "", raw[c.value:c.end:c.end]
		if open == '{' {
			key = decodeInside(raw[c.start+1 : c.keyEnd-1])
		}
		edited := edit(key, value)
		changed = changed || len(edited) != len(value) || &edited[0] != &value[0]
		if edited == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		if open == '{' {
			out = append(append(out, raw[c.start:c.keyEnd]...), ':')
		}
		out = append(out, edited...)
	}
	switch {
	case c.bad:
		return nil, c.fail()
	case !changed:
		return raw, nil
	}
	return append(out, c.close), nil
}
