package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// listed returns a member of each row of a result, and the other members of the result.
func listed(t testing.TB, a answer, list, id string) (ids []string, rest map[string]json.RawMessage) {
	t.Helper()
	if a.Error != nil {
		t.Fatalf("%+v", a.Error)
	}
	if err := json.Unmarshal(a.Result, &rest); err != nil {
		t.Fatal(err)
	}
	var rows []map[string]json.RawMessage
	if err := json.Unmarshal(rest[list], &rows); err != nil {
		t.Fatalf("%v: %s", err, a.Result)
	}
	for _, row := range rows {
		var s string
		_ = json.Unmarshal(row[id], &s)
		ids = append(ids, s)
	}
	delete(rest, list)
	return ids, rest
}

// paged answers with one row per page. The cursor of the second page is "".
func paged(list, id string, rows ...string) func(interop.Message) (string, error) {
	return func(m interop.Message) (string, error) {
		var p struct{ Cursor *string }
		_ = json.Unmarshal(m.Params, &p)
		at := 0
		if p.Cursor != nil {
			at = 1
			if *p.Cursor != "" {
				_, _ = fmt.Sscan(*p.Cursor, &at)
			}
		}
		next := ""
		switch {
		case at == 0 && len(rows) > 1:
			next = `,"nextCursor":""`
		case at < len(rows)-1:
			next = fmt.Sprintf(`,"nextCursor":"%d"`, at+1)
		}
		return fmt.Sprintf(`{"%s":[{"%s":%q}]%s}`, list, id, rows[at], next), nil
	}
}

func resources(answer func(interop.Message) (string, error)) *script {
	return &script{answers: map[string]func(interop.Message) (string, error){
		"server/discover": discovers(`{"resources":{},"prompts":{}}`),
		"resources/list":  answer,
		"prompts/list":    replyWith(`{"prompts":[]}`),
	}}
}

// All pages of all servers form one list, which the client reads page by page.
func TestPagesOfServersAreOneList(t *testing.T) {
	t.Parallel()
	g := scripts{
		"a": resources(paged("resources", "uri", "x:1", "x:2", "x:3")),
		"b": resources(replyWith(`{"resources":[{"uri":"x:4"}],"nextCursor":"again"}`)), // never ends
	}.open(t, gateway.Options{Host: host.Options{Page: 2}}, config.Server{ID: "a"}, config.Server{ID: "b"}).Handler()
	var all []string
	for cursor := "{}"; ; {
		page, rest := listed(t, ask(t, g, "/mcp", "resources/list", cursor), "resources", "uri")
		all = append(all, strings.Join(page, " "))
		if rest["nextCursor"] == nil {
			break
		}
		cursor = `{"cursor":` + string(rest["nextCursor"]) + `}`
	}
	if diff := cmp.Diff([]string{"x:1 x:2", "x:3 x:4"}, all); diff != "" {
		t.Error(diff)
	}
	if a := ask(t, g, "/mcp", "resources/list", `{"cursor":"theirs"}`); a.Error == nil || a.Error.Code != -32602 {
		t.Errorf("a cursor of somebody else's: %+v", a)
	}
}

// A row that cannot be used does not affect the other rows.
func TestBadRowsAreLeftOut(t *testing.T) {
	t.Parallel()
	g := scripts{
		"a": resources(replyWith(`{"resources":[{"uri":"x:1","n":1},3,{"name":"x"},{"uri":"x:1","n":2},{"uri":"x:2"},{"uri":7}]}`)),
		"b": resources(replyWith(`{"resources":{}}`)),
		"c": resources(replyWith(`{"resources":[{"uri":"x:1"},{"uri":"indus://c/x:1"}]}`)),
	}.open(t, gateway.Options{}, config.Server{ID: "a"}, config.Server{ID: "b"}, config.Server{ID: "c"}).Handler()
	got, _ := listed(t, ask(t, g, "/mcp", "resources/list", "{}"), "resources", "uri")
	if diff := cmp.Diff([]string{"x:1", "x:2", "indus://c/x:1", "indus://c/indus://c/x:1"}, got); diff != "" {
		t.Error(diff)
	}
}

// A server that is down adds no entries to the list but keeps its names, so that no other server can answer for it.
func TestServerThatIsDown(t *testing.T) {
	t.Parallel()
	s := scripts{"a": resources(replyWith(`{"resources":[{"uri":"x:1"}]}`)), "b": resources(replyWith(`{"resources":[{"uri":"x:1"}]}`))}
	s["b"].answers["resources/read"] = func(m interop.Message) (string, error) {
		if !strings.Contains(string(m.Params), `:1"`) || strings.Contains(string(m.Params), "nobody") {
			return "", &interop.RPCError{Code: -32002, Message: "not here"}
		}
		return `{"contents":[{"uri":"x:1","text":"b"}]}`, nil
	}
	s["a"].answers["resources/templates/list"] = replyWith(`{"resourceTemplates":[{"uriTemplate":"t:{n}","name":"t"}]}`)
	g := s.open(t, gateway.Options{}, config.Server{ID: "a"}, config.Server{ID: "b"}, config.Server{ID: "never"})
	both, _ := listed(t, ask(t, g.Handler(), "/mcp", "resources/list", "{}"), "resources", "uri")
	if diff := cmp.Diff([]string{"x:1", "indus://b/x:1"}, both); diff != "" {
		t.Error(diff)
	}
	got := ask(t, g.Handler(), "/mcp", "resources/read", `{"uri":"indus://b/x:1"}`)
	if got.Error != nil || !strings.Contains(string(got.Result), `{"uri":"indus://b/x:1","text":"b"}`) {
		t.Errorf("%s %+v", got.Result, got.Error)
	}
	if a := ask(t, g.Handler(), "/mcp", "resources/read", `{"uri":"nobody:1"}`); a.Error == nil || a.Error.Code != -32602 || !strings.Contains(a.Error.Message, "nobody:1") {
		t.Errorf("%+v", a.Error)
	}
	gone := make(chan struct{}, 10)
	defer g.Attached().Fleet.Events(func(e interop.Event) {
		if e.Kind == interop.ServerFaulted {
			gone <- struct{}{}
		}
	})()
	s["a"].kill()
	select {
	case <-gone:
	case <-time.After(giveUp):
		t.Fatal("it is not known to be gone")
	}
	left, _ := listed(t, ask(t, g.Handler(), "/mcp", "resources/list", "{}"), "resources", "uri")
	if diff := cmp.Diff([]string{"indus://b/x:1"}, left); diff != "" {
		t.Error(diff)
	}
	for _, uri := range []string{"x:1", "t:1"} {
		if a := ask(t, g.Handler(), "/mcp", "resources/read", `{"uri":"`+uri+`"}`); a.Error == nil || !strings.Contains(a.Error.Message, "its server is down") {
			t.Errorf("%s: %s %+v", uri, a.Result, a.Error)
		}
	}
	g.Reload([]config.Server{{ID: "b"}}, nil)
	alone, _ := listed(t, ask(t, g.Handler(), "/mcp", "resources/list", "{}"), "resources", "uri")
	if diff := cmp.Diff([]string{"x:1"}, alone); diff != "" {
		t.Error(diff)
	}
}

// A list is cached for as long as its servers allow, and only for the clients that they allow.
func TestListsAreKept(t *testing.T) {
	t.Parallel()
	private := func(m interop.Message) (string, error) {
		return `{"resources":[{"uri":"x:2"}],"ttlMs":300000,"cacheScope":"private"}`, nil
	}
	s := scripts{"a": resources(replyWith(`{"resources":[{"uri":"x:1"}],"ttlMs":600000}`)), "b": resources(private)}
	g := s.open(t, gateway.Options{Host: host.Options{Authenticate: func(r *http.Request) (toolbox.Principal, error) {
		return toolbox.Principal(r.Header.Get("X-Principal")), nil
	}}}, config.Server{ID: "a"}, config.Server{ID: "b"}).Handler()
	for _, who := range []string{"ann", "ann", "bob"} {
		_, rest := listed(t, askAs(t, g, "/mcp", who, "resources/list", "{}"), "resources", "uri")
		var ttl int
		_ = json.Unmarshal(rest["ttlMs"], &ttl)
		if string(rest["cacheScope"]) != `"private"` || ttl > 300000 || ttl < 150000 {
			t.Errorf("%s: %s %d", who, rest["cacheScope"], ttl)
		}
	}
	if a, b := s["a"].times("resources/list"), s["b"].times("resources/list"); a != 1 || b != 3 { // the first list of b shows that b's lists are private
		t.Errorf("asked %d and %d times", a, b)
	}
}

// A list that its server does not allow to cache is read each time. list_changed allows a server's list to be cached.
func TestListsThatFollow(t *testing.T) {
	t.Parallel()
	s := scripts{"a": resources(replyWith(`{"resources":[]}`)), "b": resources(replyWith(`{"resources":[]}`))}
	s["b"].answers["server/discover"] = discovers(`{"resources":{"listChanged":true}}`)
	g := s.open(t, gateway.Options{}, config.Server{ID: "a"}, config.Server{ID: "b"}).Handler()
	for range 3 {
		ask(t, g, "/mcp", "resources/list", "{}")
	}
	if a, b := s["a"].times("resources/list"), s["b"].times("resources/list"); a != 3 || b > 2 { // once more if list_changed was not heard from the beginning
		t.Errorf("asked %d and %d times", a, b)
	}
}

// No server lists, or links to, a URI that belongs to another server.
func TestNoServerSpeaksForAnother(t *testing.T) {
	t.Parallel()
	s := scripts{
		"a": resources(replyWith(`{"resources":[{"uri":"indus://b/x:1"},{"uri":"ui://b/form"},{"uri":"x:1"}]}`)),
		"b": resources(replyWith(`{"resources":[{"uri":"x:1"},{"uri":"ui://form"}]}`)),
	}
	for id := range s {
		s[id].answers["resources/read"] = func(m interop.Message) (string, error) {
			var p struct{ URI string }
			_ = json.Unmarshal(m.Params, &p)
			return fmt.Sprintf(`{"contents":[{"uri":%q,"text":"%s has %s"}]}`, p.URI, id, p.URI), nil
		}
	}
	g := s.open(t, gateway.Options{}, config.Server{ID: "a"}, config.Server{ID: "b"}).Handler()
	uris, _ := listed(t, ask(t, g, "/mcp", "resources/list", "{}"), "resources", "uri")
	want := []string{"indus://a/indus://b/x:1", "ui://a/b/form", "x:1", "indus://b/x:1", "ui://b/form"}
	if diff := cmp.Diff(want, uris); diff != "" {
		t.Error(diff)
	}
	for i, has := range []string{"a has indus://b/x:1", "a has ui://b/form", "a has x:1", "b has x:1", "b has ui://form"} {
		got := ask(t, g, "/mcp", "resources/read", fmt.Sprintf(`{"uri":%q}`, uris[i]))
		if !strings.Contains(string(got.Result), fmt.Sprintf(`{"uri":%q,"text":%q}`, uris[i], has)) {
			t.Errorf("%s: %s, not %s", uris[i], got.Result, has)
		}
	}
	for _, gone := range []string{"indus://c/x:1", "ui://c/form", "ui://form", "skill://c/SKILL.md"} { // nor to a server that is gone
		if got := ask(t, g, "/mcp", "resources/read", fmt.Sprintf(`{"uri":%q}`, gone)); got.Error == nil {
			t.Errorf("%s: %s", gone, got.Result)
		}
	}
	for link, want := range map[string]string{
		`"uri":"ui://b/form"`:                     `"uri":"ui://a/b/form"`,
		`"uri":"\u0075i://b/form"`:                `"uri":"ui://a/b/form"`,
		`"uri":"x:2","\u0075ri":"ui://b/form"`:    `"uri":"x:2","\u0075ri":"ui://a/b/form"`,
		`"uri":"ui://p","uri":"ui://b/form"`:      `"uri":"ui://a/p","uri":"ui://a/b/form"`,
		`"uri":"x:2","URI":"indus:\/\/b\/x:1"`:    `"uri":"x:2","URI":"indus://a/indus://b/x:1"`,
		`"text":"\u00e9","uri":"x:2","a":"ui://"`: `"text":"\u00e9","uri":"x:2","a":"ui://"`,
	} {
		s["a"].answers["resources/read"] = replyWith(`{"contents":[{` + link + `}]}`)
		if got := ask(t, g, "/mcp", "resources/read", `{"uri":"ui://a/b/form"}`); !strings.Contains(string(got.Result), `[{`+want+`}]`) {
			t.Errorf("%s became %s", link, got.Result)
		}
	}
}

// giveUp is how long an event may take before a test fails. A test that passes never waits for it.
const giveUp = 30 * time.Second
