package text

import (
	"bytes"
	"encoding/json"
	"strings"
)

// JSON is v as json.Marshal writes it, with <, > and & as they are: what models and people read needs no escapes for HTML.
func JSON(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Quote is s as a JSON string, with <, > and & as they are. What is not UTF-8 becomes U+FFFD.
func Quote(s string) json.RawMessage {
	quoted, _ := JSON(s) // a string is always written
	return quoted
}

var (
	escapePointer   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")
)

// Pointer is the JSON Pointer (RFC 6901) of these steps; "" of none.
func Pointer(steps ...string) string {
	var out strings.Builder
	for _, step := range steps {
		out.WriteByte('/')
		out.WriteString(PointerStep(step))
	}
	return out.String()
}

// PointerStep is a member's name, or an index, as a step of a JSON Pointer.
func PointerStep(name string) string { return escapePointer.Replace(name) }

// FromPointerStep is what a step of a JSON Pointer names.
func FromPointerStep(step string) string { return unescapePointer.Replace(step) }
