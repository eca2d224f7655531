package wire

import "unicode/utf8"

// maxDepth is encoding/json's limit. Deeper values are invalid in both packages.
const maxDepth = 10_000

// Valid reports whether b is one JSON value. It agrees with encoding/json.Valid on every input.
func Valid(b []byte) bool {
	i, w := scanValue(b, skipSpace(b, 0), 0)
	return w == stopNone && skipSpace(b, i) == len(b)
}

// CheckUTF8 returns a [*SyntaxError] if b is not UTF-8, which JSON between systems has to be (RFC
// 8259, section 8.1): strict readers fail on the whole stream. [Scan] accepts other bytes, so that
// a list loses only its invalid rows.
func CheckUTF8(b []byte) error {
	if utf8.Valid(b) {
		return nil
	}
	i := 0
	for r, n := utf8.DecodeRune(b); r != utf8.RuneError || n != 1; r, n = utf8.DecodeRune(b[i:]) {
		i += n
	}
	return &SyntaxError{Offset: i, Reason: "malformed UTF-8"}
}

// skipSpace returns the index of the first byte from i that is not whitespace.
func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// scanValue validates the value that begins at i inside depth containers. It returns the index
// after the value. If the value is invalid, it returns the index of the fault and the reason. The
// scanning functions below return the same results.
func scanValue(b []byte, i, depth int) (int, stopReason) {
	if i < len(b) && (b[i] == '{' || b[i] == '[') {
		return scanContainer(b, i, depth)
	}
	return scanScalar(b, i)
}

// scanContainer validates the object or array that begins at i.
func scanContainer(b []byte, i, depth int) (int, stopReason) {
	var open nesting
	var w stopReason
	for base := depth; ; { // a value begins at i
		if i < len(b) && (b[i] == '{' || b[i] == '[') {
			if depth == maxDepth {
				return i, stopTooDeep
			}
			open.set(depth, b[i] == '{')
			depth++
			end := b[i] + 2 // '{'+2 is '}' and '['+2 is ']'
			i = skipSpace(b, i+1)
			if i == len(b) {
				return i, stopUnexpected
			}
			if b[i] != end {
				if open.object(depth - 1) {
					i, w = scanKey(b, i)
					if w != stopNone {
						return i, w
					}
				}
				continue
			}
		} else if i, w = scanScalar(b, i); w != stopNone {
			return i, w
		}
		for { // a value ended before i, or a container is empty: close finished containers
			i = skipSpace(b, i)
			if i == len(b) {
				return i, stopUnexpected
			}
			object := open.object(depth - 1)
			if b[i] == ',' {
				i = skipSpace(b, i+1)
				if object {
					i, w = scanKey(b, i)
					if w != stopNone {
						return i, w
					}
				}
				break
			}
			if object && b[i] != '}' || !object && b[i] != ']' {
				return i, stopUnexpected
			}
			i++
			depth--
			if depth == base {
				return i, stopNone
			}
		}
	}
}

// nesting records for each open container whether it is an object. Each level costs one bit and no
// stack.
type nesting [(maxDepth + 63) / 64]uint64

func (n *nesting) set(depth int, object bool) {
	n[depth>>6] &^= 1 << (depth & 63)
	if object {
		n[depth>>6] |= 1 << (depth & 63)
	}
}

func (n *nesting) object(depth int) bool { return n[depth>>6]>>(depth&63)&1 != 0 }

// scanKey validates a key and its colon and returns the index of its value.
func scanKey(b []byte, i int) (int, stopReason) {
	if i == len(b) || b[i] != '"' {
		return i, stopUnexpected
	}
	i, w := scanText(b, i+1)
	if w != stopNone {
		return i, w
	}
	i = skipSpace(b, i)
	if i == len(b) || b[i] != ':' {
		return i, stopUnexpected
	}
	return skipSpace(b, i+1), stopNone
}

// scanScalar validates a string, number or literal.
func scanScalar(b []byte, i int) (int, stopReason) {
	if i >= len(b) {
		return len(b), stopUnexpected
	}
	switch b[i] {
	case '"':
		return scanText(b, i+1)
	case 't':
		return scanLiteral(b, i, "true")
	case 'f':
		return scanLiteral(b, i, "false")
	case 'n':
		return scanLiteral(b, i, "null")
	}
	return scanNumber(b, i)
}

func scanLiteral(b []byte, i int, word string) (int, stopReason) {
	for k := range len(word) {
		if i+k >= len(b) || b[i+k] != word[k] {
			return i + k, stopUnexpected
		}
	}
	return i + len(word), stopNone
}

func scanNumber(b []byte, i int) (int, stopReason) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	start := i
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = scanDigits(b, i); i == start {
		return i, stopUnexpected
	}
	if i < len(b) && b[i] == '.' {
		start = i + 1
		i = scanDigits(b, start)
		if i == start {
			return i, stopUnexpected
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start = i
		i = scanDigits(b, start)
		if i == start {
			return i, stopUnexpected
		}
	}
	return i, stopNone
}

func scanDigits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' < 10 {
		i++
	}
	return i
}
