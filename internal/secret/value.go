package secret

import (
	"fmt"
	"io"
	"log/slog"
	"unique"
)

// Value is text that prints as "<secret>" in every format, log and encoding, also from
// within a struct whose fields fmt cannot ask. Two of the same text are equal. The zero
// Value is empty.
type Value struct{ text unique.Handle[string] }

// NewValue keeps text.
func NewValue(text string) Value {
	if text == "" {
		return Value{}
	}
	return Value{unique.Make(text)}
}

// Reveal is the text itself, for the one place that sends it.
func (v Value) Reveal() string {
	if v == (Value{}) {
		return ""
	}
	return v.text.Value()
}

// String is "<secret>", or "" for the empty value.
func (v Value) String() string {
	if v == (Value{}) {
		return ""
	}
	return Mask
}

// Format is what every verb of package fmt prints: "<secret>".
func (v Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, v.String()) }

// LogValue is what slog prints: "<secret>".
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }

// MarshalText is what encodings write: "<secret>".
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Equal compares the texts.
func (v Value) Equal(o Value) bool { return v == o }
