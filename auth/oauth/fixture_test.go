package oauth_test

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/internal/testkit/authserver"
)

// protected is a server that requires tokens of an authorization server. Its answer is the
// subject of the token. ?scope= names the scope that a request needs besides "read".
type protected struct {
	*httptest.Server
	as       *authserver.Server
	keys     map[string]*rsa.PublicKey // nil: tokens are checked at the authorization server
	answered atomic.Int64
	refused  atomic.Int64
	expired  atomic.Int64 // tokens that had expired when they arrived
}

func protect(t *testing.T, as *authserver.Server, opaque bool) *protected {
	t.Helper()
	p := &protected{as: as}
	if !opaque {
		p.keys = keysOf(t, as)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"resource": p.URL + "/mcp", "authorization_servers": []string{as.Issuer}, "scopes_supported": []string{"read"}})
	})
	mux.HandleFunc("/mcp", p.serve)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *protected) serve(w http.ResponseWriter, r *http.Request) {
	challenge := fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, p.URL)
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	subject, scopes, err := "", []string(nil), errors.New("no token")
	if ok {
		if subject, scopes, err = p.check(r.Context(), token); err != nil {
			p.expired.Add(1)
			challenge += `, error="invalid_token"`
		}
	}
	if err != nil {
		p.refused.Add(1)
		w.Header().Set("WWW-Authenticate", challenge)
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	if need := r.URL.Query().Get("scope"); need != "" && !slices.Contains(scopes, need) {
		p.refused.Add(1)
		w.Header().Set("WWW-Authenticate", challenge+`, error="insufficient_scope", scope="`+need+`"`)
		w.WriteHeader(http.StatusForbidden)
		return
	}
	p.answered.Add(1)
	body, _ := io.ReadAll(r.Body)
	fmt.Fprint(w, subject, string(body))
}

func (p *protected) check(ctx context.Context, token string) (subject string, scopes []string, err error) {
	var c struct {
		jwt.RegisteredClaims
		Scope  string `json:"scope"`
		Active bool   `json:"active"`
	}
	if p.keys == nil {
		err := introspect(ctx, p.as, token, &c)
		if err == nil && (!c.Active || !slices.Contains(c.Audience, p.URL+"/mcp")) {
			err = errors.New("not active")
		}
		return c.Subject, strings.Fields(c.Scope), err
	}
	_, err = jwt.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) { return p.keys[t.Header["kid"].(string)], nil },
		jwt.WithAudience(p.URL+"/mcp"), jwt.WithIssuer(p.as.Issuer), jwt.WithValidMethods([]string{"RS256"}), jwt.WithExpirationRequired())
	return c.Subject, strings.Fields(c.Scope), err
}

func introspect(ctx context.Context, as *authserver.Server, token string, v any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, as.URL+"/token/introspection", strings.NewReader(url.Values{"token": {token}}.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(authserver.Machine().ID, authserver.Machine().Secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return json.NewDecoder(res.Body).Decode(v)
}

func keysOf(t *testing.T, as *authserver.Server) map[string]*rsa.PublicKey {
	t.Helper()
	res, err := http.Get(as.URL + "/jwks")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var set struct {
		Keys []struct{ Kid, N, E string }
	}
	if err := json.NewDecoder(res.Body).Decode(&set); err != nil {
		t.Fatal(err)
	}
	keys := map[string]*rsa.PublicKey{}
	for _, k := range set.Keys {
		n, _ := base64.RawURLEncoding.DecodeString(k.N)
		e, _ := base64.RawURLEncoding.DecodeString(k.E)
		keys[k.Kid] = &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
	}
	return keys
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// newClient returns a client that is closed at the end of the test.
func newClient(t *testing.T, o oauth.Options) *oauth.Client {
	t.Helper()
	c, err := oauth.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// person is a person with a browser. It counts how often it is asked.
type person struct {
	oauth.Loopback
	asked atomic.Int64
}

func newPerson(user string) *person {
	p := &person{}
	p.Open = func(ctx context.Context, authorize string) error {
		p.asked.Add(1)
		return authserver.Browser{User: user}.Open(ctx, authorize)
	}
	return p
}

// altered changes the address that a person's browser gets, or the answer that it brings back.
type altered struct {
	oauth.Interaction
	address, answer func(url.Values)
}

func (a *altered) Begin(ctx context.Context, redirect, own string) (oauth.Redirection, error) {
	r, err := a.Interaction.Begin(ctx, redirect, own)
	return &alteredAnswer{r, a}, err
}

type alteredAnswer struct {
	oauth.Redirection
	by *altered
}

func (a *alteredAnswer) Ask(ctx context.Context, authorize string) (url.Values, error) {
	if u, err := url.Parse(authorize); err == nil && a.by.address != nil {
		q := u.Query()
		a.by.address(q)
		u.RawQuery = q.Encode()
		authorize = u.String()
	}
	answer, err := a.Redirection.Ask(ctx, authorize)
	if err == nil && a.by.answer != nil {
		a.by.answer(answer)
	}
	return answer, err
}

// send posts body, and returns the status and the body of the answer.
func send(t *testing.T, rt http.RoundTripper, address, body string) (int, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Transport: rt}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

// wants fails unless the answer is 200 and has the body.
func wants(t *testing.T, rt http.RoundTripper, address, body, want string) {
	t.Helper()
	status, got, err := send(t, rt, address, body)
	if err != nil || status != http.StatusOK || got != want {
		t.Fatalf("got %d %q, %v; want %q", status, got, err, want)
	}
}

// recorded is a store that records the values that it gets.
type recorded struct {
	oauth.MemoryStore
	puts []map[string]any
}

func (r *recorded) Put(ctx context.Context, k oauth.Key, value []byte) error {
	var v map[string]any
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	r.puts = append(r.puts, v)
	return r.MemoryStore.Put(ctx, k, value)
}

func (r *recorded) secrets(t *testing.T) (found []string) {
	t.Helper()
	for _, put := range r.puts {
		for _, name := range []string{"access_token", "refresh_token", "secret"} {
			if s, ok := put[name].(string); ok {
				found = append(found, s)
			}
		}
	}
	if len(found) < 2 {
		t.Errorf("the store has few secrets: %v", r.puts)
	}
	return found
}
