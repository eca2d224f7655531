package authserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
)

// Options configures an authorization server. With the zero value it issues JWTs (RS256) for any
// resource, with the scopes read and write, for one hour.
type Options struct {
	Scopes         []string       `json:"scopes,omitempty"`     // of every resource; nil means read, write
	Opaque         bool           `json:"opaque,omitempty"`     // tokens that only introspection can check
	TTL            int            `json:"ttl,omitempty"`        // lifetime of access tokens in seconds; 0 means 3600
	ClockAhead     int            `json:"clockAhead,omitempty"` // seconds by which its clock is ahead
	Clients        []Client       `json:"clients,omitempty"`    // preregistered clients, beside [Machine] and [Site]
	Documents      map[string]any `json:"documents,omitempty"`  // client ID metadata documents by URL; nil: unsupported
	NoRegistration bool           `json:"noRegistration,omitempty"`
	NoRotation     bool           `json:"noRotation,omitempty"`     // refresh tokens do not change
	NoOffline      bool           `json:"noOffline,omitempty"`      // offline_access is not a scope
	StrictResource bool           `json:"strictResource,omitempty"` // a token request without resource has no audience
	Issuer         string         `json:"issuer,omitempty"`         // its claimed issuer; "" means its own address
}

// Client is a client that the server knows. With Redirects it signs users in. Without Redirects it
// may use client credentials, token exchange and JWT assertions.
type Client struct {
	ID        string   `json:"id"`
	Secret    string   `json:"secret,omitempty"`
	Key       string   `json:"key,omitempty"`    // a public key in PEM, for private_key_jwt
	Method    string   `json:"method,omitempty"` // token_endpoint_auth_method; "" chooses by Secret and Key
	Redirects []string `json:"redirects,omitempty"`
	Grants    []string `json:"grants,omitempty"` // nil means that Redirects decides
}

// Machine returns a client that every server knows. It may use client credentials with its secret,
// and introspection.
func Machine() Client { return Client{ID: "machine", Secret: "machine-secret"} }

// Site returns a client that every server knows. It signs users in.
func Site() Client {
	return Client{ID: "site", Secret: "site-secret", Redirects: []string{"http://127.0.0.1/callback"}}
}

// Server is a running authorization server.
type Server struct {
	Issuer string // http://127.0.0.1:PORT unless Options.Issuer sets another
	URL    string // address of the server

	process *fixture.Process
}

// Start starts an authorization server that ends with the test. nil means the zero Options.
func Start(t testing.TB, options *Options) *Server {
	t.Helper()
	o := Options{}
	if options != nil {
		o = *options
	}
	o.Clients = append([]Client{Machine(), Site()}, o.Clients...)
	arg, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	p := fixture.Start(t, fixture.Command{Path: peers.Node(t),
		Args: []string{peers.File(t, "authserver.mjs"), string(arg)}})
	s := &Server{Issuer: p.Line(), URL: p.Line(), process: p}
	p.Drain()
	return s
}

// Stop ends the server before its test ends.
func (s *Server) Stop() { s.process.Kill() }

// ClientToken returns an access token of [Machine] for a resource.
func (s *Server) ClientToken(t testing.TB, resource string, scopes ...string) string {
	t.Helper()
	return s.TokenOf(t, Machine(), resource, scopes...)
}

// TokenOf returns an access token of a client itself for a resource.
func (s *Server) TokenOf(t testing.TB, client Client, resource string, scopes ...string) string {
	t.Helper()
	c := clientcredentials.Config{
		ClientID: client.ID, ClientSecret: client.Secret, TokenURL: s.URL + "/token", Scopes: scopes,
		EndpointParams: url.Values{"resource": {resource}}, AuthStyle: oauth2.AuthStyleInHeader,
	}
	token, err := c.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return token.AccessToken
}

// UserToken signs a user in at [Site] and returns the access token for a resource.
func (s *Server) UserToken(t testing.TB, user, resource string, scopes ...string) string {
	t.Helper()
	site := Site()
	c := oauth2.Config{
		ClientID: site.ID, ClientSecret: site.Secret, RedirectURL: site.Redirects[0], Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: s.URL + "/auth", TokenURL: s.URL + "/token", AuthStyle: oauth2.AuthStyleInHeader},
	}
	verifier, param := oauth2.GenerateVerifier(), oauth2.SetAuthURLParam("resource", resource)
	back, err := Browser{User: user}.Visit(t.Context(), c.AuthCodeURL("s", oauth2.S256ChallengeOption(verifier), param))
	if err != nil {
		t.Fatal(err)
	}
	token, err := c.Exchange(t.Context(), back.Query().Get("code"), oauth2.VerifierOption(verifier), param)
	if err != nil {
		t.Fatal(err)
	}
	return token.AccessToken
}

// Revoke ends every token from a user's sign-ins.
func (s *Server) Revoke(t testing.TB, user string) {
	s.get(t, "/test/revoke?user="+url.QueryEscape(user))
}

// Expire ends the opaque access tokens from a user's sign-ins, but no refresh tokens.
func (s *Server) Expire(t testing.TB, user string) {
	s.get(t, "/test/revoke?access&user="+url.QueryEscape(user))
}

// Counts returns how often the server did each action. Token requests count by their grants and
// errors: "authorization_code", "refresh_token", "client_credentials" and "refresh_token:
// invalid_grant". "authorized" counts codes, "registered" counts registrations, and "revoked"
// counts families of tokens that ended because of reuse.
func (s *Server) Counts(t testing.TB) map[string]int {
	t.Helper()
	counts := map[string]int{}
	if err := json.Unmarshal(s.get(t, "/test/counts"), &counts); err != nil {
		t.Fatal(err)
	}
	return counts
}

func (s *Server) get(t testing.TB, path string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(fmt.Errorf("%s: %s: %s: %w", path, res.Status, strings.TrimSpace(string(b)), err))
	}
	return b
}
