package wire

import "encoding/json"

// probe returns the id of a message of which only the beginning is known, because it is cut off, over-long or broken
// further on. It is nil if none can be told: it must be a string or a number, stand whole at the top level before the
// cut, and be the only one there. asks reports a method before the cut: then the message is no answer.
func probe(prefix []byte) (id json.RawMessage, asks bool) {
	i := skipSpace(prefix, 0)
	if i == len(prefix) || prefix[i] != '{' {
		return nil, false
	}
	for {
		m, end, w := member(prefix, skipSpace(prefix, i+1))
		if w != whyNone || end == len(prefix) { // a number there may go on
			break
		}
		like, exact := envelopeKey(prefix[m.start:m.keyEnd])
		asks = asks || like == "method"
		if like == "id" {
			if id != nil || !exact {
				return nil, asks
			}
			id = prefix[m.value:m.end:m.end]
		}
		if i = skipSpace(prefix, end); i == len(prefix) || prefix[i] != ',' {
			break
		}
	}
	if !named(id) {
		return nil, asks
	}
	return id, asks
}
