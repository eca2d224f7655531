package wire

import (
	"encoding/binary"
	"math/bits"
)

// scanText validates a string with its first inner byte at i. It checks eight bytes at a time (SIMD
// within a register), and larger blocks if the text is long without an escape.
func scanText(b []byte, i int) (int, stopReason) {
	for run := 0; i+8 <= len(b); {
		m := textEnds(binary.LittleEndian.Uint64(b[i:])) & topBits
		if m == 0 {
			i += 8
			run++
			if run == 16 {
				i, run = skipPlain(b, i), 0
			}
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		switch {
		case b[i] == '"':
			return i + 1, stopNone
		case b[i] != '\\':
			return i, stopControl
		case i+1 < len(b) && simpleEscape(b[i+1]):
			i += 2
			for i+1 < len(b) && b[i] == '\\' && simpleEscape(b[i+1]) {
				i += 2
			}
		default:
			var w stopReason
			i, w = escape(b, i)
			if w != stopNone {
				return i, w
			}
		}
		run = 0
	}
	return scanTextEnd(b, i)
}

// scanTextEnd is scanText for the last few bytes.
func scanTextEnd(b []byte, i int) (int, stopReason) {
	for i < len(b) {
		switch {
		case b[i] == '"':
			return i + 1, stopNone
		case b[i] < ' ':
			return i, stopControl
		case b[i] == '\\':
			var w stopReason
			i, w = escape(b, i)
			if w != stopNone {
				return i, w
			}
		default:
			i++
		}
	}
	return i, stopUnexpected
}

// escape validates the escape sequence with its backslash at i.
func escape(b []byte, i int) (int, stopReason) {
	if i+1 >= len(b) {
		return len(b), stopUnexpected
	}
	switch c := b[i+1]; {
	case simpleEscape(c):
		return i + 2, stopNone
	case c == 'u':
		for k := i + 2; k < i+6; k++ {
			if k >= len(b) {
				return len(b), stopUnexpected
			}
			if hexDigit(b[k]) < 0 {
				return k, stopEscape
			}
		}
		return i + 6, stopNone
	}
	return i + 1, stopEscape
}

// simpleEscape reports whether c is valid after a backslash in an escape of two bytes.
func simpleEscape(c byte) bool {
	const (
		low  = 1<<'"' | 1<<'/'
		high = 1<<('\\'-64) | 1<<('b'-64) | 1<<('f'-64) | 1<<('n'-64) | 1<<('r'-64) | 1<<('t'-64)
	)
	if c < 64 {
		return uint64(low)>>c&1 != 0
	}
	return uint64(high)>>(c-64)&1 != 0 // a shift by more than 63 gives 0
}

func hexDigit(c byte) rune {
	switch {
	case c-'0' < 10:
		return rune(c - '0')
	case c|0x20-'a' < 6:
		return rune(c|0x20-'a') + 10
	}
	return -1
}

// skipPlain skips blocks of 32 bytes of plain text.
func skipPlain(b []byte, i int) int {
	for ; i+32 <= len(b); i += 32 {
		p := b[i : i+32 : i+32]
		m := textEnds(binary.LittleEndian.Uint64(p)) |
			textEnds(binary.LittleEndian.Uint64(p[8:])) |
			textEnds(binary.LittleEndian.Uint64(p[16:])) |
			textEnds(binary.LittleEndian.Uint64(p[24:]))
		if m&topBits != 0 {
			break
		}
	}
	return i
}

const (
	eachByte = 0x0101010101010101
	topBits  = 0x80 * eachByte
)

// textEnds sets the top bit of the lowest byte of x that ends plain text. (Higher bits may be wrong
// because of borrows. Of the lower bits, only the top bits of bytes are reliable.) Flipping bit 1
// moves the quote, 0x22, to 0x20, right above the control characters, and no other byte ends up
// there.
func textEnds(x uint64) uint64 {
	quote := x ^ 0x02*eachByte
	slash := x ^ '\\'*eachByte
	return ((quote - 0x21*eachByte) | (slash - eachByte)) &^ x
}
