package wire

import "encoding/json"

// probe returns the id of a message that is known only up to a cut, because it is truncated, too long or broken
// later. It returns nil if the id is not certain: it must be a string or a number, complete at the top level before
// the cut, and the only id there. asks reports a method before the cut, which means that the message is not a
// response.
func probe(prefix []byte) (id json.RawMessage, asks bool) {
	i := skipSpace(prefix, 0)
	if i == len(prefix) || prefix[i] != '{' {
		return nil, false
	}
	for {
		m, end, w := member(prefix, skipSpace(prefix, i+1))
		if w != whyNone || end == len(prefix) { // a number may continue after the cut
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
