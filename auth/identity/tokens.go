package identity

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/indusagi/indus/toolbox"
)

// minToken is the shortest length, in characters, of a token that is hard to guess.
const minToken = 16

// Tokens is a [Verifier] of a list of bearer tokens. It stores only their SHA-256. Each token is a principal of its
// own. The zero value has no tokens. All methods may be called from any goroutine.
type Tokens struct {
	hashes atomic.Pointer[[][sha256.Size]byte]
}

var _ Verifier = (*Tokens)(nil)

// Set replaces the tokens. A token that is no longer in the list is refused from the next request on. Each token must
// have RFC 6750's grammar and 16 characters or more, and must not be an API key. Otherwise Set changes nothing and
// returns an error. The error does not contain a token.
func (t *Tokens) Set(tokens ...string) error {
	hashes := make([][sha256.Size]byte, len(tokens))
	for i, token := range tokens {
		switch {
		case len(token) < minToken:
			return fmt.Errorf("token %d is shorter than %d characters: make one with \"openssl rand -hex 32\"", i+1, minToken)
		case !isBearer(token):
			return fmt.Errorf("token %d has characters other than letters, digits and -._~+/=", i+1)
		case strings.HasPrefix(token, KeyPrefix): // here it would be valid for all views, and after its expiry
			return fmt.Errorf("token %d is an API key, which clients send and --auth keys lets in", i+1)
		}
		hashes[i] = sha256.Sum256([]byte(token))
	}
	if len(hashes) == 0 {
		return errors.New("there is no token")
	}
	t.hashes.Store(&hashes)
	return nil
}

// Verify takes the same time for every token.
func (t *Tokens) Verify(_ context.Context, token string) (*Identity, error) {
	hashes := t.hashes.Load()
	if hashes == nil {
		return nil, ErrForeign
	}
	var id *Identity
	got := sha256.Sum256([]byte(token))
	for _, h := range *hashes {
		if subtle.ConstantTimeCompare(got[:], h[:]) == 1 {
			id = &Identity{Principal: toolbox.Principal("token:" + hex.EncodeToString(h[:8]))}
		}
	}
	if id == nil {
		return nil, ErrForeign
	}
	return id, nil
}
