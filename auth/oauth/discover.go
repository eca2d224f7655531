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

// Discovery is the result of reading the metadata of a server and of its authorization server.
type Discovery struct {
	Resource string   // the server's identifier, as it is sent to the authorization server
	Scopes   []string // the server's scopes_supported; nil if it has none
	Servers  []string // its authorization servers, in its order; at least one
	// Legacy is set if the server has no metadata, as in revision 2025-03-26. Its own origin is then used as
	// the authorization server.
	Legacy bool
	Issuer string // the first of Servers that can be used; "" if there is none
	// Assumed is set if there is no metadata at all, so that the endpoints are guesses.
	Assumed bool
}

// Discover finds the authorization server of a server. The error is a [*StepError]. If no authorization server
// can be used, it joins the errors of all of them. The partial result is returned beside it.
func (c *Client) Discover(ctx context.Context, resource string) (*Discovery, error) {
	resource, err := Resource(resource)
	if err != nil {
		return nil, err
	}
	w := c.web(ctx, resource)
	d, err := w.readResource(ctx, resource, challenge{})
	if err != nil {
		return nil, err
	}
	as, err := w.firstServer(ctx, d, "")
	if err == nil {
		d.Issuer, d.Assumed = as.Issuer, as.assumed
	}
	return d, err
}

// Resource returns the canonical address of a server (RFC 8707 section 2, and the specification's "Canonical
// Server URI"). It has no user, no fragment and no last slash. The query stays, because tenants of one path may
// differ only by the query. So the name of a resource may contain a secret.
func Resource(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("the server's address must begin with http:// or https:// and name a host")
	}
	bare := &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: u.Path, RawPath: u.RawPath}
	return strings.TrimSuffix(bare.String(), "/") + queryOf(u), nil
}

// queryOf returns the query of an address with its "?". It is "" if there is none.
func queryOf(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	return "?" + u.RawQuery
}

// readResource reads the metadata of a protected resource. If the challenge has an address, that address is used.
// Otherwise the well-known places for its path and for its origin are tried (specification 2026-07-28,
// basic/authorization/authorization-server-discovery).
func (w *web) readResource(ctx context.Context, resource string, ch challenge) (*Discovery, error) {
	u, err := url.Parse(resource)
	if err != nil {
		return nil, err
	}
	origin := (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	if _, err := w.reach.check(origin); err != nil && ch.metadata == "" {
		// The server is reached by http, for example. It may require a key in a header.
		return nil, &StepError{StepResource, origin, fmt.Errorf("%w: %w", ErrNoOAuth, err)}
	}
	const name = "oauth-protected-resource"
	places := []string{ch.metadata, wellKnown(origin, name, u.EscapedPath()) + queryOf(u), wellKnown(origin, name, "")}
	var m oauthex.ProtectedResourceMetadata
	found, err := w.firstDocument(ctx, StepResource, places, &m, func() error { return w.checkResource(u, &m) })
	switch {
	case err != nil:
		return nil, err
	case !found:
		return &Discovery{Resource: resource, Servers: []string{origin}, Legacy: true}, nil
	}
	servers := m.AuthorizationServers[:min(len(m.AuthorizationServers), maxServers)]
	return &Discovery{Resource: m.Resource, Scopes: union(m.ScopesSupported), Servers: servers}, nil
}

// firstDocument reads the document at the first place that has one, and reports whether there is one. If check refuses
// the document, no other place is tried.
func (w *web) firstDocument(ctx context.Context, step Step, places []string, v any, check func() error) (bool, error) {
	for i, address := range places {
		if address == "" || slices.Contains(places[:i], address) {
			continue
		}
		err := w.readDocument(ctx, address, v)
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

// checkResource checks that metadata belong to the server for which they were read. They must name the server,
// or a resource above it with the same origin (RFC 9728 section 3.3). Metadata at the origin apply to
// everything below.
func (w *web) checkResource(u *url.URL, m *oauthex.ProtectedResourceMetadata) error {
	named, err := url.Parse(m.Resource)
	if err != nil || len(m.Resource) > maxAddress ||
		!sameOrigin(named, u) || !isAbove(named.EscapedPath(), u.EscapedPath()) ||
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
	assumed bool // of revision 2025-03-26: a guess, without metadata
}

// firstServer returns the first authorization server with usable metadata. If prefer is one of them, it is
// tried first.
func (w *web) firstServer(ctx context.Context, d *Discovery, prefer string) (*authServer, error) {
	var failures []error
	for _, issuer := range d.orderedServers(prefer) {
		as, err := w.readServer(ctx, issuer, d.Legacy)
		if err == nil {
			return as, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

func (d *Discovery) orderedServers(prefer string) []string {
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

// readServer reads the metadata of an authorization server, from the places and in the order of the specification.
func (w *web) readServer(ctx context.Context, issuer string, legacy bool) (*authServer, error) {
	u, err := w.reach.check(issuer)
	if err != nil {
		return nil, &StepError{StepServer, issuer, err}
	}
	origin := (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{
		wellKnown(origin, "oauth-authorization-server", path),
		wellKnown(origin, "openid-configuration", path),
	}
	if path != "" {
		places = append(places, origin+path+"/.well-known/openid-configuration")
	}
	as := &authServer{}
	check := func() error { return w.checkServer(issuer, as) }
	found, err := w.firstDocument(ctx, StepServer, places, &as.AuthServerMeta, check)
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
		Issuer:                        origin,
		AuthorizationEndpoint:         origin + "/authorize",
		TokenEndpoint:                 origin + "/token",
		RegistrationEndpoint:          origin + "/register",
		CodeChallengeMethodsSupported: []string{"S256"}, // every client of OAuth 2.1 supports it
	}}, nil
}

// checkServer checks that metadata belong to the issuer for which they were read (RFC 8414 section 3.3).
func (w *web) checkServer(issuer string, as *authServer) error {
	if !sameIssuer(as.Issuer, issuer) {
		return errors.New("the metadata are of another issuer: " + bareURL(as.Issuer))
	}
	if as.TokenEndpoint == "" {
		return errors.New("the metadata name no token endpoint")
	}
	endpoints := []string{as.AuthorizationEndpoint, as.TokenEndpoint, as.RegistrationEndpoint, as.RevocationEndpoint}
	for _, endpoint := range endpoints {
		if endpoint == "" {
			continue
		}
		if _, err := w.reach.check(endpoint); err != nil {
			return &StepError{StepServer, endpoint, err}
		}
	}
	return nil
}

// sameIssuer compares issuers as they are written, except for a slash at the end. Servers write their
// authorization server with and without that slash.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }
