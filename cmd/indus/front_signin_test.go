package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/authserver"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// TestClientsSignInByThemselves: the official clients know nothing but the URL of a view, and a person who signs in.
func TestClientsSignInByThemselves(t *testing.T) {
	t.Parallel()
	as := authserver.Start(t, nil)
	config := writeAuth(t, as.Issuer)
	serve := launch(t, indusCommand(t, map[string]row{"one": {Command: fixture.Build(t)}}, "serve", "--addr", "127.0.0.1:0", "--mcp", config))
	at := serve.hears(&serve.err, `serving at (http://\S+)\n`)
	serve.hears(&serve.err, `one: ready`)
	t.Run("go-sdk", func(t *testing.T) {
		t.Parallel()
		if names := goClient(t, at+"/one"); !strings.Contains(names, "echo") {
			t.Error(names)
		}
	})
	for _, which := range []string{"1", "2"} {
		t.Run("TypeScript SDK "+which, func(t *testing.T) {
			t.Parallel()
			p := start(t, t.TempDir(), nil, peers.Node(t), peers.File(t, "clients/signin.mjs"), which, at)
			back, err := authserver.Browser{User: "ann"}.Visit(t.Context(), p.hears(&p.out, `(http://\S+/auth\?\S+)\n`))
			if err != nil {
				t.Fatal(err)
			}
			p.send(back.String())
			p.hears(&p.out, `one__echo`)
		})
	}
}

// writeAuth is a configuration by which tokens of an issuer need a scope of their view.
func writeAuth(t *testing.T, issuer string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "auth.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"servers": {}, "auth": {"scopes": ["read"], "issuers": [{"issuer": %q}]}}`, issuer), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// goClient lists the tools at a URL with the SDK's own handler, as somebody who signs in.
func goClient(t *testing.T, at string) string {
	t.Helper()
	const redirect = "http://127.0.0.1:1/callback"
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "go-sdk", RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: "none",
		}},
		RedirectURL: redirect,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			back, err := authserver.Browser{User: "bob"}.Visit(ctx, args.URL)
			if err != nil {
				return nil, err
			}
			q := back.Query()
			return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "go-sdk"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: at, OAuthHandler: handler}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}
