package oauth

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/indusagi/indus/internal/secret"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Methods with which a client authenticates to a token endpoint.
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
	methodJWT   = "private_key_jwt"
)

// identity is this client at one authorization server.
type identity struct {
	ID       string `json:"id"`
	secret   secret.Value
	Method   string    `json:"method"`
	Redirect string    `json:"redirect,omitempty"` // the registered address; "": any
	Expires  time.Time `json:"expires,omitzero"`   // of the secret
	Dynamic  bool      `json:"dynamic,omitempty"`  // by registration, which can be repeated
}

// storedIdentity is an identity in the form of the store.
type storedIdentity struct {
	identity
	Secret string `json:"secret,omitempty"`
}

func (i identity) stored() storedIdentity { return storedIdentity{i, i.secret.Reveal()} }

func (s storedIdentity) loaded() identity {
	s.secret = secret.NewValue(s.Secret)
	return s.identity
}

// identify returns this client's identity at an authorization server. It may be a known id, a metadata document or a
// registration, in the order of specification 2026-07-28 (basic/authorization/client-registration). redirect is the
// address for the answer to a sign-in. It is "" for a grant without a redirect.
func (c *Client) identify(ctx context.Context, w *web, as *authServer, redirect string) (identity, error) {
	switch o := &c.options; {
	case o.ClientID != "":
		return c.configured(as), nil
	case c.usesDocument(as):
		return identity{ID: o.MetadataDocument, Method: methodNone}, nil
	case as.RegistrationEndpoint != "" && redirect != "":
		return c.ensureRegistered(ctx, w, as, redirect)
	}
	return identity{}, errors.New("the authorization server registers no clients by itself: it has to give a client id")
}

func (c *Client) usesDocument(as *authServer) bool {
	return c.options.MetadataDocument != "" && as.ClientIDMetadataDocumentSupported
}

// callbackSuffix returns the end of the callback path for an authorization server that does not name itself in answers
// (RFC 9207). Each such server has its own path. If another server redirects the browser to it and wants the code, the
// answer arrives at the wrong path (mix-up; RFC 9700 sections 4.4.1 and 4.4.2.2). A client that does not register has
// one fixed address, so the result is "".
func (c *Client) callbackSuffix(as *authServer) string {
	if as.AuthorizationResponseIssParameterSupported || c.options.ClientID != "" || c.usesDocument(as) {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.TrimSuffix(as.Issuer, "/")))
	return "/" + hex.EncodeToString(sum[:16])
}

// ErrOtherIssuer means that a server names an authorization server at which this client does not sign in. It signs in
// at Options.Issuer, or else at the authorization server to which its secret went first.
var ErrOtherIssuer = errors.New("this client signs in elsewhere")

// confine returns an error if the authorization server must not see this client's secret or its token for exchange. If
// no issuer is configured, only the first authorization server that gets them for a server may see them. Its name is
// stored, because the server may name another person's authorization server later.
func (c *Client) confine(ctx context.Context, resource, issuer string, record bool) error {
	o := &c.options
	key := Key{Resource: resource, Client: o.ClientID}
	pinned := struct {
		Issuer string `json:"issuer"`
	}{o.Issuer}
	if o.Issuer == "" && (o.ClientSecret != (secret.Value{}) || o.Exchange != nil) {
		unlock, err := o.Store.Lock(ctx, key)
		if err != nil {
			return err
		}
		defer unlock()
		b, err := o.Store.Get(ctx, key)
		if err != nil {
			return err
		}
		if b == nil && record {
			pinned.Issuer = issuer
			if b, err = json.Marshal(pinned); err != nil {
				return err
			}
			return c.put(ctx, key, b)
		}
		if err := json.Unmarshal(b, &pinned); b != nil && err != nil {
			return err
		}
	}
	if pinned.Issuer != "" && !sameIssuer(pinned.Issuer, issuer) {
		return &StepError{StepRegistration, issuer, fmt.Errorf("%w: at %s", ErrOtherIssuer, bareURL(pinned.Issuer))}
	}
	return nil
}

// configured returns the identity of the options.
func (c *Client) configured(as *authServer) identity {
	i := identity{ID: c.options.ClientID, secret: c.options.ClientSecret, Method: methodNone}
	if c.signer != nil {
		i.Method = methodJWT
	} else if i.secret != (secret.Value{}) {
		i.Method = secretMethod(as)
	}
	return i
}

// secretMethod returns the method in which an authorization server accepts a secret. The default is Basic (RFC 8414
// section 2).
func secretMethod(as *authServer) string {
	methods := as.TokenEndpointAuthMethodsSupported
	if !slices.Contains(methods, methodBasic) && slices.Contains(methods, methodPost) {
		return methodPost
	}
	return methodBasic
}

// registrationKey returns the key of the registration at an issuer. The registration with the address of a [Site] has
// its own key. So it does not replace the registration of other machines that share the store.
func registrationKey(issuer, redirect string) Key {
	callback := ""
	if site, _, ok := strings.Cut(redirect, pathCallback); ok {
		callback = site + pathCallback
	}
	return Key{Issuer: strings.TrimSuffix(issuer, "/"), Principal: callback} // see sameIssuer
}

// registration returns the stored registration if it is still valid, or the zero identity.
func (c *Client) registration(ctx context.Context, key Key) (identity, error) {
	b, err := c.options.Store.Get(ctx, key)
	if err != nil || b == nil {
		return identity{}, err
	}
	var s storedIdentity
	if json.Unmarshal(b, &s) != nil || !s.Expires.IsZero() && s.Expires.Before(time.Now()) {
		return identity{}, nil
	}
	return s.loaded(), nil
}

// ensureRegistered returns the stored registration, or a new one (RFC 7591).
func (c *Client) ensureRegistered(ctx context.Context, w *web, as *authServer, redirect string) (identity, error) {
	key := registrationKey(as.Issuer, redirect)
	unlock, err := c.options.Store.Lock(ctx, key)
	if err != nil {
		return identity{}, err
	}
	defer unlock()
	if i, err := c.registration(ctx, key); err != nil || i.ID != "" && i.Redirect == redirect {
		return i, err
	}
	i, err := c.register(ctx, w, as, redirect)
	if err != nil {
		return identity{}, err
	}
	b, err := json.Marshal(i.stored())
	if err != nil {
		return identity{}, err
	}
	return i, c.put(ctx, key, b)
}

func (c *Client) register(ctx context.Context, w *web, as *authServer, redirect string) (identity, error) {
	method := methodNone
	if methods := as.TokenEndpointAuthMethodsSupported; len(methods) > 0 && !slices.Contains(methods, methodNone) {
		method = secretMethod(as)
	}
	kind := "native"
	if strings.HasPrefix(redirect, "https:") {
		kind = "web" // of a [Site]
	}
	content, err := json.Marshal(oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: method, ClientName: c.options.Name, ApplicationType: kind,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	})
	if err != nil {
		return identity{}, err
	}
	var r struct {
		ID      string `json:"client_id"`
		Secret  string `json:"client_secret"`
		Expires int64  `json:"client_secret_expires_at"`
		Method  string `json:"token_endpoint_auth_method"`
	}
	if err := w.post(ctx, as.RegistrationEndpoint, "application/json", content, nil, nil, &r); err != nil {
		return identity{}, err
	}
	i := identity{ID: r.ID, secret: secret.NewValue(r.Secret), Method: r.Method, Redirect: redirect, Dynamic: true}
	switch {
	case i.ID == "":
		return identity{}, errors.New("the answer has no client id")
	case i.Method == "":
		i.Method = method
	}
	if r.Expires > 0 {
		i.Expires = time.Unix(r.Expires, 0)
	}
	return i, nil
}

// deleteRegistration deletes the registration at an issuer with the given redirect address. If id is not "", the
// registration must have that id, because another process may have registered again.
func (c *Client) deleteRegistration(ctx context.Context, issuer, redirect, id string) error {
	key := registrationKey(issuer, redirect)
	unlock, err := c.options.Store.Lock(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	if current, err := c.registration(ctx, key); err != nil || id != "" && current.ID != id {
		return err
	}
	return c.options.Store.Delete(ctx, key)
}

// assertionLife is how long an assertion is valid. It is used at once.
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

// curves maps the bits of a curve to the algorithm of its EC keys.
var curves = map[int]jwt.SigningMethod{
	256: jwt.SigningMethodES256, 384: jwt.SigningMethodES384, 521: jwt.SigningMethodES512,
}

// assertion returns a proof of the client's identity for one authorization server (RFC 7523 section 3). The audience is
// the issuer, as in draft-ietf-oauth-rfc7523bis, so that no other server can use it.
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
