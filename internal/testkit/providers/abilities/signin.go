package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

const redirect = "http://127.0.0.1:1/callback"

// signer signs a client in, with the help of the person at a URL. scope is the requested scope.
type signer struct {
	person, scope string
}

// signIn is testdata/peers/signin.mjs: it prints the result of each client at each URL. scopes is for mcp-go, which
// cannot find the scopes itself.
func signIn(person string, scopes map[string]string) {
	clients := map[string]func(*signer, string) connect{
		"go-sdk, legacy": sdkSigner("2025-11-25"), "go-sdk, modern": sdkSigner("2026-07-28"),
		"mcp-go, legacy": mcpgoSigner("2025-11-25"), "mcp-go, modern": mcpgoSigner("2026-07-28"),
	}
	found := map[string]map[string]string{"more": {}}
	var mu sync.Mutex
	var all, again sync.WaitGroup
	more := make(chan struct{})
	first := slices.Min(slices.Collect(maps.Keys(scopes)))
	for at, scope := range scopes {
		found[at] = map[string]string{}
		for name, client := range clients {
			s := &signer{person: person}
			open := client(s, scope)
			try := func(under string) {
				out := s.try(open, at)
				mu.Lock()
				defer mu.Unlock()
				found[under][name] = out
			}
			all.Go(func() { try(at) })
			if at == first {
				again.Go(func() { <-more; try("more") })
			}
		}
	}
	all.Wait()
	if res, err := http.Get(person + "/more"); err == nil {
		res.Body.Close()
	}
	close(more)
	again.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		panic(err)
	}
}

// try returns the requested scope and the number of tools, or an error.
func (s *signer) try(open connect, at string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s.scope = ""
	c, err := open(ctx, at, &heard{})
	if err != nil {
		return "error: " + err.Error()
	}
	tools, err := c.tools(ctx)
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprintf("%s: %d tools", s.scope, len(tools))
}

// visit signs in at an address and returns the parameters of the final redirect.
func (s *signer) visit(ctx context.Context, address string) (url.Values, error) {
	asked, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	s.scope = asked.Query().Get("scope")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.person+"?"+url.QueryEscape(address), nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %w", res.Status, text, err)
	}
	back, err := url.Parse(string(text))
	if err != nil {
		return nil, err
	}
	return back.Query(), nil
}

func sdkSigner(revision string) func(*signer, string) connect {
	return func(s *signer, _ string) connect {
		handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
			DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName: "go-sdk", RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: "none",
			}},
			AuthorizationCodeFetcher: func(
				ctx context.Context, args *auth.AuthorizationArgs,
			) (*auth.AuthorizationResult, error) {
				back, err := s.visit(ctx, args.URL)
				return &auth.AuthorizationResult{Code: back.Get("code"), State: back.Get("state"), Iss: back.Get("iss")}, err
			},
		})
		if err != nil {
			panic(err)
		}
		return official(revision, handler)
	}
}

func mcpgoSigner(revision string) func(*signer, string) connect {
	return func(s *signer, scope string) connect {
		return mark3labs(revision, func(ctx context.Context, refused error) error {
			h := mcpgo.GetOAuthHandler(refused)
			if h == nil {
				return refused
			}
			if err := h.RegisterClient(ctx, "mcp-go"); err != nil {
				return err
			}
			verifier, err := mcpgo.GenerateCodeVerifier()
			if err != nil {
				return err
			}
			address, err := h.GetAuthorizationURL(ctx, "state", mcpgo.GenerateCodeChallenge(verifier))
			if err != nil {
				return err
			}
			back, err := s.visit(ctx, address)
			if err != nil {
				return err
			}
			return h.ProcessAuthorizationResponse(ctx, back.Get("code"), back.Get("state"), verifier)
		}, transport.WithHTTPOAuth(transport.OAuthConfig{RedirectURI: redirect, PKCEEnabled: true, Scopes: []string{scope},
			TokenStore: transport.NewMemoryTokenStore()}))
	}
}
