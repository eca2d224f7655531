package page_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/cmd/indus/internal/page"
	"github.com/indusagi/indus/control/audit"
)

func TestALinkIsGoodOnce(t *testing.T) {
	s := serving{}.start(t)
	link := strings.TrimPrefix(s.Link(), s.url)
	first, second := s.browser(t), s.browser(t)
	if status, text := first.get(link); status != http.StatusOK {
		t.Fatal(status, text)
	}
	for _, path := range []string{"/", "/servers", "/calls"} {
		if status, text := first.get(path); status != http.StatusOK || !strings.Contains(text, "<h1>") {
			t.Errorf("%s: %d %s", path, status, text)
		}
		if status, _ := second.get(path); status != http.StatusForbidden {
			t.Errorf("%s without a session: %d", path, status)
		}
	}
	old := strings.TrimPrefix(page.LinkAt(s.Site, time.Now().Add(-time.Hour)), s.url)
	fresh := strings.TrimPrefix(s.Link(), s.url)
	for name, path := range map[string]string{
		"used": link, "old": old, "cut": fresh[:len(fresh)-1], "longer": fresh + "A", "guessed": "/enter?link=AAAA", "none": "/enter",
		"altered": strings.Replace(fresh, "link=AAAAAG", "link=AAAAAH", 1),
	} {
		if status, text := second.get(path); status != http.StatusForbidden {
			t.Errorf("a link that is %s: %d %s", name, status, text)
		}
	}
	if status, _ := second.send(http.MethodHead, fresh, nil); status == http.StatusOK {
		t.Error("HEAD has used a link")
	}
	if status, _ := second.get(fresh); status != http.StatusOK {
		t.Error("a link that was only looked at is used up")
	}
	other := serving{}.start(t)
	if status, _ := other.browser(t).get(strings.TrimPrefix(s.Link(), s.url)); status != http.StatusForbidden {
		t.Error("a link of another gateway is accepted")
	}
}

// TestALinkThatComesTwiceEndsItsSession steals a link: the thief is first, and the operator's browser second.
func TestALinkThatComesTwiceEndsItsSession(t *testing.T) {
	s := serving{}.start(t)
	link := strings.TrimPrefix(s.Link(), s.url)
	thief, other := s.browser(t), s.operator(t)
	for range 2 { // the browser itself may load the link again
		if status, text := thief.get(link); status != http.StatusOK {
			t.Fatal(status, text)
		}
	}
	if status, _ := thief.get("/servers"); status != http.StatusOK {
		t.Fatal(status)
	}
	if status, text := s.browser(t).get(link); status != http.StatusForbidden || !strings.Contains(text, "stranger") {
		t.Error("the second browser:", status, text)
	}
	if status, _ := thief.get("/servers"); status != http.StatusForbidden {
		t.Error("the session of the first browser goes on:", status)
	}
	if status, _ := other.get("/servers"); status != http.StatusOK {
		t.Error("the session of another link has ended:", status)
	}
}

// TestTwoBrowsersUseALinkAtOnce checks that neither keeps a session: one of them is a stranger.
func TestTwoBrowsersUseALinkAtOnce(t *testing.T) {
	s := serving{}.start(t)
	request := func(path string) *http.Request {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("Accept", "text/html")
		return r
	}
	for range 3000 {
		enter := strings.TrimPrefix(s.Link(), s.url)
		var answers [2]*httptest.ResponseRecorder
		var done sync.WaitGroup
		begin := make(chan struct{})
		for i := range answers {
			answers[i] = httptest.NewRecorder()
			done.Go(func() {
				<-begin
				s.ServeHTTP(answers[i], request(enter))
			})
		}
		close(begin)
		done.Wait()
		for _, answer := range answers {
			for _, cookie := range answer.Result().Cookies() {
				r, shown := request("/policy"), httptest.NewRecorder()
				r.AddCookie(cookie)
				if s.ServeHTTP(shown, r); shown.Code != http.StatusForbidden {
					t.Fatal("the session of a link that two browsers used goes on")
				}
			}
		}
	}
}

// TestTheOperatorIsOnThisMachine sends links and cookies of the operator from elsewhere.
func TestTheOperatorIsOnThisMachine(t *testing.T) {
	s := serving{}.start(t)
	host := strings.TrimPrefix(s.url, "http://")
	port := host[strings.LastIndex(host, ":"):]
	send := func(remote, host, path string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.RemoteAddr, r.Host = remote, host
		r.Header.Set("Accept", "text/html")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	const remote, near = "192.0.2.7:1234", "127.0.0.1:1234"
	path := strings.TrimPrefix(s.Link(), s.url)
	for name, from := range map[string][2]string{
		"another machine": {remote, host}, "a proxy": {near, "indus.example.com"}, "both": {remote, "192.0.2.1" + port},
	} {
		if w := send(from[0], from[1], path); w.Code != http.StatusForbidden {
			t.Errorf("a link from %s: %d", name, w.Code)
		}
		_, link, _ := strings.Cut(path, "link=")
		if w := send(from[0], from[1], "/servers", "Authorization", "Bearer "+link); w.Code != http.StatusForbidden {
			t.Errorf("a link in a header from %s: %d", name, w.Code)
		}
	}
	for _, host := range []string{"localhost" + port, "[::1]" + port, host} {
		path := strings.TrimPrefix(s.Link(), s.url)
		w := send(near, host, path)
		if w.Code != http.StatusOK {
			t.Fatal(host, w.Code, w.Body)
		}
		cookie := w.Result().Cookies()[0].String()
		if w := send(near, host, "/servers", "Cookie", cookie); w.Code != http.StatusOK {
			t.Error(host, w.Code)
		}
		if w := send(remote, host, "/servers", "Cookie", cookie); w.Code != http.StatusForbidden {
			t.Error("a cookie of the operator is good elsewhere:", w.Code)
		}
	}
}

// TestCookiesOfOtherPortsDoNoHarm sends what the cookie of another port with a longer path makes a browser send.
func TestCookiesOfOtherPortsDoNoHarm(t *testing.T) {
	s := serving{}.start(t)
	b := s.operator(t)
	address, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	own := b.web.Jar.Cookies(address)[0]
	for _, line := range []string{own.Name + "=bad; " + own.String(), own.String() + "; " + own.Name + "=bad"} {
		if status, _ := s.browser(t).send(http.MethodGet, "/servers", nil, "Cookie: "+line); status != http.StatusOK {
			t.Errorf("%s: %d", line, status)
		}
	}
}

func TestACookieIsGoodForOneHost(t *testing.T) {
	s := serving{}.start(t)
	b := s.operator(t)
	if status, _ := b.get("/servers"); status != http.StatusOK {
		t.Fatal(status)
	}
	port := s.url[strings.LastIndex(s.url, ":"):]
	if status, _ := b.send(http.MethodGet, "/servers", nil, "Host: localhost"+port); status != http.StatusForbidden {
		t.Error("the cookie is good for another host:", status)
	}
	if status, text := b.send(http.MethodGet, "/servers", nil, "Host: evil.example"); status != http.StatusForbidden {
		t.Error("a foreign Host:", status, text)
	}
}

// TestOtherSitesAreRefused sends what a browser sends for pages of other sites, and of other ports of this machine.
func TestOtherSitesAreRefused(t *testing.T) {
	s := serving{}.start(t)
	b := s.operator(t)
	for name, headers := range map[string][]string{
		"another site":    {"Origin: https://evil.example", "Sec-Fetch-Site: cross-site"},
		"another port":    {"Origin: http://127.0.0.1:1", "Sec-Fetch-Site: same-site"},
		"an old browser":  {"Origin: http://localhost:1"},
		"a sandbox":       {"Origin: null", "Sec-Fetch-Site: cross-site"},
		"a hidden origin": {"Sec-Fetch-Site: cross-site"},
		"no header":       nil,
	} {
		if status, text := b.send(http.MethodPost, "/sign-out", url.Values{"a": {"b"}}, headers...); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if status, _ := b.send(http.MethodGet, "/servers", nil, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors"); status !=
		http.StatusForbidden {
		t.Error("another port can load a section as a resource:", status)
	}
	if status, _ := b.send(http.MethodGet, "/servers", nil, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"); status !=
		http.StatusOK {
		t.Error("a link to the page does not work:", status)
	}
	if status, _ := b.post("/sign-out", url.Values{}); status != http.StatusOK {
		t.Error("the page's own form:", status)
	}
	if status, _ := b.get("/servers"); status != http.StatusForbidden {
		t.Error("signed out, and still there:", status)
	}
}

func TestAdministratorsSignIn(t *testing.T) {
	s := serving{keys: true}.start(t)
	admin, key, err := s.keys.Add(t.Context(), identity.Key{Name: "alice", Groups: []string{identity.AdminGroup}})
	if err != nil {
		t.Fatal(err)
	}
	plain, _, err := s.keys.Add(t.Context(), identity.Key{Name: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	b := s.browser(t)
	for name, token := range map[string]string{"without the right": plain, "wrong": admin + "x", "none": ""} {
		if status, text := b.post("/sign-in", url.Values{"token": {token}}); status != http.StatusForbidden {
			t.Errorf("a token %s: %d %s", name, status, text)
		}
	}
	if status, _ := b.send(http.MethodPost, "/sign-in", url.Values{"token": {admin}}, "Origin: http://127.0.0.1:1",
		"Sec-Fetch-Site: same-site"); status != http.StatusForbidden {
		t.Error("another site signs a browser in:", status)
	}
	if status, text := b.post("/sign-in", url.Values{"token": {admin}}); status != http.StatusOK {
		t.Fatal(status, text)
	}
	if status, _ := b.get("/calls"); status != http.StatusOK {
		t.Error("signed in:", status)
	}
	if status, text := s.browser(t).send(http.MethodGet, "/calls", nil, "Accept: application/json",
		"Authorization: Bearer "+admin); status != http.StatusOK {
		t.Error("a program with a token:", status, text)
	}
	if err := s.keys.Remove(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	if status, _ := b.get("/calls"); status != http.StatusForbidden {
		t.Error("the key is removed, and its session still there:", status)
	}
}

func TestThePolicyAdmitsAdministrators(t *testing.T) {
	s := serving{keys: true, rules: `permit(principal == User::"bob", action == Action::"administer", resource);`}.start(t)
	for name, want := range map[string]int{"alice": http.StatusForbidden, "bob": http.StatusOK} {
		token, _, err := s.keys.Add(t.Context(), identity.Key{Name: name, Groups: []string{identity.AdminGroup}})
		if err != nil {
			t.Fatal(err)
		}
		if status, text := s.browser(t).send(http.MethodGet, "/calls", nil, "Authorization: Bearer "+token); status != want {
			t.Errorf("%s: %d, not %d: %s", name, status, want, text)
		}
	}
}

// TestVisitorsDoNotEndSessionsOfOthers signs one administrator in until the oldest session ends.
func TestVisitorsDoNotEndSessionsOfOthers(t *testing.T) {
	s := serving{keys: true}.start(t)
	token, _, err := s.keys.Add(t.Context(), identity.Key{Name: "alice", Groups: []string{identity.AdminGroup}})
	if err != nil {
		t.Fatal(err)
	}
	operator, first := s.operator(t), s.browser(t)
	first.post("/sign-in", url.Values{"token": {token}})
	second := s.browser(t)
	for range page.MaxSessions {
		second.post("/sign-in", url.Values{"token": {token}})
	}
	for name, c := range map[string]struct {
		*tab
		want int
	}{
		"the operator": {operator, http.StatusOK}, "the oldest": {first, http.StatusForbidden},
		"the newest": {second, http.StatusOK},
	} {
		if status, _ := c.get("/servers"); status != c.want {
			t.Errorf("%s: %d, not %d", name, status, c.want)
		}
	}
}

// TestMCPClientsFindNothing checks that a client with a wrong URL does not take the page for a server, nor tries to
// sign in.
func TestMCPClientsFindNothing(t *testing.T) {
	b := serving{keys: true}.start(t).browser(t)
	for _, accept := range []string{"application/json, text/event-stream", "text/event-stream", "*/*", ""} {
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			status, text := b.send(method, "/", url.Values{}, "Accept: "+accept)
			if status != http.StatusNotFound || !strings.Contains(text, "/mcp") {
				t.Errorf("%s %q: %d %s", method, accept, status, text)
			}
		}
	}
}

// TestAStreamEndsWithItsKey checks that a stream sends no event once its key is removed.
func TestAStreamEndsWithItsKey(t *testing.T) {
	t.Parallel()
	d := newDesk(t, deskOptions{keys: true})
	token, key, err := d.keys.Add(t.Context(), identity.Key{Name: "alice", Groups: []string{identity.AdminGroup}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.web.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	event := func() bool {
		d.onPolicy.Notify()
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "data: ") {
				return true
			}
		}
		return false
	}
	if !lines.Scan() || !event() {
		t.Fatal("no event", res.Status, lines.Err())
	}
	if err := d.keys.Remove(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	if event() {
		t.Error("an event for a key that is removed")
	}
}

// TestStreamsAreBoundedAndEnd opens as many streams as a visitor may have, and one more. Other visitors have their own.
func TestStreamsAreBoundedAndEnd(t *testing.T) {
	s := serving{keys: true}.start(t)
	b := s.operator(t)
	token, _, err := s.keys.Add(t.Context(), identity.Key{Name: "alice", Groups: []string{identity.AdminGroup}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var open []*http.Response
	for i := range page.MaxStreams + 1 {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		if i == page.MaxStreams {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := b.web.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, res)
		if line, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res.Status, line, err)
		}
	}
	if status, _ := b.get("/events"); status != http.StatusServiceUnavailable {
		t.Error("one stream too many:", status)
	}
	s.Site.Close()
	for _, res := range open {
		if _, err := bufio.NewReader(res.Body).ReadString(0); err == nil {
			t.Error("a stream goes on")
		}
		res.Body.Close()
	}
}

// TestAccessAndActionsAreRecorded checks the records of sessions and actions in the audit.
func TestAccessAndActionsAreRecorded(t *testing.T) {
	d := newDesk(t, deskOptions{audit: true})
	b := d.browse()
	b.submit("/servers/restart", "server", "none")
	b.submit("/changes/accept", "tool", "a@1", "tool", "b@2")
	var got []string
	_, err := audit.Read(t.Context(), d.auditPath(), &audit.Filter{}, func(r *audit.Record) error {
		if !strings.HasPrefix(r.Type, "indus.page.") {
			return nil
		}
		got = append(got, strings.Join([]string{r.Type, string(r.Outcome), r.Address, r.Target}, " "))
		return nil
	})
	want := []string{
		"indus.page.enter allowed 127.0.0.1 ", "indus.page.servers.restart error 127.0.0.1 none",
		"indus.page.changes.accept error 127.0.0.1 a@1 b@2",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// TestTheScriptLeavesTheNotice fetches a page as its script does, between an action and the page that shows its notice.
func TestTheScriptLeavesTheNotice(t *testing.T) {
	b := serving{}.start(t).operator(t)
	b.web.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	const notice = "name one with server=NAME"
	if status, _ := b.post("/servers/restart", url.Values{"server": {"none"}}); status != http.StatusSeeOther {
		t.Fatal(status)
	}
	if _, text := b.send(http.MethodGet, "/servers", nil, "Sec-Fetch-Dest: empty"); strings.Contains(text, notice) {
		t.Error("the script has the notice")
	}
	if _, text := b.send(http.MethodGet, "/servers", nil, "Sec-Fetch-Dest: document"); !strings.Contains(text, notice) {
		t.Error("the page has no notice:", text)
	}
}

// After a crash of the system, the file of a page may be empty.
func TestAnEmptyFileOfAPageIsRemoved(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	file := filepath.Join(state, "indus", "pages", "7.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if urls, err := page.Running(t.Context()); err != nil || len(urls) > 0 {
		t.Error(urls, err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Error(err)
	}
}
