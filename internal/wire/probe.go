package wire

import (
	"bytes"
	"encoding/json"
)

// ProbeID returns the id of a message of which only the beginning is known:
// cut off, over-long or broken further on. The id must be a string or a number,
// stand whole at the top level before the cut, and be the only one there.
func ProbeID(prefix []byte) (id json.RawMessage, ok bool) {
	i := space(prefix, 0)
	if i == len(prefix) || prefix[i] != '{' {
		return nil, false
	}
	for {
		m, end, w := member(prefix, space(prefix, i+1))
		if w != fine || end == len(prefix) { // a number there may go on
			break
		}
		if like, exact := envelopeKey(prefix[m.start:m.keyEnd]); like == "id" {
			if id != nil || !exact {
				return nil, false
			}
			id = prefix[m.value:m.end:m.end]
		}
		if i = space(prefix, end); i == len(prefix) || prefix[i] != ',' {
			break
		}
	}
	if !named(id) {
		return nil, false
	}
	return id, true
}

// probeTail returns the id of a message of which only the end is known. If
// the message is valid, its last byte closes it, and what stands before that
// can be read backwards member by member as long as the values are scalars.
func probeTail(suffix []byte) (id json.RawMessage, ok bool) {
	b, ok := bytes.CutSuffix(trim(suffix), []byte("}"))
	for ok {
		b = trim(b)
		value := b[scalarStart(b):]
		if b, ok = bytes.CutSuffix(trim(b[:len(b)-len(value)]), []byte(":")); !ok {
			break
		}
		b = trim(b)
		key := b[scalarStart(b):]
		if len(key) < 2 || key[0] != '"' {
			break
		}
		if k, ok := Unquote(key); ok && k == "id" {
			end, w := scalar(value, 0)
			if w != fine || end != len(value) || !named(value) {
				break
			}
			return value[:end:end], true
		}
		b, ok = bytes.CutSuffix(trim(b[:len(b)-len(key)]), []byte(","))
	}
	return nil, false
}

// scalarStart returns the index where the string, number or literal that
// ends b begins, or len(b) if none does or it cannot be told.
func scalarStart(b []byte) int {
	i := len(b)
	if i == 0 || b[i-1] != '"' {
		for i > 0 && (b[i-1]-'0' < 10 || b[i-1]|0x20-'a' < 26 || b[i-1] == '-' || b[i-1] == '+' || b[i-1] == '.') {
			i--
		}
		return i
	}
	for i--; ; {
		if i = bytes.LastIndexByte(b[:i], '"'); i < 0 {
			break
		}
		k := i
		for k > 0 && b[k-1] == '\\' {
			k--
		}
		if k == 0 {
			break // what might escape it lies before the cut
		}
		if (i-k)&1 == 0 {
			return i
		}
	}
	return len(b)
}

func trim(b []byte) []byte { return bytes.TrimRight(b, " \t\r\n") }
