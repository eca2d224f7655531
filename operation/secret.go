package operation

import "github.com/indusagi/indus/internal/secret"

// Secret is text that prints as "<secret>" in every format, log and encoding, also in unexported fields. Its Reveal
// method returns the text. The zero Secret is empty. It is the same type as interop.Secret.
type Secret = secret.Value

// NewSecret returns a Secret with the text.
func NewSecret(text string) Secret { return secret.NewValue(text) }

// Capabilities are named secrets that an operation needs in other systems, such as bearer tokens and keys. They do not
// identify the caller. That is the job of [Identity].
type Capabilities map[string]Secret
