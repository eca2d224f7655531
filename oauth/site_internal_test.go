package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

// TestSiteIsBounded: a principal that begins sign-ins leaves room for others, and none outlives its time.
func TestSiteIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, links := &Site{URL: "https://mcp.example.com"}, make(chan string, maxWaitingOf+2)
		ask := func(who string) error {
			ctx, cancel := context.WithTimeout(t.Context(), signInTime)
			defer cancel()
			f := &siteSignIn{site: site, who: who, show: func(address string) { links <- address }}
			back, err := f.Begin(ctx, "")
			if err != nil {
				return err
			}
			defer back.Close()
			_, err = back.Ask(ctx, fmt.Sprintf("https://as.example.com/?state=%s%d", who, len(links)))
			return err
		}
		for range maxWaitingOf {
			go ask("eve")
			synctest.Wait()
		}
		if err := ask("eve"); !errors.Is(err, errManySignIns) {
			t.Errorf("one more: %v", err)
		}
		failed := make(chan error)
		go func() { failed <- ask("ann") }()
		synctest.Wait()
		link := ""
		for range maxWaitingOf + 1 {
			link = <-links
		}
		open := func() (int, http.Header) {
			w := httptest.NewRecorder()
			site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, link, nil))
			return w.Code, w.Header()
		}
		status, header := open()
		if cookie := header.Get("Set-Cookie"); status != http.StatusOK || !strings.HasPrefix(cookie, "__Host-indus-sign-in=") || !strings.HasSuffix(cookie, "; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax") {
			t.Errorf("%d, %q", status, cookie)
		}
		if err := <-failed; err == nil || err.Error() != "nobody has signed in in time" {
			t.Error(err)
		}
		synctest.Wait()
		if status, _ := open(); status != http.StatusNotFound || len(site.waiting)+len(site.counts) != 0 {
			t.Errorf("%d, %d wait of %d", status, len(site.waiting), len(site.counts))
		}
	})
}
