package standard

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// ignoreRule is one line of a .gitignore. It is matched by RE2, so that no pattern takes long, even if it comes from
// outside. No library is used, because each of them ignores other files than git for some of the test's rules, such as
// "*", "!*/" and "!*.go". The number of these rules is 23 for go-git's library, 21 for sabhiram's and 32 for
// monochromegane's.
type ignoreRule struct {
	expr    *regexp.Regexp // nil: the name must equal ending
	suffix  string         // the end of every matching name
	whole   bool           // match the path from the .gitignore's directory, not only its last element
	dirOnly bool
	negated bool
}

// parseIgnore parses a .gitignore. It skips lines that git does not understand, because they match nothing in git.
func parseIgnore(data []byte) []ignoreRule {
	var rules []ignoreRule
	for line := range bytes.SplitSeq(bytes.TrimPrefix(data, []byte("\uFEFF")), []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) > 0 && line[0] != '#' {
			if rule, ok := newIgnoreRule(trimSpaces(string(line))); ok {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// trimSpaces removes trailing spaces that are not escaped by a backslash.
func trimSpaces(line string) string {
	trimmed := strings.TrimRight(line, " ")
	if rest := strings.TrimRight(trimmed, `\`); len(trimmed) < len(line) && (len(trimmed)-len(rest))%2 == 1 {
		return trimmed + " "
	}
	return trimmed
}

func newIgnoreRule(pattern string) (rule ignoreRule, ok bool) {
	pattern, rule.negated = strings.CutPrefix(pattern, "!")
	pattern, rule.dirOnly = strings.CutSuffix(pattern, "/")
	rule.whole = strings.Contains(pattern, "/")
	pattern = strings.TrimPrefix(pattern, "/")
	if pattern == "" || len(pattern) > maxGlob {
		return rule, false
	}
	rule.suffix = pattern[strings.LastIndexAny(pattern, `*?[]\`)+1:]
	if len(rule.suffix) == len(pattern) {
		return rule, true
	}
	rule.suffix = strings.TrimPrefix(rule.suffix, "/") // **/x also matches x
	source, ok := wildmatch(bytewise(pattern))
	if !ok {
		return rule, false
	}
	expr, err := regexp.Compile(`(?s)\A` + source + `\z`)
	rule.expr = expr
	return rule, err == nil
}

// matches reports whether the rule applies to name, which is relative to the rule's directory.
func (r ignoreRule) matches(name string, isDir bool) bool {
	if !r.whole {
		name = path.Base(name)
	}
	switch {
	case r.dirOnly && !isDir || !strings.HasSuffix(name, r.suffix):
		return false
	case r.expr == nil:
		return len(name) == len(r.suffix)
	}
	return r.expr.MatchString(bytewise(name))
}

// bytewise returns a string with one character for each byte of s. In git a ? matches one byte, and neither patterns
// nor names need be UTF-8.
func bytewise(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return s
	}
	var out strings.Builder
	for i := range len(s) {
		out.WriteRune(rune(s[i]))
	}
	return out.String()
}

// wildmatch converts a pattern of git to a regular expression.
func wildmatch(pattern string) (source string, ok bool) {
	var out strings.Builder
	for i := 0; i < len(pattern); {
		switch rest := pattern[i:]; rest[0] {
		case '*':
			n := len(rest) - len(strings.TrimLeft(rest, "*"))
			i += n
			isElement := n > 1 && (i == n || pattern[i-n-1] == '/') && (n == len(rest) || rest[n] == '/')
			switch {
			case !isElement:
				out.WriteString("[^/]*")
			case n == len(rest):
				out.WriteString(".*")
			default:
				out.WriteString("(?:.*/)?")
				i++
			}
		case '?':
			out.WriteString("[^/]")
			i++
		case '[':
			class, after, ok := wildclass(rest)
			if !ok {
				return "", false
			}
			out.WriteString(class)
			i = len(pattern) - len(after)
		default:
			literal := rest[:1+strings.IndexAny(rest[1:]+"*", `*?[\`)]
			if rest[0] == '\\' {
				if len(rest) == 1 {
					return "", false
				}
				i, literal = i+1, rest[1:2]
			}
			out.WriteString(regexp.QuoteMeta(literal))
			i += len(literal)
		}
	}
	return out.String(), true
}

// wildclass converts the class at the beginning of a pattern to a regular expression. It also returns the rest of the
// pattern. ok reports whether the class has an end. The class never matches a slash.
func wildclass(pattern string) (class, rest string, ok bool) {
	class, rest = "[", pattern[1:]
	if strings.HasPrefix(rest, "!") || strings.HasPrefix(rest, "^") {
		class, rest = "[^/", rest[1:]
	}
	low := rune(-1) // the possible beginning of a range
	for isFirst := true; rest != ""; isFirst = false {
		switch named, after := posixClass(rest); {
		case rest[0] == ']' && !isFirst:
			if class == "[" {
				class = "[^\\x{0}-\\x{10FFFF}" // matches nothing
			}
			return class + "]", rest[1:], true
		case named != "":
			class, rest, low = class+named, after, -1
		case rest[0] == '-' && low >= 0 && len(rest) > 1 && rest[1] != ']':
			high, after := wildrune(rest[1:])
			class, rest, low = class+runeRange(low, high), after, -1
		default:
			low, rest = wildrune(rest)
			class += runeRange(low, low)
		}
	}
	return "", "", false
}

// wildrune returns the first character of a class, without a backslash before it, and the rest.
func wildrune(class string) (r rune, rest string) {
	class = strings.TrimPrefix(class, `\`)
	r, size := utf8.DecodeRuneInString(class)
	return r, class[size:]
}

// runeRange returns the characters from low to high without the slash, for a class of a regular expression.
func runeRange(low, high rune) string {
	switch {
	case low > high:
		return ""
	case low <= '/' && '/' <= high:
		return runeRange(low, '/'-1) + runeRange('/'+1, high)
	}
	return fmt.Sprintf(`\x{%X}-\x{%X}`, low, high)
}

// posixClass returns the named class, for example [:alpha:], at the beginning of class, and the rest.
func posixClass(class string) (named, rest string) {
	end := strings.IndexByte(class, ']')
	if end < 3 || !strings.HasPrefix(class, "[:") || class[end-1] != ':' {
		return "", class
	}
	switch named, rest = class[:end+1], class[end+1:]; named {
	case "[:word:]", "[:ascii:]":
		named = "[:unknown:]" // unknown in git, and RE2 refuses it too
	case "[:punct:]": // this and the next two contain a slash, which is left out
		named = "!-.:-@\\[-`{-~"
	case "[:graph:]":
		named = "!-.0-~"
	case "[:print:]":
		named = " -.0-~"
	}
	return named, rest
}
