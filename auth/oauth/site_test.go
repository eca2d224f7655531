package oauth_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/internal/testkit/authserver"
)

// newSite returns a site. All principals except "free" prove themselves with the key "key of
// NAME".
func newSite(t *testing.T) *oauth.Site {
	t.Helper()
	s := &oauth.Site{Proof: func(principal string) func(context.Context, string) (bool, error) {
		if principal == "free" {
			return nil
		}
		return func(_ context.Context, key string) (bool, error) {
			if key == "during an outage" {
				return false, errors.New("away")
			}
			return key == "key of "+principal, nil
		}
	}}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	s.URL = web.URL
	return s
}

func jar(t *testing.T) http.CookieJar {
	t.Helper()
	j, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestSite signs people in on the pages of a program. Only the right person can sign in, in one
// browser, once.
func TestSite(t *testing.T) {
	t.Parallel()
	as := authserver.Start(t, nil)
	p, site := protect(t, as, false), newSite(t)
	c := newClient(t, oauth.Options{Site: site})
	begin := func(t *testing.T, principal string) string {
		t.Helper()
		link, err := c.SignInAddress(t.Context(), p.URL+"/mcp", principal)
		if err != nil || !strings.HasPrefix(link, site.URL+"/oauth/sign-in/") {
			t.Fatal(link, err)
		}
		return link
	}
	in := func(t *testing.T, principal string) bool {
		t.Helper()
		st, err := c.Status(t.Context(), p.URL+"/mcp", principal)
		if err != nil {
			t.Fatal(err)
		}
		return st.SignedIn
	}
	shows := func(t *testing.T, page string, err error, want string) {
		t.Helper()
		if err != nil || !strings.Contains(page, want) {
			t.Errorf("%v, no %q in %s", err, want, page)
		}
	}
	t.Run("two principals", func(t *testing.T) {
		for _, principal := range []string{"ann", "free"} {
			link := begin(t, principal)
			page, err := authserver.Get(t.Context(), jar(t), link)
			for _, want := range []string{p.URL + "/mcp", as.Issuer, principal} {
				shows(t, page, err, want)
			}
			page, err = authserver.Browser{User: principal + " upstream"}.SignIn(t.Context(), link, "key of "+principal)
			shows(t, page, err, "<h1>Signed in</h1>")
			wants(t, c.Transport(nil, p.URL+"/mcp", principal), p.URL+"/mcp", "", principal+" upstream")
			page, err = authserver.Browser{}.SignIn(t.Context(), link, "key of "+principal)
			shows(t, page, err, "This link has expired")
		}
		if n := as.Counts(t)["registered"]; n != 1 {
			t.Errorf("registered %d times", n)
		}
	})
	t.Run("somebody else's link", func(t *testing.T) {
		link := begin(t, "eve")
		for _, key := range []string{"", "key of bob"} {
			page, err := authserver.Browser{User: "bob"}.SignIn(t.Context(), link, key)
			shows(t, page, err, "That is no key of <bdi>eve</bdi>")
		}
		page, err := authserver.Browser{}.SignIn(t.Context(), link, "during an outage")
		shows(t, page, err, "Keys cannot be checked at the moment")
		page, err = authserver.Browser{}.SignIn(t.Context(), link[:len(link)-1]+"0", "key of eve")
		shows(t, page, err, "This link has expired")
		if in(t, "eve") {
			t.Error("somebody signed in for eve")
		}
	})
	t.Run("another browser", func(t *testing.T) {
		own, link := jar(t), begin(t, "carl")
		back, _, err := authserver.Browser{User: "bob"}.Confirm(t.Context(), own, link, "key of carl")
		if err != nil || back == nil {
			t.Fatal(back, err)
		}
		for _, other := range []string{back.String(), link} {
			page, err := authserver.Get(t.Context(), jar(t), other)
			shows(t, page, err, "not confirmed in this browser")
		}
		page, err := authserver.Get(t.Context(), own, strings.Replace(back.String(), "state=", "state=x", 1))
		shows(t, page, err, "This link has expired")
		if in(t, "carl") {
			t.Error("it was taken")
		}
		page, err = authserver.Get(t.Context(), own, back.String())
		shows(t, page, err, "<h1>Signed in</h1>")
		page, err = authserver.Get(t.Context(), own, back.String())
		shows(t, page, err, "This link has expired")
	})
	t.Run("answered before it was confirmed", func(t *testing.T) {
		page, err := authserver.Get(t.Context(), jar(t), site.Callback()+"?code=x&state="+strings.TrimPrefix(begin(t, "eve"), site.URL+"/oauth/sign-in/"))
		shows(t, page, err, "This link has expired")
	})
	t.Run("refused", func(t *testing.T) {
		page, err := authserver.Browser{Refuse: true}.SignIn(t.Context(), begin(t, "dora"), "key of dora")
		shows(t, page, err, "<h1>Not signed in</h1>")
	})
	t.Run("forms of other pages", func(t *testing.T) {
		link, own := begin(t, "eve"), jar(t)
		if _, err := authserver.Get(t.Context(), own, link); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			jar  http.CookieJar
			from string
		}{"cross-site": {own, "cross-site"}, "same-site": {own, "same-site"}, "without the cookie": {jar(t), "same-origin"}} {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, link, strings.NewReader(url.Values{"key": {"key of eve"}}.Encode()))
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("Sec-Fetch-Site", c.from)
			res, err := (&http.Client{Jar: c.jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusForbidden {
				t.Errorf("%s: %s", name, res.Status)
			}
		}
	})
}
