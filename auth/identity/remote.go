package identity

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Remote lets a process rely on the authentication of another one, which it trusts, such as another replica. The zero
// value is ready. All methods may be called from any goroutine.
type Remote struct{ known tokenCache[*Identity] }

// remoteTime is how long an identity is kept, so that equal requests have the same [Identity].
const remoteTime = 10 * time.Minute

// Claims returns the identity of an authenticated request, for [Remote.Restore] in the other process. It returns nil if
// [FromContext] has none.
func (*Remote) Claims(r *http.Request) []byte {
	id := FromContext(r.Context())
	if id == nil {
		return nil
	}
	b, _ := json.Marshal(id) // texts and a time
	return b
}

// Restore returns a request that carries the identity of the claims: [FromContext] returns it.
func (m *Remote) Restore(r *http.Request, claims []byte) (*http.Request, error) {
	hash := hashToken(string(claims))
	id, ok := m.known.get(hash)
	if !ok {
		id = &Identity{}
		if err := json.Unmarshal(claims, id); err != nil {
			return nil, fmt.Errorf("the claims of the request cannot be read: %w", err)
		}
		m.known.put(hash, id, time.Now().Add(remoteTime))
	}
	return r.WithContext(NewContext(r.Context(), id)), nil
}
