package wire

import "bytes"

// The functions here find the end of a value that is valid JSON, by its quotes
// and brackets alone. They return the index behind it, or -1 if it has no end; null is whether it is null, or
// has it somewhere in it.

func skipValue(b []byte, i int) (end int, null bool) {
	if i >= len(b) {
		return -1, false
	}
	switch b[i] {
	case '"':
		return skipText(b, i+1), false
	case '{', '[':
		return skipContainer(b, i)
	}
	start := i
	for i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != '}' && b[i] != ']' {
		i++
	}
	if i == start {
		return -1, false
	}
	return i, b[start] == 'n'
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

// skipContainer skips an object or array.
func skipContainer(b []byte, i int) (end int, null bool) {
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			if i = skipText(b, i+1); i < 0 {
				return -1, false
			}
			continue
		case 'n':
			null = true
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1, null
			}
		}
		i++
	}
	return -1, false
}
