package host

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// minToken is below how many characters a token can be guessed.
const minToken = 16

// bearerToken is the grammar of a bearer token (RFC 6750, section 2.1).
var bearerToken = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// Tokens is a set of bearer tokens, of which it keeps the SHA-256 alone. Its
// Principal method is an [Options].Principal. The zero value refuses everyone; all
// methods may be called from any goroutine.
type Tokens struct {
	hashes atomic.Pointer[[][sha256.Size]byte]
}

// Set replaces the tokens: who has one of before only is refused from the next request
// on. A token is of RFC 6750's grammar and has 16 characters or more; otherwise Set
// changes nothing. Its error does not contain a token.
func (t *Tokens) Set(tokens ...string) error {
	hashes := make([][sha256.Size]byte, len(tokens))
	for i, token := range tokens {
		switch {
		case len(token) < minToken:
			return fmt.Errorf("token %d is shorter than %d characters: make one with \"openssl rand -hex 32\"", i+1, minToken)
		case !bearerToken.MatchString(token):
			return fmt.Errorf("token %d has characters other than letters, digits and -._~+/=", i+1)
		}
		hashes[i] = sha256.Sum256([]byte(token))
	}
	if len(hashes) == 0 {
		return errors.New("there is no token")
	}
	t.hashes.Store(&hashes)
	return nil
}

// Principal says who sends a request by its Authorization header: each token is a
// principal of its own. Its error is an [*interop.HTTPError] of status 401 with a
// WWW-Authenticate challenge (RFC 6750, section 3).
func (t *Tokens) Principal(r *http.Request) (toolbox.Principal, error) {
	challenge, why := `Bearer realm="indus"`, "a bearer token is required: send Authorization: Bearer TOKEN"
	if values := r.Header["Authorization"]; len(values) > 0 {
		scheme, token, _ := strings.Cut(values[0], " ")
		if len(values) == 1 && strings.EqualFold(scheme, "Bearer") {
			if p := t.find(strings.TrimSpace(token)); p != "" {
				return p, nil
			}
		}
		challenge, why = challenge+`, error="invalid_token"`, "the bearer token is not valid"
	}
	return "", &interop.HTTPError{Status: http.StatusUnauthorized, Body: why, Header: http.Header{"Www-Authenticate": {challenge}}}
}

// find takes as long for every token.
func (t *Tokens) find(token string) (p toolbox.Principal) {
	hashes := t.hashes.Load()
	if hashes == nil {
		return ""
	}
	got := sha256.Sum256([]byte(token))
	for _, h := range *hashes {
		if subtle.ConstantTimeCompare(got[:], h[:]) == 1 {
			p = toolbox.Principal("token:" + hex.EncodeToString(h[:8]))
		}
	}
	return p
}
