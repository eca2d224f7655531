package sealed

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
)

// KeySize is the length of a key, in bytes.
const KeySize = 32

const (
	tokenVersion = 1
	keyUse       = "indus sealed tokens 1" // the label for deriving our keys
	nonceUse     = "indus sealed nonces 1" // the label for the nonce keys of [Keys.SealSame]
)

// tokenEncoding accepts only one spelling of each token, except for line breaks.
var tokenEncoding = base64.RawURLEncoding.Strict()

// Keys seal tokens, and open them. All methods may be called from any goroutine.
type Keys struct {
	all     *atomic.Pointer[[]sealing] // shared by the Keys that For returns
	replica string                     // see For
}

// sealing holds the ciphers of one key.
type sealing struct {
	cipher.AEAD             // puts a random nonce in front
	fixed       cipher.AEAD // takes a given nonce
	nonces      []byte      // the key for deriving nonces
}

// NewKeys takes keys of [KeySize] random bytes. The first key seals, and all keys open. To rotate, put a new key in
// front of the old one, and remove the old key once its last token has expired. All replicas share the keys, so the new
// key must be known to all of them before it comes first anywhere.
func NewKeys(keys ...[]byte) (*Keys, error) {
	if len(keys) == 0 {
		return nil, errors.New("no key")
	}
	var all []sealing
	for i, key := range keys {
		if len(key) != KeySize {
			return nil, fmt.Errorf("key %d has %d bytes, and not %d", i+1, len(key), KeySize)
		}
		derived, err := hkdf.Key(sha256.New, key, nil, keyUse, KeySize)
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(derived)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		fixed, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		nonces, err := hkdf.Key(sha256.New, key, nil, nonceUse, KeySize)
		if err != nil {
			return nil, err
		}
		all = append(all, sealing{aead, fixed, nonces})
	}
	k := &Keys{all: &atomic.Pointer[[]sealing]{}}
	k.all.Store(&all)
	return k, nil
}

// For returns the same keys for one of several replicas. [Keys.Reread] of either applies to both. Every token for state
// that this replica holds names it, and a token that names another replica, or none, is refused with [ErrReplica]. If
// the name is "", tokens name no replica, and all are accepted.
func (k *Keys) For(replica string) *Keys { return &Keys{k.all, replica} }

// Elsewhere opens a token that another replica made for a principal. It returns false for every other text: [Keys.Open]
// has the reason. The request of the token is not checked, nor its expiry, for which the clock of its replica counts.
func (k *Keys) Elsewhere(text, principal string) (Token, bool) {
	t, err := k.open(text)
	if err != nil || !t.belongsElsewhere(k.replica) || t.Replica == "" {
		return Token{}, false
	}
	return t, t.Principal == principal
}

// Random returns keys with one random key. Only the returned Keys can open its tokens.
func Random() *Keys {
	k, err := NewKeys(newKey())
	if err != nil {
		panic(err) // the key has the right size
	}
	return k
}

func newKey() []byte {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // it never fails
	return key
}

// Seal returns the text of a token: ASCII letters, digits, "-" and "_". Each call returns a different text.
func (k *Keys) Seal(t Token) string {
	key := (*k.all.Load())[0]
	k.name(&t)
	plain := t.encode(make([]byte, 0, 64+len(t.Replica)+len(t.Principal)+len(t.Data)))
	b := make([]byte, 1, 1+key.Overhead()+len(plain))
	b[0] = tokenVersion
	return tokenEncoding.EncodeToString(key.Seal(b, nil, plain, b[:1]))
}

// name writes the replica into a token for state that the replica holds.
func (k *Keys) name(t *Token) {
	if t.Kind.isHeld() {
		t.Replica = cmp.Or(t.Replica, k.replica)
	}
}

// SealSame is Seal, but it returns the same text for the same token while the first key stays. It is for tokens that
// clients compare. The nonce is derived from the token, so that different tokens have different nonces.
func (k *Keys) SealSame(t Token) string {
	key := (*k.all.Load())[0]
	k.name(&t)
	plain := t.encode(nil)
	mac := hmac.New(sha256.New, key.nonces)
	mac.Write(plain)
	nonce := mac.Sum(nil)[:key.fixed.NonceSize()]
	b := append([]byte{tokenVersion}, nonce...)
	return tokenEncoding.EncodeToString(key.fixed.Seal(b, nonce, plain, b[:1]))
}

// Want holds the required kind, principal and digest of a token. Each must be equal to the token's field, even if it
// is empty.
type Want struct {
	Kind      Kind
	Principal string
	Digest    [sha256.Size]byte
	// AnyRequest accepts every digest. The token is then opened again with the digest before it has an effect.
	AnyRequest bool
}

// Open returns the token of a text. Its errors are the errors of this package, and contain no fields of the token. An
// error names the first mismatch among kind, principal, request, expiry and replica.
func (k *Keys) Open(text string, want Want) (Token, error) {
	t, err := k.open(text)
	if err == nil {
		err = t.check(want)
	}
	switch {
	case err != nil:
		return Token{}, err
	case t.belongsElsewhere(k.replica):
		return Token{}, ErrReplica
	}
	return t, nil
}

// open returns the token of a text without any check of its fields.
func (k *Keys) open(text string) (Token, error) {
	b, err := tokenEncoding.DecodeString(text)
	if err != nil || len(b) == 0 || b[0] != tokenVersion || strings.ContainsAny(text, "\r\n") {
		return Token{}, ErrAltered
	}
	for _, aead := range *k.all.Load() {
		plain, err := aead.Open(nil, nil, b[1:], b[:1])
		if err != nil {
			continue
		}
		var t Token
		if !t.decode(plain) {
			break
		}
		return t, nil
	}
	return Token{}, ErrAltered
}
