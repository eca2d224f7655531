package identity_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/indusagi/indus/auth/identity"
)

// Any handler can admit only requests with an API key.
func ExampleGuard_Handler() {
	file, err := os.CreateTemp("", "keys-*.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = file.Close()
	_ = os.Remove(file.Name()) // a file that does not exist has no keys
	defer os.Remove(file.Name())
	defer os.Remove(file.Name() + ".lock")
	keys := identity.NewKeys(file.Name())
	token, _, err := keys.Add(context.Background(), identity.Key{Name: "alice"})
	if err != nil {
		fmt.Println(err)
		return
	}

	guard := identity.NewGuard(nil, keys)
	hello := guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello, %s", identity.FromContext(r.Context()).Principal)
	}))
	for _, authorization := range []string{"", "Bearer " + token} {
		r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		r.Header.Set("Authorization", authorization)
		hello.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body.String())
	}
	// Output:
	// 401 the bearer token is not valid
	//
	// 200 hello, user:alice
}

// Tokens of an authorization server are valid for the resource that they were issued for. A client without a token
// learns where to get one.
func ExampleNewJWT() {
	tokens, err := identity.NewJWT(nil, identity.Issuer{URL: "https://as.example.com"})
	if err != nil {
		fmt.Println(err)
		return
	}
	guard := identity.NewGuard(&identity.Options{
		URL: "https://mcp.example.com/mcp", Scopes: []string{"mcp"}, Issuers: []string{"https://as.example.com"},
	}, tokens)

	w := httptest.NewRecorder()
	guard.Handler(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest("GET", "/mcp", nil))
	fmt.Println(w.Code, w.Header().Get("WWW-Authenticate"))
	// Output:
	// 401 Bearer realm="indus", scope="mcp", resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
}
