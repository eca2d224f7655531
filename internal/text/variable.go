package text

import "strings"

// VariableIndex returns the index of the first variable of a configuration (${NAME}, ${file:…}, ${cmd:…}) in a text. If
// there is none, it returns the length of the text.
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

// VariableLength returns the length of the variable at the start of a text: up to its "}", or up to the end of the
// text.
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

// commandLength is the same for a ${cmd:…}, in which braces are paired.
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

// NameLength returns the length of the variable's name at the start of s: letters, digits and "_", but no digit first.
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
