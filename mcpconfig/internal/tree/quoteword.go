package tree

import "strconv"

// QuoteWord is quoted unless it is plain, so that neither a space nor an escape
// sequence for the terminal can pass for something else.
func QuoteWord(s string) string {
	plain := func(c rune) bool { return c != ' ' && c != '"' && c != '\'' && strconv.IsPrint(c) }
	for _, c := range s {
		if !plain(c) {
			return strconv.Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}
