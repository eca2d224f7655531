package operation

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is text that prints as "<secret>" in every format, log and encoding, also from
// within a struct whose fields fmt cannot ask. The zero Secret is empty.
type Secret struct{ text func() string }

// NewSecret keeps text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{func() string { return text }}
}

// Reveal is the text itself, for the one place that sends it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return s.text()
}

// String is "<secret>", or "" for the empty secret.
func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return "<secret>"
}

// Format is what every verb of package fmt prints: "<secret>".
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue is what slog prints: "<secret>".
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is what encodings write: "<secret>".
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Capabilities are what an operation needs to act elsewhere, by name: bearer tokens,
// keys. They say nothing of who calls; that is an [Identity].
type Capabilities map[string]Secret
