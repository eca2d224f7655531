package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/indusagi/indus/internal/testkit/authserver"
	"github.com/indusagi/indus/internal/testkit/natsserver"
	"github.com/indusagi/indus/internal/testkit/replicas"
)

// opensURLs is the _meta of a client that opens addresses for its user.
const opensURLs = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}}`

var askedURL = regexp.MustCompile(`"url":"(http[^"]+/oauth/sign-in/[^"]+)"`)

// TestBrowsersBehindABalancer signs a caller in at a server, and an administrator at the page, by round robin over two
// replicas: each request of a browser goes to the next one. With -haproxy, it goes through deploy/haproxy.cfg.
func TestBrowsersBehindABalancer(t *testing.T) {
	t.Parallel()
	guarded := newGuarded(t, authserver.Options{Opaque: true})
	c := &clustered{t: t, nats: natsserver.Start(t)}
	c.env = []string{"INDUS_STORE_KEY=" + strings.Repeat("ab", 32), "BROWSER=browser", "BROWSER_USER=operator"}
	c.configure(map[string]any{"url": guarded.url, "per": "principal"}, "keys", `permit(principal, action, resource);
		permit(principal in Group::"admin", action in [Action::"administer", Action::"approve"], resource);`)
	front, ready := replicas.NewEarlyFront(t, strings.TrimSuffix(c.urls[0], "/mcp"), strings.TrimSuffix(c.urls[1], "/mcp"))
	for i := range c.dirs {
		c.flags[i] = append(c.flags[i], "--public-url", front)
		c.start(i, "serving at")
	}
	c.must(0, "mcp", "login", "w") // to list the tools
	ready()
	for i, who := range []string{"ann", "bob", "carl", "dora"} {
		made := c.must(0, "key", "add", "--principal", who)
		c.key = regexp.MustCompile(`(?m)^indus_\S+$`).FindString(made)
		ask := func() string {
			return c.send(i%2, "", "tools/call", "w__whoami", `"name":"w__whoami","arguments":{},`+opensURLs)
		}
		c.awaits(i%2, "/oauth/sign-in/", ask)
		link := askedURL.FindStringSubmatch(ask())[1]
		if i >= 2 { // so that the balancer begins with the other replica
			visit(t, http.DefaultClient, http.MethodGet, front+"/.well-known/none", nil)
		}
		page, err := authserver.Browser{User: who + " upstream"}.SignIn(t.Context(), link, c.key)
		if err != nil || !strings.Contains(page, "<h1>Signed in</h1>") || !strings.HasPrefix(link, front+"/") {
			t.Fatalf("%s: %s: %v, %s", who, link, err, page)
		}
		c.whoami(0, who+" upstream")
		c.whoami(1, who+" upstream")
	}

	made := c.must(0, "key", "add", "--principal", "root", "--group", "admin")
	key := regexp.MustCompile(`(?m)^indus_\S+$`).FindString(made)
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar, Timeout: deadline, Transport: navigates{}}
	if status, text := visit(t, browser, http.MethodPost, front+"/sign-in", url.Values{"token": {key}}); status != http.StatusOK {
		t.Fatalf("the page refuses an administrator: %d %s", status, text)
	}
	for i := range 6 {
		path := []string{"/", "/servers", "/approvals"}[i%3]
		if status, text := visit(t, browser, http.MethodGet, front+path, nil); status != http.StatusOK || !strings.Contains(text, "<h1>") {
			t.Errorf("%s at the page: %d %s", path, status, text)
		}
	}
	c.served[0].signal(syscall.SIGKILL)
	<-c.served[0].done
	c.served[1].signal(syscall.SIGTERM)
	c.served[1].ends(0)
	c.start(0, "serving at") // the owner of the session has ended, whichever it was
	eventually(t, func() string {
		if status, text := visit(t, browser, http.MethodGet, front+"/servers", nil); status != http.StatusForbidden {
			return fmt.Sprintf("a session of a replica that has ended: %d %s", status, text)
		}
		return ""
	})
}

// navigates marks requests as those of a browser on a page of the same site.
type navigates struct{}

func (navigates) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	r.Header.Set("Accept", "text/html")
	return http.DefaultTransport.RoundTrip(r)
}

// visit sends a request of a browser, with a form if there is one.
func visit(t *testing.T, c *http.Client, method, address string, form url.Values) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}
