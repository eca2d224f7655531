package oauth_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/internal/testkit/authserver"
	"github.com/indusagi/indus/internal/testkit/clustertest"
	"github.com/indusagi/indus/replica/cluster"
)

var sharedKey = strings.Repeat("ab", 32)

// shareIn returns the store of a process that reaches the engine through client.
func shareIn(t *testing.T, client *clustertest.Client, key string, lease time.Duration) *oauth.FileStore {
	t.Helper()
	d, err := cluster.OpenDocument(t.Context(), client, "sign-ins")
	if err != nil {
		t.Fatal(err)
	}
	s := oauth.NewFileStore("shared", &oauth.FileStoreOptions{
		Key: key, Shared: &oauth.Shared{Engine: client, Document: d, Lease: lease},
	})
	t.Cleanup(func() { s.Close(); d.Close() })
	return s
}

// Ten processes use a refresh token once, and nothing secret reaches the engine in plain text.
func TestSharedRenewal(t *testing.T) {
	t.Parallel()
	as := authserver.Start(t, &authserver.Options{Opaque: true, StrictResource: true})
	p := protect(t, as, true)
	var m clustertest.Memory
	first := shareIn(t, m.Connect(), sharedKey, time.Minute)
	if err := newClient(t, oauth.Options{Store: first, Interact: newPerson("dora")}).SignIn(t.Context(), p.URL+"/mcp", ""); err != nil {
		t.Fatal(err)
	}
	var transports []http.RoundTripper
	for range 10 {
		store := shareIn(t, m.Connect(), sharedKey, time.Minute)
		transports = append(transports, newClient(t, oauth.Options{Store: store}).Transport(nil, p.URL+"/mcp", ""))
	}
	const rounds = 3
	for range rounds {
		as.Expire(t, "dora")
		var all sync.WaitGroup
		for _, rt := range transports {
			all.Go(func() {
				if status, got, err := send(t, rt, p.URL+"/mcp", ""); err != nil || status != 200 || got != "dora" {
					t.Error(status, got, err)
				}
			})
		}
		all.Wait()
	}
	if n := as.Counts(t); n["refresh_token"] != rounds || n["refresh_token: invalid_grant"] > 0 || n["revoked"] > 0 {
		t.Error(n)
	}
	e, err := m.Connect().KV("doc-sign-ins").Get(t.Context(), "head")
	if err != nil || bytes.Contains(e.Value, []byte("dora")) || bytes.Contains(e.Value, []byte("access_token")) ||
		bytes.Contains(e.Value, []byte(p.URL)) {
		t.Errorf("the engine has %q, %v", e.Value, err)
	}
}

// A process that loses the engine while it renews stores its tokens afterwards. No other process uses the spent token.
func TestEngineIsLostDuringARenewal(t *testing.T) {
	t.Parallel()
	var m clustertest.Memory
	renewing, watching := m.Connect(), m.Connect()
	var as *authserver.Server
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte("grant_type=refresh_token")) {
			renewing.SetDown(true)
		}
		to, _ := url.Parse(as.URL)
		(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }}).ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	as = authserver.Start(t, &authserver.Options{Opaque: true, Issuer: front.URL})
	p := protect(t, as, true)
	store := shareIn(t, renewing, sharedKey, cluster.MinLease)
	if err := newClient(t, oauth.Options{Store: store, Interact: newPerson("dora")}).SignIn(t.Context(), p.URL+"/mcp", ""); err != nil {
		t.Fatal(err)
	}
	lease := func() string {
		e, err := watching.KV("sign-in-locks").Get(t.Context(), leaseKey(t, watching))
		if err != nil && !errors.Is(err, cluster.ErrNotFound) {
			t.Fatal(err)
		}
		return string(e.Value)
	}
	as.Expire(t, "dora")
	var all sync.WaitGroup
	asks := func(s oauth.Store) {
		rt := newClient(t, oauth.Options{Store: s}).Transport(nil, p.URL+"/mcp", "")
		all.Go(func() {
			status, got, err := send(t, rt, p.URL+"/mcp", "")
			for s == store && err != nil && strings.Contains(err.Error(), "ask again") { // while it cannot be stored
				time.Sleep(10 * time.Millisecond)
				status, got, err = send(t, rt, p.URL+"/mcp", "")
			}
			if err != nil || status != 200 || got != "dora" {
				t.Error(status, got, err)
			}
		})
	}
	asks(store)
	for as.Counts(t)["refresh_token"] == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	held := lease()
	asks(shareIn(t, m.Connect(), sharedKey, time.Minute))
	for now := held; now == held || now == ""; now = lease() { // until the other process has the lock
		time.Sleep(10 * time.Millisecond)
	}
	renewing.SetDown(false)
	all.Wait()
	if n := as.Counts(t); n["refresh_token"] != 1 || n["revoked"] > 0 {
		t.Error(n)
	}
}

// leaseKey returns the key of the lock whose holder left a mark.
func leaseKey(t *testing.T, c *clustertest.Client) (key string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_ = c.KV("sign-in-marks").Watch(ctx, func(change cluster.Change) {
		if change.Current {
			cancel()
		} else if !change.Gone {
			key = change.Key
		}
	})
	return key
}

// A process with another key is refused, and changes nothing. While the engine cannot be reached, sign-ins that are
// known are read, and no lock is given.
func TestSharedStoreWithAnotherKeyOrWithoutEngine(t *testing.T) {
	t.Parallel()
	var m clustertest.Memory
	client := m.Connect()
	s := shareIn(t, client, sharedKey, time.Minute)
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := shareIn(t, m.Connect(), strings.Repeat("cd", 32), time.Minute)
	if err := other.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "INDUS_STORE_KEY") {
		t.Errorf("another key: %v", err)
	}
	if err := other.Put(t.Context(), alice, []byte("x")); err == nil {
		t.Error("another key changes the store")
	}
	put(t, s, alice, "signed in")
	client.SetDown(true)
	wantValue(t, s, alice, "signed in")
	if _, err := s.Lock(t.Context(), alice); !errors.Is(err, cluster.ErrUnavailable) || !strings.Contains(err.Error(), "ask again") {
		t.Errorf("a lock without the engine: %v", err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Put(t.Context(), alice, []byte("later")) }()
	s.Close()
	if err := <-stopped; !errors.Is(err, cluster.ErrUnavailable) {
		t.Errorf("a value without the engine: %v", err)
	}
	client.SetDown(false)
	put(t, s, alice, "granted while it closes")
}

// Values that many processes store at once are all kept.
func TestSharedValuesOfSeveral(t *testing.T) {
	t.Parallel()
	var m clustertest.Memory
	var all sync.WaitGroup
	keyOf := func(i, n int) oauth.Key {
		return oauth.Key{Resource: "https://a.example/mcp", Principal: fmt.Sprint(i, n)}
	}
	const processes, values = 8, 5
	for i := range processes {
		s := shareIn(t, m.Connect(), sharedKey, time.Minute)
		all.Go(func() {
			for n := range values {
				unlock, err := s.Lock(t.Context(), keyOf(i, n))
				if err == nil {
					err = s.Put(t.Context(), keyOf(i, n), []byte("v"))
					unlock()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	s := shareIn(t, m.Connect(), sharedKey, time.Minute)
	if keys, err := s.Keys(t.Context()); len(keys) != processes*values || err != nil {
		t.Errorf("%d values are kept, %v", len(keys), err)
	}
}

// A lock gives the present value, also if this process has not been notified of it yet and reads are old.
func TestSharedLockReadsThePresentValue(t *testing.T) {
	t.Parallel()
	var m clustertest.Memory
	late := m.Connect()
	writes, reads := shareIn(t, m.Connect(), sharedKey, time.Minute), shareIn(t, late, sharedKey, time.Minute)
	steps := 0
	late.SetFaults(func() clustertest.Fault {
		if steps++; steps%2 == 0 {
			return clustertest.Old
		}
		return clustertest.None
	})
	for n := range 20 {
		late.SetDown(true)
		put(t, writes, alice, fmt.Sprint(n))
		late.SetDown(false)
		unlock, err := reads.Lock(t.Context(), alice)
		if err != nil {
			t.Fatal(err)
		}
		wantValue(t, reads, alice, fmt.Sprint(n))
		unlock()
	}
}

// A process that cannot reach the engine for longer than the lease knows that its lock is lost, and another process gets
// the lock.
func TestSharedLockIsLost(t *testing.T) {
	t.Parallel()
	var m clustertest.Memory
	client := m.Connect()
	s := shareIn(t, client, sharedKey, cluster.MinLease)
	unlock, err := s.Lock(t.Context(), alice)
	if err != nil || s.Held(alice) != nil {
		t.Fatal(err, s.Held(alice))
	}
	client.SetDown(true)
	for s.Held(alice) == nil {
		time.Sleep(10 * time.Millisecond)
	}
	if err := s.Held(alice); !strings.Contains(err.Error(), "ask again") {
		t.Error(err)
	}
	later, err := shareIn(t, m.Connect(), sharedKey, cluster.MinLease).Lock(t.Context(), alice)
	if err != nil {
		t.Fatal(err)
	}
	later()
	unlock()
}
