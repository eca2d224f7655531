package secret

import (
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// Text is a text of a configuration, such as a command line, of which all may be seen but
// what looks like a credential. Variables stay as they are written, but for their defaults.
func Text(s string) string {
	const most = 200 // variables; nested ones are read again at each level
	if strings.Contains(s, "PRIVATE KEY-----") || strings.Count(s, "${") > most {
		return Mask
	}
	return replaceParts(s, func(s string) string { return replaceLikely(s, hideText) }, func(one string) string {
		name, standIn, ok := strings.Cut(strings.Trim(one, "${}"), ":-")
		if ok && (Named(name) || Text(standIn) != standIn) {
			return replaceDefault(one, Literal)
		}
		return one
	})
}

// Literal masks all of a text but its variables, and the word in front of a credential. Of
// a variable the default is hideText.
func Literal(s string) string {
	word := Scheme(s)
	return word + replaceParts(s[len(word):], hideText, func(one string) string { return replaceDefault(one, Literal) })
}

// URL masks who logs in, the values of the query, the fragment, and what in the path
// looks like a key.
func URL(s string) string {
	s = replaceSecond(userinfo, s, hideText)
	s = replaceSecond(queries, s, Literal)
	if path, fragment, ok := strings.Cut(s, "#"); ok && fragment != "" {
		s = path + "#" + Mask
	}
	path, query, more := strings.Cut(s, "?")
	if path = Path(path); more {
		path += "?" + query
	}
	return path
}

// Path masks what in the path of a URL looks like a key.
func Path(s string) string {
	return replaceSecond(segments, s, func(part string) string {
		if keyLike(part) {
			return Mask
		}
		return part
	})
}

// Args masks what looks like a credential in the arguments of a command.
func Args(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		if out[i] = Text(a); afterName(args, i) && Worth(a) {
			out[i] = Mask
		}
	}
	return out
}

func hideText(s string) string {
	if s == "" {
		return ""
	}
	return Mask
}

// replaceParts is s with its literals and its variables replaced.
func replaceParts(s string, literal, one func(string) string) string {
	var b strings.Builder
	for {
		at := text.VariableIndex(s)
		b.WriteString(literal(s[:at]))
		if at == len(s) {
			return b.String()
		}
		end := at + text.VariableLength(s[at:])
		b.WriteString(one(s[at:end]))
		s = s[end:]
	}
}

// replaceDefault is a variable with its default replaced.
func replaceDefault(variable string, replace func(string) string) string {
	name, fallback, ok := strings.Cut(strings.TrimSuffix(variable, "}"), ":-")
	if !ok || strings.HasPrefix(variable, "${cmd:") || strings.HasPrefix(variable, "${file:") {
		return variable
	}
	return name + ":-" + replace(fallback) + "}"
}
