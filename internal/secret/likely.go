package secret

import (
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// scanner finds the likely secrets in a text, in one pass. It looks ahead a bounded number of times at each byte.
// So the time is linear in the length of any text.
type scanner struct {
	s    string
	hide func(from, to int)

	quotes quotes
	run    runEnd
	blocks blockEnds
}

// eachLikely calls hide with the ranges of the likely secrets in a text, in order: values after the name of a secret,
// credentials after "Bearer", logins in URLs, private keys, and texts with the format of a secret.
func eachLikely(s string, hide func(from, to int)) {
	x := scanner{s: s, hide: hide}
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case nameChars[c]:
			i = x.word(i)
		case c == '<' && markLength(s[i:]) > 0:
			i += markLength(s[i:])
		case c == ':' && strings.HasPrefix(s[i:], "://"):
			i = x.login(i + 3)
		default:
			if isQuote(c) {
				x.quotes.read(s, i)
			}
			i++
		}
	}
}

// nameChars has the characters of names: of variables, flags, headers, and names with escapes of URLs.
var nameChars = alphabetOf("_-.%")

// word reads the word that begins at start, and the value for which it is the name. It returns the index after the last
// byte that it has read.
func (x *scanner) word(start int) int {
	s, end := x.s, start
	for ; end < len(s) && nameChars[s[end]]; end++ {
		if len(formats[s[end]]) > 0 && x.isBoundary(start, end) {
			if n := formatLength(s[end:]); n > 0 {
				return x.take(end, end+n)
			}
		}
	}
	if s[start] == '-' && strings.HasSuffix(s[start:end], "BEGIN") {
		if n := keyLabel(s[min(end+1, len(s)):]); n > 0 {
			return x.block(end + 1 + n)
		}
	}
	if x.s[max(0, start-1)] == '<' && end < len(s) && s[end] == '>' && IsSecretName(s[start:end]) { // an element of XML
		value, _, _ := strings.Cut(s[end+1:min(len(s), end+1+maxQuoted)], "<") // which no value has
		to := end + 1 + len(value)
		if strings.HasPrefix(s[to:], "</") && isValue(value) && quotedEnd(s[:to+1], end+1, '<') == to {
			return x.take(end+1, to)
		}
	}
	p := end // after quotes and spaces
	for p < len(s) && (isQuote(s[p]) || s[p] == '\\' || s[p] == ']') {
		if isQuote(s[p]) {
			x.quotes.read(s, p)
		}
		p++
	}
	quoted := p > end
	if quoted && strings.HasSuffix(s[max(0, start-len(partName)):start], partName) && IsSecretName(s[start:end]) {
		if to := x.part(p); to > p {
			return to
		}
	}
	for p < len(s) && isBlank(s[p]) {
		p++
	}
	switch {
	case p == len(s):
	case (s[p] == '=' || s[p] == ':') && !strings.HasPrefix(s[p:], "://"):
		return x.named(start, end, p)
	case p > end && !quoted:
		return x.follows(start, end, p)
	}
	return p
}

// partName is in front of the name of a part of a form (RFC 7578).
const partName = `name="`

// part hides the value of a part of a form. The name of the part ends at p. It returns the index after the value, or 0.
func (x *scanner) part(p int) int {
	rest := strings.ReplaceAll(x.s[p:min(len(x.s), p+4)], "\r", "")
	if !strings.HasPrefix(rest, "\n\n") {
		return 0
	}
	for p < len(x.s) && (x.s[p] == '\n' || x.s[p] == '\r') {
		p++
	}
	to := x.run.of(x.s, p)
	if !isRunValue(x.s[p:to]) {
		return 0
	}
	return x.take(p, to)
}

// isBoundary reports whether a secret of a known format may begin at i, in a word that begins at start.
func (x *scanner) isBoundary(start, i int) bool {
	return i == start || x.s[i-1] == '.' || i-start >= 3 && x.s[i-3] == '%'
}

// take hides a range and returns its end.
func (x *scanner) take(from, to int) int {
	x.hide(from, to)
	return to
}

// named reads the value after a name in [start,end) and "=" or ":" at p.
func (x *scanner) named(start, end, p int) int {
	s, colon, name := x.s, x.s[p] == ':', x.s[start:end]
	p++
	compared := p < len(s) && s[p] == '='
	if compared || p < len(s) && s[p] == '>' {
		p++
	}
	if !IsSecretName(name) {
		return p
	}
	for p < len(s) && isBlank(s[p]) {
		p++
	}
	if colon && x.startsLine(start) {
		if to := x.indented(start, p); to > p {
			return to
		}
	}
	open := 0 // the kind of the quotation that begins at the value
	for p < len(s) && (isQuote(s[p]) || s[p] == '\\') {
		if isQuote(s[p]) {
			open = x.quotes.read(s, p)
		}
		p++
	}
	if at := x.afterScheme(name, p); at > p {
		p, open = at, 0
	}
	if open != 0 {
		if to := quotedEnd(s, p, open); to > 0 && isValue(s[p:to]) {
			return x.take(p, to)
		}
	}
	to := x.run.of(s, p)
	if colon && open == 0 && x.startsLine(start) {
		to = max(to, x.restOfLine(start, to))
	}
	if !isRunValue(s[p:to]) || x.run.isPath(s, p, to) || isPlainKey(name) && !isKey(s[p:to]) ||
		compared && open == 0 && !isNoWord(s[p:to]) {
		return p
	}
	if start > 0 && strings.IndexByte("?&", s[start-1]) >= 0 { // the query of a URL
		if n := strings.IndexByte(s[p:to], '#'); n >= 0 && isRunValue(s[p:p+n]) {
			to = p + n
		}
	}
	to = x.take(p, to)
	if colon && strings.HasSuffix(strings.ToLower(name), "cookie") {
		to = x.cookies(to)
	}
	return to
}

// isValue reports whether a value after a name is long enough to be a secret, and no structure or variable.
func isValue(v string) bool { return isRunValue(v) && text.VariableIndex(v) == len(v) }

// isRunValue is isValue for a run, which has no variables. It does not read all of it, because a run has many names.
func isRunValue(v string) bool {
	if len(v) < Least || v == "false" || strings.IndexByte("{[(<", v[0]) >= 0 {
		return false
	}
	return v[0] != '$' || strings.Trim(v[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" // $TOKEN
}

// isKey reports whether the value of a plain name is a secret. The name of a key of a keyboard has no digits, and the
// number of tests that pass has few.
func isKey(v string) bool {
	begin := v[:min(len(v), 2*maxWord)]
	return isNoWord(v) && strings.ContainsAny(begin, digits) && !strings.Contains(begin, markStart)
}

// isPlainKey reports whether a name is "key" or "pass". That is often no secret, such as the key of a cache or a
// keyboard, or a result of tests.
func isPlainKey(name string) bool {
	return strings.EqualFold(name, "key") || strings.EqualFold(name, "pass")
}

// afterScheme returns the index after the word in front of a credential at p, or p.
func (x *scanner) afterScheme(name string, p int) int {
	s := x.s
	n := letterCount(s[p:min(len(s), p+20)])
	if n == 0 || p+n >= len(s) || !isBlank(s[p+n]) {
		return p
	}
	if Scheme(s[p:p+n]+" ") == "" && !strings.HasSuffix(strings.ToLower(name), "authorization") {
		return p
	}
	for n < len(s)-p && isBlank(s[p+n]) {
		n++
	}
	return p + n
}

// letterCount returns the number of letters at the start of s.
func letterCount(s string) int {
	n := 0
	for n < len(s) && (s[n]|0x20 >= 'a' && s[n]|0x20 <= 'z' || s[n] == '-') {
		n++
	}
	return n
}

// follows reads the word at p, if the word in [start,end) is a flag, or "Bearer" or "Basic". Between them are spaces.
func (x *scanner) follows(start, end, p int) int {
	s, word := x.s, x.s[start:end]
	before := byte(' ')
	if start > 0 {
		before = s[start-1]
	}
	switch {
	case strings.IndexByte("\"'`=: \t\n(", before) < 0:
	case strings.EqualFold(word, "bearer") || strings.EqualFold(word, "basic"):
		to := p
		for to < len(s) && s[to] > ' ' && strings.IndexByte("\"'`\\,;<>(){}|&", s[to]) < 0 {
			to++
		}
		// Any word is hidden that ends the text or its quotation. Elsewhere a word is hidden only if it is not a word of a
		// language, because of phrases such as "basic authentication".
		alone := start == 0 || isQuote(before)
		atEnd := to == len(s) || isQuote(s[to]) || s[to] == '\\'
		if to-p >= Least && (alone && atEnd || isNoWord(s[p:to])) {
			return x.take(p, to)
		}
	case word == "-u" || word == "--user": // NAME:PASSWORD, as for curl
		if isQuote(s[p]) {
			x.quotes.read(s, p)
			p++
		}
		to := x.run.of(s, p)
		if n := strings.IndexByte(s[p:to], ':'); n > 0 && isKey(s[p+n+1:to]) && isRunValue(s[p+n+1:to]) {
			return x.take(p+n+1, to)
		}
	case isSecretFlag(word) && s[p] != '-':
		open := 0
		if isQuote(s[p]) {
			open = x.quotes.read(s, p)
			p++
		}
		to := 0
		if open != 0 {
			to = quotedEnd(s, p, open)
		}
		if to <= 0 || !isValue(s[p:to]) {
			to = x.run.of(s, p)
		}
		if isRunValue(s[p:to]) && !x.run.isPath(s, p, to) {
			return x.take(p, to)
		}
	}
	return p
}

// login reads the user and the password of a URL after its "://". A password with characters that begin another command
// is shown, so that nobody hides a command in it.
func (x *scanner) login(p int) int {
	s, colon, to := x.s, -1, p
	for to < len(s) && s[to] > ' ' && strings.IndexByte("/?#@\"'`\\;|&>", s[to]) < 0 {
		n := 1
		if s[to] == '<' {
			if n = markLength(s[to:]); n == 0 {
				break
			}
		}
		if s[to] == ':' && colon < 0 {
			colon = to
		}
		to += n
	}
	switch {
	case to == len(s) || s[to] != '@' || strings.Contains(s[p:to], "$(") || strings.Contains(s[p:to], "${"):
	case colon >= 0 && colon+1 < to:
		return x.take(colon+1, to)
	case colon < 0 && to-p >= 16:
		return x.take(p, to)
	}
	return p
}

// cookies hides the values of "; NAME=VALUE" from p, and returns the index after the last that it hides.
func (x *scanner) cookies(p int) int {
	s, last := x.s, p
	for strings.HasPrefix(s[p:], "; ") {
		n := wordChars.length(s[p+2:])
		at := p + 2 + n
		if n == 0 || at >= len(s) || s[at] != '=' {
			break
		}
		to := x.run.of(s, at+1)
		if to-at > Least {
			last = x.take(at+1, to)
		}
		p = to
	}
	return last
}

const maxWord = 20 // longer texts are no words of a language

// isNoWord reports whether a text is not a word of a language: it has a digit or inner capitals, or is longer than
// words are.
func isNoWord(v string) bool {
	if len(v) < 8 || len(v) >= maxWord {
		return len(v) >= maxWord
	}
	upper, lower, digit := false, false, false
	for i := range len(v) {
		upper = upper || i > 0 && 'A' <= v[i] && v[i] <= 'Z'
		lower = lower || 'a' <= v[i] && v[i] <= 'z'
		digit = digit || '0' <= v[i] && v[i] <= '9'
	}
	return digit || upper && lower
}
