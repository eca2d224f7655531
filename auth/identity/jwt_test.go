package identity_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/indusagi/indus/auth/identity"
)

const (
	issuer  = "https://as.example/realm"
	keysURL = "https://as.example/keys"
)

// provider is an authorization server in the process, with responses that a test sets.
type provider struct {
	mu       sync.Mutex
	keys     []map[string]any
	serve    func(w http.ResponseWriter) // in place of the keys; nil: the keys are served
	requests map[string]int
}

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	if p.requests == nil {
		p.requests = map[string]int{}
	}
	p.requests[r.URL.String()]++
	keys, serve := p.keys, p.serve
	p.mu.Unlock()
	w := httptest.NewRecorder()
	switch {
	case r.URL.String() == keysURL && serve != nil:
		serve(w)
	case r.URL.String() == keysURL:
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": keys})
	case r.URL.String() == "https://as.example/realm/.well-known/openid-configuration":
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, issuer, keysURL)
	default:
		w.WriteHeader(404)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

func (p *provider) times(url string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[url]
}

func b64(n *big.Int) string { return base64.RawURLEncoding.EncodeToString(n.Bytes()) }

// jwk returns the public key of a signer.
func jwk(kid string, key crypto.Signer) map[string]any {
	switch pub := key.Public().(type) {
	case *rsa.PublicKey:
		return map[string]any{"kty": "RSA", "kid": kid, "use": "sig", "n": b64(pub.N), "e": b64(big.NewInt(int64(pub.E)))}
	case *ecdsa.PublicKey:
		point, err := pub.Bytes() // a byte, x, y
		if err != nil {
			panic(err)
		}
		b64 := base64.RawURLEncoding.EncodeToString
		return map[string]any{"kty": "EC", "kid": kid, "crv": "P-256", "x": b64(point[1:33]), "y": b64(point[33:])}
	case ed25519.PublicKey:
		return map[string]any{"kty": "OKP", "kid": kid, "crv": "Ed25519", "alg": "EdDSA", "x": base64.RawURLEncoding.EncodeToString(pub)}
	}
	panic("no such key")
}

var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

func newEC(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// claimsOf returns the claims of a valid token, with changes. A nil value removes a claim.
func claimsOf(changes map[string]any) jwt.MapClaims {
	c := jwt.MapClaims{"iss": issuer, "sub": "ann|1", "aud": "https://mcp.example/mcp", "exp": time.Now().Add(time.Hour).Unix(), "scope": "mcp read"}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

func signed(t testing.TB, method jwt.SigningMethod, key any, head, claims map[string]any) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claimsOf(claims))
	token.Header["kid"] = "rsa"
	maps.Copy(token.Header, head)
	maps.DeleteFunc(token.Header, func(_ string, v any) bool { return v == nil })
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func newJWT(t testing.TB, p *provider, one identity.Issuer) *identity.JWT {
	t.Helper()
	one.URL = issuer
	j, err := identity.NewJWT(&http.Client{Transport: p}, one)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// If a token has only one defect, its sender learns this defect. For any other token, the sender learns only that it is
// not valid.
func TestWhatAGoodTokenLacksIsTold(t *testing.T) {
	t.Parallel()
	p := &provider{keys: []map[string]any{jwk("rsa", rsaKey())}}
	keys := identity.NewKeys(filepath.Join(t.TempDir(), "keys.json"))
	expired, key := added(t, keys, identity.Key{Expires: time.Now().Add(-time.Second)})
	one, _ := added(t, keys, identity.Key{Views: []string{"github", "@dev"}})
	g := identity.NewGuard(&identity.Options{URL: "https://mcp.example/mcp"}, keys, newJWT(t, p, identity.Issuer{}))
	for want, token := range map[string]string{
		"the API key " + key.ID + " has expired":                                                     expired,
		"the API key is not for this view, but for github, @dev":                                     one,
		"the bearer token has expired":                                                               signed(t, jwt.SigningMethodRS256, rsaKey(), nil, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}),
		`the bearer token is for ["https://other.example/mcp"], and this is https://mcp.example/mcp`: signed(t, jwt.SigningMethodRS256, rsaKey(), nil, map[string]any{"aud": "https://other.example/mcp"}),
		"the bearer token is not valid":                                                              signed(t, jwt.SigningMethodES256, newEC(t), nil, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}),
	} {
		_, err := g.Principal(get("/mcp", "Bearer "+token))
		refused, _ := errors.AsType[*identity.Refusal](err)
		if _, _, reason := refused.Refuse(); reason != want {
			t.Errorf("%q, not %q", reason, want)
		}
	}
}

func TestJWT(t *testing.T) {
	t.Parallel()
	ec, stranger := newEC(t), newEC(t)
	_, ed, _ := ed25519.GenerateKey(nil)
	p := &provider{keys: []map[string]any{
		jwk("rsa", rsaKey()), jwk("ec", ec), jwk("ed", ed), {"kty": "oct", "kid": "oct", "k": "c2VjcmV0"}, {"kty": "new", "kid": "new"},
		{"kty": "RSA", "kid": "enc", "use": "enc", "n": b64(rsaKey().N), "e": "AQAB"},
	}}
	j := newJWT(t, p, identity.Issuer{})
	der, _ := x509.MarshalPKIXPublicKey(rsaKey().Public())
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	with := func(head, claims map[string]any) string {
		return signed(t, jwt.SigningMethodRS256, rsaKey(), head, claims)
	}
	claim := func(name string, v any) string { return with(nil, map[string]any{name: v}) }
	good := with(nil, nil)
	parts := strings.Split(good, ".")
	now := time.Now()
	for name, tt := range map[string]struct {
		token string
		ok    bool
	}{
		"good":                       {good, true},
		"ES256":                      {signed(t, jwt.SigningMethodES256, ec, map[string]any{"kid": "ec"}, nil), true},
		"EdDSA":                      {signed(t, jwt.SigningMethodEdDSA, ed, map[string]any{"kid": "ed"}, nil), true},
		"no kid":                     {with(map[string]any{"kid": nil}, nil), true},
		"at+jwt":                     {with(map[string]any{"typ": "at+jwt"}, nil), true},
		"application/at+jwt":         {with(map[string]any{"typ": "application/AT+JWT"}, nil), true},
		"no typ":                     {with(map[string]any{"typ": nil}, nil), true},
		"several audiences":          {claim("aud", []string{"other", "https://mcp.example/mcp"}), true},
		"expired within the minute":  {claim("exp", now.Add(-20*time.Second).Unix()), true},
		"nbf within the minute":      {claim("nbf", now.Add(50*time.Second).Unix()), true},
		"expired":                    {claim("exp", now.Add(-61*time.Second).Unix()), false},
		"issued within the minute":   {claim("iat", now.Add(30*time.Second).Unix()), true},
		"issued in the future":       {claim("iat", now.Add(90*time.Second).Unix()), true}, // not a reason to refuse (RFC 7519, section 4.1.6)
		"nbf in the future":          {claim("nbf", now.Add(time.Hour).Unix()), false},
		"no exp":                     {claim("exp", nil), false},
		"exp is a text":              {claim("exp", "never"), false},
		"another issuer":             {claim("iss", "https://as.example/realm/"), false},
		"no issuer":                  {claim("iss", nil), false},
		"no subject":                 {claim("sub", nil), false},
		"a subject that is a number": {claim("sub", 7), false},
		"a subject of no text":       {claim("sub", "ann\ufffd"), false},
		"a long subject":             {claim("sub", strings.Repeat("x", 300)), false},
		"an ID token":                {claim("at_hash", "x"), false},
		"an ID token with a nonce":   {with(nil, map[string]any{"nonce": "n", "scope": nil}), false},
		"a nonce and a scope":        {with(nil, map[string]any{"nonce": "n"}), true},
		"an application's":           {claim("idtyp", "app"), false},
		"a person's":                 {claim("idtyp", "user"), true},
		"one for another use":        {claim("token_use", "id"), false},
		"a logout token":             {with(map[string]any{"typ": "logout+jwt"}, nil), false},
		"a refresh token":            {claim("typ", "Refresh"), false},
		"crit":                       {with(map[string]any{"crit": []string{"b64"}}, nil), false},
		"typ is no text":             {with(map[string]any{"typ": 7}, nil), false},
		"alg none":                   {signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, nil), false},
		"HS256 by the public key":    {signed(t, jwt.SigningMethodHS256, public, nil, nil), false},
		"HS256 by its DER":           {signed(t, jwt.SigningMethodHS256, der, nil, nil), false},
		"HS256 by a key of the set":  {signed(t, jwt.SigningMethodHS256, []byte("secret"), map[string]any{"kid": "oct"}, nil), false},
		"an algorithm not listed":    {signed(t, jwt.SigningMethodRS512, rsaKey(), nil, nil), false},
		"the key of another":         {signed(t, jwt.SigningMethodES256, stranger, map[string]any{"kid": "ec"}, nil), false},
		"a key in the head":          {signed(t, jwt.SigningMethodES256, stranger, map[string]any{"kid": "x", "jwk": jwk("x", stranger)}, nil), false},
		"a key for encryption":       {with(map[string]any{"kid": "enc"}, nil), false},
		"an unknown kid":             {with(map[string]any{"kid": "nobody's"}, nil), false},
		"a kid that is a number":     {with(map[string]any{"kid": 7}, nil), false},
		"no signature":               {parts[0] + "." + parts[1] + ".", false},
		"other claims":               {parts[0] + "." + strings.Split(claim("sub", "eve"), ".")[1] + "." + parts[2], false},
		"two parts":                  {parts[0] + "." + parts[1], false},
		"no base64":                  {"ey!.ey!.x", false},
	} {
		id, err := j.Verify(t.Context(), tt.token)
		switch {
		case (err == nil) != tt.ok:
			t.Errorf("%s: %v", name, err)
		case err == nil && (id.Principal != issuer+"#ann%7C1" || !slices.Equal(id.Scopes, []string{"mcp", "read"}) || !slices.Contains(id.Audience, "https://mcp.example/mcp")):
			t.Errorf("%s: %+v", name, id)
		case err != nil && !errors.Is(err, identity.ErrInvalid) && !errors.Is(err, identity.ErrForeign):
			t.Errorf("%s: %v", name, err)
		case err != nil && strings.Contains(err.Error(), parts[2]):
			t.Errorf("%s: the error has the token", name)
		}
	}
}

// NewJWT refuses these configurations.
func TestIssuersThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, one := range []identity.Issuer{
		{}, {URL: "http://as.example"}, {URL: "https://as.example#x"}, {URL: "https://u:p@as.example"}, {URL: "file:///x"},
		{URL: issuer, Keys: "http://as.example/keys"}, {URL: issuer, Algorithms: []string{"HS256"}}, {URL: issuer, Algorithms: []string{"none"}},
	} {
		if _, err := identity.NewJWT(nil, one); err == nil {
			t.Errorf("%+v", one)
		}
	}
	if _, err := identity.NewJWT(nil, identity.Issuer{URL: "http://127.0.0.1:9/", Algorithms: []string{"PS256"}}); err != nil {
		t.Error(err)
	}
}

// A flood of tokens with unknown keys causes one request in five minutes, whether they arrive at once or one after the
// other.
func TestUnknownKeysAskOnce(t *testing.T) {
	rsaKey()
	synctest.Test(t, func(t *testing.T) {
		p := &provider{keys: []map[string]any{jwk("rsa", rsaKey())}}
		j := newJWT(t, p, identity.Issuer{Keys: keysURL})
		stranger := newEC(t)
		flood := func(n int) {
			var all sync.WaitGroup
			for i := range n {
				token := signed(t, jwt.SigningMethodES256, stranger, map[string]any{"kid": fmt.Sprint("made-up-", i)}, nil)
				all.Go(func() { _, _ = j.Verify(t.Context(), token) })
			}
			all.Wait()
		}
		for _, want := range []int{2, 2, 3} { // the first request, and one in five minutes
			if flood(200); p.times(keysURL) != want {
				t.Errorf("asked %d times, want %d", p.times(keysURL), want)
			}
			time.Sleep(160 * time.Second)
		}
	})
}

// A new key is valid as soon as a token names it. A withdrawn key is valid for at most an hour.
func TestKeysRotate(t *testing.T) {
	rsaKey()
	synctest.Test(t, func(t *testing.T) {
		p := &provider{keys: []map[string]any{jwk("rsa", rsaKey())}}
		j := newJWT(t, p, identity.Issuer{})
		old := signed(t, jwt.SigningMethodRS256, rsaKey(), nil, map[string]any{"exp": time.Now().Add(24 * time.Hour).Unix()})
		fresh := newEC(t)
		next := signed(t, jwt.SigningMethodES256, fresh, map[string]any{"kid": "next"}, map[string]any{"exp": time.Now().Add(24 * time.Hour).Unix()})
		check := func(when, token string, ok bool) {
			t.Helper()
			if _, err := j.Verify(t.Context(), token); (err == nil) != ok {
				t.Errorf("%s: %v", when, err)
			}
		}
		check("old", old, true)
		check("next before", next, false)
		time.Sleep(6 * time.Minute)
		p.mu.Lock()
		p.keys = append(p.keys, jwk("next", fresh))
		p.mu.Unlock()
		check("next", next, true)
		check("old beside it", old, true)
		p.mu.Lock()
		p.keys = p.keys[1:]
		p.mu.Unlock()
		check("withdrawn just now", old, true)
		time.Sleep(time.Hour)
		check("withdrawn", old, false)
		check("the other", next, true)
	})
}

// An authorization server that does not answer, or sends too much, does not delay requests with known keys. Without
// known keys, requests are refused.
func TestBadKeySets(t *testing.T) {
	rsaKey()
	huge := func(w http.ResponseWriter) {
		_, _ = io.CopyN(w, strings.NewReader(`{"keys":[`+strings.Repeat(" ", 3<<20)), 3<<20)
	}
	many := func(w http.ResponseWriter) {
		fmt.Fprintf(w, `{"keys":[%s{}]}`, strings.Repeat(`{"kty":"x"},`, 200))
	}
	hangs := func(http.ResponseWriter) { time.Sleep(10 * time.Second) }
	for name, serve := range map[string]func(http.ResponseWriter){
		"huge": huge, "many": many, "hangs": hangs, "500": func(w http.ResponseWriter) { w.WriteHeader(500) },
		"elsewhere": func(w http.ResponseWriter) {
			http.Redirect(w, httptest.NewRequest("GET", "/", nil), "https://evil.example/keys", http.StatusFound)
		},
		"no JSON": func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") },
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &provider{keys: []map[string]any{jwk("rsa", rsaKey())}, serve: serve}
			j := newJWT(t, p, identity.Issuer{})
			token := signed(t, jwt.SigningMethodRS256, rsaKey(), nil, map[string]any{"exp": time.Now().Add(72 * time.Hour).Unix()})
			for range 50 {
				if _, err := j.Verify(t.Context(), token); err == nil || errors.Is(err, identity.ErrInvalid) {
					t.Fatalf("%s: %v", name, err)
				}
			}
			if n := p.times(keysURL); n > 1 {
				t.Errorf("%s: asked %d times", name, n)
			}
			time.Sleep(10 * time.Second)
			p.mu.Lock()
			p.serve = nil
			p.mu.Unlock()
			if _, err := j.Verify(t.Context(), token); err != nil {
				t.Fatalf("%s: after it is well again: %v", name, err)
			}
			p.mu.Lock()
			p.serve = serve
			p.mu.Unlock()
			for _, age := range []time.Duration{2 * time.Hour, 20 * time.Hour} {
				time.Sleep(age)
				if _, err := j.Verify(t.Context(), token); err != nil {
					t.Errorf("%s: the known keys: %v", name, err)
				}
			}
			time.Sleep(3 * time.Hour)
			if _, err := j.Verify(t.Context(), token); err == nil {
				t.Errorf("%s: keys of a day ago", name)
			}
			if n := p.times("https://evil.example/keys"); n != 0 {
				t.Errorf("a redirect was followed")
			}
		})
	}
}

// A cancelled request does not wait, and does not keep other requests from the keys.
func TestAFetchOutlivesItsRequest(t *testing.T) {
	rsaKey()
	synctest.Test(t, func(t *testing.T) {
		p := &provider{keys: []map[string]any{jwk("rsa", rsaKey())}}
		p.serve = func(w http.ResponseWriter) {
			time.Sleep(time.Second)
			_ = json.NewEncoder(w).Encode(map[string]any{"keys": p.keys})
		}
		j := newJWT(t, p, identity.Issuer{Keys: keysURL})
		token := signed(t, jwt.SigningMethodRS256, rsaKey(), nil, nil)
		ctx, cancel := context.WithCancel(t.Context())
		began, over := time.Now(), make(chan error)
		go func() { _, err := j.Verify(ctx, token); over <- err }()
		synctest.Wait()
		cancel()
		if err := <-over; !errors.Is(err, context.Canceled) || time.Since(began) != 0 {
			t.Error(err, time.Since(began))
		}
		if _, err := j.Verify(t.Context(), token); err != nil || p.times(keysURL) != 1 {
			t.Error(err, p.times(keysURL))
		}
	})
}

// FuzzJWT checks that only tokens of the issuer are accepted.
func FuzzJWT(f *testing.F) {
	p := &provider{keys: []map[string]any{jwk("rsa", rsaKey())}}
	j := newJWT(f, p, identity.Issuer{Keys: keysURL})
	good := signed(f, jwt.SigningMethodRS256, rsaKey(), nil, nil)
	f.Add(good)
	f.Add("eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2FzLmV4YW1wbGUvcmVhbG0ifQ.")
	f.Add("ey.ey.ey")
	f.Fuzz(func(t *testing.T, token string) {
		if id, err := j.Verify(t.Context(), token); err == nil && token != good {
			t.Fatalf("%q is %+v", token, id)
		}
	})
}
