package text

import (
	"regexp"
	"strings"
	"unicode"
)

// escapes are the control sequences of ECMA-48: CSI, the strings (OSC, DCS, APC, …), and the short ones.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])`)

// Printed is what a program wrote for a terminal, as harmless lines without white space at their end: colours and the like
// are taken out, a carriage return begins a line, and any other harmful character and what is not UTF-8 become U+FFFD.
func Printed(s string) string {
	s = strings.ToValidUTF8(s, string(unicode.ReplacementChar))
	s = escapes.ReplaceAllLiteralString(s, "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r': // a progress bar
			return '\n'
		case Harmful(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
	return strings.TrimRight(s, " \t\n")
}
