package identity_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop/interoptest"
	"github.com/indusagi/indus/toolbox"
)

// BenchmarkCall measures a small call through a host with each kind of authentication. It uses no network, which would
// hide the difference.
//
//	go test -run '^$' -bench Call -count 5 ./auth/identity
func BenchmarkCall(b *testing.B) {
	keys := identity.NewKeys(b.TempDir() + "/keys.json")
	key, _, err := keys.Add(b.Context(), identity.Key{Name: "ann"})
	if err != nil {
		b.Fatal(err)
	}
	p := &provider{keys: []map[string]any{jwk("rsa", rsaKey())}}
	signedBy := newJWT(b, p, identity.Issuer{Keys: keysURL})
	token := signed(b, jwt.SigningMethodRS256, rsaKey(), nil, nil)
	time.Sleep(2 * 20 * time.Millisecond) // until the file of keys has rested
	guard := identity.NewGuard(&identity.Options{URL: "https://mcp.example", Resource: views, Scopes: []string{"mcp"}, Issuers: []string{issuer}}, keys, signedBy)
	for _, way := range []struct {
		name, token string
		ask         func(*http.Request) (toolbox.Principal, error)
	}{{"none", "", nil}, {"keys", key, guard.Principal}, {"jwt", token, guard.Principal}} {
		b.Run(way.name, func(b *testing.B) {
			h := host.New(interoptest.Tools(), &host.Options{Authenticate: way.ask})
			defer h.Close()
			const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
				`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
			for b.Loop() {
				r := httptest.NewRequest("POST", "/mcp", strings.NewReader(body))
				for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
					"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "echo", "Authorization": "Bearer " + way.token} {
					r.Header.Set(k, v)
				}
				w := httptest.NewRecorder()
				if h.Handler().ServeHTTP(w, r); w.Code != 200 {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}

// BenchmarkGuard measures the time that a guard adds to a call.
func BenchmarkGuard(b *testing.B) {
	keys := identity.NewKeys(b.TempDir() + "/keys.json")
	key, _, err := keys.Add(b.Context(), identity.Key{Name: "ann"})
	if err != nil {
		b.Fatal(err)
	}
	p := &provider{keys: []map[string]any{jwk("rsa", rsaKey())}}
	guard := identity.NewGuard(&identity.Options{URL: "https://mcp.example", Resource: views, Scopes: []string{"mcp"}, Issuers: []string{issuer}},
		keys, newJWT(b, p, identity.Issuer{Keys: keysURL}))
	time.Sleep(2 * 20 * time.Millisecond) // until the file of keys has rested
	for name, token := range map[string]string{"keys": key, "jwt": signed(b, jwt.SigningMethodRS256, rsaKey(), nil, nil)} {
		r := get("/mcp", "Bearer "+token)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := guard.Principal(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
