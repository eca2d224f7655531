package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/toolbox"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

// Issuer is an authorization server with signed tokens that are accepted.
type Issuer struct {
	// URL is its issuer identifier, exactly as tokens have it in iss: https, or http on this machine.
	URL string
	// Keys is the address of its keys (a JWK Set). If it is "", the metadata of the issuer have it (RFC 8414, OpenID
	// Connect Discovery).
	Keys string
	// Audience holds values of aud that are valid for every resource, for servers that do not support resource
	// indicators (RFC 8707). If it is nil, aud must be the URL of the resource.
	Audience []string
	// Algorithms holds the accepted signature algorithms. If it is nil, they are RS256, ES256 and EdDSA. Only
	// algorithms with a public key are allowed.
	Algorithms []string
	// Claim names the claim with the principal. Its value must not change, nor be given to another person later. ""
	// means sub.
	Claim string
	// Apps accepts tokens that an application has for itself, without a person (idtyp is "app").
	Apps bool
}

// JWT is a [Verifier] of tokens that authorization servers sign (RFC 9068). A verified token is cached until it expires
// or its issuer has other keys.
type JWT struct {
	issuers map[string]*trustedIssuer
	known   tokenCache[*verifiedToken]
}

var _ Verifier = (*JWT)(nil)

// trustedIssuer is an issuer with its keys.
type trustedIssuer struct {
	Issuer
	keys   *keySet
	parser *jwt.Parser
}

// verifiedToken is a valid token, with the keys that verified it.
type verifiedToken struct {
	identity *Identity
	issuer   *trustedIssuer
	keys     *publicKeys
}

// publicAlgorithms holds the algorithms with a public key. With the others, a verifier could also sign.
var publicAlgorithms = []string{
	"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
}

// NewJWT returns a verifier that trusts these issuers. It sends them no request before a token arrives. client sends
// the requests, without following redirects. If it is nil, the default client does.
func NewJWT(client *http.Client, issuers ...Issuer) (*JWT, error) {
	j := &JWT{issuers: map[string]*trustedIssuer{}}
	for _, issuer := range issuers {
		if err := checkAddress(issuer.URL); err != nil {
			return nil, fmt.Errorf("issuer: %w", err)
		}
		if issuer.Keys != "" {
			if err := checkAddress(issuer.Keys); err != nil {
				return nil, fmt.Errorf("keys of %s: %w", issuer.URL, err)
			}
		}
		if issuer.Algorithms == nil {
			issuer.Algorithms = []string{"RS256", "ES256", "EdDSA"}
		}
		for _, alg := range issuer.Algorithms {
			if !slices.Contains(publicAlgorithms, alg) {
				all := strings.Join(publicAlgorithms, ", ")
				return nil, fmt.Errorf("%s: the algorithm %.40q is none of %s", issuer.URL, alg, all)
			}
		}
		if issuer.Claim == "" {
			issuer.Claim = "sub"
		}
		keys := &keySet{issuer: issuer.URL, address: issuer.Keys, fetcher: newFetcher(client)}
		parser := jwt.NewParser(
			jwt.WithValidMethods(issuer.Algorithms), jwt.WithIssuer(issuer.URL),
			jwt.WithExpirationRequired(), jwt.WithLeeway(leeway), jwt.WithStrictDecoding(),
		)
		j.issuers[issuer.URL] = &trustedIssuer{issuer, keys, parser}
	}
	return j, nil
}

// Verify accepts the tokens that name one of the issuers.
func (j *JWT) Verify(ctx context.Context, token string) (*Identity, error) {
	if !strings.HasPrefix(token, "ey") || strings.Count(token, ".") != 2 {
		return nil, ErrForeign
	}
	h := hashToken(token)
	if known, ok := j.known.get(h); ok {
		keys, err := known.issuer.keys.current(ctx)
		if err != nil {
			return nil, err
		}
		if keys == known.keys {
			return known.identity, nil
		}
	}
	var unverified jwt.RegisteredClaims
	head, _, err := jwt.NewParser().ParseUnverified(token, &unverified)
	if err != nil {
		return nil, invalidf("%w", err)
	}
	issuer := j.issuers[unverified.Issuer]
	if issuer == nil {
		return nil, ErrForeign
	}
	if err := checkHeader(head.Header); err != nil {
		return nil, err
	}
	checked, err := issuer.verify(ctx, token)
	if err != nil {
		return nil, err
	}
	j.known.put(h, checked, checked.identity.Expires.Add(leeway))
	return checked.identity, nil
}

// checkHeader refuses tokens for other purposes, and tokens with critical extensions (RFC 7515, section 4.1.11). RFC
// 9068 requires at+jwt, but most servers send JWT, or no type.
func checkHeader(head map[string]any) error {
	if _, ok := head["crit"]; ok {
		return invalidf("crit is not supported")
	}
	typ, ok := head["typ"]
	text, _ := typ.(string)
	text = strings.TrimPrefix(strings.ToLower(text), "application/")
	if ok && text != "at+jwt" && text != "jwt" {
		return invalidf("it is of type %.40q", text)
	}
	return nil
}

// verify checks the signature and the claims.
func (t *trustedIssuer) verify(ctx context.Context, token string) (*verifiedToken, error) {
	keys, err := t.keys.current(ctx)
	if err != nil {
		return nil, err
	}
	claims := jwt.MapClaims{}
	parsed, err := t.parser.ParseWithClaims(token, claims, keys.find)
	if err != nil && isUnknownKey(parsed, err) {
		fresh, failed := t.keys.refetch(ctx)
		if failed != nil {
			return nil, failed
		}
		if fresh != keys {
			keys, claims = fresh, jwt.MapClaims{}
			_, err = t.parser.ParseWithClaims(token, claims, keys.find)
		}
	}
	switch {
	case errors.Is(err, jwt.ErrTokenExpired) && !errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return nil, &invalidReason{"the bearer token has expired"}
	case err != nil:
		return nil, invalidf("%w", err)
	}
	id, err := t.identity(claims)
	if err != nil {
		return nil, err
	}
	return &verifiedToken{id, t, keys}, nil
}

// isUnknownKey reports whether other keys might verify a token.
func isUnknownKey(token *jwt.Token, err error) bool {
	if errors.Is(err, jwkset.ErrKeyNotFound) {
		return true
	}
	if token == nil {
		return false
	}
	_, namesKey := token.Header["kid"]
	return !namesKey && (errors.Is(err, jwt.ErrTokenSignatureInvalid) || errors.Is(err, jwt.ErrTokenUnverifiable))
}

// checkAccess refuses claims of tokens that are not access tokens. It also refuses tokens of applications, unless apps
// is set.
func checkAccess(claims map[string]any, apps bool) error {
	for _, other := range []string{"at_hash", "c_hash", "events"} { // claims of ID and logout tokens
		if _, ok := claims[other]; ok {
			return invalidf("it is no access token: it has %s", other)
		}
	}
	for claim, allowed := range map[string][]string{
		"typ":        {"bearer", "at+jwt", "jwt"},               // Keycloak
		"token_type": {"bearer", "access_token", "at+jwt"},      // RFC 7662, section 2.2
		"token_use":  {"access", "access_token", "accesstoken"}, // Cognito, Hydra
	} {
		if typ, ok := claims[claim]; ok && typ != "" && !slices.Contains(allowed, strings.ToLower(fmt.Sprint(typ))) {
			return invalidf("it is no access token: its %s is %.40q", claim, fmt.Sprint(typ))
		}
	}
	// Entra's ID tokens have the audience of its access tokens.
	if _, ok := claims["nonce"]; ok && len(scopesIn(claims)) == 0 {
		return invalidf("it is no access token: it has a nonce, and no scope")
	}
	if kind, _ := claims["idtyp"].(string); strings.EqualFold(kind, "app") && !apps {
		return invalidf("it is of an application, and of no person")
	}
	return nil
}

// maxSubject bounds the name of a principal, in bytes (OpenID Connect Core, section 2).
const maxSubject = 255

// identity returns the identity that the claims of a token describe. The principal is the issuer, which has no "#",
// followed by "#" and the subject.
func (i *Issuer) identity(claims jwt.MapClaims) (*Identity, error) {
	if err := checkAccess(claims, i.Apps); err != nil {
		return nil, err
	}
	expires, err := claims.GetExpirationTime()
	if err != nil {
		return nil, invalidf("it has expired, as its exp is no time: %w", err)
	}
	audience, err := claims.GetAudience()
	if err != nil {
		return nil, invalidf("aud: %w", err)
	}
	subject, _ := claims[i.Claim].(string)
	if subject == "" || len(subject) > maxSubject {
		return nil, invalidf("it has no %s, or one longer than %d bytes", i.Claim, maxSubject)
	}
	if strings.ContainsRune(subject, utf8.RuneError) { // it may stand for any bytes: two subjects would be equal
		return nil, invalidf("its %s is no text", i.Claim)
	}
	scopes := scopesIn(claims)
	groups, err := groupsIn(claims, scopes)
	if err != nil {
		return nil, err
	}
	id := &Identity{
		Principal: toolbox.Principal(i.URL + "#" + url.PathEscape(subject)), Groups: groups,
		Scopes: append([]string{}, scopes...), Audience: append([]string{}, audience...),
	}
	if expires != nil {
		id.Expires = expires.Time
	}
	if slices.ContainsFunc(i.Audience, func(a string) bool { return slices.Contains(audience, a) }) {
		id.Audience = nil
	}
	return id, nil
}

// scopesIn returns the scopes of a token: from scope, a text (RFC 9068, section 2.2.3), or from scp, as Entra and Okta
// send it.
func scopesIn(claims map[string]any) (out []string) {
	for _, name := range []string{"scope", "scp"} {
		switch v := claims[name].(type) {
		case string:
			out = append(out, strings.Fields(v)...)
		case []any:
			for _, one := range v {
				if s, ok := one.(string); ok {
					out = append(out, s)
				}
			}
		}
	}
	return out
}
