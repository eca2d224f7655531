package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/indusagi/indus/auth/oauth"
)

// A program that cannot ask a person gets an error with the server and the scopes of
// the sign-in.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/mcp":
			w.WriteHeader(http.StatusUnauthorized)
		case "/.well-known/oauth-protected-resource/mcp":
			says(`{"resource":"~/mcp","authorization_servers":["~"],"scopes_supported":["read"]}`)(w, r)
		default:
			says(`{"issuer":"~","authorization_endpoint":"~/authorize","token_endpoint":"~/token"}`)(w, r)
		}
	}))
	defer server.Close()
	c, err := oauth.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	client := &http.Client{Transport: c.Transport(nil, server.URL+"/mcp", "")}
	_, err = client.Get(server.URL + "/mcp")
	if needed, ok := errors.AsType[*oauth.SignInError](err); ok {
		fmt.Println("sign in for", needed.Scopes)
	}
	// Output: sign in for [read]
}

// The person's browser is opened, and the answer comes to a port of this machine.
func ExampleLoopback() {
	_, err := oauth.New(&oauth.Options{Interact: &oauth.Loopback{
		Open: func(_ context.Context, authorize string) error {
			fmt.Println("Open this address to sign in:", authorize)
			return nil
		},
	}})
	fmt.Println(err)
	// Output: <nil>
}

// The program signs in as its own principal.
func ExampleOptions_clientCredentials() {
	_, err := oauth.New(&oauth.Options{Grant: oauth.ClientCredentials, ClientID: "reports", ClientSecret: oauth.NewSecret("…")})
	fmt.Println(err)
	// Output: <nil>
}
