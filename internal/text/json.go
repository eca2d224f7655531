package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// JSON returns v as json.Marshal writes it, but with <, > and & unescaped, because models and people do not need
// escapes for HTML.
func JSON(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Quote returns s as a JSON string, with <, > and & unescaped. Invalid UTF-8 becomes U+FFFD.
func Quote(s string) json.RawMessage {
	quoted, _ := JSON(s) // a string can always be encoded
	return quoted
}

// PlainJSON returns JSON with escapes for characters that are not shown as they are. White space stays.
func PlainJSON(valid string) string {
	var b strings.Builder
	for _, r := range valid {
		switch {
		case KindOf(r) == Plain, strings.ContainsRune("\n\r\t", r):
			b.WriteRune(r)
		case r > 0xFFFF:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

var (
	escapePointer   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")
)

// Pointer returns the JSON Pointer (RFC 6901) of these steps, or "" without steps.
func Pointer(steps ...string) string {
	var out strings.Builder
	for _, step := range steps {
		out.WriteByte('/')
		out.WriteString(PointerStep(step))
	}
	return out.String()
}

// PointerStep returns a member's name, or an index, as a step of a JSON Pointer.
func PointerStep(name string) string { return escapePointer.Replace(name) }

// FromPointerStep returns the name in a step of a JSON Pointer.
func FromPointerStep(step string) string { return unescapePointer.Replace(step) }
