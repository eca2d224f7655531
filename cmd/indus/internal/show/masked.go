package show

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
)

// maxLearned is how many credentials that came up in use are masked: a gateway has one for each caller who signed in.
const maxLearned = 256

// masked is what the logs and files that this process writes must not show.
type masked struct {
	learned *secret.Set

	mu    sync.Mutex
	masks []func(json.RawMessage) json.RawMessage
}

// Hide has these functions mask all that [Streams.Masked] is given from now on, in place of those before.
func (m *masked) Hide(masks []func(json.RawMessage) json.RawMessage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.masks = slices.Clone(masks)
}

// Learn adds a credential that came up in use to what is masked. The last 256 are kept.
func (m *masked) Learn(credential secret.Value) { m.learned.Learn(credential.Reveal()) }

// Masked returns a JSON document without the values to hide, and without what looks like a credential.
func (m *masked) Masked(doc json.RawMessage) json.RawMessage {
	m.mu.Lock()
	masks := m.masks
	m.mu.Unlock()
	for _, mask := range masks {
		doc = mask(doc)
	}
	return secret.Likely(m.learned.JSON(doc))
}

// maskedWriter writes text to stderr, masked.
type maskedWriter struct{ s Streams }

// Write implements [io.Writer].
func (w maskedWriter) Write(b []byte) (int, error) {
	text, _ := wire.Unquote(w.s.Masked(wire.Quote(string(b))))
	if _, err := w.s.Err.Write([]byte(text)); err != nil {
		return 0, err
	}
	return len(b), nil
}
