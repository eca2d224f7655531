package page_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/cmd/indus/internal/page"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serving describes a gateway with a page, for the tests of access.
type serving struct {
	servers map[string]*mcp.Server // by id
	rules   string                 // Cedar; "" is no policy
	keys    bool                   // clients need API keys
	config  *mcpconfig.Config
	claims  bool // the header X-Principal is the caller
}

// served is a gateway with its page.
type served struct {
	*page.Site
	gateway *gateway.Gateway
	keys    *identity.Keys
	url     string
}

// start serves a gateway with a page.
func (o serving) start(t *testing.T) *served {
	t.Helper()
	d := newDesk(t, deskOptions{policy: o.rules, servers: o.servers, keys: o.keys, config: o.config, claims: o.claims})
	return &served{d.site, d.gateway, d.keys, d.web.URL}
}

// tab keeps cookies, as a tab of a browser does.
type tab struct {
	t   *testing.T
	web *http.Client
	url string
}

// browser returns a browser without a session.
func (s *served) browser(t *testing.T) *tab {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &tab{t, &http.Client{Jar: jar, Transport: transport}, s.url}
}

// operator returns a browser that has used a link.
func (s *served) operator(t *testing.T) *tab {
	b := s.browser(t)
	if status, text := b.get(strings.TrimPrefix(s.Link(), s.url)); status != http.StatusOK {
		t.Fatal(status, text)
	}
	return b
}

// send sends a request with headers, each as "Name: value", and returns the status and the text of the answer.
func (b *tab) send(method, path string, form url.Values, headers ...string) (int, string) {
	b.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,*/*;q=0.8")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	res, err := b.web.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// get fetches a page.
func (b *tab) get(path string) (int, string) {
	b.t.Helper()
	return b.send(http.MethodGet, path, nil)
}

// json fetches the data of a section.
func (b *tab) json(path string) (int, string) {
	b.t.Helper()
	return b.send(http.MethodGet, path, nil, "Accept: application/json")
}

// post sends a form as the page's own script and forms do.
func (b *tab) post(path string, form url.Values) (int, string) {
	b.t.Helper()
	return b.send(http.MethodPost, path, form, "Origin: "+b.url, "Sec-Fetch-Site: same-origin")
}
