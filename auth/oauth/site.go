package oauth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/secret"
)

// Site serves pages on which people sign in with the browser of any machine. It is for a program with a web server that
// acts for many principals. With Options.Site, [Client.SignInAddress] returns the address of a page. The page shows the
// principal and the server, and the person has to confirm. The authorization server sends the browser back to
// [Site.Callback]. Only the browser in which the person confirmed is accepted there.
//
// Without the confirmation, a principal could send its address to another person, and get the access that this person
// grants (specification 2026-07-28, client/elicitation, "Phishing").
//
// Site is the http.Handler of the paths below /oauth/ of URL. Many clients may share one Site. Its waiting sign-ins are
// in memory, so another process has to forward their requests to this one. [Site.NewID] and [SignInID] are for that.
type Site struct {
	// URL is the address under which browsers reach it: a scheme and a host, such as "https://mcp.example.com".
	URL string
	// Proof returns a function that checks a key which the person types to prove to be the principal. The error of the
	// function means that the key cannot be checked at the moment. If Proof is nil or returns nil, the person only
	// confirms.
	Proof func(principal string) (check func(ctx context.Context, key string) (good bool, err error))

	// NewID returns an unguessable text of letters, digits, "-" and "_": the next link or state of a sign-in. Processes
	// that share URL put their name into it. If NewID is nil, the text is random.
	NewID func() string

	mu      sync.Mutex
	pending map[string]*siteSignIn // by link, and by state
}

// SignInID returns the link or the state that a request to the pages of a [Site] names, or "".
func SignInID(r *http.Request) string {
	if link, isLink := strings.CutPrefix(r.URL.Path, pathSignIn); isLink {
		return link
	}
	return r.URL.Query().Get("state")
}

func (s *Site) newID() string {
	if s == nil || s.NewID == nil {
		return rand.Text()
	}
	return s.NewID()
}

const (
	pathPages    = "/oauth/"
	pathSignIn   = pathPages + "sign-in/" // followed by the link
	pathCallback = pathPages + "callback"
	// maxPending bounds all waiting sign-ins, and maxPendingPerPrincipal the ones of one principal. Each ends after ten
	// minutes.
	maxPending             = 1000
	maxPendingPerPrincipal = 20
)

// Callback returns the callback address of this site, which authorization servers must know. For clients that register
// themselves, the path may be longer.
func (s *Site) Callback() string { return strings.TrimSuffix(s.URL, "/") + pathCallback }

// siteSignIn is a sign-in by a site: an [Interaction], and its only [Redirection].
type siteSignIn struct {
	*pendingAnswer
	site                        *Site
	principal, resource, issuer string
	pathSuffix                  string // the end of the path of the callback
	show                        func(address string)

	link, answerState, authorize string // name is the state of the answer

	browser string // the cookie of the browser that confirmed, or ""; guarded by the lock of the site
}

func (f *siteSignIn) page() sitePage {
	return sitePage{Principal: f.principal, Resource: secret.Target(f.resource), Issuer: bareURL(f.issuer)}
}

// Begin implements [Interaction].
func (f *siteSignIn) Begin(_ context.Context, _, pathSuffix string) (Redirection, error) {
	f.pathSuffix, f.pendingAnswer = pathSuffix, newPendingAnswer()
	return f, nil
}

// URI implements [Redirection].
func (f *siteSignIn) URI() string { return f.site.Callback() + f.pathSuffix }

// Ask implements [Redirection].
func (f *siteSignIn) Ask(ctx context.Context, authorize string) (_ url.Values, err error) {
	f.link, f.authorize = f.site.newID(), authorize
	if f.answerState, err = f.expect(authorize); err != nil {
		return nil, err
	}
	if err := f.site.add(f); err != nil {
		return nil, err
	}
	f.show(strings.TrimSuffix(f.site.URL, "/") + pathSignIn + f.link)
	return f.wait(ctx, nil)
}

// finish sets the outcome for the page of the callback. The link is no longer valid by then.
func (f *siteSignIn) finish(err error) {
	_ = f.Close()
	f.pendingAnswer.finish(err)
}

// Close implements [Redirection].
func (f *siteSignIn) Close() error {
	s := f.site
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending[f.link] != f {
		return nil
	}
	delete(s.pending, f.link)
	delete(s.pending, f.answerState)
	return nil
}

var errTooManySignIns = errors.New("too many sign-ins wait for their people; each ends after ten minutes")

func (s *Site) add(f *siteSignIn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending == nil {
		s.pending = map[string]*siteSignIn{}
	}
	own := 0
	for _, other := range s.pending {
		if other.principal == f.principal {
			own++
		}
	}
	if len(s.pending) >= 2*maxPending || own >= 2*maxPendingPerPrincipal {
		return errTooManySignIns
	}
	s.pending[f.link], s.pending[f.answerState] = f, f
	return nil
}

// find returns the sign-in that waits under a link or a state, or nil.
func (s *Site) find(name string) *siteSignIn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending[name]
}

// confirm binds a sign-in to the browser in which it was confirmed. It returns false if another browser has confirmed
// already.
func (f *siteSignIn) confirm(browser string) bool {
	f.site.mu.Lock()
	defer f.site.mu.Unlock()
	f.browser = cmp.Or(f.browser, browser)
	return equalText(f.browser, browser)
}

// confirmedBy reports whether the person confirmed in this browser, and whether no browser has confirmed yet.
func (f *siteSignIn) confirmedBy(browser string) (same, none bool) {
	f.site.mu.Lock()
	defer f.site.mu.Unlock()
	return f.browser != "" && equalText(f.browser, browser), f.browser == ""
}

// isConfirmed reports whether a browser was sent to the authorization server.
func (f *siteSignIn) isConfirmed() bool {
	_, none := f.confirmedBy("")
	return !none
}

func equalText(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// ServeHTTP serves the pages.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	link, isLink := strings.CutPrefix(r.URL.Path, pathSignIn)
	page, status := sitePage{Text: "There is no such page."}, http.StatusNotFound
	switch {
	case r.Method != http.MethodGet && (r.Method != http.MethodPost || !isLink):
		w.Header().Set("Allow", "GET")
		page, status = sitePage{Text: "This page can only be opened."}, http.StatusMethodNotAllowed
	case isLink:
		page, status = s.serveLink(w, r, link)
	case r.URL.Path == pathCallback, strings.HasPrefix(r.URL.Path, pathCallback+"/"):
		page, status = s.serveCallback(w, r)
	}
	page.write(w, status)
}

// serveLink shows the question, or accepts the confirmation.
func (s *Site) serveLink(w http.ResponseWriter, r *http.Request, link string) (page sitePage, status int) {
	f := s.find(link)
	if f == nil || f.link != link {
		return noSignIn, http.StatusNotFound
	}
	browser := s.browserOf(r)
	if same, none := f.confirmedBy(browser); !same && !none {
		return otherBrowser, http.StatusForbidden
	}
	page = f.page()
	page.Action = pathSignIn + link
	var check func(context.Context, string) (bool, error)
	if s.Proof != nil {
		check = s.Proof(f.principal)
	}
	page.Proof = check != nil
	if r.Method == http.MethodGet {
		s.setCookie(w, cmp.Or(browser, rand.Text())) // the cookie lasts anew; it may come from a sign-in minutes ago
		return page, http.StatusOK
	}
	if originErr := http.NewCrossOriginProtection().Check(r); originErr != nil || browser == "" {
		return otherForm, http.StatusForbidden
	}
	r.Body = http.MaxBytesReader(w, r.Body, 2*maxToken)
	good, err := true, error(nil)
	if check != nil {
		good, err = check(r.Context(), strings.TrimSpace(r.PostFormValue("key")))
	}
	switch {
	case err != nil:
		return sitePage{Text: "Keys cannot be checked at the moment. Try again in a moment."}, http.StatusServiceUnavailable
	case !good:
		page.WrongKey = true
		return page, http.StatusForbidden
	case !f.confirm(browser):
		return otherBrowser, http.StatusForbidden
	}
	s.setCookie(w, browser)
	w.Header().Set("Location", f.authorize)
	return sitePage{}, http.StatusSeeOther
}

// serveCallback accepts the answer of the authorization server (RFC 6749 section 4.1.2). The flow checks it.
func (s *Site) serveCallback(w http.ResponseWriter, r *http.Request) (page sitePage, status int) {
	answer := r.URL.Query()
	f := s.find(answer.Get("state"))
	if f == nil || f.answerState != answer.Get("state") || r.URL.Path != pathCallback+f.pathSuffix {
		return noSignIn, http.StatusNotFound
	}
	if same, _ := f.confirmedBy(s.browserOf(r)); !same {
		return otherBrowser, http.StatusForbidden
	}
	if !f.deliver(answer) {
		return noSignIn, http.StatusNotFound
	}
	select {
	case further := <-f.further:
		w.Header().Set("Location", further)
		return sitePage{}, http.StatusSeeOther
	case <-f.done:
		page = f.page()
		page.Done, page.Failed = true, f.err != nil
	case <-r.Context().Done(): // the browser has gone
	}
	return page, http.StatusOK
}

// cookie returns the cookie that identifies a browser. Without https, any program of this machine may read it, because
// 127.0.0.1 is one host. It is Lax, because the browser does not send a Strict cookie after the redirect of the
// authorization server.
func (s *Site) cookie() *http.Cookie {
	c := &http.Cookie{
		Name: "indus-sign-in", Path: "/", MaxAge: int(signInTime.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if strings.HasPrefix(s.URL, "https:") {
		c.Name, c.Secure = "__Host-"+c.Name, true // no other host of the domain can set it
	}
	return c
}

func (s *Site) setCookie(w http.ResponseWriter, browser string) {
	c := s.cookie()
	c.Value = browser
	http.SetCookie(w, c)
}

// browserOf returns the value of our cookie in a request. It is "" if there is none.
func (s *Site) browserOf(r *http.Request) string {
	if c := r.CookiesNamed(s.cookie().Name); len(c) == 1 && len(c[0].Value) == len(rand.Text()) {
		return c[0].Value
	}
	return ""
}
