package secret

import (
	"encoding/json"
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

// IsSecretName reports whether a name is typical for a secret.
func IsSecretName(name string) bool {
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	for _, end := range []string{
		"file", "path", "url", "limit", "ttl", "count", "type", "mode", "id", "name", "tokens", "dir",
	} {
		if strings.HasSuffix(name, end) {
			return false
		}
	}
	for _, part := range []string{
		"apikey", "accesskey", "authkey", "privatekey", "secret", "token", "passw", "credential", "authorization", "cookie",
	} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return name == "key" || strings.HasSuffix(name, "auth") || strings.HasSuffix(name, "pat") ||
		strings.HasSuffix(name, "pwd")
}

// IsLongEnough reports whether a literal is long enough to be a secret.
func IsLongEnough(v string) bool {
	return len(v) >= Least && text.VariableIndex(v) == len(v) && v != "false"
}

// secretFormats matches the formats of secrets of well-known services.
const secretFormats = `gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[abposr]-[\w-]{10,}|xapp-[\w-]{10,}` +
	`|sk-[\w-]{16,}|[sr]k_(?:live|test)_\w{10,}` +
	`|A[KS]IA[0-9A-Z]{16}|AIza[\w-]{20,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|npm_\w{20,}|pypi-[\w-]{20,}|hf_\w{16,}` +
	`|figd_[\w-]{16,}|lin_api_\w{16,}|ntn_\w{16,}|dop_v1_\w{16,}|SG\.[\w-]{16,}\.[\w-]+|ya29\.[\w-]{16,}` +
	`|tvly-[\w-]{12,}|sbp_\w{16,}|sntry[su]_[\w-]{16,}` +
	`|gl(?:sa|c)_\w{16,}|gsk_\w{16,}|pplx-\w{16,}|nvapi-[\w-]{16,}|napi_\w{16,}|fc-[0-9a-f]{24,}|ATATT3x[\w-]{16,}` +
	`|shp(?:at|ca|pa|ss)_\w{16,}`

// These match the name of a value in flags, shells, headers, queries and JSON, even in JSON inside a JSON string. They
// also match the value itself.
var (
	tokens       = text.Pattern(`^(?:(?i:bearer|basic|token) +)?(?:` + secretFormats + `|-----BEGIN [A-Z ]*PRIVATE KEY)`)
	tokensInside = text.Pattern(`(^|[^\w-])((?:` + secretFormats + `)[\w./+=-]*)`)
	valueName    = text.Pattern(`([\w.-]+)["'\\]*[ \t]*[=:][ \t]*["'\\]*(?:(?i:bearer|basic|token)[ \t]+)?`)
	namedValue   = text.Pattern(`^[^\s"'\\&;|]+`)
	bearers      = text.Pattern("(^|[\"'`=: ])((?i:bearer|basic) +)([^\\s\"'`\\\\,;<>(){}]{6,})")
	passwords    = text.Pattern(`(://[^\s/?#@:]*:)([^\s/?#@]+)@`)
	logins       = text.Pattern(`(://)([^\s/?#@:]{16,})@`)
	userinfo     = text.Pattern(`(://)([^/?#@]*)@`)
	queries      = text.Pattern(`([?&][^=&#]*=)([^&#]*)`)
	segments     = text.Pattern(`([^:/]/)([\w.~=-]{20,})`)
)

// HasSecretFormat reports whether a text has the format of a secret.
func HasSecretFormat(v string) bool { return tokens().MatchString(v) }

// looksLikeKey reports whether a part of a path looks like a key. Some services give each user a secret URL.
func looksLikeKey(part string) bool {
	return len(part) >= 20 && strings.ContainsAny(part, digits) && strings.ContainsFunc(part, unicode.IsLetter)
}

const digits = "0123456789"

// replaceEach replaces a range in each match of re. value returns the range. It is skipped if it is empty, or begins in
// a part that is already replaced.
func replaceEach(re func() *regexp.Regexp, s string, f func(string) string, value func(m []int) (from, to int)) string {
	var b strings.Builder
	done := 0
	for _, m := range re().FindAllStringSubmatchIndex(s, -1) {
		if from, to := value(m); from >= done && to > from {
			b.WriteString(s[done:from] + f(s[from:to]))
			done = to
		}
	}
	return b.String() + s[done:]
}

// replaceSecond replaces the second group of each match of re.
func replaceSecond(re func() *regexp.Regexp, s string, f func(string) string) string {
	return replaceEach(re, s, f, func(m []int) (from, to int) { return m[4], m[5] })
}

// replaceLikely replaces likely credentials in a text without variables: values after the name of a secret, logins in
// URLs, and texts with the format of a secret.
func replaceLikely(s string, f func(string) string) string {
	if strings.Contains(s, "PRIVATE KEY-----") {
		return f(s)
	}
	s = replaceEach(valueName, s, f, func(m []int) (from, to int) {
		value := namedValue().FindString(s[m[1]:])
		if !IsSecretName(s[m[2]:m[3]]) || !IsLongEnough(value) {
			return 0, 0
		}
		return m[1], m[1] + len(value)
	})
	// After "Bearer" or "Basic", any word is replaced that ends the text or its quotation. Elsewhere a word is replaced
	// only if it is not a word of a language, because of phrases such as "basic authentication".
	s = replaceEach(bearers, s, f, func(m []int) (from, to int) {
		alone := m[4] == 0 || strings.IndexByte("\"'`", s[m[4]-1]) >= 0
		atEnd := m[7] == len(s) || strings.IndexByte("\"'`\\", s[m[7]]) >= 0
		if alone && atEnd || isNoWord(s[m[6]:m[7]]) {
			return m[6], m[7]
		}
		return 0, 0
	})
	for _, re := range []func() *regexp.Regexp{passwords, logins, tokensInside} {
		s = replaceSecond(re, s, f)
	}
	return s
}

// isNoWord reports whether a text is not a word of a language: it has a digit or inner capitals, or is longer than
// words are.
func isNoWord(v string) bool {
	if len(v) < 8 || len(v) >= 20 {
		return len(v) >= 20
	}
	mixedCase := strings.ContainsFunc(v[1:], unicode.IsUpper) && strings.ContainsFunc(v, unicode.IsLower)
	return mixedCase || strings.ContainsAny(v, digits)
}

// Find returns the likely credentials in a text.
func Find(text string) (found []string) {
	replaceLikely(text, func(v string) string { found = append(found, v); return Mask })
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

// MaskLikely returns a JSON document with likely credentials masked.
func MaskLikely(raw json.RawMessage) json.RawMessage {
	if found := Find(string(raw)); found != nil {
		return New(found...).JSON(raw)
	}
	return raw
}
