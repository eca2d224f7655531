package page_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/cmd/indus/internal/page"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/control/activity"
	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/clustertest"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
	"golang.org/x/net/html"
)

// TestMain gives the tests a state directory of their own, which has the sign-ins.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "indus-page-test-")
	if err != nil {
		panic(err)
	}
	_ = os.Setenv("XDG_STATE_HOME", dir)
	_ = os.Setenv("INDUS_STORE_KEY", strings.Repeat("ab", 32))
	// A session of an SDK's server over HTTP, which is a peer here, cannot be ended from outside.
	peer := goleak.IgnoreTopFunction("github.com/modelcontextprotocol/go-sdk/mcp.(*streamableServerConn).Read")
	goleak.VerifyTestMain(m, peer, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// deskOptions are the parts of the gateway of a desk.
type deskOptions struct {
	policy     string                 // Cedar rules; "" means none
	servers    map[string]*mcp.Server // in memory
	configured []config.Server        // further servers, which are connected as configured
	keys       bool                   // clients authenticate
	issuers    []string               // that the metadata for clients name
	changes    config.ChangePolicy
	audit      bool
	sealed     bool                // the page has no ledger
	cluster    *clustertest.Memory // has the ledger; nil: a file has it
	catalog    bool                // clients see the tools of the catalog
	claims     bool                // the header X-Principal is the caller
	config     *mcpconfig.Config
}

// recordedLog is a ledger with its past.
type recordedLog interface {
	ledger.Log
	History(ctx context.Context) ([]ledger.Entry, error)
}

// openLedger opens the ledger of a desk.
func (d *desk) openLedger(m *clustertest.Memory) (recordedLog, error) {
	if m != nil {
		return ledger.OpenShared(d.t.Context(), m.Connect(), cluster.MinLease, nil)
	}
	return ledger.OpenFile(d.t.Context(), filepath.Join(d.dir, "ledger.jsonl"), nil)
}

// desk is a running gateway with its page, and with the people who use it.
type desk struct {
	t       *testing.T
	dir     string
	web     *httptest.Server
	gateway *gateway.Gateway
	control control.Options
	site    *page.Site
	keys    *identity.Keys
	log     recordedLog
	tokens  *signin.Tokens

	onPolicy      watch.List
	policyProblem error
}

func newDesk(t *testing.T, o deskOptions) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir()}
	var site http.Handler
	var err error
	d.web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		identity.Carry(d.gateway.Handler()).ServeHTTP(w, r)
	}))
	d.control.Activity = activity.New()
	d.control.ApproveAt = d.web.URL + "/approvals"
	if d.control.Approvals, err = approval.Open(filepath.Join(d.dir, "approvals.json"), nil); err != nil {
		t.Fatal(err)
	}
	read := &mcpconfig.Config{}
	if o.config != nil {
		read = o.config
	}
	if o.policy != "" {
		path := d.file("policy.cedar", o.policy)
		engine, err := policy.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		read.Policy = &mcpconfig.Policy{Path: path}
		d.control.Policy = func() (*policy.Set, bool) { return engine.Current(), false }
	}
	if o.audit {
		if d.control.Audit, err = audit.Open(d.auditPath(), nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.control.Audit.Close() })
	}
	if d.log, err = d.openLedger(o.cluster); err != nil {
		t.Fatal(err)
	}
	s := show.New(strings.NewReader(""), io.Discard, io.Discard)
	d.tokens = signin.Open(s)
	t.Cleanup(d.tokens.Close)
	if d.control.Policy == nil {
		d.control.Policy = func() (*policy.Set, bool) { return nil, false }
	}
	decides := control.New(&d.control)
	opts := &gateway.Options{
		Guard: decides,
		Site:  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { site.ServeHTTP(w, r) }),
		Ledger: &ledger.Options{Log: d.log, Policy: o.changes, Mount: &interop.MountOptions{
			FleetOptions: interop.FleetOptions{Endpoint: d.connector(o.servers)},
		}},
		Host: host.Options{},
	}
	if o.catalog {
		opts.Expose = func(s toolbox.Source) toolbox.Source { return catalog.Over(s, nil) }
	}
	var guard *identity.Guard
	if o.keys {
		d.keys = identity.NewKeys(filepath.Join(d.dir, "keys.json"))
		guard = identity.NewGuard(&identity.Options{Issuers: o.issuers}, d.keys)
		opts.Host.Authenticate = guard.Principal
	}
	if o.claims {
		opts.Host.Authenticate = func(r *http.Request) (toolbox.Principal, error) {
			return toolbox.Principal(r.Header.Get("X-Principal")), nil
		}
	}
	servers := o.configured
	for id := range o.servers {
		servers = append(servers, config.Server{ID: id})
	}
	d.gateway = gateway.New(t.Context(), servers, opts)
	t.Cleanup(d.gateway.Close)
	t.Cleanup(d.web.Close)
	po := page.Options{
		Gateway: d.gateway, Control: decides, Config: func() *mcpconfig.Config { return read },
		Guard:  func() *identity.Guard { return guard },
		Ledger: func(context.Context) ledger.Log { return d.log }, SignIns: d.tokens, Address: d.web.URL, Streams: s,
	}
	po.PolicyProblem = func() error { return d.policyProblem }
	po.WatchPolicy = d.onPolicy.Watch
	po.RunsAt = func(string) string { return "" }
	po.Keys = func() *identity.Keys { return d.keys }
	if o.sealed {
		po.Ledger = func(context.Context) ledger.Log { return nil }
	}
	if o.audit {
		po.AuditPath = d.auditPath()
	}
	d.site = page.New(po)
	t.Cleanup(d.site.Close)
	site = d.site
	if err := d.gateway.Attached().Fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) auditPath() string { return filepath.Join(d.dir, "audit.jsonl") }

func (d *desk) file(name, text string) string {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	return path
}

// connector connects the servers in memory, and other servers as serve does.
func (d *desk) connector(servers map[string]*mcp.Server) func(config.Server) *interop.EndpointOptions {
	return func(of config.Server) *interop.EndpointOptions {
		if servers[of.ID] == nil {
			return d.tokens.Endpoint(of)
		}
		clientEnd, serverEnd := mcp.NewInMemoryTransports()
		session, err := servers[of.ID].Connect(context.Background(), serverEnd, nil)
		if err != nil {
			d.t.Error(err)
		}
		d.t.Cleanup(func() { _ = session.Close() })
		return &interop.EndpointOptions{Transport: clientEnd}
	}
}

// key makes an API key.
func (d *desk) key(name string, groups ...string) string {
	d.t.Helper()
	token, _, err := d.keys.Add(d.t.Context(), identity.Key{Name: name, Groups: groups})
	if err != nil {
		d.t.Fatal(err)
	}
	return token
}

// link returns a one-time link.
func (d *desk) link() string {
	_, link, _ := strings.Cut(d.site.Link(), "link=")
	return link
}

// bearer adds an Authorization to requests.
type bearer string

// RoundTrip implements [http.RoundTripper].
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// call calls a tool as an MCP client with a token. It returns the text of the result.
func (d *desk) call(token, tool string, arguments map[string]any) string {
	d.t.Helper()
	transport := &mcp.StreamableClientTransport{Endpoint: d.web.URL + "/mcp"}
	if token != "" {
		transport.HTTPClient = &http.Client{Transport: bearer(token)}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "<b>client</b>", Version: "1"}, nil)
	session, err := client.Connect(d.t.Context(), transport, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	defer session.Close()
	r, err := session.CallTool(d.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			out.WriteString(text.Text)
		}
	}
	return out.String()
}

// request sends a request for JSON with a token: a form if there is one.
func (d *desk) request(token, path string, form url.Values) (int, []byte) {
	d.t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.web.URL+path, body)
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return res.StatusCode, text
}

// show reads the JSON of a section as the operator.
func (d *desk) show(path string, into any) { d.t.Helper(); d.showTo(d.link(), path, into) }

// showTo reads the JSON of a section with a token.
func (d *desk) showTo(token, path string, into any) {
	d.t.Helper()
	status, text := d.request(token, path, nil)
	if status != http.StatusOK {
		d.t.Fatalf("%s: status %d: %s", path, status, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		d.t.Fatalf("%s: %v: %s", path, err, text)
	}
}

// act does an action as the operator. It returns the sentence about it, or the error.
func (d *desk) act(path string, fields ...string) (done, failed string) {
	d.t.Helper()
	return d.actAs(d.link(), path, fields...)
}

// actAs does an action with a token. fields are names and values.
func (d *desk) actAs(token, path string, fields ...string) (done, failed string) {
	d.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	status, text := d.request(token, path, form)
	var out struct{ Done, Error string }
	if err := json.Unmarshal(text, &out); err != nil {
		d.t.Fatalf("%s: status %d: %s", path, status, text)
	}
	if status != map[bool]int{true: http.StatusOK, false: http.StatusUnprocessableEntity}[out.Error == ""] {
		d.t.Errorf("%s: status %d: %s", path, status, text)
	}
	return out.Done, out.Error
}

// browser is a browser with the session of the operator.
type browser struct {
	*desk
	client *http.Client
}

// browse opens the page in a browser.
func (d *desk) browse() *browser {
	d.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	b := &browser{d, &http.Client{Jar: jar}}
	b.open("/enter?link=" + d.link())
	return b
}

// open returns the HTML of a page. It fails if the page has markup of a server or a client.
func (b *browser) open(path string) string {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.web.URL+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do(r)
}

// submit sends a form, and follows the answer.
func (b *browser) submit(path string, fields ...string) string {
	b.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.web.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", b.web.URL)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.do(r)
}

func (b *browser) do(r *http.Request) string {
	b.t.Helper()
	r.Header.Set("Accept", "text/html")
	res, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusUnprocessableEntity {
		b.t.Fatalf("%s: status %d: %s", r.URL, res.StatusCode, text)
	}
	checkMarkup(b.t, string(text))
	return string(text)
}

// foreignMarkup is markup that the templates never contain. Hostile servers and clients of the tests send it.
const foreignMarkup = `<img src=x onerror=alert(1)><script>alert(1)</script><b>"'` + "\u202e\u200b\x1b[31m"

// checkMarkup parses a page as a browser does, and fails if it has markup that no template writes.
func checkMarkup(t *testing.T, text string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for node := range root.Descendants() {
		if node.Type == html.ElementNode && (node.Data == "img" || node.Data == "b") {
			t.Errorf("the page has markup of another author: <%s>", node.Data)
		}
		inline := node.Type == html.ElementNode && node.Data == "script" && node.FirstChild != nil
		for _, a := range node.Attr {
			inline = inline || strings.HasPrefix(a.Key, "on") || a.Key == "style" ||
				(a.Key == "href" || a.Key == "action") && strings.Contains(strings.ToLower(a.Val), "script:")
		}
		if inline {
			t.Errorf("the page has an inline script or style in <%s>", node.Data)
		}
	}
	for _, r := range []string{"\u202e", "\u200b", "\x1b"} {
		if strings.Contains(text, r) {
			t.Errorf("the page has the character %U", []rune(r)[0])
		}
	}
}

// wants fails unless a text has all parts.
func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	_, content, isPage := strings.Cut(text, "<main")
	if !isPage {
		content = text
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in %s", part, content)
		}
	}
}

// echo is a server with a tool that returns its text. The description of the tool can change.
type echo struct {
	*mcp.Server
	mu    sync.Mutex
	calls int
}

func newEcho(tools ...*mcp.Tool) *echo {
	e := &echo{Server: mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)}
	for _, tool := range tools {
		e.list(tool)
	}
	return e
}

// list adds or replaces a tool.
func (e *echo) list(tool *mcp.Tool) {
	type input struct {
		Text string `json:"text,omitempty"`
	}
	copied := *tool
	mcp.AddTool(e.Server, &copied, func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.calls++
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "echo " + in.Text}}}, nil, nil
	})
}

func (e *echo) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls
}
