package wire

import (
	"math"
	"strconv"
	"strings"
)

// Finite returns valid JSON with only numbers that a double can hold, and the depth of its nesting.
// A number outside this range, which Go and Rust refuse and JavaScript reads as Infinity, becomes
// the largest finite number. If there is none, it returns b itself.
func Finite(b []byte) (out []byte, depth int) {
	level, from := 0, 0
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			i = skipText(b, i+1)
			if i < 0 {
				return b, depth
			}
		case c == '-' || '0' <= c && c <= '9':
			end := i + 1
			for end < len(b) && strings.IndexByte("0123456789.eE+-", b[end]) >= 0 {
				end++
			}
			if end-i >= len("1e309") {
				if f, err := strconv.ParseFloat(string(b[i:end]), 64); err != nil {
					out = strconv.AppendFloat(append(out, b[from:i]...), math.Copysign(math.MaxFloat64, f), 'g', -1, 64)
					from = end
				}
			}
			i = end
		default:
			switch c {
			case '{', '[':
				level++
				depth = max(depth, level)
			case '}', ']':
				level--
			}
			i++
		}
	}
	if out == nil {
		return b, depth
	}
	return append(out, b[from:]...), depth
}
