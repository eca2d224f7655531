package wire

import (
	"bytes"
	"encoding/json"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Quote returns s as a JSON string, with the same bytes as an encoding/json.Encoder that does not
// escape HTML. Invalid UTF-8 becomes U+FFFD.
func Quote(s string) json.RawMessage {
	return AppendQuote(make([]byte, 0, len(s)+2), s)
}

// AppendQuote appends the result of [Quote] to dst.
func AppendQuote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0 // s before this index is written
	for i := ascii(s, 0); i < len(s); i = ascii(s, i) {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
			if r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
		}
		dst = appendEscape(append(dst, s[done:i]...), r)
		i += size
		done = i
	}
	return append(append(dst, s[done:]...), '"')
}

// ascii returns the index of the first byte from i that is not plain ASCII.
func ascii(s string, i int) int {
	for ; i+8 <= len(s); i += 8 {
		p := s[i : i+8]
		x := uint64(p[0]) | uint64(p[1])<<8 | uint64(p[2])<<16 | uint64(p[3])<<24 |
			uint64(p[4])<<32 | uint64(p[5])<<40 | uint64(p[6])<<48 | uint64(p[7])<<56 // one load
		if m := (textEnds(x) | x) & topBits; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] < utf8.RuneSelf && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

func appendEscape(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', hex[r>>12], hex[r>>8&0xf], hex[r>>4&0xf], hex[r&0xf])
}

// Unquote decodes a JSON string as encoding/json does (invalid UTF-8 and lone surrogates become
// U+FFFD), and reports whether raw is exactly one string.
func Unquote(raw json.RawMessage) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if end, w := scanText(raw, 1); w != stopNone || end != len(raw) {
		return "", false
	}
	return decodeInside(raw[1 : len(raw)-1]), true
}

// Text decodes a valid JSON value that is a string. It returns a part of raw if that has no escapes, and nil if raw is
// no string.
func Text(raw json.RawMessage) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	in := raw[1 : len(raw)-1]
	if bytes.IndexByte(in, '\\') < 0 && utf8.Valid(in) {
		return in
	}
	return []byte(decodeInside(in))
}

// maxFrequentName is the length of the longest of frequentNames.
const maxFrequentName = len("io.modelcontextprotocol/clientCapabilities")

// frequentNames holds the keys of most messages, and values beside them, so that decoding them takes no memory.
var frequentNames = makeFrequentNames(
	"jsonrpc", "id", "method", "params", "result", "error", "name", "arguments", "uri", "cursor", "ref", "task",
	"_meta", "progressToken", "requestState", "inputResponses", "inputRequests", "resultType", "complete",
	"content", "structuredContent", "isError", "type", "text", "contents", "messages", "role", "mimeType", "annotations",
	"tools", "prompts", "resources", "nextCursor", "ttlMs", "cacheScope", "version", "title", "description", "inputSchema",
	"tools/call", "tools/list", "prompts/get", "resources/read", "2.0", "2025-11-25", "2025-06-18", "2026-07-28",
	"io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo",
	"io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/serverInfo", "io.modelcontextprotocol/logLevel",
	"elicitation", "sampling", "roots", "extensions", "traceparent", "tracestate",
)

func makeFrequentNames(names ...string) map[string]string {
	all := make(map[string]string, len(names))
	for _, name := range names {
		all[name] = name
	}
	return all
}

// decodeInside decodes the inside of a string. It never fails: an invalid escape stands for itself.
func decodeInside(in []byte) string {
	if len(in) <= maxFrequentName { // a look-up reads all of it
		if name, ok := frequentNames[string(in)]; ok {
			return name
		}
	}
	if bytes.IndexByte(in, '\\') < 0 && utf8.Valid(in) {
		return string(in)
	}
	var out strings.Builder
	out.Grow(len(in))
	for len(in) > 0 {
		n := bytes.IndexByte(in, '\\')
		if n < 0 {
			n = len(in)
		}
		if plain := in[:n]; utf8.Valid(plain) {
			out.Write(plain)
		} else {
			for len(plain) > 0 {
				r, size := utf8.DecodeRune(plain)
				out.WriteRune(r)
				plain = plain[size:]
			}
		}
		in = in[n:]
		if len(in) > 0 {
			r, size := Char(in)
			out.WriteRune(r) // U+FFFD for half of a pair
			in = in[size:]
		}
	}
	return out.String()
}

// Char decodes the first character of the inside of a string, and returns its length there. Half of a surrogate pair
// keeps its value. An invalid escape is [utf8.RuneError], or the byte after the backslash.
func Char(in []byte) (r rune, size int) {
	if in[0] != '\\' {
		return utf8.DecodeRune(in)
	}
	if len(in) < 2 {
		return '\\', 1
	}
	switch in[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		first := unit(in)
		if first < 0 {
			return utf8.RuneError, 2
		}
		if !utf16.IsSurrogate(first) {
			return first, 6
		}
		if pair := utf16.DecodeRune(first, unit(in[6:])); pair != utf8.RuneError {
			return pair, 12
		}
		return first, 6
	}
	return rune(in[1]), 2
}

// unit returns the code unit of the escape \uXXXX at the start of in, or -1.
func unit(in []byte) rune {
	if len(in) < 6 || in[0] != '\\' || in[1] != 'u' {
		return -1
	}
	var u rune
	for _, c := range in[2:6] {
		d := hexDigit(c)
		if d < 0 {
			return -1
		}
		u = u<<4 | d
	}
	return u
}

// WithoutLoneSurrogates returns valid JSON without lone surrogates. The escape of a lone surrogate is legal JSON,
// but strict parsers refuse it (Python's pydantic, Rust's serde). It becomes \ufffd. If there are
// none, it returns b itself.
func WithoutLoneSurrogates(b []byte) []byte {
	if !bytes.Contains(b, []byte(`\u`)) {
		return b
	}
	shared := true
	for i := 0; ; {
		n := bytes.IndexByte(b[i:], '\\')
		if n < 0 || len(b)-i-n < len(`\u0000`) {
			return b
		}
		i += n
		switch u := b[i+1:]; {
		case u[0] != 'u' || u[1]|' ' != 'd' || u[2] < '8': // not a surrogate
			i += 2
		case utf16.DecodeRune(unit(b[i:]), unit(b[i+6:])) != utf8.RuneError:
			i += 12
		default:
			if shared {
				b, shared = bytes.Clone(b), false
			}
			copy(b[i:], `\ufffd`)
			i += 6
		}
	}
}

// HasLoneSurrogate reports whether valid JSON contains half of a surrogate pair without its other half. No text can
// contain such a character, and some consumers refuse the whole request for one (RFC 8259, section 8.2).
func HasLoneSurrogate(b []byte) bool { return len(b) > 0 && &WithoutLoneSurrogates(b)[0] != &b[0] }
