package authserver

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
)

// Browser is a person with a browser. It signs in as User with any password, and consents to everything.
type Browser struct {
	User   string // "" means alice
	Refuse bool   // aborts at the login form
}

// pagesAtMost limits the pages of a sign-in: two forms and some redirects.
const pagesAtMost = 20

// Open visits an authorization URL, follows it to the client's redirect URI, and visits that too, as a browser does.
func (b Browser) Open(ctx context.Context, authorize string) error {
	back, err := b.Visit(ctx, authorize)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, back.String(), nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// Visit is Open without the last step. It returns the address of the client to which the authorization server redirects
// the browser, for tests that paste it somewhere.
func (b Browser) Visit(ctx context.Context, authorize string) (*url.URL, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	return b.visit(ctx, newSession(jar), authorize)
}

func newSession(jar http.CookieJar) *http.Client {
	return &http.Client{Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// SignIn opens the page of a pending sign-in and confirms it. If the page asks for a key, SignIn enters key. Then it
// goes to the authorization server and back. It returns the last page, or the page of a refusal.
func (b Browser) SignIn(ctx context.Context, link, key string) (page string, err error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", err
	}
	back, page, err := b.Confirm(ctx, jar, link, key)
	if back == nil {
		return page, err
	}
	return Get(ctx, jar, back.String())
}

// Confirm is SignIn without the last step, with the cookies of jar. If the page refuses, back is nil.
func (b Browser) Confirm(
	ctx context.Context, jar http.CookieJar, link, key string,
) (back *url.URL, page string, err error) {
	page, err = Get(ctx, jar, link)
	if err != nil || !strings.Contains(page, "<form") {
		return nil, page, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, link,
		strings.NewReader(url.Values{"key": {key}}.Encode()))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	page, res, err := fetch(newSession(jar), req)
	if err != nil || res.StatusCode/100 != 3 {
		return nil, page, err
	}
	back, err = b.visit(ctx, newSession(jar), res.Header.Get("Location"))
	return back, "", err
}

// Get returns a page as a browser with these cookies sees it.
func Get(ctx context.Context, jar http.CookieJar, address string) (page string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	page, _, err = fetch(newSession(jar), req)
	return page, err
}

func (b Browser) visit(ctx context.Context, c *http.Client, authorize string) (*url.URL, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, authorize, nil)
	if err != nil {
		return nil, err
	}
	home := req.URL.Host
	for range pagesAtMost {
		page, res, err := fetch(c, req)
		if err != nil {
			return nil, err
		}
		next := b.submit
		if res.StatusCode/100 == 3 {
			next = redirected
		}
		if req, err = next(res, page); err != nil {
			return nil, err
		}
		if req.URL.Host != home {
			return req.URL, nil
		}
	}
	return nil, errors.New("the authorization server asks without end")
}

func fetch(c *http.Client, req *http.Request) (string, *http.Response, error) {
	res, err := c.Do(req)
	if err != nil {
		return "", nil, err
	}
	defer res.Body.Close()
	page, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return string(page), res, err
}

func redirected(res *http.Response, _ string) (*http.Request, error) {
	to, err := res.Location()
	if err != nil {
		return nil, err
	}
	return http.NewRequestWithContext(res.Request.Context(), http.MethodGet, to.String(), nil)
}

// submit fills the page's form.
func (b Browser) submit(res *http.Response, page string) (*http.Request, error) {
	action := formAction.FindStringSubmatch(page)
	prompt := formPrompt.FindStringSubmatch(page)
	if action == nil || prompt == nil {
		return nil, fmt.Errorf("no form, but %s: %s", res.Status, strings.Join(strings.Fields(page), " "))
	}
	to, err := res.Request.URL.Parse(html.UnescapeString(action[1]))
	if err != nil {
		return nil, err
	}
	if b.Refuse {
		return http.NewRequestWithContext(res.Request.Context(), http.MethodGet, to.String()+"/abort", nil)
	}
	user := b.User
	if user == "" {
		user = "alice"
	}
	form := url.Values{"prompt": {prompt[1]}, "login": {user}, "password": {"any"}}
	req, err := http.NewRequestWithContext(res.Request.Context(), http.MethodPost, to.String(),
		strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return req, nil
}

var (
	formAction = regexp.MustCompile(`<form[^>]* action="([^"]*)"`)
	formPrompt = regexp.MustCompile(`name="prompt" value="([a-z]*)"`)
)
