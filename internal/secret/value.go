package secret

import (
	"fmt"
	"io"
	"log/slog"
	"unique"
)

// Value is text that prints as "<secret>" in every format, log and encoding, even inside a struct
// with fields that fmt cannot access. Two Values with the same text are equal. The zero Value is
// empty.
type Value struct{ text unique.Handle[string] }

// NewValue returns a Value with this text.
func NewValue(text string) Value {
	if text == "" {
		return Value{}
	}
	return Value{unique.Make(text)}
}

// Reveal returns the text itself, for the code that sends it.
func (v Value) Reveal() string {
	if v == (Value{}) {
		return ""
	}
	return v.text.Value()
}

// String returns "<secret>", or "" for the empty value.
func (v Value) String() string {
	if v == (Value{}) {
		return ""
	}
	return Mask
}

// Format writes "<secret>" for every verb of package fmt.
func (v Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, v.String()) }

// LogValue returns "<secret>" for slog.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }

// MarshalText returns "<secret>" for encodings.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Equal compares the texts.
func (v Value) Equal(o Value) bool { return v == o }
