package show

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	chars "github.com/indusagi/indus/internal/text"
)

// Cut is s in at most n runes.
func Cut(s string, n int) string {
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return s
}

// Duration is d to a person's precision.
func Duration(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// Count is a number of things, in the plural where it is not one.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// MaxNamed is how many names a line has.
const MaxNamed = 3

// orDash is what a cell has in the place of nothing.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// TimeFormat is how times are shown, in the zone of who looks.
const TimeFormat = "2006-01-02 15:04:05"

// ShellWord is an argument as one types it in a shell.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:@%+=,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// List is the first of words, and how many there are beside them.
func List(words []string, most int, what string) string {
	if n := len(words) - most; n > 1 {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(" and %d more %s", n, what)
	}
	return strings.Join(words, ", ")
}

// Names are the names of things; what has none is left out.
func Names[T any](all []T, name func(T) string) (names []string) {
	for _, t := range all {
		if n := name(t); n != "" {
			names = append(names, n)
		}
	}
	return names
}

// Summary is the first sentence of a description, with "…" where there is more: who looks at a
// tool must see that there is.
func Summary(s string) string {
	text := FirstSentence(s)
	if text != strings.Join(strings.Fields(Clean(s)), " ") && !strings.HasSuffix(text, "…") {
		text += " …"
	}
	return text
}

// FirstSentence is what a list has room for of a description.
func FirstSentence(s string) string {
	s = strings.Join(strings.Fields(Clean(s)), " ")
	for i := range len(s) {
		rest, ok := strings.CutPrefix(s[i:], ". ")
		if next, _ := utf8.DecodeRuneInString(rest); ok && i > 0 && !unicode.IsLower(next) {
			s = s[:i+1] // not after "e.g."
			break
		}
	}
	return Cut(s, 100)
}

// Escaped is text on one line in which nothing hides: what a terminal would obey or
// not show is written as an escape. Who judges it must see all of it.
func Escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case chars.KindOf(r) != chars.Plain || r == unicode.ReplacementChar || r != ' ' && unicode.IsSpace(r) || unicode.Is(unicode.Co, r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
