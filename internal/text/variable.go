package text

import "strings"

// VariableIndex is where the first variable of a configuration (${NAME}, ${file:…}, ${cmd:…}) begins in a text, or else its length.
func VariableIndex(s string) int {
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

// VariableLength is how far the variable reaches that a text begins with: to its "}",
// or to the end of the text.
func VariableLength(s string) int {
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

// NameLength is how much of the beginning of s is a variable's name: letters, digits and "_", no digit first.
func NameLength(s string) int {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}
