package protocol_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/protocol"
)

// A pattern must match like the equivalent regular expression.
func FuzzMatches(f *testing.F) {
	for _, c := range [][2]string{
		{"*", ""}, {"?", "é"}, {"a*b*c", "aXbXbXc"}, {"**a", "aaa"}, {"*a?", "aab"}, {"", ""}, {"a.c", "abc"}, {"\\*", "\\x"}, {"*?*", "x"}, {"a*", "b\na"},
	} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 100 || len(name) > 100 || !utf8.ValidString(pattern) || !utf8.ValidString(name) {
			return // longer inputs add no cases, and JSON strings are valid UTF-8
		}
		var expr strings.Builder
		for _, r := range pattern {
			switch r {
			case '*':
				expr.WriteString(".*")
			case '?':
				expr.WriteString(".")
			default:
				expr.WriteString(regexp.QuoteMeta(string(r)))
			}
		}
		if got, want := protocol.Matches(pattern, name),
			regexp.MustCompile(`(?s)\A`+expr.String()+`\z`).MatchString(name); got != want {
			t.Errorf("%q stands for %q: %t, want %t", pattern, name, got, want)
		}
	})
}
