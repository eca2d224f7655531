package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/interop"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// plain sends a modern request to a view as it stands, and returns the answer.
func plain(t testing.TB, g *gateway.Gateway, path, method, params string) string {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + meta + `,` + params + `}}`
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	modernHeaders(r, method, `{`+params+`}`)
	if uri, ok := protocol.LookupString(json.RawMessage(`{`+params+`}`), "uri"); ok {
		r.Header.Set(protocol.HeaderName, uri)
	}
	w := httptest.NewRecorder()
	g.Handler().ServeHTTP(w, r)
	return w.Body.String()
}

// Many servers ignore the case of keys. Params that such a server reads in another way than the policy are refused.
func TestParamsInAnotherSpellingAreRefused(t *testing.T) {
	t.Parallel()
	book := approvals(t, t.TempDir()+"/approvals.json", 0)
	g, offices := controlled(t, control.Options{Approvals: book},
		`permit(principal, action, resource) unless { context has args && context.args has path && context.args.path == "q" };`)
	for _, path := range []string{"/mcp", "/mcp/a"} {
		prefix := "a__"
		if path == "/mcp/a" {
			prefix = ""
		}
		for _, params := range []string{
			`"name":"` + prefix + `open","arguments":{"path":"p"},"Arguments":{"path":"q"}`,
			`"name":"` + prefix + `open","ARGUMENTS":{"path":"q"}`,
			`"name":"` + prefix + `open","arguments":{"path":"p"},"Name":"secret"`,
		} {
			for _, method := range []string{"tools/call", "prompts/get"} {
				if answer := plain(t, g, path, method, params); !strings.Contains(answer, "spelling") {
					t.Errorf("%s %s %s: %s", path, method, params, answer)
				}
			}
		}
		if answer := plain(t, g, path, "resources/read", `"uri":"a://open/x","URI":"a://secret/x"`); !strings.Contains(answer, "spelling") {
			t.Errorf("%s: %s", path, answer)
		}
	}
	if n := offices["a"].calls.Load(); n != 0 {
		t.Errorf("%d requests reached the server", n)
	}
	if all, err := book.List(t.Context(), &approval.Filter{All: true}); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
}

// loaded returns a policy.
func loaded(t testing.TB, text string) *policy.Set {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.cedar")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := policy.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// team is a gateway with keys, and with a policy that a test changes.
type team struct {
	*gateway.Gateway
	current atomic.Pointer[policy.Set]
	keys    *identity.Keys
	web     *httptest.Server
}

func newTeam(t testing.TB, s shelf, text string, ids ...string) *team {
	t.Helper()
	c := &team{keys: identity.NewKeys(t.TempDir() + "/keys.json")}
	c.current.Store(loaded(t, text))
	c.Gateway = s.open(t, gateway.Options{
		Host:  host.Options{Authenticate: identity.NewGuard(nil, c.keys).Principal},
		Guard: control.New(&control.Options{Policy: func() (*policy.Set, bool) { return c.current.Load(), false }}),
	}, ids...)
	c.web = httptest.NewServer(c.Handler())
	t.Cleanup(c.web.Close)
	return c
}

// connect connects a client with a new key. It returns the URIs of updates.
func (c *team) connect(t testing.TB, name, path string) (*mcp.ClientSession, chan string) {
	t.Helper()
	token, _, err := c.keys.Add(t.Context(), identity.Key{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	updates := make(chan string, 1000)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updates <- r.Params.URI },
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: c.web.URL + path, HTTPClient: &http.Client{Transport: authorized("Bearer " + token)},
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session, updates
}

// A subscription is judged by the rights of its own client, also if it was equal to others when it subscribed.
func TestASubscriptionEndsWithItsOwnRights(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/mcp", "/mcp/b"} {
		b := newBulletin("file:///x")
		c := newTeam(t, shelf{"b": b.Server}, `permit(principal, action, resource);`, "b")
		alice, first := c.connect(t, "alice", path)
		bob, second := c.connect(t, "bob", path)
		for _, who := range []*mcp.ClientSession{alice, bob} {
			if _, err := who.ListResources(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if err := who.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "file:///x"}); err != nil {
				t.Fatal(err)
			}
		}
		until(t, second, "file:///x", func() { b.update(t, "file:///x") })
		c.current.Store(loaded(t, `permit(principal, action, resource);
			forbid(principal == User::"bob", action, resource);
			forbid(principal, action, resource) when { resource is Resource && resource.path like "*secret*" };`))
		until(t, first, "file:///x", func() { b.update(t, "file:///x/secret") })
		for len(first) > 0 {
			if got := <-first; got != "file:///x" {
				t.Errorf("%s: an update names %s", path, got)
			}
		}
		for len(second) > 0 {
			<-second
		}
		until(t, first, "file:///x", func() { b.update(t, "file:///x") })
		if n := len(second); n != 0 {
			t.Errorf("%s: %d updates reached a client that may not have them", path, n)
		}
	}
}

// resources/unsubscribe reaches no server whose resource the client may not have.
func TestUnsubscribeObeysThePolicy(t *testing.T) {
	t.Parallel()
	b := newBulletin("file:///x")
	c := newTeam(t, shelf{"b": b.Server}, `permit(principal, action == Action::"call", resource);`, "b")
	client, _ := c.connect(t, "bob", "/mcp/b")
	if err := client.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "file:///x"}); err == nil {
		t.Error("it was answered")
	}
	if n := len(b.unsubscribed); n != 0 {
		t.Errorf("%d requests reached the server", n)
	}
}

// A view of a server of which nothing is permitted shows no instructions.
func TestInstructionsOfOneServerObeyThePolicy(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		g, _ := controlled(t, control.Options{}, opened)
		if text := dial(t, g, "/mcp/b", era).InitializeResult().Instructions; strings.Contains(text, "of b") {
			t.Errorf("%s: %q", era, text)
		}
		if text := dial(t, g, "/mcp/a", era).InitializeResult().Instructions; !strings.Contains(text, "of a") {
			t.Errorf("%s: the instructions of a permitted server are missing: %q", era, text)
		}
	}
}

// A task is followed only as long as the policy permits its tool.
func TestFollowingATaskObeysThePolicy(t *testing.T) {
	t.Parallel()
	s := &raw{answers: map[string]string{
		"server/discover": `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},` +
			`"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":0,"cacheScope":"public"}`,
		"tools/list": `{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"public"}`,
		"tools/call": `{"resultType":"task","taskId":"T-1","status":"working"}`,
	}}
	steps := make(chan string)
	defer close(steps)
	s.streams = func(c mcp.Connection, r *jsonrpc.Request) {
		id, _ := json.Marshal(r.ID.Raw())
		note := func(method, members string) {
			_ = c.Write(context.Background(), &jsonrpc.Request{Method: method, Params: fmt.Appendf(nil,
				`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},%s}`, id, members)})
		}
		if !strings.Contains(string(r.Params), "taskIds") {
			note(protocol.NoteAcknowledged, `"notifications":{}`)
			return
		}
		note(protocol.NoteAcknowledged, `"notifications":{"taskIds":["T-1"]}`)
		go func() {
			for step := range steps {
				note("notifications/tasks", `"taskId":"T-1","status":"`+step+`"`)
			}
		}()
	}
	var current atomic.Pointer[policy.Set]
	var decisions atomic.Int64
	current.Store(loaded(t, `permit(principal, action, resource);`))
	log, err := audit.Open(t.TempDir()+"/audit.jsonl", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	web := s.gateway(t, "jobs", interop.Modern, gateway.Options{Guard: control.New(&control.Options{
		Policy: func() (*policy.Set, bool) { decisions.Add(1); return current.Load(), false }, Audit: log,
	})})
	created, failed := post(t, web, "ann", takesTasks, "tools/call", `{"name":"jobs__t","arguments":{}}`)
	if failed != nil {
		t.Fatal(failed)
	}
	id, _ := protocol.LookupString(created, "taskId")
	ann := following(t, web, "ann", takesTasks, id)
	if got := <-ann; !strings.Contains(got, id) {
		t.Fatal(got)
	}
	steps <- "working"
	if got := <-ann; !strings.Contains(got, "working") {
		t.Fatal(got)
	}
	current.Store(loaded(t, `permit(principal, action, resource); forbid(principal, action, resource == Tool::"jobs/t");`))
	before := decisions.Load()
	steps <- "input_required"
	for decisions.Load() == before { // until the state is judged
		time.Sleep(time.Millisecond)
	}
	if got := <-following(t, web, "ann", takesTasks, id); !strings.Contains(got, `"notifications":{}`) {
		t.Errorf("a task of a tool that is not permitted is followed: %s", got)
	}
	current.Store(loaded(t, `permit(principal, action, resource);`))
	steps <- "completed"
	if got := <-ann; strings.Contains(got, "input_required") {
		t.Errorf("a state reached a client that may not have it: %s", got)
	}
}

// A denied request for a prompt or a resource is recorded as denied, with its name, and no record has a secret.
func TestRecordsOfDeniedRequests(t *testing.T) {
	t.Parallel()
	const token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	file := t.TempDir() + "/audit.jsonl"
	log, err := audit.Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, _ := controlled(t, control.Options{Audit: log}, opened)
	c := dial(t, g, "/mcp", interop.Legacy)
	_, _ = c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "a__secret"})
	_, _ = c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "a://secret/x"})
	_, _ = c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "indus://b/b://open/x?token=" + token})
	_ = c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "indus://b/b://open/x"})
	_, _ = c.Complete(t.Context(), &mcp.CompleteParams{
		Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "a__secret"}, Argument: mcp.CompleteParamsArgument{Name: "id"},
	})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	if _, err := audit.Read(t.Context(), file, nil, func(r *audit.Record) error {
		if r.Outcome == audit.Denied {
			got[r.Method] = append(got[r.Method], r.Target)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for method, n := range map[string]int{"prompts/get": 1, "resources/read": 2, "resources/subscribe": 1, "completion/complete": 1} {
		if len(got[method]) != n || slices.Contains(got[method], "") {
			t.Errorf("%s: the targets of denied requests are %q, want %d", method, got[method], n)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil || bytes.Contains(text, []byte(token)) {
		t.Error("a record has a secret", err)
	}
}

// askingAnswers has the answers of a modern server whose tool asks the client.
var askingAnswers = map[string]string{
	"server/discover": `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}`,
	"tools/list":      `{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"public"}`,
	"tools/call": `{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"elicitation/create",` +
		`"params":{"message":"who?","requestedSchema":{"type":"object","properties":{}}}}}}`,
}

// approved calls a tool, allows the call, and calls it again. It returns the result.
func approved(t *testing.T, web *httptest.Server, book *approval.Book, asks, params string) json.RawMessage {
	t.Helper()
	if r, _ := post(t, web, "ann", asks, "tools/call", params); !strings.Contains(string(r), "waits for approval") {
		t.Fatalf("%s", r)
	}
	waiting, err := book.List(t.Context(), nil)
	if err != nil || len(waiting) != 1 {
		t.Fatal(waiting, err)
	}
	if _, err := book.Decide(t.Context(), waiting[0].ID, approval.Decision{Allow: true, Channel: approval.ByOperator}); err != nil {
		t.Fatal(err)
	}
	result, failed := post(t, web, "ann", asks, "tools/call", params)
	if failed != nil {
		t.Fatal(failed)
	}
	return result
}

// After a restart, the state of an approved call continues nothing: it may be used.
func TestAnApprovedCallDoesNotContinueAfterARestart(t *testing.T) {
	t.Parallel()
	book, keys := approvals(t, t.TempDir()+"/approvals.json", 0), sealed.Random()
	start := func(text string) *httptest.Server {
		s := &raw{answers: askingAnswers}
		return s.gateway(t, "a", interop.Modern, gateway.Options{Host: host.Options{Keys: keys}, Guard: control.New(&control.Options{
			Approvals: book, Policy: always(rules(t, text), false),
		})})
	}
	const asks, params = `{"elicitation":{"form":{}}}`, `{"name":"a__t","arguments":{"n":1}}`
	for text, refused := range map[string]bool{
		`@approve("other") permit(principal, action, resource);`: true,
		`permit(principal, action, resource);`:                   false,
	} {
		web := start(text)
		var asked json.RawMessage
		if refused {
			asked = approved(t, web, book, asks, params)
		} else {
			asked, _ = post(t, web, "ann", asks, "tools/call", params)
		}
		state, ok := protocol.LookupString(asked, "requestState")
		if !ok {
			t.Fatalf("%s", asked)
		}
		next := strings.TrimSuffix(params, "}") + fmt.Sprintf(`,"requestState":%q,"inputResponses":{"k":{"action":"decline"}}}`, state)
		r, failed := post(t, start(text), "ann", asks, "tools/call", next)
		if got := strings.Contains(fmt.Sprint(string(r), failed), "indus was restarted"); got != refused {
			t.Errorf("%s: %s %v", text, r, failed)
		}
		if r, failed := post(t, web, "ann", asks, "tools/call", next); !strings.Contains(string(r), "requestState") {
			t.Errorf("%s: the same process does not continue it: %v", text, failed)
		}
	}
}

// What continues an approved call is the same call, and reaches the server once.
func TestAnApprovedCallContinuesOnce(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan string, 10), make(chan struct{})
	s := &raw{answers: askingAnswers}
	s.beforeAnswer = func(_ mcp.Connection, r *jsonrpc.Request) {
		if r.Method == protocol.MethodToolsCall {
			arrived <- string(r.Params)
			if strings.Contains(string(r.Params), "inputResponses") {
				<-release
			}
		}
	}
	book := approvals(t, t.TempDir()+"/approvals.json", 0)
	web := s.gateway(t, "a", interop.Modern, gateway.Options{Guard: control.New(&control.Options{
		Approvals: book, Policy: always(rules(t, `@approve("other") permit(principal, action, resource);`), false),
	})})
	t.Cleanup(func() { close(release) })
	const asks, params = `{"elicitation":{"form":{}}}`, `{"name":"a__t","arguments":{"n":1}}`
	asked := approved(t, web, book, asks, params)
	<-arrived
	state, ok := protocol.LookupString(asked, "requestState")
	if !ok {
		t.Fatalf("%s", asked)
	}
	next := func(arguments string) string {
		return fmt.Sprintf(`{"name":"a__t","arguments":%s,"requestState":%q,"inputResponses":{"k":{"action":"accept","content":{}}}}`,
			arguments, state)
	}
	other := next(`{"n":2,"n":1}`)
	if r, failed := post(t, web, "ann", asks, "tools/call", other); !strings.Contains(fmt.Sprint(string(r), failed), "waits for approval") {
		t.Errorf("other arguments: %s %v", r, failed)
	}
	legacy := exchanged{url: web.URL + "/mcp", who: "ann", session: openSession(t, web.URL+"/mcp", "ann"),
		body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__t","arguments":{"n":1},"requestState":%q}}`,
			state)}.send(t)
	if !strings.Contains(legacy.reply, "waits for approval") {
		t.Errorf("a legacy call continues it: %s", legacy.reply)
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + strings.TrimSuffix(next(`{"n":1}`), "}") + "," + meta + `}}`
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, web.URL+"/mcp", strings.NewReader(body))
		r.Header.Set("Authorization", "ann")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		modernHeaders(r, "tools/call", params)
		if w, err := web.Client().Do(r); err == nil {
			_ = w.Body.Close()
		}
	}()
	select {
	case <-arrived:
	case <-left:
		t.Fatal("it was not continued")
	}
	leave()
	<-left
	again := make(chan string, 1)
	go func() {
		r, failed := post(t, web, "ann", asks, "tools/call", next(`{"n":1}`))
		again <- fmt.Sprint(string(r), failed)
	}()
	select {
	case got := <-again:
		if !strings.Contains(got, "requestState") {
			t.Errorf("again: %s", got)
		}
	case got := <-arrived:
		t.Errorf("an approved call ran twice: %s", got)
		return
	}
}

// A grant is for one action.
func TestAGrantIsForOneAction(t *testing.T) {
	t.Parallel()
	book := approvals(t, t.TempDir()+"/approvals.json", 0)
	g, offices := controlled(t, control.Options{Approvals: book}, `@approve("other") permit(principal, action, resource);`)
	c := dial(t, g, "/mcp/a", interop.Legacy)
	complete := func(uri string) error {
		_, err := c.Complete(t.Context(), &mcp.CompleteParams{
			Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: uri},
			Argument: mcp.CompleteParamsArgument{Name: "id"},
		})
		return err
	}
	if err := complete("a://open/x"); err == nil || !strings.Contains(err.Error(), "waits for approval") {
		t.Fatal(err)
	}
	waiting, err := book.List(t.Context(), nil)
	if err != nil || len(waiting) != 1 {
		t.Fatal(waiting, err)
	}
	if _, err := book.Decide(t.Context(), waiting[0].ID, approval.Decision{Allow: true, Channel: approval.ByOperator}); err != nil {
		t.Fatal(err)
	}
	_, err = c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "a://open/x"})
	if err == nil || !strings.Contains(err.Error(), "waits for approval") || offices["a"].calls.Load() != 0 {
		t.Errorf("the grant to complete was spent to read: %v", err)
	}
	if err := complete("a://secret/x"); err == nil || !strings.Contains(err.Error(), "waits for approval") {
		t.Errorf("the grant was spent for another resource: %v", err)
	}
	if err := complete("a://open/x"); err != nil {
		t.Error(err)
	}
}

// An answer to the question about a call allows this call once, and no other: not if the state is altered or another
// caller sends it.
func TestAnAnswerAllowsOneCall(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	s := &raw{answers: map[string]string{
		"server/discover": `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}`,
		"tools/list":      `{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"public"}`,
		"tools/call":      `{"resultType":"complete","content":[]}`,
	}}
	s.beforeAnswer = func(_ mcp.Connection, r *jsonrpc.Request) {
		if r.Method == protocol.MethodToolsCall {
			ran.Add(1)
			if strings.Contains(string(r.Params), "inputResponses") {
				t.Errorf("the server gets the answer: %s", r.Params)
			}
		}
	}
	file := t.TempDir() + "/approvals.json"
	book := approvals(t, file, 0)
	web := s.gateway(t, "a", interop.Modern, gateway.Options{Guard: control.New(&control.Options{
		Approvals: book, Policy: always(rules(t, `@approve("caller") permit(principal, action, resource);`), false),
	})})
	call := func(who, arguments, more string) (state string) {
		t.Helper()
		r, failed := post(t, web, who, `{"elicitation":{"form":{}}}`, "tools/call", `{"name":"a__t","arguments":`+arguments+more+`}`)
		if failed != nil {
			t.Fatalf("%s: %v", who, failed)
		}
		state, _ = protocol.LookupString(r, "requestState")
		return state
	}
	accept := func(state string) string {
		return fmt.Sprintf(`,"requestState":%q,"inputResponses":{"indus-approval":{"action":"accept","content":{"approve":true}}}`, state)
	}
	const one, other = `{"n":1}`, `{"n":2}`
	state := call("ann", one, "")
	if state == "" {
		t.Fatal("the client is not asked")
	}
	altered := func(at int) string { return state[:at] + string(state[at]^1) + state[at+1:] }
	for what, asked := range map[string]string{
		"no answer":         call("ann", one, fmt.Sprintf(`,"requestState":%q`, state)),
		"the first byte":    call("ann", one, accept(altered(0))),
		"a byte in between": call("ann", one, accept(altered(len(state)/2))),
		"another caller":    call("bob", one, accept(state)),
	} {
		if asked == "" || ran.Load() != 0 {
			t.Errorf("%s: asked %t, ran %d times", what, asked != "", ran.Load())
		}
	}
	for _, content := range []string{`{}`, `{"approve":"true"}`, `{"approve":1}`, `{"approve":false,"approve":true}`} {
		call("ann", one, strings.Replace(accept(state), `{"approve":true}`, content, 1))
		if ran.Load() != 0 {
			t.Errorf("%s is an approval: ran %d times", content, ran.Load())
		}
	}
	if call("ann", other, accept(state)) == "" || ran.Load() != 0 {
		t.Errorf("for other arguments: ran %d times", ran.Load())
	}
	_, _ = postTo(t, web, "/mcp/a", "ann", `{"elicitation":{"form":{}}}`, "tools/call", `{"name":"t","arguments":`+one+accept(state)+`}`)
	if call("ann", one, "") == "" || ran.Load() != 0 {
		t.Errorf("an answer with other arguments, or at another view, allowed the call: ran %d times", ran.Load())
	}
	if call("ann", one, accept(state)) != "" || ran.Load() != 1 {
		t.Errorf("the answer counts %d times, want once", ran.Load())
	}
	if call("ann", one, accept(state)) == "" || ran.Load() != 1 {
		t.Errorf("the answer was sent again: ran %d times", ran.Load())
	}
	waiting, err := book.List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range waiting {
		_, _ = book.Decide(t.Context(), i.ID, approval.Decision{Allow: true, Channel: approval.ByOperator})
	}
	withState := `{"name":"a__t","arguments":` + one + accept(altered(3)) + `}`
	_, failed := post(t, web, "ann", `{"elicitation":{"form":{}}}`, "tools/call", withState)
	if failed == nil || failed.Code != interop.CodeInvalidParams || ran.Load() != 1 {
		t.Errorf("an altered state: %v, ran %d times", failed, ran.Load())
	}
	if call("ann", one, "") != "" || ran.Load() != 2 {
		t.Errorf("an altered state spent the grant: ran %d times", ran.Load())
	}
	if err := os.WriteFile(file, []byte("no approvals"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, failed := post(t, web, "ann", `{"elicitation":{"form":{}}}`, "tools/call", withState)
	if failed != nil || !strings.Contains(string(r), "this needs the approval of a person") {
		t.Errorf("the approvals cannot be read: %s, %v", r, failed)
	}
}
