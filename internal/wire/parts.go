package wire

import "encoding/json"

// Editor returns the value to write in the place of the value of a key, which is decoded and "" in an array, or nil to
// leave the part out.
type Editor func(key string, value json.RawMessage) json.RawMessage

// MapParts returns a valid JSON object or array with each value replaced by what edit returns for it. If nothing changes, it
// returns raw itself. Otherwise the parts keep their order, with only commas between them. It refuses what [Members] does.
func MapParts(raw json.RawMessage, edit Editor) (json.RawMessage, error) {
	open := byte('{')
	if i := skipSpace(raw, 0); i < len(raw) && raw[i] == '[' {
		open = '['
	}
	c, ok := enter(raw, open)
	if !ok {
		return nil, c.fail()
	}
	out, changed := append(make([]byte, 0, len(raw)), open), false
	for n := 0; c.next(); n++ {
		if n == MaxParts {
			return nil, ErrCrowded
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
