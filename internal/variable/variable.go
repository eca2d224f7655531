// Package variable finds the variables of a configuration, ${NAME} and the like, in a
// text. It replaces nothing: who shows a text leaves them as they are.
package variable

import "strings"

// Index is where the first variable of a text begins, or else its length.
func Index(s string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "$${"):
			i += 2
		case strings.HasPrefix(s[i:], "${"):
			return i
		}
	}
	return len(s)
}

// Length is how far the variable reaches that a text begins with: to its "}",
// or to the end of the text.
func Length(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "$${"):
			i += 2
		case strings.HasPrefix(s[i:], "${cmd:"):
			i += commandLength(s[i:]) - 1
			if depth == 0 {
				return i + 1
			}
		case strings.HasPrefix(s[i:], "${"):
			depth++
			i++
		case s[i] == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// commandLength is the same for a ${cmd:…}, whose braces come in pairs.
func commandLength(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}
