package operation

import "github.com/indusagi/indus/internal/secret"

// Secret is text that prints as "<secret>" in every format, log and encoding, also from
// within a struct whose fields fmt cannot ask. Its Reveal method returns the text. The zero
// Secret is empty. It is the same type as interop.Secret.
type Secret = secret.Value

// NewSecret keeps text.
func NewSecret(text string) Secret { return secret.NewValue(text) }

// Capabilities are what an operation needs to act elsewhere, by name: bearer tokens,
// keys. They say nothing of who calls; that is an [Identity].
type Capabilities map[string]Secret
