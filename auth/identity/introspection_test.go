package identity_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/auth/identity"
)

// introspector gives the answers about tokens that a test sets.
type introspector struct {
	mu       sync.Mutex
	answer   string
	wait     time.Duration
	requests int
	wrong    []string
}

func (i *introspector) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	i.mu.Lock()
	i.requests++
	id, secret, _ := r.BasicAuth()
	if id != "indus" || secret != "s%3Acret" || r.Method != "POST" || r.URL.RawQuery != "" || !strings.Contains(string(body), "token=") {
		i.wrong = append(i.wrong, fmt.Sprint(r.Method, r.URL, id))
	}
	answer, wait := i.answer, i.wait
	i.mu.Unlock()
	select {
	case <-time.After(wait):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	w := httptest.NewRecorder()
	if status := 0; strings.HasPrefix(answer, "HTTP ") {
		_, _ = fmt.Sscanf(answer, "HTTP %d", &status)
		w.Header().Set("Location", "https://evil.example/")
		w.WriteHeader(status)
	}
	_, _ = io.WriteString(w, answer)
	return w.Result(), nil
}

func (i *introspector) setAnswer(answer string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer = answer
}

func (i *introspector) times() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.requests
}

func newIntrospection(t *testing.T, i *introspector) *identity.Introspection {
	t.Helper()
	v, err := identity.NewIntrospection(identity.IntrospectionOptions{
		Issuer: issuer, Endpoint: "https://as.example/introspect", ClientID: "indus", ClientSecret: func() string { return "s:cret" }, Client: &http.Client{Transport: i},
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// activeUntil returns an answer about ann's token.
func activeUntil(exp time.Time) string {
	return fmt.Sprintf(`{"active":true,"iss":%q,"sub":"ann","aud":"https://mcp.example/mcp","scope":"mcp","exp":%d}`, issuer, exp.Unix())
}

func TestIntrospection(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer string
		want   string // of the principal, or of the error
	}{
		"good":            {activeUntil(time.Now().Add(time.Hour)), issuer + "#ann"},
		"no exp":          {`{"active":true,"sub":"ann"}`, issuer + "#ann"},
		"inactive":        {`{"active":false}`, "not active"},
		"active a text":   {`{"active":"true","sub":"ann"}`, "not active"},
		"expired":         {activeUntil(time.Now().Add(-time.Second)), "expired"},
		"exp a text":      {`{"active":true,"sub":"ann","exp":"never"}`, "expired"},
		"another issuer":  {`{"active":true,"sub":"ann","iss":"https://evil.example"}`, "issued by"},
		"nobody":          {`{"active":true}`, "no sub"},
		"typed":           {`{"active":true,"sub":"ann","token_type":"Bearer","token_use":"access","typ":"Bearer"}`, issuer + "#ann"},
		"a refresh token": {`{"active":true,"sub":"ann","token_type":"refresh_token"}`, "token_type is"},
		"used otherwise":  {`{"active":true,"sub":"ann","token_use":"refresh_token"}`, "token_use is"},
		"an ID token":     {`{"active":true,"sub":"ann","typ":"ID"}`, "typ is"},
		"of an app":       {`{"active":true,"sub":"ann","idtyp":"app"}`, "of an application"},
		"null":            {`null`, "not active"},
		"no JSON":         {`<html>`, "invalid character"},
		"too much":        {`{"active":true,"sub":"` + strings.Repeat("x", 2<<20) + `"}`, "larger than"},
		"500":             {"HTTP 500", "500"},
		"a redirect":      {"HTTP 307", "it redirects to https://evil.example, which is not followed"},
	} {
		i := &introspector{answer: tt.answer}
		id, err := newIntrospection(t, i).Verify(t.Context(), "opaque-token-of-ann")
		got := fmt.Sprint(err)
		if err == nil {
			got = string(id.Principal)
		}
		if !strings.Contains(got, tt.want) || strings.Contains(got, "opaque-token") || len(i.wrong) > 0 || i.times() != 1 {
			t.Errorf("%s: %.300s %v", name, got, i.wrong)
		}
	}
}

// An answer is cached for a minute, but not longer than the token is valid. Concurrent requests share one request to
// the server.
func TestIntrospectionIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &introspector{answer: activeUntil(time.Now().Add(100 * time.Second)), wait: time.Second}
		v := newIntrospection(t, i)
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if _, err := v.Verify(t.Context(), "ann"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, tt := range []struct {
			after  time.Duration
			answer string // the answer from then on
			asked  int
			ok     bool
		}{
			{57 * time.Second, "", 1, true}, {2 * time.Second, "", 2, true}, {30 * time.Second, `{"active":false}`, 2, true},
			{12 * time.Second, "", 3, false}, {57 * time.Second, activeUntil(time.Now().Add(time.Hour)), 3, false}, {3 * time.Second, "", 4, true},
		} {
			time.Sleep(tt.after)
			if tt.answer != "" {
				i.setAnswer(tt.answer)
			}
			if _, err := v.Verify(t.Context(), "ann"); (err == nil) != tt.ok || i.times() != tt.asked {
				t.Errorf("%v: asked %d times, %v", tt, i.times(), err)
			}
		}
	})
}

// At most 64 made-up tokens are checked at a time. If the authorization server hangs, requests are refused in bounded
// time.
func TestIntrospectionIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &introspector{wait: time.Hour}
		v := newIntrospection(t, i)
		began, busy := time.Now(), 0
		var all sync.WaitGroup
		var mu sync.Mutex
		for n := range 1000 {
			all.Go(func() {
				_, err := v.Verify(t.Context(), fmt.Sprint("made-up-", n))
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, identity.ErrBusy) {
					busy++
				}
				if err == nil || errors.Is(err, identity.ErrInvalid) {
					t.Errorf("%v", err)
				}
			})
		}
		all.Wait()
		if i.times() != 64 || busy != 1000-64 || time.Since(began) > 10*time.Second {
			t.Errorf("asked %d times, %d busy, %v", i.times(), busy, time.Since(began))
		}
	})
}

// A cancelled request does not wait for the answer. The answer serves the next request.
func TestAQuestionOutlivesItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &introspector{answer: activeUntil(time.Now().Add(time.Hour)), wait: 5 * time.Second}
		v := newIntrospection(t, i)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := v.Verify(ctx, "ann"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Error(err, time.Since(began))
		}
		if _, err := v.Verify(t.Context(), "ann"); err != nil || i.times() != 1 {
			t.Error(err, i.times())
		}
	})
}

// A token that was valid before is checked again, however many made-up tokens are being checked.
func TestMadeUpTokensKeepNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &introspector{answer: activeUntil(time.Now().Add(time.Hour)), wait: 5 * time.Second}
		v := newIntrospection(t, i)
		if _, err := v.Verify(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute) // ann's cache entry has expired
		var all sync.WaitGroup
		for n := range 64 {
			all.Go(func() { _, _ = v.Verify(t.Context(), fmt.Sprint("made-up-", n)) })
		}
		synctest.Wait()
		if _, err := v.Verify(t.Context(), "another"); !errors.Is(err, identity.ErrBusy) {
			t.Errorf("another: %v", err)
		}
		if _, err := v.Verify(t.Context(), "ann"); err != nil {
			t.Errorf("ann: %v", err)
		}
		all.Wait()
	})
}
