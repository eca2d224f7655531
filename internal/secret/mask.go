package secret

import (
	"encoding/json"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/indusagi/indus/internal/wire"
)

// Mask returns text without the secrets. If text was cut within a secret (it ends there, or an
// ellipsis or a quote follows), the remaining part is masked too.
func (s *Set) Mask(text string) string { return s.mask(text, false) }

// Tail is Mask for the end of a longer text. The text may begin within a secret.
func (s *Set) Tail(text string) string { return s.mask(text, true) }

// mask returns the masked text. If a secret is escaped in another form and then once more for a URL or a page, it
// returns the text without the outer escapes, masked.
func (s *Set) mask(text string, tail bool) string {
	if s == nil || text == "" {
		return text
	}
	if learned := s.learned.Load(); learned != nil {
		s = learned
	}
	if len(s.values) == 0 {
		return text
	}
	s.once.Do(s.build)
	text = s.maskOnce(text, tail)
	for _, unescape := range []func(string) string{unescapePercent, unescapeEntities} {
		plain := text
		for range maxOuter {
			before := plain
			if plain = unescape(before); plain == before {
				break
			}
			if masked := s.maskOnce(plain, tail); masked != plain {
				return masked
			}
		}
	}
	return text
}

// maxOuter limits how often outer escapes are decoded. A text may be escaped any number of times: "%252525…".
const maxOuter = 3

// unescapeEntities returns a text whose entities of HTML are escaped once less, if they are escaped as HTML or as JSON.
func unescapeEntities(s string) string {
	if strings.Contains(s, "&amp;") || strings.Contains(s, `\u0026`) {
		return strings.NewReplacer("&amp;", "&", `\u0026`, "&").Replace(s)
	}
	return s
}

// maskOnce masks secrets that are escaped once.
func (s *Set) maskOnce(text string, tail bool) string {
	return replaceRanges(text, hiddenText, func(text string, replace func(from, to int)) {
		begin, done := 0, 0 // of the last range, to which the next may be added
		s.eachSecret(text, tail, func(from, to int) {
			if from > done {
				replace(begin, done)
				begin = from
			}
			done = to
		})
		replace(begin, done)
	})
}

// eachSecret calls hide with the ranges of secrets that are escaped once, in order.
func (s *Set) eachSecret(text string, tail bool, hide func(from, to int)) {
	done := 0
	if tail {
		if done = s.partialEnd(text); done > 0 {
			hide(0, done)
		}
	}
	for i := done; i < len(text); i++ {
		if text[i] == '<' && markLength(text[i:]) > 0 {
			i += markLength(text[i:]) - 1
			continue
		}
		if n, end := s.longestAt(text, i); end > 0 {
			from := i
			if n.before && from > done && isBase64(text[from-1]) {
				from--
			}
			if n.after && end < len(text) && isBase64(text[end]) {
				end++
			}
			for n.base64 && end < len(text) && text[end] == '=' {
				end++
			}
			hide(from, end)
			done = end
			i = end - 1
		}
	}
}

// JSON returns raw without the secrets. If raw has none, it is returned unchanged. A secret outside of a string becomes
// a string.
func (s *Set) JSON(raw json.RawMessage) json.RawMessage {
	text := string(raw)
	masked := s.Mask(text)
	if masked == text {
		return raw
	}
	return validOr([]byte(masked), raw, s.Mask)
}

// validOr returns a masked document. If it is no longer valid, each string and each other value of raw is masked alone.
func validOr(masked, raw []byte, mask func(string) string) json.RawMessage {
	if wire.Valid(masked) {
		return masked
	}
	var out []byte
	done := 0
	for i := 0; i < len(raw); {
		end := scalarEnd(raw, i)
		if end == i {
			i++
			continue
		}
		value := raw[i:end]
		if m := mask(string(value)); m != string(value) {
			if raw[i] != '"' || !wire.Valid([]byte(m)) {
				m = string(wire.Quote(strings.Trim(m, `"`)))
			}
			out, done = append(append(out, raw[done:i]...), m...), end
		}
		i = end
	}
	return append(out, raw[done:]...)
}

// Header masks the values of h, in place.
func (s *Set) Header(h http.Header) {
	for _, list := range h {
		for i := range list {
			list[i] = s.Mask(list[i])
		}
	}
}

// longestAt returns the longest secret that begins at i, and its end. If none begins there, the end is 0.
func (s *Set) longestAt(text string, i int) (longest *needle, end int) {
	nextByte := literalAfter(text, i)
	var escaped [8]byte
	var others []byte // without nextByte, the bytes that the next one can stand for; none: any
	try := func(first byte) {
		second := func(b byte) bool { return s.secondBytes[first][b/64]&(1<<(b%64)) != 0 }
		if nextByte != 0 && !second(nextByte) || len(others) > 0 && !slices.ContainsFunc(others, second) {
			return
		}
		list := s.byFirstByte[first]
		for k := range list {
			if nextByte != 0 && nextByte != list[k].text[1] || len(others) > 0 && !slices.Contains(others, list[k].text[1]) {
				continue
			}
			if to, ok := list[k].match(text, i, 0); ok && to > end {
				longest, end = &list[k], to
			}
		}
	}
	try(text[i])
	switch text[i] {
	case '-':
		try('+') // in the other alphabet of base64
	case '_':
		try('/')
	case '\\', '%', '&', '=':
		if s.isKnownEscape(text, i) {
			break
		}
		decodeEscape(text[i:], func(is string, read int) {
			if is[0] != text[i] {
				if others = nil; len(is) == 1 {
					others = bytesAt(text, i+read, escaped[:0])
				}
				try(is[0])
			}
		})
	}
	return longest, end
}

// bytesAt appends the bytes that the text at a place can stand for: itself, or what it is an escape of. It returns none
// if it may be a break of a secret, or stand for more bytes than list has room for.
func bytesAt(text string, at int, list []byte) []byte {
	if at >= len(text) {
		return nil
	}
	switch c := text[at]; {
	case alphanumeric(c):
		return append(list, c)
	case c == '\\' && at+1 < len(text) && strings.IndexByte(`nrt\`, text[at+1]) < 0, c == '%', c == '&',
		c == '=' && lineBreak(text[at:]) == 0:
		list = append(list, c)
	default:
		return nil
	}
	decodeEscape(text[at:], func(is string, _ int) {
		if is == "+" { // in a URL it stands for a blank, too
			list = append(list, ' ')
		}
		list = append(list, is[0])
	})
	if len(list) > 6 { // a long chain
		return nil
	}
	return list
}

// literalAfter returns the byte after i if the bytes up to it can only stand for themselves, or 0.
func literalAfter(text string, i int) byte {
	if i+1 >= len(text) || strings.IndexByte(`\%&=`, text[i]) >= 0 {
		return 0
	}
	switch next := text[i+1]; next {
	case '=':
		if _, ok := unhex(text, i+2, 2); !ok && lineBreak(text[i+1:]) == 0 {
			return next
		}
	case '\\', '%', '&', '-', '_', '+', ' ', ',', ':', '\t', '\r', '\n':
	default:
		return next
	}
	return 0
}

// isKnownEscape reports whether no secret begins with the escape at i, or longestAt has looked for it at i-1. This is
// the common case.
func (s *Set) isKnownEscape(text string, i int) bool {
	switch {
	case text[i] == '%':
		c, ok := unhex(text, i+1, 2)
		if c == '%' { // which may begin an escape itself
			_, ok = unhex(text, i+3, 2)
			return !ok
		}
		return !ok || len(s.byFirstByte[c]) == 0
	case text[i] == '=':
		c, ok := unhex(text, i+1, 2)
		return !ok || len(s.byFirstByte[c]) == 0
	case text[i] == '&':
		return strings.IndexByte(text[i:min(len(text), i+12)], ';') < 0
	}
	last := i + maxBackslashes - 1 // of the longest run of backslashes that is one escape
	return i > 0 && text[i-1] == '\\' &&
		!(last < len(text) && text[last] != '\\' && backslashes(text[i:]) == maxBackslashes-1)
}

// partialEnd returns the end of a secret that begins before the text, or 0 if there is none.
func (s *Set) partialEnd(text string) (end int) {
	for _, v := range s.plain {
		n := needle{text: v}
		for from := 1; from <= len(v)-Least && end == 0; from++ {
			if to, ok := n.match(text, 0, from); ok && to-from < len(text) {
				end = to
			}
		}
	}
	return end
}

// match compares n.text[j:] with text[i:]. ok reports that it is there, or that text is cut within
// it.
func (n *needle) match(text string, i, j int) (end int, ok bool) {
	for from := j; j < len(n.text); {
		if i == len(text) {
			return i, j-from >= Least
		}
		if read := n.separator(text[i:], len(n.text)-j); read > 0 && j > from {
			i += read
			if n.list {
				j++
			}
			continue
		}
		steps := n.steps(text[i:], n.text[j:])
		if len(steps) == 0 {
			return i, j-from >= Least && isCut(text[i:])
		}
		for _, w := range steps[1:] {
			if end, ok := n.match(text, i+w.read, j+w.matched); ok {
				return end, true
			}
		}
		i, j = i+steps[0].read, j+steps[0].matched
	}
	return i, true
}

// step is one way to match the next bytes: read bytes of the text stand for matched bytes of the needle.
type step struct{ read, matched int }

// steps returns the steps at the beginning of s, nearly always just one.
func (n *needle) steps(s, want string) (out []step) {
	c := s[0]
	if c == want[0] && c != '\\' {
		out = oneByte
	}
	isInside := len(want) < len(n.text) && want[0] > ' ' && want[0] != '\\'
	switch {
	case isInside && isWrapped(s, want[0]):
		return []step{{lineBreak(s), 0}}
	case c == '\\' && n.base64 && len(s) > 1 && (s[1] == 'n' || s[1] == 'r' || s[1] == 't'):
		return []step{{2, 0}}
	case n.base64 && (c == '\n' || c == '\r' || c == ' ' || c == '\t'):
		return []step{{1, 0}}
	case n.base64 && (c == '-' && want[0] == '+' || c == '_' && want[0] == '/'), c == '+' && want[0] == ' ':
		return oneByte
	case c == '\\' && want[0] == '\\':
		have, need := backslashes(s), backslashes(want)
		if own := have / (2*need + 1); have == own*(2*need+1) && need < len(want) && want[need] < ' ' {
			have -= own // these belong to the escape of the next character
		}
		if have >= need {
			out = []step{{have, need}}
		}
		if at := backslashes(s); at < len(s) && strings.IndexByte("uUx1", s[at]) >= 0 { // \u005c or \134 is a backslash
			decodeEscape(s, func(is string, read int) {
				if is == `\` {
					out = append(out, step{read, 1})
				}
			})
		}
	case c == '\\', c == '%', c == '&', c == '=' && len(s) > 2 && hexValue(s[1]) < 16 && hexValue(s[2]) < 16:
		decodeEscape(s, func(is string, read int) {
			if strings.HasPrefix(want, is) || is == "+" && want[0] == ' ' {
				out = append(out[:len(out):len(out)], step{read, len(is)})
			}
		})
	}
	return out
}

// lineBreak returns the length of a line break at the beginning of s, also an escaped one or that of a mail, with the
// blanks after it.
func lineBreak(s string) (n int) {
	if s == "" || strings.IndexByte("\r\n\\=", s[0]) < 0 {
		return 0
	}
	for _, end := range [...]string{"\r\n", "\n", `\r\n`, `\n`, "=\r\n", "=\n"} {
		if strings.HasPrefix(s, end) {
			n = len(end)
			break
		}
	}
	for end := min(len(s), n+maxIndent); n > 0 && n < end && (s[n] == ' ' || s[n] == '\t'); {
		n++
	}
	return n
}

// isWrapped reports whether s begins with a line break and the next byte of a secret.
func isWrapped(s string, next byte) bool {
	n := lineBreak(s)
	return n > 0 && n < len(s) && s[n] == next
}

// separator returns the length of the text between two bytes of a dump at the beginning of s, such as ":" or ", 0x". It
// returns 0 where the needle has none. left is the length of the rest of the needle.
func (n *needle) separator(s string, left int) (read int) {
	if !(n.hex && left%2 == 0 || n.list && n.text[len(n.text)-left] == ',') || strings.IndexByte(separators, s[0]) < 0 {
		return 0
	}
	for end := min(len(s), maxIndent); read < end && strings.IndexByte(separators, s[read]) >= 0; {
		read++
	}
	if strings.HasPrefix(s[read:], "0x") {
		read += len("0x")
	}
	return read
}

const separators = " ,:-\t\r\n"

var oneByte = []step{{1, 1}}

// isCut reports whether s begins with a mark of a cut text, or with the end of a quotation.
func isCut(s string) bool {
	switch s[0] {
	case '"':
		return true
	case '.':
		return strings.HasPrefix(s, "...")
	case '\\':
		return strings.HasPrefix(s, `\"`) || strings.HasPrefix(s, `\u2026`)
	}
	return strings.HasPrefix(s, "…")
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isBase64(c byte) bool { return alphanumeric(c) || strings.IndexByte("+/-_", c) >= 0 }

// maxBackslashes limits the backslashes that are read in a row, from quotations within quotations.
const maxBackslashes = 32

func backslashes(s string) int {
	n := 0
	for n < len(s) && n < maxBackslashes && s[n] == '\\' {
		n++
	}
	return n
}

// decodeEscape calls report with each possible meaning of the escape at the beginning of s, and with its
// length. It reads escapes of JSON and most languages, of URLs, of HTML and of mails (quoted-printable). Escapes may be
// escaped themselves.
func decodeEscape(s string, report func(text string, read int)) {
	switch s[0] {
	case '%':
		for offset := 1; ; offset += 2 {
			if b, ok := unhex(s, offset, 2); ok {
				report(string([]byte{byte(b)}), offset+2)
			}
			if !strings.HasPrefix(s[offset:], "25") {
				return
			}
		}
	case '=':
		if b, ok := unhex(s, 1, 2); ok {
			report(string([]byte{byte(b)}), 3)
		}
	case '&':
		if end := strings.IndexByte(s[:min(len(s), 12)], ';'); end > 0 {
			if text := html.UnescapeString(s[:end+1]); text != s[:end+1] {
				report(text, end+1)
			}
		}
	case '\\':
		offset := backslashes(s)
		if offset == len(s) {
			return
		}
		switch c := s[offset]; c {
		case 'n', 'r', 't':
			report(string("\n\r\t"[strings.IndexByte("nrt", c)]), offset+1)
		case '0', '1', '2', '3': // three octal digits
			report(string(rune(c)), offset+1)
			if offset+3 <= len(s) {
				if b, err := strconv.ParseUint(s[offset:offset+3], 8, 8); err == nil {
					report(string([]byte{byte(b)}), offset+3)
				}
			}
		case '&': // in a page
			report("&", offset+1)
			decodeEscape(s[offset:], func(text string, read int) { report(text, offset+read) })
		case 'x':
			if b, ok := unhex(s, offset+1, 2); ok {
				report(string([]byte{byte(b)}), offset+3)
			}
		case 'U':
			if r, ok := unhex(s, offset+1, 8); ok {
				report(string(r), offset+9)
			}
		case 'u':
			if in, _, ok := strings.Cut(s[offset+1:min(len(s), offset+9)], "}"); ok && in != "" && in[0] == '{' {
				if r, err := strconv.ParseUint(in[1:], 16, 32); err == nil {
					report(string(rune(r)), offset+2+len(in))
				}
				return
			}
			high, ok := unhex(s, offset+1, 4)
			if low, pair := unhex(s, 2*offset+6, 4); pair && utf16.IsSurrogate(high) {
				report(string(utf16.DecodeRune(high, low)), 2*offset+10)
			} else if ok {
				report(string(high), offset+5)
			}
		default:
			report(string(rune(c)), offset+1)
		}
	}
}

// unhex reads n hexadecimal digits at s[at:].
func unhex(s string, offset, n int) (rune, bool) {
	if offset+n > len(s) {
		return 0, false
	}
	var v rune
	for _, c := range []byte(s[offset : offset+n]) {
		digit := hexValue(c)
		if digit == 16 {
			return 0, false
		}
		v = v<<4 | rune(digit)
	}
	return v, true
}
