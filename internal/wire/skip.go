package wire

import "bytes"

// skipValue finds the end of a valid JSON value, by its quotes and brackets alone. It returns the index after
// the value, or -1 if the value has no end. null reports whether it is null or contains null at any depth.
// The functions below work in the same way.

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

// skipText skips a string with its inside at i. A quote ends it unless an odd number of backslashes precedes
// the quote. They cannot reach before the opening quote.
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
			i = skipText(b, i+1)
			if i < 0 {
				return -1, false
			}
			continue
		case 'n':
			null = true
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth <= 0 {
				return i + 1, null
			}
		}
		i++
	}
	return -1, false
}
