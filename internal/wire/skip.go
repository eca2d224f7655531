package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// The functions here find the end of a value that is valid JSON, by its quotes
// and brackets alone. They return the index behind it, or -1 if it has no end.

func skip(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipText(b, i+1)
	case '{', '[':
		return skipContainer(b, i)
	}
	start := i
	for i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != '}' && b[i] != ']' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// skipText skips a string whose inside begins at i. A quote ends it unless an
// odd number of backslashes precedes; they cannot reach beyond the opening quote.
func skipText(b []byte, i int) int {
	for ; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		k := i
		for k > 0 && b[k-1] == '\\' {
			k--
		}
		if (i-k)&1 == 0 {
			return i + 1
		}
	}
}

// skipContainer counts the brackets of 64 bytes at once, and goes byte by byte
// where a backslash stands and at the end of b.
func skipContainer(b []byte, i int) int {
	depth := 0
	for i+64 <= len(b) {
		s := survey((*[64]byte)(b[i:]))
		if s.slash {
			if i, depth = walk(b, i, i+64, depth); depth == 0 {
				return i
			}
			continue
		}
		if n := s.end(depth); n > 0 {
			return i + n
		}
		depth += bits.OnesCount64(s.opens) - bits.OnesCount64(s.closes)
		i += 64
		if s.inside {
			if i = skipText(b, i); i < 0 {
				return -1
			}
		}
	}
	if i, depth = walk(b, i, len(b), depth); depth == 0 {
		return i
	}
	return -1
}

// walk steps through a container to end or a little further, while depth is
// not 0. At -1 it is, with -1 as the index: the container has no end.
func walk(b []byte, i, end, depth int) (int, int) {
	for i < end {
		switch b[i] {
		case '"':
			if i = skipText(b, i+1); i < 0 {
				return -1, 0
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1, 0
			}
		}
		i++
	}
	return i, depth
}

// block tells of 64 bytes, of which the first is not in a string: where outside
// of strings the brackets are, whether the end is inside one, and whether there
// is a backslash, in which case the rest is worth nothing.
type block struct {
	opens, closes uint64
	inside, slash bool
}

func survey(b *[64]byte) (s block) {
	var quotes, slash uint64
	for k := 0; k < 64; k += 8 {
		x := binary.LittleEndian.Uint64(b[k : k+8])
		lower := x | 0x20*ones // '[' becomes '{' and ']' becomes '}'
		quotes |= zeros(x^'"'*ones) << k
		s.opens |= zeros(lower^'{'*ones) << k
		s.closes |= zeros(lower^'}'*ones) << k
		y := x ^ '\\'*ones
		slash |= (y - ones) &^ y
	}
	// Each bit becomes the parity of the quotes up to it: 1 is inside.
	quotes ^= quotes << 1
	quotes ^= quotes << 2
	quotes ^= quotes << 4
	quotes ^= quotes << 8
	quotes ^= quotes << 16
	quotes ^= quotes << 32
	s.opens &^= quotes
	s.closes &^= quotes
	s.inside = quotes>>63 != 0
	s.slash = slash&tops != 0
	return s
}

// end returns how many bytes of the block belong to the container that is
// open depth levels up, or 0 if it does not end here.
func (s *block) end(depth int) int {
	if bits.OnesCount64(s.closes) < depth {
		return 0
	}
	for c := s.closes; c != 0; c &= c - 1 {
		depth--
		if depth+bits.OnesCount64(s.opens&((c&-c)-1)) <= 0 {
			return bits.TrailingZeros64(c) + 1
		}
	}
	return 0
}

// zeros returns a bit for each byte of x, set if the byte is zero.
func zeros(x uint64) uint64 {
	const low = 0x7f * ones
	t := ^((x&low + low) | x) & tops
	return t >> 7 * 0x0102040810204080 >> 56
}
