package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// maxServers bounds the authorization servers that are tried.
const maxServers = 4

// Discovery is what a server and its authorization server say of signing in.
type Discovery struct {
	Resource string   // the server's identifier, as it is sent to the authorization server
	Scopes   []string // the server's scopes_supported; nil: it does not say
	Servers  []string // its authorization servers, in its order; one at least
	// Legacy: it has no metadata, as in revision 2025-03-26, and its own origin is taken for the
	// authorization server.
	Legacy bool
	Issuer string // the first of Servers that can be used; "" where none can
	// Assumed: there is no metadata at all, so that the endpoints are guesses.
	Assumed bool
}

// Discover finds out where one signs in for a server. The error is a [*StepError], and joins
// those of all authorization servers where none can be used; what was found until then is
// returned beside it.
func (c *Client) Discover(ctx context.Context, resource string) (*Discovery, error) {
	resource, err := Resource(resource)
	if err != nil {
		return nil, err
	}
	w := c.web(ctx, resource)
	d, err := w.resource(ctx, resource, challenge{})
	if err != nil {
		return nil, err
	}
	as, err := w.firstServer(ctx, d, "")
	if err == nil {
		d.Issuer, d.Assumed = as.Issuer, as.assumed
	}
	return d, err
}

// Resource is the canonical address of a server (RFC 8707 section 2, and the specification's
// "Canonical Server URI"): without user, fragment and a last slash. Its query belongs to it, because tenants of
// one path may differ by that alone; so what names a resource may have a secret in it.
func Resource(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("the server's address must begin with http:// or https:// and name a host")
	}
	bare := &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: u.Path, RawPath: u.RawPath}
	return strings.TrimSuffix(bare.String(), "/") + queryOf(u), nil
}

// queryOf is that of an address with its "?"; "" where there is none.
func queryOf(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	return "?" + u.RawQuery
}

// resource reads the metadata of a protected resource: where the challenge says, else at the
// well-known places for its path and for its origin (specification 2026-07-28, basic/authorization/
// authorization-server-discovery).
func (w *web) resource(ctx context.Context, resource string, ch challenge) (*Discovery, error) {
	u, err := url.Parse(resource)
	if err != nil {
		return nil, err
	}
	origin := (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	if _, err := w.reach.check(origin); err != nil && ch.metadata == "" { // such as by http: it may want a key in a header
		return nil, &StepError{StepResource, origin, fmt.Errorf("%w: %w", ErrNoOAuth, err)}
	}
	const name = "oauth-protected-resource"
	places := []string{ch.metadata, wellKnown(origin, name, u.EscapedPath()) + queryOf(u), wellKnown(origin, name, "")}
	var m oauthex.ProtectedResourceMetadata
	found, err := w.first(ctx, StepResource, places, &m, func() error { return w.checkResource(u, &m) })
	switch {
	case err != nil:
		return nil, err
	case !found:
		return &Discovery{Resource: resource, Servers: []string{origin}, Legacy: true}, nil
	}
	servers := m.AuthorizationServers[:min(len(m.AuthorizationServers), maxServers)]
	return &Discovery{Resource: m.Resource, Scopes: union(m.ScopesSupported), Servers: servers}, nil
}

// first reads the document at the first of some places that has one. If check refuses it, no other place is asked.
func (w *web) first(ctx context.Context, step Step, places []string, v any, check func() error) (found bool, err error) {
	for i, address := range places {
		if address == "" || slices.Contains(places[:i], address) {
			continue
		}
		err := w.document(ctx, address, v)
		if isAbsent(err) {
			continue
		}
		if err == nil {
			err = check()
		}
		if err != nil {
			return false, &StepError{step, address, err}
		}
		return true, nil
	}
	return false, nil
}

// wellKnown puts a well-known name before a path (RFC 8615, RFC 8414 section 3.1).
func wellKnown(origin, name, path string) string {
	return origin + "/.well-known/" + name + strings.TrimSuffix(path, "/")
}

// checkResource holds metadata against the server for which it was read: what it names is the
// server, or something above it of the same origin (RFC 9728 section 3.3; metadata at the origin
// is of all that is below).
func (w *web) checkResource(u *url.URL, m *oauthex.ProtectedResourceMetadata) error {
	named, err := url.Parse(m.Resource)
	if err != nil || len(m.Resource) > maxAddress || !sameOrigin(named, u) || !isAbove(named.EscapedPath(), u.EscapedPath()) ||
		queryOf(named) != "" && queryOf(named) != queryOf(u) || named.Fragment != "" || named.User != nil {
		return errors.New("the metadata are of another server: " + bareURL(m.Resource))
	}
	if len(m.AuthorizationServers) == 0 {
		return errors.New("the metadata name no authorization server")
	}
	return nil
}

func isAbove(parent, path string) bool {
	parent = strings.TrimSuffix(parent, "/")
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// authServer is an authorization server's metadata.
type authServer struct {
	oauthex.AuthServerMeta
	assumed bool // of revision 2025-03-26: nobody has said so
}

// firstServer is the first authorization server whose metadata can be used, and prefer before
// all others where it is one of them.
func (w *web) firstServer(ctx context.Context, d *Discovery, prefer string) (*authServer, error) {
	var failed []error
	for _, issuer := range d.ordered(prefer) {
		as, err := w.server(ctx, issuer, d.Legacy)
		if err == nil {
			return as, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

func (d *Discovery) ordered(prefer string) []string {
	list := slices.Clone(d.Servers)
	rank := func(issuer string) int {
		if sameIssuer(issuer, prefer) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b string) int { return rank(a) - rank(b) })
	return list
}

// server reads the metadata of an authorization server, from the places and in the order of
// the specification.
func (w *web) server(ctx context.Context, issuer string, legacy bool) (*authServer, error) {
	u, err := w.reach.check(issuer)
	if err != nil {
		return nil, &StepError{StepServer, issuer, err}
	}
	origin, path := (&url.URL{Scheme: u.Scheme, Host: u.Host}).String(), strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{wellKnown(origin, "oauth-authorization-server", path), wellKnown(origin, "openid-configuration", path)}
	if path != "" {
		places = append(places, origin+path+"/.well-known/openid-configuration")
	}
	as := &authServer{}
	found, err := w.first(ctx, StepServer, places, &as.AuthServerMeta, func() error { return w.checkServer(issuer, as) })
	switch {
	case err != nil:
		return nil, err
	case found:
		return as, nil
	case !legacy:
		return nil, &StepError{StepServer, issuer, errors.New("it has no metadata at the well-known places")}
	}
	// Revision 2025-03-26, "Fallbacks for Servers without Metadata Discovery".
	return &authServer{assumed: true, AuthServerMeta: oauthex.AuthServerMeta{
		Issuer: origin, AuthorizationEndpoint: origin + "/authorize", TokenEndpoint: origin + "/token", RegistrationEndpoint: origin + "/register",
		CodeChallengeMethodsSupported: []string{"S256"}, // OAuth 2.1 has no client without it
	}}, nil
}

// checkServer holds metadata against the issuer for which they were read (RFC 8414 section 3.3).
func (w *web) checkServer(issuer string, as *authServer) error {
	if !sameIssuer(as.Issuer, issuer) {
		return errors.New("the metadata are of another issuer: " + bareURL(as.Issuer))
	}
	if as.TokenEndpoint == "" {
		return errors.New("the metadata name no token endpoint")
	}
	for _, endpoint := range []string{as.AuthorizationEndpoint, as.TokenEndpoint, as.RegistrationEndpoint, as.RevocationEndpoint} {
		if endpoint == "" {
			continue
		}
		if _, err := w.reach.check(endpoint); err != nil {
			return &StepError{StepServer, endpoint, err}
		}
	}
	return nil
}

// sameIssuer compares issuers as they are written, but for a slash at the end, which servers
// name with their authorization server and without.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }
