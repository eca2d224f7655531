package oauth

import (
	"crypto"
	"crypto/rand"
	"errors"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// assertionLife is how long a proof of who we are is good; it is used at once.
const assertionLife = time.Minute

// signer makes the assertions of private_key_jwt.
type signer struct {
	key    crypto.PrivateKey
	keyID  string
	method jwt.SigningMethod
}

// newSigner reads a private key in PEM: PKCS #8, or the older forms of RSA and EC keys.
func newSigner(pem, keyID string) (*signer, error) {
	s := &signer{keyID: keyID}
	if key, err := jwt.ParseECPrivateKeyFromPEM([]byte(pem)); err == nil {
		s.key, s.method = key, curves[key.Params().BitSize]
	} else if key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(pem)); err == nil {
		s.key, s.method = key, jwt.SigningMethodRS256
	} else if key, err := jwt.ParseEdPrivateKeyFromPEM([]byte(pem)); err == nil {
		s.key, s.method = key, jwt.SigningMethodEdDSA
	} else {
		return nil, errors.New("the client's key must be an RSA, EC or Ed25519 private key in PEM")
	}
	if s.method == nil {
		return nil, errors.New("the client's key is of a curve that no JWT has")
	}
	return s, nil
}

// curves are the algorithms of EC keys, by the bits of their curve.
var curves = map[int]jwt.SigningMethod{
	256: jwt.SigningMethodES256, 384: jwt.SigningMethodES384, 521: jwt.SigningMethodES512,
}

// assertion says who we are to one authorization server (RFC 7523 section 3; the audience is the
// issuer, as draft-ietf-oauth-rfc7523bis has it, so that no other server can use it).
func (s *signer) assertion(client, issuer string) (string, error) {
	now := time.Now()
	t := jwt.NewWithClaims(s.method, jwt.RegisteredClaims{
		Issuer: client, Subject: client, Audience: jwt.ClaimStrings{issuer}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(assertionLife)),
	})
	if s.keyID != "" {
		t.Header["kid"] = s.keyID
	}
	return t.SignedString(s.key)
}
