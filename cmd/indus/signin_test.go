package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/indusagi/indus/internal/testkit/authserver"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
)

// TestClientsSignIn checks that real clients discover the authorization server through indus serve and sign in. They
// get the scopes that the view requires, and no others. Some clients request more scopes when the view requires more.
func TestClientsSignIn(t *testing.T) {
	t.Parallel()
	as := authserver.Start(t, &authserver.Options{Scopes: []string{"mcp:*", "mcp:f", "admin"}})
	wanting := func(scopes string) string {
		return fmt.Sprintf(`{"servers":{"f":{"command":%q,"args":["-bare","-tools","2"]}},
			"auth":{"methods":["jwt"],"issuers":[{"issuer":%q}],"scopes":[%s]}}`, fixture.Build(t), as.Issuer, scopes)
	}
	indus, serve, file := serveFile(t, wanting(`"mcp:{view}"`), "f")
	programs := []string{"node", "go"}
	person := newPerson(t, len(programs), func() {
		if err := replaceFile(file, wanting(`"mcp:{view}","admin"`)); err != nil {
			t.Error(err)
		}
		serve.waitFor(&serve.err, `authentication follows "auth" in the configuration now\n`)
	})
	scopes := map[string]string{indus: "mcp:*", indus + "/f": "mcp:f"}
	found := map[string]map[string]string{indus: {}, indus + "/f": {}, "more": {}}
	var mu sync.Mutex
	t.Run("programs", func(t *testing.T) {
		for _, program := range programs {
			t.Run(program, func(t *testing.T) {
				t.Parallel()
				of := peers.SignIns(t, program, scopes, person)
				mu.Lock()
				defer mu.Unlock()
				for at, clients := range of {
					maps.Copy(found[at], clients)
				}
			})
		}
	})
	var table strings.Builder
	fmt.Fprintf(&table,
		"| client | version | asks at `/mcp` for | at `/mcp/f` for | asks for more |\n| --- | --- | --- | --- | --- |\n")
	for _, c := range realClients() {
		fmt.Fprintf(&table, "| %s | %s |", c.name, peers.Version(t, c.from))
		for _, at := range []string{indus, indus + "/f"} {
			asked, ok := scopeSet(found[at][c.name])
			if strings.TrimSuffix(asked, " offline_access") != scopes[at] || !ok {
				t.Errorf("%s: asks for %q, want %s: 2 tools", c.name, found[at][c.name], scopes[at])
			}
			fmt.Fprintf(&table, " `%s` |", asked)
		}
		more, ok := scopeSet(found["more"][c.name])
		if ok {
			more = "`" + more + "`"
		} else if more = "no"; strings.HasPrefix(c.name, "go-sdk") || c.program == "mcporter" {
			t.Errorf("%s: asks for more: %q", c.name, found["more"][c.name])
		}
		fmt.Fprintf(&table, " %s |\n", more)
	}
	if !t.Failed() {
		published(t, "signing in", table.String())
	}
}

// scopeSet returns a client's scopes in order, if it then listed both tools. Scopes have no order, and go-sdk uses a
// map.
func scopeSet(outcome string) (set string, ok bool) {
	scopes, ok := strings.CutSuffix(outcome, ": 2 tools")
	all := strings.Fields(scopes)
	slices.Sort(all)
	return strings.Join(all, " "), ok
}

// newPerson returns the URL of a user's browser that signs in at ?ADDRESS and returns the final address. Requests for
// /more wait for more, which runs when many of them have arrived.
func newPerson(t *testing.T, many int, more func()) string {
	var asked atomic.Int32
	done := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		address, _ := url.QueryUnescape(r.URL.RawQuery)
		back, err := authserver.Browser{}.Visit(r.Context(), address)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		_, _ = io.WriteString(w, back.String())
	})
	mux.HandleFunc("/more", func(_ http.ResponseWriter, r *http.Request) {
		if int(asked.Add(1)) == many {
			more()
			close(done)
		}
		select {
		case <-done:
		case <-r.Context().Done(): // not earlier, because one of the programs may first be compiled for minutes
		}
	})
	person := httptest.NewServer(mux)
	t.Cleanup(person.Close)
	return person.URL
}
