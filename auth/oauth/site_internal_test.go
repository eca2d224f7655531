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

// TestSiteIsBounded checks that a principal with many sign-ins leaves room for others, and that each sign-in ends in
// time.
func TestSiteIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, links := &Site{URL: "https://mcp.example.com"}, make(chan string, maxPendingPerPrincipal+2)
		ask := func(principal string) error {
			ctx, cancel := context.WithTimeout(t.Context(), signInTime)
			defer cancel()
			f := &siteSignIn{site: site, principal: principal, show: func(address string) { links <- address }}
			back, err := f.Begin(ctx, "", "")
			if err != nil {
				return err
			}
			defer back.Close()
			_, err = back.Ask(ctx, fmt.Sprintf("https://as.example.com/?state=%s%d", principal, len(links)))
			return err
		}
		for range maxPendingPerPrincipal {
			go ask("eve")
			synctest.Wait()
		}
		if err := ask("eve"); !errors.Is(err, errTooManySignIns) {
			t.Errorf("one more: %v", err)
		}
		failed := make(chan error)
		go func() { failed <- ask("ann") }()
		synctest.Wait()
		link := ""
		for range maxPendingPerPrincipal + 1 {
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
		if err := <-failed; err == nil || err.Error() != "the user has not signed in in time" {
			t.Error(err)
		}
		synctest.Wait()
		if status, _ := open(); status != http.StatusNotFound || len(site.pending) != 0 {
			t.Errorf("%d, %d wait", status, len(site.pending))
		}
	})
}

// TestCookieLastsForTheSignIn checks that a browser which confirms a second sign-in minutes after the first is still
// known when the answer comes.
func TestCookieLastsForTheSignIn(t *testing.T) {
	t.Parallel()
	site := &Site{URL: "https://mcp.example.com"}
	f := &siteSignIn{site: site, principal: "ann", link: "link", answerState: "state", authorize: "https://as.example.com/"}
	if err := site.add(f); err != nil {
		t.Fatal(err)
	}
	visit := func(method string, has *http.Cookie) (int, *http.Cookie) {
		r, w := httptest.NewRequestWithContext(t.Context(), method, pathSignIn+"link", nil), httptest.NewRecorder()
		if has != nil {
			r.AddCookie(has)
		}
		site.ServeHTTP(w, r)
		for _, c := range w.Result().Cookies() {
			return w.Code, c
		}
		return w.Code, nil
	}
	_, first := visit(http.MethodGet, nil)
	for method, want := range map[string]int{http.MethodGet: http.StatusOK, http.MethodPost: http.StatusSeeOther} {
		if status, c := visit(method, first); status != want || c == nil || c.Value != first.Value || c.MaxAge != int(signInTime.Seconds()) {
			t.Errorf("%s: %d, %v", method, status, c)
		}
	}
}

// TestPagesShowTextAsText checks that names from servers and tokens are never markup, in any page.
func TestPagesShowTextAsText(t *testing.T) {
	const hostile = `"'><script>alert(1)</script>&amp;`
	asks := sitePage{Principal: hostile, Resource: hostile, Issuer: hostile, Action: hostile, Proof: true, WrongKey: true}
	done, failed := asks, asks
	done.Done, failed.Done, failed.Failed = true, true, true
	for name, page := range map[string]sitePage{"asks": asks, "done": done, "failed": failed, "says": {Text: hostile}} {
		text := page.text()
		const want = `&#34;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;`
		if strings.Contains(text, "<script") || strings.Contains(text, hostile) || !strings.Contains(text, want) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// The address of a server may contain a key, which callers must not see.
func TestPagesShowNoKeyOfAServer(t *testing.T) {
	f := &siteSignIn{resource: "https://mcp.example.com/s/0123456789abcdefghij/mcp?key=abc"}
	if got, want := f.page().Resource, "https://mcp.example.com/s/<secret>/mcp?…"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
