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

// Site is where people sign in by the browser of any machine: pages of a program that has a web server, and acts for many. With
// Options.Site [Client.SignInAddress] returns the address of a page that says who signs in, and where, and that a person has to
// confirm; the authorization server sends the browser back to [Site.Callback], and only the one that confirmed is listened to.
// Without that, who asks could send the address to somebody else, and be let in with what that person grants
// (specification 2026-07-28, client/elicitation, "Phishing").
//
// It is the http.Handler of the paths below /oauth/ of URL. Many clients may share one. What waits is in memory: another
// process cannot go on with it.
type Site struct {
	// URL is where browsers reach it: a scheme and a host, such as "https://mcp.example.com".
	URL string
	// Proof is how the person proves to be the principal: what it returns checks a key that is typed in; its error means that
	// nobody can say at the moment. nil, or where it returns nil: the person confirms, and nothing else.
	Proof func(who string) (check func(ctx context.Context, key string) (good bool, err error))

	mu      sync.Mutex
	waiting map[string]*siteSignIn // by link, and by state
	counts  map[string]int         // by principal
}

const (
	pathPages    = "/oauth/"
	pathSignIn   = pathPages + "sign-in/" // and the link
	pathCallback = pathPages + "callback"
	// maxWaiting bounds the sign-ins that wait for their people, and maxWaitingOf those of one principal. Each ends after ten minutes.
	maxWaiting   = 1000
	maxWaitingOf = 20
)

// Callback is the address at which authorization servers have to know the clients of this site. Where those register
// themselves, the path may go on.
func (s *Site) Callback() string { return strings.TrimSuffix(s.URL, "/") + pathCallback }

// siteSignIn is a sign-in by a site: an [Interaction], and its one [Redirection].
type siteSignIn struct {
	*awaited
	site                  *Site
	who, resource, issuer string
	own                   string // the end of the path of the callback
	show                  func(address string)

	link, name, authorize string // name is the state of the answer

	browser string // the cookie of the one that confirmed; "": none has. It belongs to the lock of the site
}

func (f *siteSignIn) page() sitePage {
	return sitePage{Who: f.who, Resource: secret.Target(f.resource), Issuer: bareURL(f.issuer)}
}

// Begin implements [Interaction].
func (f *siteSignIn) Begin(_ context.Context, _, own string) (Redirection, error) {
	f.own, f.awaited = own, newAwaited()
	return f, nil
}

// URI implements [Redirection].
func (f *siteSignIn) URI() string { return f.site.Callback() + f.own }

// Ask implements [Redirection].
func (f *siteSignIn) Ask(ctx context.Context, authorize string) (_ url.Values, err error) {
	f.link, f.authorize = rand.Text(), authorize
	if f.name, err = f.expect(authorize); err != nil {
		return nil, err
	}
	if err := f.site.add(f); err != nil {
		return nil, err
	}
	f.show(strings.TrimSuffix(f.site.URL, "/") + pathSignIn + f.link)
	return f.answer(ctx, nil)
}

// ended lets the page of the callback say what has come of it. The link is no longer good by then.
func (f *siteSignIn) ended(err error) {
	_ = f.Close()
	f.awaited.ended(err)
}

// Close implements [Redirection].
func (f *siteSignIn) Close() error {
	s := f.site
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[f.link] != f {
		return nil
	}
	delete(s.waiting, f.link)
	delete(s.waiting, f.name)
	if s.counts[f.who]--; s.counts[f.who] == 0 {
		delete(s.counts, f.who)
	}
	return nil
}

var errManySignIns = errors.New("too many sign-ins wait for their people; each ends after ten minutes")

func (s *Site) add(f *siteSignIn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting, s.counts = map[string]*siteSignIn{}, map[string]int{}
	}
	if len(s.waiting) >= 2*maxWaiting || s.counts[f.who] >= maxWaitingOf {
		return errManySignIns
	}
	s.waiting[f.link], s.waiting[f.name] = f, f
	s.counts[f.who]++
	return nil
}

// of is the sign-in that waits under a link or a state; nil: none does.
func (s *Site) of(name string) *siteSignIn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting[name]
}

// confirmed binds a sign-in to the browser in which it was confirmed; false where that was another one.
func (f *siteSignIn) confirmed(browser string) bool {
	f.site.mu.Lock()
	defer f.site.mu.Unlock()
	f.browser = cmp.Or(f.browser, browser)
	return sameText(f.browser, browser)
}

// confirmedBy reports whether a browser is the one that confirmed, and whether none has yet.
func (f *siteSignIn) confirmedBy(browser string) (same, none bool) {
	f.site.mu.Lock()
	defer f.site.mu.Unlock()
	return f.browser != "" && sameText(f.browser, browser), f.browser == ""
}

// isConfirmed reports that a browser was sent to the authorization server.
func (f *siteSignIn) isConfirmed() bool {
	_, none := f.confirmedBy("")
	return !none
}

func sameText(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// ServeHTTP serves the pages.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	link, isLink := strings.CutPrefix(r.URL.Path, pathSignIn)
	switch {
	case r.Method != http.MethodGet && (r.Method != http.MethodPost || !isLink):
		w.Header().Set("Allow", "GET")
		sitePage{Say: "This page can only be opened."}.write(w, http.StatusMethodNotAllowed)
	case isLink:
		s.serveLink(w, r, link)
	case r.URL.Path == pathCallback, strings.HasPrefix(r.URL.Path, pathCallback+"/"):
		s.serveCallback(w, r)
	default:
		sitePage{Say: "There is no such page."}.write(w, http.StatusNotFound)
	}
}

// serveLink asks the person, or takes the confirmation.
func (s *Site) serveLink(w http.ResponseWriter, r *http.Request, link string) {
	f := s.of(link)
	if f == nil || f.link != link {
		noSignIn.write(w, http.StatusNotFound)
		return
	}
	browser := s.browserOf(r)
	if same, none := f.confirmedBy(browser); !same && !none {
		otherBrowser.write(w, http.StatusForbidden)
		return
	}
	page := f.page()
	page.Action = pathSignIn + link
	var check func(context.Context, string) (bool, error)
	if s.Proof != nil {
		check = s.Proof(f.who)
	}
	page.Proof = check != nil
	if r.Method == http.MethodGet {
		s.mark(w, cmp.Or(browser, rand.Text())) // which lasts anew: it may be that of a sign-in minutes ago
		page.write(w, http.StatusOK)
		return
	}
	if foreign := http.NewCrossOriginProtection().Check(r); foreign != nil || browser == "" { // another page's form, which the cookie does not come with
		sitePage{Say: "This was not confirmed on the page itself, or your browser blocks its cookie. Open the link again."}.write(w, http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 2*maxToken)
	good, err := true, error(nil)
	if check != nil {
		good, err = check(r.Context(), strings.TrimSpace(r.PostFormValue("key")))
	}
	switch {
	case err != nil:
		sitePage{Say: "Keys cannot be checked at the moment. Try again in a moment."}.write(w, http.StatusServiceUnavailable)
	case !good:
		page.Wrong = true
		page.write(w, http.StatusForbidden)
	case !f.confirmed(browser):
		otherBrowser.write(w, http.StatusForbidden)
	default:
		s.mark(w, browser)
		siteHeaders(w.Header())
		w.Header().Set("Location", f.authorize)
		w.WriteHeader(http.StatusSeeOther)
	}
}

// serveCallback takes the answer of the authorization server (RFC 6749 section 4.1.2), which the flow checks.
func (s *Site) serveCallback(w http.ResponseWriter, r *http.Request) {
	answer := r.URL.Query()
	f := s.of(answer.Get("state"))
	if f == nil || f.name != answer.Get("state") || r.URL.Path != pathCallback+f.own {
		noSignIn.write(w, http.StatusNotFound)
		return
	}
	if same, _ := f.confirmedBy(s.browserOf(r)); !same {
		otherBrowser.write(w, http.StatusForbidden)
		return
	}
	if !f.take(answer) {
		noSignIn.write(w, http.StatusNotFound)
		return
	}
	select {
	case <-f.over:
	case <-r.Context().Done():
		return
	}
	page := f.page()
	page.Done, page.Failed = true, f.err != nil
	page.write(w, http.StatusOK)
}

// cookie is what a browser is known by. Without https it may be that of any program of this machine, as 127.0.0.1 is one host.
// It is Lax, as a Strict one does not come with the redirect of the authorization server.
func (s *Site) cookie() *http.Cookie {
	c := &http.Cookie{Name: "indus-sign-in", Path: "/", MaxAge: int(signInTime.Seconds()), HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if strings.HasPrefix(s.URL, "https:") {
		c.Name, c.Secure = "__Host-"+c.Name, true // which no other host of the domain can set
	}
	return c
}

func (s *Site) mark(w http.ResponseWriter, browser string) {
	c := s.cookie()
	c.Value = browser
	http.SetCookie(w, c)
}

// browserOf is the cookie of a request; "" where it has none of ours.
func (s *Site) browserOf(r *http.Request) string {
	if c := r.CookiesNamed(s.cookie().Name); len(c) == 1 && len(c[0].Value) == len(rand.Text()) {
		return c[0].Value
	}
	return ""
}
