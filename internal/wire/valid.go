package wire

import "unicode/utf8"

// maxDepth is encoding/json's limit: deeper values are invalid to it and so
// to us.
const maxDepth = 10_000

// Valid reports whether b is one JSON value, with the verdict of
// encoding/json.Valid on every input.
func Valid(b []byte) bool {
	i, w := value(b, space(b, 0), 0)
	return w == fine && space(b, i) == len(b)
}

// CheckUTF8 is a [*SyntaxError] where b is not UTF-8, as JSON between systems has to be
// (RFC 8259, section 8.1): strict readers lose a whole stream for it. [Scan] lets it pass,
// so that of a list only the rows are lost that are not.
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

// space returns the index of the first byte from i that is not whitespace.
func space(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// value validates the value that begins at i inside depth containers and
// returns the index behind it, or the index where and the reason why it is
// invalid. All scanning functions below return in this way.
func value(b []byte, i, depth int) (int, why) {
	if i < len(b) && (b[i] == '{' || b[i] == '[') {
		return container(b, i, depth)
	}
	return scalar(b, i)
}

// container validates the object or array that begins at i.
func container(b []byte, i, depth int) (int, why) {
	var open nesting
	var w why
	for base := depth; ; { // a value begins at i
		if i < len(b) && (b[i] == '{' || b[i] == '[') {
			if depth == maxDepth {
				return i, tooDeep
			}
			open.set(depth, b[i] == '{')
			depth++
			end := b[i] + 2 // '{'+2 is '}' and '['+2 is ']'
			if i = space(b, i+1); i == len(b) {
				return i, unexpected
			}
			if b[i] != end {
				if open.object(depth - 1) {
					if i, w = key(b, i); w != fine {
						return i, w
					}
				}
				continue
			}
		} else if i, w = scalar(b, i); w != fine {
			return i, w
		}
		for { // a value ended before i, or a container is empty: close what closes
			i = space(b, i)
			if i == len(b) {
				return i, unexpected
			}
			object := open.object(depth - 1)
			if b[i] == ',' {
				i = space(b, i+1)
				if object {
					if i, w = key(b, i); w != fine {
						return i, w
					}
				}
				break
			}
			if object && b[i] != '}' || !object && b[i] != ']' {
				return i, unexpected
			}
			i++
			if depth--; depth == base {
				return i, fine
			}
		}
	}
}

// nesting tells of each open container whether it is an object: depth costs a
// bit and no stack.
type nesting [(maxDepth + 63) / 64]uint64

func (n *nesting) set(depth int, object bool) {
	n[depth>>6] &^= 1 << (depth & 63)
	if object {
		n[depth>>6] |= 1 << (depth & 63)
	}
}

func (n *nesting) object(depth int) bool { return n[depth>>6]>>(depth&63)&1 != 0 }

// key validates a key and its colon and returns the index of its value.
func key(b []byte, i int) (int, why) {
	if i == len(b) || b[i] != '"' {
		return i, unexpected
	}
	i, w := text(b, i+1)
	if w != fine {
		return i, w
	}
	i = space(b, i)
	if i == len(b) || b[i] != ':' {
		return i, unexpected
	}
	return space(b, i+1), fine
}

// scalar validates a string, number or literal.
func scalar(b []byte, i int) (int, why) {
	if i >= len(b) {
		return len(b), unexpected
	}
	switch b[i] {
	case '"':
		return text(b, i+1)
	case 't':
		return literal(b, i, "true")
	case 'f':
		return literal(b, i, "false")
	case 'n':
		return literal(b, i, "null")
	}
	return number(b, i)
}

func literal(b []byte, i int, word string) (int, why) {
	for k := range len(word) {
		if i+k >= len(b) || b[i+k] != word[k] {
			return i + k, unexpected
		}
	}
	return i + len(word), fine
}

func number(b []byte, i int) (int, why) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	start := i
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = digits(b, i); i == start {
		return i, unexpected
	}
	if i < len(b) && b[i] == '.' {
		start = i + 1
		if i = digits(b, start); i == start {
			return i, unexpected
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start = i
		if i = digits(b, start); i == start {
			return i, unexpected
		}
	}
	return i, fine
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' < 10 {
		i++
	}
	return i
}
