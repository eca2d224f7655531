package page

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/replica"
)

const (
	// sessionLife is how long a cookie is good after the last request.
	sessionLife = 12 * time.Hour
	maxSessions = 100 // of a visitor
)

// access holds the sessions of visitors.
type access struct {
	links    links
	entering sync.Mutex // held while a link is used

	mu       sync.Mutex
	sessions map[[sha256.Size]byte]*session // by the digest of the cookie
}

func (a *access) open() {
	a.links.secret = []byte(rand.Text() + rand.Text())
	a.links.used = map[string]time.Time{}
	a.sessions = map[[sha256.Size]byte]*session{}
}

// withdraw ends all sessions, and removes the file by which "indus page" makes links.
func (a *access) withdraw() {
	a.links.withdraw()
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.sessions)
}

// session is the session of a browser.
type session struct {
	host    string // of the request that began it
	token   string // of an administrator, checked at each request; "" for the operator
	owner   string // the administrator's principal
	link    string // that began the session of the operator
	expires time.Time
	notice  atomic.Pointer[notice] // about the last action, until it is shown
}

// notice is the result of an action.
type notice struct{ done, failed string }

// visitor is a person who has access to the page.
type visitor struct {
	id      *identity.Identity // nil: the operator
	session *session           // nil: the request has a token or a link of its own
}

// principal returns the name of the visitor for the audit. "" is the local user.
func (v *visitor) principal() string {
	if v.id == nil {
		return ""
	}
	return string(v.id.Principal)
}

// isOperator reports whether the visitor is the operating system's user that runs indus.
func (v *visitor) isOperator() bool { return v.id == nil }

// leaveNotice stores the result of an action for the next page of the session.
func (v *visitor) leaveNotice(done string, err error) {
	result := &notice{done: done}
	if err != nil {
		result = &notice{failed: show.Clean(err.Error())}
	}
	if v.session != nil {
		v.session.notice.Store(result)
	}
}

func (v *visitor) takeNotice() (result notice) {
	if v.session != nil {
		if left := v.session.notice.Swap(nil); left != nil {
			return *left
		}
	}
	return result
}

// The reasons for which a request has no access.
var (
	errNoAccess = errors.New("this page is for the operator of indus, and for administrators")
	errForeign  = errors.New("this request comes from another site, and is refused")
	errNoRight  = errors.New(`this principal may not administer indus: the policy decides by Action::"administer", or, ` +
		`without a policy, the group admin ("indus key add --admin")`)
	errLinkUsed  = errors.New(`this link is used, or too old: "indus page" opens a new one`)
	errLinkTwice = errors.New(`this link was used before: its session has ended, because a stranger may have begun it; ` +
		`"indus page" opens a new one`)
	errNotLocal = errors.New("the operator's links and sessions are good only in a browser on the machine of indus, " +
		"at an address of that machine; administrators sign in from elsewhere")
)

var crossOrigin = http.NewCrossOriginProtection()

// checkOrigin refuses requests that another site sends through the visitor's browser. Other ports of the same host are
// another site too.
func checkOrigin(r *http.Request) error {
	head := r.Header
	site := head.Get("Sec-Fetch-Site")
	isOurs := site == "same-origin" || site == "none"
	switch {
	case crossOrigin.Check(r) != nil:
		return errForeign
	case r.Method != http.MethodGet && r.Method != http.MethodHead && site == "" && head.Get("Origin") == "":
		return errForeign // every browser sends one of them
	case site != "" && !isOurs && head.Get("Sec-Fetch-Mode") != "navigate":
		return errForeign
	}
	return nil
}

// isLocal reports whether a request comes from this machine, and asks for it by an address of its own. A proxy on this
// machine forwards requests of others too, but they ask for the name of the proxy. A request that another replica
// forwarded comes from that machine.
func (s *Site) isLocal(r *http.Request) bool {
	own, err := url.Parse(s.Address)
	if err != nil || replica.From(r.Context()) != nil {
		return false
	}
	isOwn := func(host string) bool {
		ip, err := netip.ParseAddr(host)
		return host == own.Hostname() || strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
	}
	return isOwn(addressOf(r)) && isOwn((&url.URL{Host: r.Host}).Hostname())
}

// identify returns the visitor who sends a request.
func (a *access) identify(s *Site, r *http.Request) (*visitor, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		token, isBearer := strings.CutPrefix(header, "Bearer ")
		switch {
		case !isBearer:
			return nil, errNoAccess
		case s.isLocal(r) && a.links.use(token):
			return &visitor{}, nil
		}
		id, err := s.administrator(r, token)
		return &visitor{id: id}, err
	}
	if len(r.CookiesNamed(cookieName(r))) == 0 {
		return nil, errNoAccess
	}
	if err := checkOrigin(r); err != nil {
		return nil, err
	}
	found := a.find(r)
	switch {
	case found == nil:
		return nil, errNoAccess
	case found.token != "":
		id, err := s.administrator(r, found.token)
		return &visitor{id: id, session: found}, err
	case !s.isLocal(r):
		return nil, errNotLocal
	}
	return &visitor{session: found}, nil
}

// find returns the session of a request, or nil. A program at another port of the same host can add cookies of the same
// name, which are no sessions.
func (a *access) find(r *http.Request) *session {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range r.CookiesNamed(cookieName(r)) {
		key := sha256.Sum256([]byte(c.Value))
		switch one := a.sessions[key]; {
		case one == nil:
		case now.After(one.expires) || one.host != r.Host:
			delete(a.sessions, key)
		default:
			one.expires = now.Add(sessionLife)
			return one
		}
	}
	return nil
}

// administrator returns the identity of a token, if its principal may administer the gateway. The page shows all views,
// so the token must be valid for the view of everything: not a key with views, and not a token for another address.
func (s *Site) administrator(r *http.Request, token string) (*identity.Identity, error) {
	guard := s.Guard()
	if guard == nil {
		return nil, errNoAccess
	}
	all := r.Clone(r.Context())
	all.URL = &url.URL{Path: "/mcp"}
	all.Header = http.Header{"Authorization": {"Bearer " + token}}
	id, err := guard.Authenticate(all)
	refused, _ := errors.AsType[*identity.Refusal](err)
	switch {
	case refused != nil:
		return nil, errors.New(refused.Reason)
	case err != nil:
		return nil, err
	case !s.Control.MayAdminister(id, addressOf(r)):
		return nil, errNoRight
	}
	return id, nil
}

// addressOf returns the IP address that a request comes from.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}

// begin begins a session, and sets its cookie.
func (s *Site) begin(w http.ResponseWriter, r *http.Request, one *session) {
	newID := s.NewID
	if newID == nil {
		newID = func() string { return rand.Text() + rand.Text() }
	}
	value := newID()
	one.host, one.expires = r.Host, time.Now().Add(sessionLife)
	a := &s.access
	a.mu.Lock()
	a.makeRoom(one)
	a.sessions[sha256.Sum256([]byte(value))] = one
	a.mu.Unlock()
	http.SetCookie(w, s.cookie(r, value))
}

// makeRoom ends the session of a visitor that was not used for the longest time, if there are too many for another. The
// sessions of other visitors stay. Call it with mu held.
func (a *access) makeRoom(fresh *session) {
	var own [][sha256.Size]byte
	for key, one := range a.sessions {
		if one.owner == fresh.owner {
			own = append(own, key)
		}
	}
	if len(own) >= maxSessions {
		delete(a.sessions, slices.MinFunc(own, func(x, y [sha256.Size]byte) int {
			return a.sessions[x].expires.Compare(a.sessions[y].expires)
		}))
	}
}

// end ends the sessions that match, and reports whether there are any.
func (a *access) end(match func(*session) bool) (ended bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := len(a.sessions)
	maps.DeleteFunc(a.sessions, func(_ [sha256.Size]byte, one *session) bool { return match(one) })
	return len(a.sessions) < before
}

// cookie returns the cookie of a session. Without a value it removes the cookie.
func (s *Site) cookie(r *http.Request, value string) *http.Cookie {
	c := &http.Cookie{
		Name: cookieName(r), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: s.isSecure(r),
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// isSecure reports whether the browser reaches the page by https: directly, or by the public URL.
func (s *Site) isSecure(r *http.Request) bool {
	u, err := url.Parse(s.PublicURL)
	return r.TLS != nil || err == nil && u.Scheme == "https" && strings.EqualFold(u.Host, r.Host)
}

// cookieName returns the name of the cookie. It contains the port, because cookies belong to a host with all its ports.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		return "indus-page"
	}
	return "indus-page-" + port
}

// enter begins the operator's session by a one-time link. The answer is a page that goes on to "/" by itself: a
// browser that followed a link of another site sends a strict cookie only after this.
//
// Other users of the machine can read the link in the arguments of the browser's process, and be faster. A link that
// comes again thus ends the session that it began, unless the session's own browser loads it again.
func (s *Site) enter(w http.ResponseWriter, r *http.Request) {
	link := r.URL.Query().Get("link")
	own := s.access.find(r)
	switch {
	case r.Method != http.MethodGet:
		notFound(w)
	case r.Header.Get("Sec-Fetch-Dest") == "iframe":
		s.refuse(w, r, errLinkUsed)
	case !s.isLocal(r):
		s.refuse(w, r, errNotLocal)
	case own != nil && own.link == link && link != "":
		writeHTML(w, http.StatusOK, entered())
	default:
		if err := s.useLink(w, r, link); err != nil {
			s.refuse(w, r, err)
			return
		}
		s.record(&audit.Record{Type: "indus.page.enter", Outcome: audit.Allowed, Address: addressOf(r)})
		writeHTML(w, http.StatusOK, entered())
	}
}

// useLink begins the session of a link, or ends the session that the link has begun. Of two browsers with the same link
// at the same time, the second ends the session of the first.
func (s *Site) useLink(w http.ResponseWriter, r *http.Request, link string) error {
	a := &s.access
	a.entering.Lock()
	defer a.entering.Unlock()
	switch {
	case a.links.use(link):
		s.begin(w, r, &session{link: link})
		return nil
	case link != "" && a.end(func(one *session) bool { return one.link == link }):
		s.Streams.Reportf("the page: a link was used twice: its session has ended, because a stranger may have begun it")
		return errLinkTwice
	}
	return errLinkUsed
}

// signIn shows the form for administrators, and begins their session.
func (s *Site) signIn(w http.ResponseWriter, r *http.Request) {
	if s.Guard() == nil {
		s.refuse(w, r, errNoAccess)
		return
	}
	if r.Method != http.MethodPost {
		writeHTML(w, http.StatusOK, signInForm(""))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, MaxForm)
	err := checkOrigin(r)
	token := strings.TrimSpace(r.PostFormValue("token"))
	var id *identity.Identity
	if err == nil {
		id, err = s.administrator(r, token)
	}
	if err != nil {
		writeHTML(w, http.StatusForbidden, signInForm(show.Clean(err.Error())))
		return
	}
	s.begin(w, r, &session{token: token, owner: string(id.Principal)})
	s.record(&audit.Record{
		Type: "indus.page.sign-in", Principal: string(id.Principal), Outcome: audit.Allowed, Address: addressOf(r),
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// signOut ends the session of a visitor.
func (s *Site) signOut(w http.ResponseWriter, v *visit) {
	if v.Method != http.MethodPost {
		notFound(w)
		return
	}
	s.access.end(func(one *session) bool { return one == v.visitor.session })
	http.SetCookie(w, s.cookie(v.Request, ""))
	writeHTML(w, http.StatusOK, noAccess("you are signed out", s.Guard() != nil))
}

// refuse answers a request without access. The status is never 401: an MCP client would try to sign in.
func (s *Site) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if wantsJSON(r) {
		writeJSON(w, http.StatusForbidden, problem{show.Clean(err.Error())})
		return
	}
	writeHTML(w, http.StatusForbidden, noAccess(show.Clean(err.Error()), s.Guard() != nil))
}
