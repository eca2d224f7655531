package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/internal/testkit/authserver"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
)

// TestClientsSignIn: clients that people use find out from indus serve where to sign in, do it, and are let in with the scopes
// that the view wants, and no others.
func TestClientsSignIn(t *testing.T) {
	t.Parallel()
	as := authserver.Start(t, &authserver.Options{Scopes: []string{"mcp:*", "mcp:f", "admin"}})
	text := fmt.Sprintf(`{"servers":{"f":{"command":%q,"args":["-bare","-tools","2"]}},
		"auth":{"methods":["jwt"],"issuers":[{"issuer":%q}],"scopes":["mcp:{view}"]}}`, fixture.Build(t), as.Issuer)
	indus := serveFile(t, text, "f")
	person := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		address, _ := url.QueryUnescape(r.URL.RawQuery)
		back, err := authserver.Browser{}.Visit(r.Context(), address)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		_, _ = io.WriteString(w, back.String())
	}))
	t.Cleanup(person.Close)
	scopes := map[string]string{indus: "mcp:*", indus + "/f": "mcp:f"}
	found := map[string]map[string]string{indus: {}, indus + "/f": {}}
	var mu sync.Mutex
	t.Run("programs", func(t *testing.T) {
		for _, program := range []string{"node", "go"} {
			t.Run(program, func(t *testing.T) {
				t.Parallel()
				of := peers.SignIns(t, program, scopes, person.URL)
				mu.Lock()
				defer mu.Unlock()
				for at, clients := range of {
					maps.Copy(found[at], clients)
				}
			})
		}
	})
	var table strings.Builder
	fmt.Fprintf(&table, "| client | version | asks at `/mcp` for | asks at `/mcp/f` for |\n| --- | --- | --- | --- |\n")
	for _, c := range realClients() {
		fmt.Fprintf(&table, "| %s | %s |", c.name, peers.Version(t, c.from))
		for _, at := range []string{indus, indus + "/f"} {
			asked, ok := strings.CutSuffix(found[at][c.name], ": 2 tools")
			if strings.TrimSuffix(asked, " offline_access") != scopes[at] || !ok {
				t.Errorf("%s: asks for %q, want %s: 2 tools", c.name, found[at][c.name], scopes[at])
			}
			fmt.Fprintf(&table, " `%s` |", asked)
		}
		table.WriteString("\n")
	}
	if !t.Failed() {
		published(t, "signing in", table.String())
	}
}
