package cluster

import "bytes"

const (
	// shortText is the longest text that is always stored as a whole.
	shortText = 128 << 10
	// minCopy is the length of the shortest line that is worth a piece.
	minCopy = 48
)

// piece is a part of a text: so many new bytes, and then bytes of the base.
type piece struct {
	Added int `json:"a,omitempty"`
	At    int `json:"b,omitempty"`
	Bytes int `json:"n,omitempty"`
}

// shortValue returns a value for a text that needs no new parts: the text itself, or its difference from the base of
// the text before, which may be nil. It returns nil if the text is better stored in new parts, because it is too long,
// or because later texts will have short differences from it.
func shortValue(text, before []byte, from *longText) ([]byte, *longText) {
	if len(text) <= shortText {
		return inline(text), nil
	}
	limit := min(max(len(text)/8, shortText), partSize)
	if from != nil {
		pieces, added := split(text, from.text, limit)
		if value := from.value(pieces, added); len(value) <= limit {
			return value, from
		}
	}
	if len(text) > partSize {
		return nil, nil
	}
	if _, added := split(text, before, limit); from == nil && len(added) > limit/4 || len(added) > limit {
		return inline(text), nil
	}
	return nil, nil
}

// split returns the pieces of a text whose lines may be in a base, and the first limit+1 bytes that are not in it.
func split(text, from []byte, limit int) (pieces []piece, added []byte) {
	places := map[string]int{}
	for at, rest := 0, from; len(rest) > 0; {
		line := firstLine(rest)
		places[string(line)] = at
		at, rest = at+len(line), rest[len(line):]
	}
	var p piece
	for rest := text; len(rest) > 0 && len(added) <= limit; {
		line := firstLine(rest)
		rest = rest[len(line):]
		if p.Bytes > 0 && bytes.HasPrefix(from[p.At+p.Bytes:], line) {
			p.Bytes += len(line)
			continue
		}
		at, ok := places[string(line)]
		ok = ok && len(line) >= minCopy
		if p.Bytes > 0 {
			pieces, p = append(pieces, p), piece{}
		}
		if ok {
			p.At, p.Bytes = at, len(line)
		} else {
			p.Added, added = p.Added+len(line), append(added, line[:min(len(line), limit+1-len(added))]...)
		}
	}
	return append(pieces, p), added
}

// firstLine returns the bytes before the second line. The line break belongs to the line that follows it, so that a
// line stays the same if another one is appended.
func firstLine(text []byte) []byte {
	if i := bytes.IndexByte(text[1:], '\n'); i >= 0 {
		return text[:i+1]
	}
	return text
}

// joinPieces returns the text of pieces.
func joinPieces(pieces []piece, from, added []byte) ([]byte, error) {
	size := 0
	for _, p := range pieces {
		if p.Added < 0 || p.Bytes < 0 || p.At < 0 || p.Added > maxText || p.At > len(from) || p.Bytes > len(from)-p.At {
			return nil, errHead
		}
		if size += p.Added + p.Bytes; size > maxText {
			return nil, errHead
		}
	}
	text := make([]byte, 0, size)
	for _, p := range pieces {
		if p.Added > len(added) {
			return nil, errHead
		}
		text = append(append(text, added[:p.Added]...), from[p.At:p.At+p.Bytes]...)
		added = added[p.Added:]
	}
	if len(added) > 0 {
		return nil, errHead
	}
	return text, nil
}
