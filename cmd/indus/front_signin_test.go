package main

import (
	"context"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/authserver"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// TestTheSDKSignsIn: go-sdk's client knows nothing but the URL of a view, and a person who signs in. TestClientsSignIn has the others.
func TestTheSDKSignsIn(t *testing.T) {
	t.Parallel()
	as := authserver.Start(t, nil)
	serve := launch(t, indusCommand(t, map[string]row{"one": {Command: fixture.Build(t)}}, "serve", "--addr", "127.0.0.1:0", "--issuer", as.Issuer, "--scope", "read"))
	at := serve.hears(&serve.err, `serving at (http://\S+)\n`)
	serve.hears(&serve.err, `one: ready`)
	if names := goClient(t, at+"/one"); !strings.Contains(names, "echo") {
		t.Error(names)
	}
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
