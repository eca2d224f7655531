package rule

import (
	"cmp"
	"fmt"
	"strings"
)

// Grammar describes names of up to Max ASCII characters. First and Rest are classes as in a regular expression:
// "a-zA-Z_". The zero value accepts every name.
type Grammar struct {
	First, Rest string
	Max         int
}

// Has reports whether b may be byte i of a name.
func (g Grammar) Has(i int, b byte) bool {
	class := g.Rest
	if i == 0 {
		class = g.First
	}
	for i := 0; i < len(class); i++ {
		if i+2 < len(class) && class[i+1] == '-' {
			if class[i] <= b && b <= class[i+2] {
				return true
			}
			i += 2
			continue
		}
		if class[i] == b {
			return true
		}
	}
	return false
}

// Accepts reports whether a name follows the grammar.
func (g Grammar) Accepts(name string) bool {
	if g.Max == 0 {
		return true
	}
	if name == "" || len(name) > g.Max {
		return false
	}
	for i := range len(name) {
		if !g.Has(i, name[i]) {
			return false
		}
	}
	return true
}

// String returns a regular expression between backquotes, or "" for the zero value.
func (g Grammar) String() string {
	switch {
	case g == Grammar{}:
		return ""
	case g.First == g.Rest:
		return fmt.Sprintf("`^[%s]{1,%d}$`", g.First, g.Max)
	}
	return fmt.Sprintf("`^[%s][%s]{0,%d}$`", g.First, g.Rest, g.Max-1)
}

// Repeat returns the largest value of a keyword that bounds a length, such as minLength. It is 0 if there is no limit.
func (l Limits) Repeat(keyword string) int {
	switch keyword {
	case "maxItems":
		return cmp.Or(l.Items, l.Repeats)
	case "minLength", "maxLength", "minItems":
		return l.Repeats
	}
	return 0
}

// Unsupported returns the first construct of a regular expression that PlainPattern or RustPattern refuses, or "".
func (s Set) Unsupported(pattern string) string {
	if !s.PlainPattern {
		return ""
	}
	inClass := false
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case c == '\\' && len(rest) > 1:
			if next := rest[1]; !inClass && ('1' <= next && next <= '9' || strings.HasPrefix(rest, `\k<`)) {
				return rest[:2]
			} else if s.RustPattern && next == '0' {
				return rest[:2]
			}
			i++
		case inClass && c == '[' && s.RustPattern:
			return "["
		case inClass:
			inClass = c != ']'
		case c == '[':
			inClass = true
			if strings.HasPrefix(rest, "[]") || strings.HasPrefix(rest, "[^]") { // a leading ] is literal
				i += strings.IndexByte(rest, ']')
			}
		case c == '(':
			for _, opening := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
				if strings.HasPrefix(rest, opening) {
					return opening
				}
			}
		}
	}
	return ""
}
