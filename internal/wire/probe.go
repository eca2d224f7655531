package wire

import "encoding/json"

// probe returns the id of a message that is known only up to a cut, because it is truncated, too long or broken
// later. It returns nil if the id is not certain: it must be a string or a number, complete at the top level before
// the cut, and the only id there. asks reports a method before the cut, which means that the message is not a
// response.
func probe(prefix []byte) (id json.RawMessage, hasMethod bool) {
	i := skipSpace(prefix, 0)
	if i == len(prefix) || prefix[i] != '{' {
		return nil, false
	}
	for {
		m, end, w := scanMember(prefix, skipSpace(prefix, i+1))
		if w != stopNone || end == len(prefix) { // a number may continue after the cut
			break
		}
		key, exact := envelopeKey(prefix[m.start:m.keyEnd])
		hasMethod = hasMethod || key == "method"
		if key == "id" {
			if id != nil || !exact {
				return nil, hasMethod
			}
			id = prefix[m.value:m.end:m.end]
		}
		i = skipSpace(prefix, end)
		if i == len(prefix) || prefix[i] != ',' {
			break
		}
	}
	if !isValidID(id) {
		return nil, hasMethod
	}
	return id, hasMethod
}
