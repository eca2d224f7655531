package oauth_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/internal/testkit/authserver"
)

// TestRenewal tests refresh tokens that end the whole sign-in if they are used twice.
func TestRenewal(t *testing.T) {
	t.Parallel()
	as := authserver.Start(t, &authserver.Options{TTL: 3, Opaque: true, StrictResource: true})
	t.Run("ten who share a store", func(t *testing.T) {
		p, store := protect(t, as, true), &oauth.MemoryStore{}
		if err := newClient(t, oauth.Options{Store: store, Interact: newPerson("dora")}).SignIn(t.Context(), p.URL+"/mcp", ""); err != nil {
			t.Fatal(err)
		}
		var transports []http.RoundTripper
		for range 10 { // like other processes: they share only the store
			transports = append(transports, newClient(t, oauth.Options{Store: store}).Transport(nil, p.URL+"/mcp", ""))
		}
		const rounds = 3
		before, began := as.Counts(t), time.Now()
		for range rounds {
			var all sync.WaitGroup
			for i := range 2 * len(transports) {
				all.Go(func() {
					if status, got, err := send(t, transports[i/2], p.URL+"/mcp", " asks"); err != nil || status != 200 || got != "dora asks" {
						t.Error(status, got, err)
					}
				})
			}
			all.Wait()
			as.Expire(t, "dora")
		}
		wants(t, transports[0], p.URL+"/mcp", "", "dora")
		after := as.Counts(t)
		if n := after["refresh_token"] - before["refresh_token"]; n < rounds || n > 2*rounds+int(time.Since(began)/time.Second) { // some are renewed because time is up
			t.Errorf("%d refreshes in %d rounds", n, rounds)
		}
		if after["refresh_token: invalid_grant"] > 0 || after["revoked"] > 0 {
			t.Error(after)
		}
	})
	t.Run("what another has renewed ends too", func(t *testing.T) {
		as := authserver.Start(t, &authserver.Options{Opaque: true})
		p, store := protect(t, as, true), &oauth.MemoryStore{}
		if err := newClient(t, oauth.Options{Store: store, Interact: newPerson("dora")}).SignIn(t.Context(), p.URL+"/mcp", ""); err != nil {
			t.Fatal(err)
		}
		one, other := newClient(t, oauth.Options{Store: store}).Transport(nil, p.URL+"/mcp", ""), newClient(t, oauth.Options{Store: store}).Transport(nil, p.URL+"/mcp", "")
		wants(t, one, p.URL+"/mcp", "", "dora")
		as.Expire(t, "dora")
		wants(t, other, p.URL+"/mcp", "", "dora")
		as.Expire(t, "dora")
		wants(t, one, p.URL+"/mcp", "", "dora") // by the old token, the other client's token, and its own new one
		if after := as.Counts(t); after["refresh_token"] != 2 || after["authorization_code"] != 1 {
			t.Error(after)
		}
	})
	t.Run("ten processes", func(t *testing.T) {
		p, dir := protect(t, as, true), t.TempDir()
		if err := newClient(t, oauth.Options{Store: storeIn(dir), Interact: newPerson("hugo")}).SignIn(t.Context(), p.URL+"/mcp", ""); err != nil {
			t.Fatal(err)
		}
		before, began := as.Counts(t), time.Now()
		as.Expire(t, "hugo")
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				cmd := exec.Command(os.Args[0], "-test.run=^TestAnotherProcess$")
				cmd.Env = append(os.Environ(), processEnv+"="+dir+" "+p.URL+"/mcp")
				if out, err := cmd.CombinedOutput(); string(out) != "hugo" {
					t.Errorf("%q, %v", out, err)
				}
			})
		}
		all.Wait()
		after := as.Counts(t)
		if n := after["refresh_token"] - before["refresh_token"]; n < 1 || n > 3+int(time.Since(began)/time.Second) || after["refresh_token: invalid_grant"] > 0 || after["revoked"] > 0 {
			t.Error(n, after) // it lives for three seconds: a slow machine needs more than one
		}
	})
	t.Run("a token that was ended", func(t *testing.T) {
		p, store := protect(t, as, true), &oauth.MemoryStore{}
		if err := newClient(t, oauth.Options{Store: store, Interact: newPerson("emil")}).SignIn(t.Context(), p.URL+"/mcp", ""); err != nil {
			t.Fatal(err)
		}
		c := newClient(t, oauth.Options{Store: store})
		rt := c.Transport(nil, p.URL+"/mcp", "")
		wants(t, rt, p.URL+"/mcp", "", "emil")
		as.Revoke(t, "emil")
		_, _, err := send(t, rt, p.URL+"/mcp", "")
		needed, ok := errors.AsType[*oauth.SignInError](err)
		if !ok || needed.Issuer != as.Issuer || !strings.Contains(err.Error(), "no longer valid") {
			t.Fatal(err)
		}
		if s, err := c.Status(t.Context(), p.URL+"/mcp", ""); s.Renews || s.Issuer != as.Issuer || err != nil {
			t.Error(s, err)
		}
		if err := newClient(t, oauth.Options{Store: store, Interact: newPerson("emil")}).SignIn(t.Context(), p.URL+"/mcp", ""); err != nil {
			t.Fatal(err)
		}
		wants(t, rt, p.URL+"/mcp", "", "emil")
	})
	t.Run("before it expires", func(t *testing.T) {
		p, m := protect(t, as, true), authserver.Machine()
		gina := newClient(t, oauth.Options{Interact: newPerson("gina")}).Transport(nil, p.URL+"/mcp", "")
		machine := newClient(t, oauth.Options{Grant: oauth.ClientCredentials, ClientID: m.ID, ClientSecret: oauth.NewSecret(m.Secret)}).Transport(nil, p.URL+"/mcp", "")
		began := time.Now()
		wants(t, gina, p.URL+"/mcp", "", "gina")
		wants(t, machine, p.URL+"/mcp", "", "")
		before := p.refused.Load()
		time.Sleep(1600 * time.Millisecond) // half of its life; no event occurs
		wants(t, gina, p.URL+"/mcp", "", "gina")
		wants(t, machine, p.URL+"/mcp", "", "")
		inTime := time.Since(began) < 3*time.Second // otherwise a token may have expired on its way
		if n := p.refused.Load() - before; n > 0 && inTime || as.Counts(t)["refresh_token"] == 0 {
			t.Errorf("%d requests were refused; %v", n, as.Counts(t))
		}
	})
}

// A wrong clock of the authorization server has no effect. The life of a token is counted from the time of the
// request on this machine.
func TestAuthorizationServerWhoseClockIsWrong(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]int{"ahead": 300, "behind": -300} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := authserver.Start(t, &authserver.Options{ClockAhead: ahead, Opaque: true})
			p, ivy := protect(t, as, true), newPerson("ivy")
			c := newClient(t, oauth.Options{Interact: ivy})
			rt := c.Transport(nil, p.URL+"/mcp", "")
			wants(t, rt, p.URL+"/mcp", "", "ivy")
			if s, err := c.Status(t.Context(), p.URL+"/mcp", ""); err != nil || time.Until(s.Expiry) > time.Hour || time.Until(s.Expiry) < 58*time.Minute {
				t.Error(s, err)
			}
			if n := as.Counts(t)["refresh_token"]; n > 0 {
				t.Errorf("a good token was renewed %d times", n)
			}
			as.Expire(t, "ivy")
			wants(t, rt, p.URL+"/mcp", "", "ivy")
			if n := as.Counts(t)["refresh_token"]; n != 1 || ivy.asked.Load() != 1 {
				t.Errorf("renewed %d times, asked %d times", n, ivy.asked.Load())
			}
		})
	}
}

// The clock of Options decides when a stored token has expired, because processes with other clocks share the store.
func TestTheClockOfAStore(t *testing.T) {
	t.Parallel()
	as := authserver.Start(t, &authserver.Options{Opaque: true})
	p, ivy := protect(t, as, true), newPerson("ivy")
	var passed atomic.Int64
	now := func() time.Time { return time.Now().Add(-48*time.Hour + time.Duration(passed.Load())) }
	c := newClient(t, oauth.Options{Interact: ivy, Now: now})
	rt := c.Transport(nil, p.URL+"/mcp", "")
	wants(t, rt, p.URL+"/mcp", "", "ivy")
	wants(t, rt, p.URL+"/mcp", "", "ivy")
	s, err := c.Status(t.Context(), p.URL+"/mcp", "")
	if left := s.Expiry.Sub(now()); err != nil || left > time.Hour || left < 58*time.Minute {
		t.Errorf("%v are left, %v", left, err)
	}
	if n := as.Counts(t)["refresh_token"]; n > 0 {
		t.Errorf("a good token was renewed %d times", n)
	}
	passed.Store(int64(2 * time.Hour))
	wants(t, rt, p.URL+"/mcp", "", "ivy")
	if n := as.Counts(t)["refresh_token"]; n != 1 {
		t.Errorf("an expired token was renewed %d times", n)
	}
}

const processEnv = "INDUS_TEST_OAUTH"

// TestAnotherProcess is one of the ten processes. Its variable is "DIR URL". It sends one request.
func TestAnotherProcess(t *testing.T) {
	dir, address, ok := strings.Cut(os.Getenv(processEnv), " ")
	if !ok {
		return
	}
	_, body, err := send(t, newClient(t, oauth.Options{Store: storeIn(dir)}).Transport(nil, address, ""), address, "")
	fmt.Print(body)
	if err != nil {
		fmt.Print(err)
	}
	os.Exit(0)
}

// The log of a sign-in has neither a key in the server's address nor text that the authorization server repeats.
func TestLogOfASignInThatEnds(t *testing.T) {
	t.Parallel()
	const where = "/s/0123456789abcdefghij/mcp"
	var log strings.Builder
	a := attack(t, map[string]http.HandlerFunc{
		"/.well-known/oauth-protected-resource" + where: says(`{"resource":"~` + where + `","authorization_servers":["~"]}`),
		where: func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" {
				w.WriteHeader(http.StatusUnauthorized)
			}
		},
		"/token": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.FormValue("grant_type") == "refresh_token" {
				w.WriteHeader(http.StatusBadRequest)
				io.WriteString(w, `{"error":"invalid_grant","error_description":"the-access-token and the-refresh-token of `+where+` are over"}`)
				return
			}
			io.WriteString(w, `{"access_token":"the-access-token","refresh_token":"the-refresh-token","expires_in":1e-9}`)
		},
	})
	c := newClient(t, oauth.Options{Interact: visitor(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err := c.SignIn(t.Context(), a.URL+where, ""); err != nil {
		t.Fatal(err)
	}
	if _, _, err := send(t, c.Transport(nil, a.URL+where, ""), a.URL+where, ""); err != nil {
		t.Fatal(err)
	}
	said := log.String()
	if !strings.Contains(said, "can no longer be renewed") || strings.Contains(said, "the-") || strings.Contains(said, "0123456789") {
		t.Error(said)
	}
}
