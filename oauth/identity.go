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

// Methods by which a client proves itself at a token endpoint.
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
	methodJWT   = "private_key_jwt"
)

// identity is who we are at one authorization server.
type identity struct {
	ID       string `json:"id"`
	secret   secret.Value
	Method   string    `json:"method"`
	Redirect string    `json:"redirect,omitempty"` // that it is registered with; "": any
	Expires  time.Time `json:"expires,omitzero"`   // of the secret
	Dynamic  bool      `json:"dynamic,omitempty"`  // by registration, which may be done again
}

// storedIdentity is an identity as it is kept.
type storedIdentity struct {
	identity
	Secret string `json:"secret,omitempty"`
}

func (i identity) stored() storedIdentity { return storedIdentity{i, i.secret.Reveal()} }

func (s storedIdentity) loaded() identity {
	s.secret = secret.NewValue(s.Secret)
	return s.identity
}

// identify says who we are at an authorization server, in the order of specification 2026-07-28
// (basic/authorization/client-registration): known there, by a metadata document, by
// registration. redirect is where a sign-in will be answered; "" of a grant without one.
func (c *Client) identify(ctx context.Context, w *web, as *authServer, redirect string) (identity, error) {
	switch o := &c.options; {
	case o.ClientID != "":
		return c.configured(as), nil
	case c.byDocument(as):
		return identity{ID: o.MetadataDocument, Method: methodNone}, nil
	case as.RegistrationEndpoint != "" && redirect != "":
		return c.registered(ctx, w, as, redirect)
	}
	return identity{}, errors.New("the authorization server registers no clients by itself: it has to give a client id")
}

func (c *Client) byDocument(as *authServer) bool {
	return c.options.MetadataDocument != "" && as.ClientIDMetadataDocumentSupported
}

// ownPath is the end of the path at which an authorization server answers that does not say who it is (RFC 9207). Another one that
// sends the browser on to it, and wants to be given the code, cannot have that come to its own (mix-up; RFC 9700 sections
// 4.4.1 and 4.4.2.2). Who does not register has the one address that is known there.
func (c *Client) ownPath(as *authServer) string {
	if as.AuthorizationResponseIssParameterSupported || c.options.ClientID != "" || c.byDocument(as) {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.TrimSuffix(as.Issuer, "/")))
	return "/" + hex.EncodeToString(sum[:16])
}

// ErrOtherIssuer means that a server names another authorization server than the one that this client signs in at:
// that of Options.Issuer, else the one to which its secret went first.
var ErrOtherIssuer = errors.New("this client signs in elsewhere")

// confine holds an authorization server against the one that may see what this client has: its secret, or a token to
// exchange. Where no issuer is configured that is the first that gets them for a server, which is kept: the server may be
// another one tomorrow, or name somebody else's authorization server today.
func (c *Client) confine(ctx context.Context, resource, issuer string, keep bool) error {
	o := &c.options
	key := Key{Resource: resource, Client: o.ClientID}
	first := struct {
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
		if b == nil && keep {
			first.Issuer = issuer
			if b, err = json.Marshal(first); err != nil {
				return err
			}
			return c.put(ctx, key, b)
		}
		if err := json.Unmarshal(b, &first); b != nil && err != nil {
			return err
		}
	}
	if first.Issuer != "" && !sameIssuer(first.Issuer, issuer) {
		return &StepError{StepRegistration, issuer, fmt.Errorf("%w: at %s", ErrOtherIssuer, bareURL(first.Issuer))}
	}
	return nil
}

// configured is the identity of the options.
func (c *Client) configured(as *authServer) identity {
	i := identity{ID: c.options.ClientID, secret: c.options.ClientSecret, Method: methodNone}
	if c.signer != nil {
		i.Method = methodJWT
	} else if i.secret != (secret.Value{}) {
		i.Method = secretMethod(as)
	}
	return i
}

// secretMethod is how an authorization server takes a secret. One that does not say has to take Basic (RFC 8414 section 2).
func secretMethod(as *authServer) string {
	methods := as.TokenEndpointAuthMethodsSupported
	if !slices.Contains(methods, methodBasic) && slices.Contains(methods, methodPost) {
		return methodPost
	}
	return methodBasic
}

// registrationKey is where the registration at an issuer is kept: that with the address of a [Site] apart from those
// of the machines that share the store, so that neither takes the other's place.
func registrationKey(issuer, redirect string) Key {
	site, _, ok := strings.Cut(redirect, pathCallback)
	if redirect = ""; ok {
		redirect = site + pathCallback
	}
	return Key{Issuer: strings.TrimSuffix(issuer, "/"), Principal: redirect} // see sameIssuer
}

// registration is the one that is kept and still good; the zero identity where there is none.
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

// registered is the registration that is kept, or a new one (RFC 7591).
func (c *Client) registered(ctx context.Context, w *web, as *authServer, redirect string) (identity, error) {
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

// forget drops the registration at an issuer, with the address to which answers come. Where an id is given, it has to be that one:
// another process may have registered again.
func (c *Client) forget(ctx context.Context, issuer, redirect, id string) error {
	key := registrationKey(issuer, redirect)
	unlock, err := c.options.Store.Lock(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	if kept, err := c.registration(ctx, key); err != nil || id != "" && kept.ID != id {
		return err
	}
	return c.options.Store.Delete(ctx, key)
}

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
