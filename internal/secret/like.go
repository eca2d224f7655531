package secret

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/indusagi/indus/internal/text"
)

// Scheme returns the word in front of a credential, such as "Bearer ".
func Scheme(v string) string {
	if word, _, ok := strings.Cut(v, " "); ok &&
		slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(word)) {
		return word + " "
	}
	return ""
}

// IsLongEnough reports whether a literal is long enough to be a secret.
func IsLongEnough(v string) bool {
	return len(v) >= Least && text.VariableIndex(v) == len(v) && v != "false"
}

// These match parts of URLs of a configuration.
var (
	userinfo = text.Pattern(`(://)([^/?#@]*)@`)
	queries  = text.Pattern(`([?&][^=&#]*=)([^&#]*)`)
	segments = text.Pattern(`([^:/]/)([\w.~=-]{20,})`)
)

// looksLikeKey reports whether a part of a path looks like a key. Some services give each user a secret URL.
func looksLikeKey(part string) bool {
	return len(part) >= 20 && strings.ContainsAny(part, digits) && strings.ContainsFunc(part, unicode.IsLetter)
}

const digits = "0123456789"

// replaceSecond replaces the second group of each match of re.
func replaceSecond(re func() *regexp.Regexp, s string, f func(string) string) string {
	return replaceRanges(s, f, func(s string, replace func(from, to int)) {
		for _, m := range re().FindAllStringSubmatchIndex(s, -1) {
			replace(m[4], m[5])
		}
	})
}

// replaceLikely replaces likely credentials in a text without variables.
func replaceLikely(s string, f func(string) string) string { return replaceRanges(s, f, eachLikely) }

// replaceRanges replaces the ranges that each returns, in order. A range is skipped if it is empty, or begins in one
// before it.
func replaceRanges(s string, f func(string) string, each func(s string, replace func(from, to int))) string {
	var out strings.Builder
	done := 0
	each(s, func(from, to int) {
		if from < done || to <= from {
			return
		}
		if out.Len() == 0 {
			out.Grow(len(s) + len(s)/4)
		}
		out.WriteString(s[done:from])
		out.WriteString(f(s[from:to]))
		done = to
	})
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// Find returns the likely credentials in a text.
func Find(text string) (found []string) {
	eachLikely(text, func(from, to int) { found = append(found, text[from:to]) })
	return found
}

// FindInArgs returns the likely credentials in the arguments of a command.
func FindInArgs(args []string) (found []string) {
	for i, a := range args {
		if followsSecretFlag(args, i) && IsLongEnough(a) {
			found = append(found, a)
		} else {
			found = append(found, Find(a)...)
		}
	}
	return found
}

// followsSecretFlag reports whether an argument is the value of the flag before it, and the name of that flag is
// typical for a secret.
func followsSecretFlag(args []string, i int) bool {
	return i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.Contains(args[i-1], "=") && IsSecretName(args[i-1]) &&
		!strings.HasPrefix(args[i], "-")
}
