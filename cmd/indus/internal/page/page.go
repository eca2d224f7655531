// Package page is the web page of a running "indus serve". It shows servers, calls and approvals, and has the actions
// of an operator.
//
// Begin with [New]. A [Site] serves the paths of the page at the root of the address, beside /mcp:
//
//	/servers, /calls, …   a section: a GET shows it, and a POST below it is an action
//	/enter?link=…         a one-time link, which [Site.Link] returns
//	/sign-in              for administrators with a token
//	/events               server-sent events: which sections have changed
//
// Each section is a file: a function that returns the section's data, and a file of HTML (NAME_html.go) that renders
// them. With "Accept: application/json", the same data are the answer, as JSON.
//
// # Access
//
// A visitor is the operator, who is the operating system's user that runs indus, or an administrator. The operator
// proves this by a one-time link, which only this user can make. Administrators have a token that the gateway accepts,
// and the right Action::"administer" (see control.Control.MayAdminister). The page has no other visitors. The cookie of
// a visitor is good for one Host, for [sessionLife].
//
// # Hostile text
//
// Names, descriptions, arguments, results and log lines come from servers and clients. The HTML escapes them, and
// addresses have one of a few schemes (checkedAddress). The content security policy permits only the style sheet and
// the script of this package, no inline script, no frame, and no other host.
//
// # Concurrency
//
// A Site serves any number of requests at the same time. Without a visitor nothing runs: the changes are watched only
// while a browser reads /events.
package page

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
	"maragu.dev/gomponents"
)

// Options has the parts of the running gateway that the page shows. All fields without a remark are required.
type Options struct {
	Gateway *gateway.Gateway
	Control *control.Control // the guard of Gateway, with an Activity, Approvals and a Policy
	// Config returns the configuration that is served now.
	Config func() *mcpconfig.Config
	// Guard returns the guard that authenticates clients now, or nil if clients do not authenticate.
	Guard func() *identity.Guard
	// Keys returns the API keys that clients authenticate by now, or nil.
	Keys func() *identity.Keys
	// Ledger waits until the ledger is read, and returns it. It returns nil if none is kept.
	Ledger func(context.Context) ledger.Log
	// PolicyProblem returns the reason why the policy cannot be used as it is now, or nil.
	PolicyProblem func() error
	// WatchPolicy calls changed when the policy or its problem has changed, until stop has returned.
	WatchPolicy func(changed func()) (stop func())
	// RunsAt returns the replica that runs a server, if it runs once in a cluster, or "". Restart starts such a server
	// again.
	RunsAt  func(server string) string
	Restart func(ctx context.Context, server string) error
	// Replicas returns sentences about replicas that are missing or differ, for the overview. Nil: there are none.
	Replicas func() []string
	// NewID returns an unguessable text for the cookie of a session, with the name of a replica. Nil makes a random text.
	NewID func() string
	// AuditPath is the file of the audit. It is "" if requests are not recorded.
	AuditPath string
	SignIns   *signin.Tokens
	// Address is the scheme and host for programs of this machine, and PublicURL the one for others, or "".
	Address, PublicURL string
	Streams            show.Streams
}

// Site is the page of one gateway.
type Site struct {
	Options
	access  access
	changes changes
	ctx     context.Context // ends with the site
	close   func()

	verifying sync.Mutex // held during a check of the audit
}

// New returns the page of a gateway. The caller closes it before the gateway.
func New(o Options) *Site {
	s := &Site{Options: o, changes: changes{streams: map[string]int{}}}
	s.ctx, s.close = context.WithCancel(context.Background())
	s.access.open()
	return s
}

// mcpURL returns the URL at which clients connect.
func (s *Site) mcpURL() string { return cmp.Or(s.PublicURL, s.Address) + "/mcp" }

// Close ends the open streams and sessions, and removes the file by which "indus page" finds the page. Calls of tools
// go on until the gateway is drained.
func (s *Site) Close() {
	s.close()
	s.access.withdraw()
}

// section is one part of the page.
type section struct {
	path  string // after "/"
	title string
	// fields are the names of the fields of the query, separated by blanks.
	fields string
	// data returns the content.
	data func(*visit) (*content, error)
	// actions are POST requests below the path. Each returns a sentence for the visitor about what it has done.
	actions map[string]func(*visit) (done string, err error)
}

// content is what a section shows: data as JSON, or html.
type content struct {
	data any
	html func() gomponents.Node // called once all data are there
}

// sections lists the sections in the order of the navigation.
var sections []*section

func init() {
	sections = []*section{
		&homeSection, &approvalsSection, &changesSection, &serversSection, &callsSection, &signInsSection,
		&usageSection, &trySection, &connectSection, &policySection, &auditSection,
	}
}

// homeSection is the section at "/".
var homeSection = section{
	path: "", title: "Overview",
	data: readOverview,
}

// visit is a request of a visitor who has access.
type visit struct {
	*http.Request
	site    *Site
	section *section
	visitor *visitor
	notice           // of the last action
	answer  *content // of an action that has an answer of its own
	reason  string   // for the audit, in place of an error that may contain arguments of a call
}

// MaxForm bounds the body of an action, in bytes.
const MaxForm = 1 << 20

// ServeHTTP serves the page. The gateway has checked Host and Origin.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	file, isStatic := strings.CutPrefix(path, "static/")
	name, action, _ := strings.Cut(path, "/")
	index := slices.IndexFunc(sections, func(c *section) bool { return c.path == name })
	switch {
	case isStatic:
		setHeaders(w)
		serveStatic(w, r, file)
		return
	case !isBrowser(r) && !wantsJSON(r): // such as an MCP client with a wrong URL: it must not try to sign in
		notFound(w)
		return
	case path == "enter":
		setHeaders(w)
		s.enter(w, r)
		return
	case path == "sign-in":
		setHeaders(w)
		s.signIn(w, r)
		return
	case index < 0 && path != "events" && path != "sign-out":
		notFound(w)
		return
	}
	setHeaders(w)
	who, err := s.access.identify(s, r)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	switch v := (&visit{Request: r, site: s, visitor: who}); {
	case path == "events":
		s.serveEvents(w, v)
	case path == "sign-out":
		s.signOut(w, v)
	default:
		v.section = sections[index]
		v.serve(w, action)
	}
}

// serve answers a request for a section.
func (v *visit) serve(w http.ResponseWriter, action string) {
	switch {
	case action == "" && (v.Method == http.MethodGet || v.Method == http.MethodHead):
		if v.Header.Get("Sec-Fetch-Dest") != "empty" { // the script refreshes a page, which keeps its notice
			v.notice = v.visitor.takeNotice()
		}
		v.show(w, http.StatusOK)
		return
	case action == "" || v.section.actions[action] == nil:
		notFound(w)
		return
	case v.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "this is an action: it needs POST", http.StatusMethodNotAllowed)
		return
	}
	v.Body = http.MaxBytesReader(w, v.Body, MaxForm)
	if err := v.ParseForm(); err != nil {
		v.failed = "the form cannot be read: " + err.Error()
		v.show(w, http.StatusBadRequest)
		return
	}
	done, err := v.section.actions[action](v)
	v.record(action, err)
	switch {
	case err != nil && wantsJSON(v.Request):
		writeJSON(w, http.StatusUnprocessableEntity, problem{show.Clean(err.Error())})
	case err != nil && v.answer != nil:
		v.failed = show.Clean(err.Error())
		v.show(w, http.StatusUnprocessableEntity)
	case v.answer != nil:
		v.done = done
		v.show(w, http.StatusOK)
	case wantsJSON(v.Request):
		writeJSON(w, http.StatusOK, struct {
			Done string `json:"done"`
		}{done})
	default:
		v.visitor.leaveNotice(done, err)
		http.Redirect(w, v.Request, v.returnTo(), http.StatusSeeOther)
	}
}

// returnTo returns the address after an action: the section, with the query of the form's field "return", or the
// overview if the field "from" is there.
func (v *visit) returnTo() string {
	if v.PostForm.Has("from") {
		return "/"
	}
	query, err := url.ParseQuery(strings.TrimPrefix(v.PostForm.Get("return"), "?"))
	if err != nil || len(query) == 0 {
		return "/" + v.section.path
	}
	return "/" + v.section.path + "?" + query.Encode()
}

// record adds an action to the audit.
func (v *visit) record(action string, err error) {
	r := &audit.Record{
		Type: "indus.page." + v.section.path + "." + action, Principal: v.visitor.principal(), Outcome: audit.Allowed,
		Address: addressOf(v.Request), Target: targetOf(v.PostForm),
	}
	if err != nil {
		r.Outcome, r.Reason = audit.Error, cmp.Or(v.reason, err.Error())
	}
	v.site.record(r)
}

// record adds a record to the audit, if there is one.
func (s *Site) record(r *audit.Record) {
	if s.Control.Audit == nil {
		return
	}
	if err := s.Control.Audit.Append(r); err != nil {
		s.Streams.Reportf("the page: an action is not recorded: %v", err)
	}
}

// maxTarget bounds the target of an action in the audit, in bytes. It has room for the tools of a page of changes.
const maxTarget = 8 << 10

// targetOf returns what an action is about, such as a server, or all tools that are accepted at once.
func targetOf(form url.Values) string {
	for _, name := range []string{"id", "tool", "server", "name"} {
		if target := strings.Join(form[name], " "); target != "" {
			return text.Clip(target, maxTarget)
		}
	}
	return ""
}

// show answers with the section as it is now, or with the answer of an action.
func (v *visit) show(w http.ResponseWriter, status int) {
	shown := v.answer
	if shown == nil {
		var err error
		if shown, err = v.section.data(v); err != nil {
			v.failed, status = show.Clean(err.Error()), statusOf(err)
			if wantsJSON(v.Request) {
				writeJSON(w, status, problem{v.failed})
				return
			}
			shown = &content{html: func() gomponents.Node { return nil }}
		}
	}
	if wantsJSON(v.Request) {
		writeJSON(w, status, shown.data)
		return
	}
	writeHTML(w, status, layout(v, shown.html()))
}

// errNotFound means that a part of a section does not exist.
var errNotFound = errors.New("there is no such entry")

// queryError is an error of the visitor's query.
type queryError struct{ error }

func statusOf(err error) int {
	if errors.Is(err, errNotFound) {
		return http.StatusNotFound
	}
	if _, isQuery := errors.AsType[queryError](err); isQuery {
		return http.StatusUnprocessableEntity
	}
	return http.StatusInternalServerError
}

// problem is the JSON of an error.
type problem struct {
	Error string `json:"error"`
}

// notFound is the answer to requests that are none of the page. MCP clients with a wrong URL get it too.
func notFound(w http.ResponseWriter) {
	http.Error(w, "nothing is here: the MCP server is at /mcp", http.StatusNotFound)
}

func isBrowser(r *http.Request) bool {
	// MCP clients request event streams too, at other paths.
	return strings.Contains(r.Header.Get("Accept"), "text/html") || r.URL.Path == "/events"
}

// wantsJSON reports whether a request is for JSON. An MCP client also accepts event streams.
func wantsJSON(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html") &&
		!strings.Contains(accept, "text/event-stream")
}

func writeJSON(w http.ResponseWriter, status int, data any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	_ = out.Encode(data)
}

func writeHTML(w http.ResponseWriter, status int, node gomponents.Node) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	var text bytes.Buffer
	_ = node.Render(&text)
	_, _ = w.Write(text.Bytes())
}

// setHeaders sets the headers of all answers of the page. The policy permits only the files of this package, and images
// in the page itself.
func setHeaders(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "+
		"img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, forms have the Origin "null"
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept, Cookie")
}

//go:embed static
var staticFiles embed.FS

// staticVersion changes with the files, so that browsers can keep them.
var staticVersion = func() string {
	sum := sha256.New()
	for _, name := range []string{"page.css", "page.js"} {
		text, _ := staticFiles.ReadFile("static/" + name)
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}()

// static returns the address of a file of the page.
func static(name string) string { return "/static/" + name + "?v=" + staticVersion }

// serveStatic answers requests for the style sheet and the script. They are public.
func serveStatic(w http.ResponseWriter, r *http.Request, name string) {
	text, err := staticFiles.ReadFile("static/" + name)
	if err != nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
		notFound(w)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(text)
}
