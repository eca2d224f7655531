package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	for path, want := range map[string]string{"": "mcp:*: 2 tools", "/f": "mcp:f: 2 tools"} {
		t.Run("/mcp"+path, func(t *testing.T) {
			t.Parallel()
			found := signIn(t.Context(), t, indus+path, person.URL)
			all := map[string]string{}
			for _, c := range realClients() {
				if c.signsIn {
					all[c.name] = want
				}
			}
			if d := cmp.Diff(all, found); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// signIn is what testdata/peers/signin.mjs says of each client.
func signIn(ctx context.Context, t *testing.T, url, person string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(ctx, peers.Node(t), peers.File(t, "signin.mjs"), url, person)
	cmd.Env = append(os.Environ(), "GENKIT_ENV=prod")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found := map[string]string{}
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return found
}
