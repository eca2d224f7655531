//go:build unix

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/internal/testkit/authserver"
	"github.com/indusagi/indus/replica/cluster"
)

// signIns is one sign-in that all replicas use, at a server that requires tokens.
type signIns struct {
	t           *testing.T
	as          *authserver.Server
	url         string
	transports  []http.RoundTripper
	rounds      int
	done, later atomic.Int64 // requests that were answered, and those with an error
}

const user = "dora"

// newSignIns signs in through the first engine.
func newSignIns(t *testing.T, lease time.Duration, engines ...cluster.Engine) *signIns {
	t.Helper()
	s := &signIns{t: t, as: authserver.Start(t, &authserver.Options{Opaque: true, StrictResource: true})}
	s.url = protect(t, s.as)
	for i, e := range engines {
		client, stop, err := newClient(t.Context(), e, lease)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		if i == 0 {
			eventually(t, func() error { return client.SignIn(t.Context(), s.url, "") })
		}
		s.transports = append(s.transports, client.Transport(nil, s.url, ""))
	}
	return s
}

// newClient returns a client with the sign-ins of a cluster.
func newClient(ctx context.Context, e cluster.Engine, lease time.Duration) (_ *oauth.Client, stop func(), _ error) {
	d, err := cluster.OpenDocument(ctx, e, "sign-ins")
	if err != nil {
		return nil, nil, err
	}
	store := oauth.NewFileStore("shared", &oauth.FileStoreOptions{
		Key: strings.Repeat("ab", 32), Shared: &oauth.Shared{Engine: e, Document: d, Lease: lease},
	})
	client, err := oauth.New(&oauth.Options{
		Store: store, Interact: &oauth.Loopback{Open: authserver.Browser{User: user}.Open},
	})
	return client, func() { client.Close(); store.Close(); d.Close() }, err
}

// run ends the access token again and again, and all replicas send a request at once.
func (s *signIns) run(ctx context.Context) {
	for ctx.Err() == nil {
		s.as.Expire(s.t, user)
		s.rounds++
		var all sync.WaitGroup
		for _, rt := range s.transports {
			all.Go(func() {
				switch err := send(s.t.Context(), rt, s.url); {
				case err == nil:
					s.done.Add(1)
				case strings.Contains(err.Error(), "ask again"), strings.Contains(err.Error(), "deadline exceeded"),
					strings.Contains(err.Error(), "connection reset"): // Node ends a connection that is used again
					s.later.Add(1)
				default:
					s.t.Error(err)
				}
			})
		}
		all.Wait()
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// check fails the test if a refresh token was used twice, or if a replica has lost the sign-in.
func (s *signIns) check() {
	s.t.Helper()
	for _, rt := range s.transports {
		eventually(s.t, func() error { return send(s.t.Context(), rt, s.url) })
	}
	n := s.as.Counts(s.t)
	s.t.Logf("%d tokens expired, %d refresh tokens were used; %d requests were answered and %d are to be sent again",
		s.rounds, n["refresh_token"], s.done.Load(), s.later.Load())
	if n["revoked"] > 0 || n["refresh_token: invalid_grant"] > 0 || n["refresh_token"] > s.rounds || n["refresh_token"] == 0 ||
		n["authorization_code"] != 1 {
		s.t.Errorf("the authorization server counts %v", n)
	}
}

// send returns nil if a request is answered.
func send(ctx context.Context, rt http.RoundTripper, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Transport: rt}).Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers %d", answer.StatusCode)
	}
	return nil
}

// protect starts a server that requires tokens of an authorization server, and returns the URL that needs them.
func protect(t *testing.T, as *authserver.Server) string {
	mux := http.NewServeMux()
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	resource, metadata := site.URL+"/mcp", "/.well-known/oauth-protected-resource/mcp"
	mux.HandleFunc(metadata, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"resource": resource, "authorization_servers": []string{as.Issuer}, "scopes_supported": []string{"read"},
		})
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if active, err := introspect(r.Context(), as, token); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		} else if !active {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata="%s%s"`, site.URL, metadata))
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	return resource
}

func introspect(ctx context.Context, as *authserver.Server, token string) (active bool, err error) {
	form := strings.NewReader(url.Values{"token": {token}}.Encode())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, as.URL+"/token/introspection", form)
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(authserver.Machine().ID, authserver.Machine().Secret)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	var status struct{ Active bool }
	if err == nil {
		err = json.Unmarshal(body, &status)
	}
	return status.Active, err
}
