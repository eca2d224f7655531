package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/replicas"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/replica"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestSoakNothingCrossesBetweenReplicas is TestSoakNothingCrosses over three replicas, with each request at another
// one: sessions, questions, waiting calls, tasks, subscriptions, HTTP+SSE, and states that are stolen or used twice.
func TestSoakNothingCrossesBetweenReplicas(t *testing.T) {
	t.Parallel()
	nothingCrosses(t, func(keys *sealed.Keys, open func(*gateway.Options) *gateway.Gateway) string {
		return replicas.Start(t, 3, keys, func(_ string, o *gateway.Options) *gateway.Gateway { return open(o) }).URL
	})
}

// exchanged is one request to a replica, with its answer.
type exchanged struct {
	url, who, session, body string
	header                  map[string]string
	method                  string // of HTTP; "": POST

	status int
	answer http.Header
	reply  string // the last message
}

func (x exchanged) send(t testing.TB) exchanged {
	t.Helper()
	if x.method == "" {
		x.method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(t.Context(), x.method, x.url, strings.NewReader(x.body))
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"Authorization": x.who, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": x.session,
	} {
		if value != "" {
			r.Header.Set(key, value)
		}
	}
	for key, value := range x.header {
		r.Header.Set(key, value)
	}
	var m struct {
		Method string
		Params json.RawMessage
	}
	if json.Unmarshal([]byte(x.body), &m); strings.Contains(x.body, "2026-07-28") {
		modernHeaders(r, m.Method, string(m.Params))
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	all, _ := io.ReadAll(w.Body)
	if i := bytes.LastIndex(all, []byte("data: {")); i >= 0 {
		all = all[i+len("data: "):]
	}
	x.status, x.answer, x.reply = w.StatusCode, w.Header, string(bytes.TrimSpace(all))
	return x
}

const initializeBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
	`"clientInfo":{"name":"t","version":"1"}}}`

// openSession opens a legacy session at a replica, and returns its id.
func openSession(t testing.TB, url, who string) string {
	t.Helper()
	x := exchanged{url: url, who: who, body: initializeBody}.send(t)
	id := x.answer.Get("Mcp-Session-Id")
	if x.status != 200 || id == "" {
		t.Fatalf("%d %s", x.status, x.reply)
	}
	return id
}

// modernBody returns a modern request.
func modernBody(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + strings.TrimSuffix(params, "}") + `,` + meta + `}}`
}

// principalFromHeader accepts every Authorization header, and refuses a request without one.
func principalFromHeader(r *http.Request) (toolbox.Principal, error) {
	if who := r.Header.Get("Authorization"); who != "" {
		return toolbox.Principal(who), nil
	}
	return "", fmt.Errorf("no principal")
}

// startTalkers starts replicas before a legacy server, a modern server and a server of tasks, which count their calls.
func startTalkers(t *testing.T, n int, keys *sealed.Keys, calls *atomic.Int64) *replicas.Site {
	talkers := shelf{"old": newGossip().Server, "new": newGossip().Server}
	jobs := host.NewFront(newJobs(), &host.Options{Exact: true})
	t.Cleanup(jobs.Close)
	inMemory := talkers.options(t).Mount.Endpoint
	count := func(next interop.Peer) interop.Peer {
		return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
			if m.Method == "tools/call" || strings.HasPrefix(m.Method, "tasks/") {
				calls.Add(1)
			}
			return next(ctx, m)
		}
	}
	return replicas.Start(t, n, keys, func(_ string, o *gateway.Options) *gateway.Gateway {
		o.Host.Authenticate = principalFromHeader
		o.Ledger = &ledger.Options{Mount: &interop.MountOptions{FleetOptions: interop.FleetOptions{
			Endpoint: func(s config.Server) *interop.EndpointOptions {
				e := &interop.EndpointOptions{}
				if s.ID == "jobs" {
					clientEnd, serverEnd := mcp.NewInMemoryTransports()
					go func() { _ = jobs.Serve(context.Background(), serverEnd) }()
					e.Transport = clientEnd
				} else {
					e = inMemory(s)
				}
				e.Around = append(e.Around, count)
				return e
			},
		}}}
		return gateway.New(context.Background(), []config.Server{
			{ID: "old", Era: interop.Legacy}, {ID: "new", Era: interop.Modern}, {ID: "jobs", Era: interop.Modern},
		}, o)
	})
}

// TestTheOwnerIsGone checks what clients get for the state of a replica that has ended. No call is repeated.
func TestTheOwnerIsGone(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	site := startTalkers(t, 2, sealed.Random(), &calls)
	a, b := site.Members[0].URL+"/mcp", site.Members[1].URL+"/mcp"
	session := openSession(t, a, "ann")
	ask := func(server string) (params, state string) {
		params = `{"name":"` + server + `__ask","arguments":{"for":"ann"}}`
		x := exchanged{url: a, who: "ann", body: modernBody("tools/call", params)}.send(t)
		var asks struct{ Result struct{ RequestState string } }
		if err := json.Unmarshal([]byte(x.reply), &asks); err != nil || asks.Result.RequestState == "" {
			t.Fatalf("%s: %s", server, x.reply)
		}
		return params, asks.Result.RequestState
	}
	oldParams, oldState := ask("old")
	newParams, newState := ask("new")
	var made struct{ Result struct{ TaskID string } }
	x := exchanged{url: a, who: "ann", body: modernBody("tools/call", `{"name":"jobs__make","arguments":{"for":"ann"}}`)}.send(t)
	if err := json.Unmarshal([]byte(x.reply), &made); err != nil || made.Result.TaskID == "" {
		t.Fatal(x.reply)
	}
	task := `{"taskId":"` + made.Result.TaskID + `"}`
	if x := (exchanged{url: b, who: "ann", body: modernBody("tasks/get", task)}).send(t); !strings.Contains(x.reply, "for T-ann") {
		t.Errorf("the task at the other replica: %s", x.reply)
	}
	if err := site.Members[0].Stop(); err != nil {
		t.Error(err)
	}
	before := calls.Load()
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	answer := `{"jsonrpc":"2.0","id":"q","result":{}}`
	again := func(params, state string) string {
		return modernBody("tools/call", strings.TrimSuffix(params, "}")+`,"requestState":"`+state+`","inputResponses":{}}`)
	}
	for name, test := range map[string]struct {
		x      exchanged
		status int
		text   string
	}{
		"a request of the session":    {exchanged{session: session, body: ping}, 404, "session not found"},
		"an answer of the session":    {exchanged{session: session, body: answer}, 404, "session not found"},
		"a stream of the session":     {exchanged{session: session, method: "GET"}, 404, "session not found"},
		"a resumed stream":            {exchanged{session: session, method: "GET", header: map[string]string{"Last-Event-Id": "a1-1"}}, 404, "session not found"},
		"the end of the session":      {exchanged{session: session, method: "DELETE"}, 404, "session not found"},
		"a session over HTTP+SSE":     {exchanged{url: strings.Replace(b, "/mcp", "/sse?sessionId="+session, 1), body: ping}, 404, "session not found"},
		"the session of another":      {exchanged{who: "bob", session: session, body: ping}, 404, "session not found"},
		"a call that waits":           {exchanged{body: again(oldParams, oldState)}, 200, "which is gone: the call may have run, and it is not repeated"},
		"a call of a modern server":   {exchanged{body: again(newParams, newState)}, 200, "which is gone: the call may have run, and it is not repeated"},
		"the call of another":         {exchanged{who: "bob", body: again(oldParams, oldState)}, 200, sealed.ErrPrincipal.Error()},
		"a task":                      {exchanged{body: modernBody("tasks/get", task)}, 200, "the replica a, which had the task, is gone"},
		"the task of another":         {exchanged{who: "bob", body: modernBody("tasks/get", task)}, 200, sealed.ErrPrincipal.Error()},
		"a new call":                  {exchanged{body: modernBody("tools/call", `{"name":"new__talk","arguments":{"for":"ann"}}`)}, 200, `"result"`},
		"a request without principal": {exchanged{who: "-", session: session, body: ping}, 401, ""},
	} {
		x := test.x
		if x.url == "" {
			x.url = b
		}
		switch x.who {
		case "":
			x.who = "ann"
		case "-":
			x.who = ""
		}
		x = x.send(t)
		if x.status != test.status || !strings.Contains(x.reply, test.text) {
			t.Errorf("%s: %d %s", name, x.status, x.reply)
		}
	}
	if n := calls.Load() - before; n != 1 {
		t.Errorf("%d calls reached servers, want the new one alone", n)
	}
}

// TestAReplicaIsTrustedWithThePrincipal checks that the replica of the client authenticates, and that the owner gets
// the whole identity.
func TestAReplicaIsTrustedWithThePrincipal(t *testing.T) {
	t.Parallel()
	keys := identity.NewKeys(t.TempDir() + "/keys.json")
	key := func(k identity.Key) string {
		token, _, err := keys.Add(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + token
	}
	ann, more, bob := key(identity.Key{Name: "ann", Groups: []string{"dev"}}), key(identity.Key{Name: "ann", Groups: []string{"ops"}}), key(identity.Key{Name: "bob"})
	local := toolbox.NewRegistry(nil)
	local.Add(toolbox.Define("who", "", func(ctx context.Context, _ struct{}) (string, error) {
		id := identity.FromContext(ctx)
		return fmt.Sprint(id.Principal, id.Groups, id.Views), nil
	}))
	site := replicas.Start(t, 2, sealed.Random(), func(_ string, o *gateway.Options) *gateway.Gateway {
		o.Local, o.Host.Authenticate = local, identity.NewGuard(nil, keys).Principal
		return gateway.New(context.Background(), nil, o)
	})
	a, b := site.Members[0].URL+"/mcp", site.Members[1].URL+"/mcp"
	session := openSession(t, a, ann)
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"who","arguments":{}}}`
	stolen, _ := json.Marshal(map[string]string{"to": "b", "from": "a", "principal": "user:ann"})
	forged := map[string]string{"Indus-Forwarded": base64.RawURLEncoding.EncodeToString(stolen)}
	for name, test := range map[string]struct {
		x      exchanged
		status int
		text   string
	}{
		"the same key":    {exchanged{url: b, who: ann}, 200, "user:ann[dev] []"},
		"another key":     {exchanged{url: b, who: more}, 200, "user:ann[ops] []"},
		"here":            {exchanged{url: a, who: more}, 200, "user:ann[ops] []"},
		"no key":          {exchanged{url: b}, 401, ""},
		"a forged mark":   {exchanged{url: b, header: forged}, 401, ""},
		"a mark to a":     {exchanged{url: a, header: forged}, 401, ""},
		"a mark of bob":   {exchanged{url: b, who: bob, header: forged}, 404, "session not found"},
		"another's":       {exchanged{url: b, who: bob}, 404, "session not found"},
		"a web page":      {exchanged{url: b, who: ann, header: map[string]string{"Origin": "https://evil.example"}}, 403, "not allowed"},
		"a page of ours":  {exchanged{url: b, who: ann, header: map[string]string{"Origin": "http://localhost:3000"}}, 200, "user:ann[dev]"},
		"no origin":       {exchanged{url: b, who: ann, header: map[string]string{"Origin": "null"}}, 403, "not allowed"},
		"no JSON":         {exchanged{url: b, who: ann, body: "{"}, 400, "error"},
		"another version": {exchanged{url: b, who: ann, header: map[string]string{"Mcp-Protocol-Version": "1999-01-01"}}, 400, "unsupported"},
	} {
		x := test.x
		x.session = session
		if x.body == "" {
			x.body = call
		}
		x = x.send(t)
		if x.status != test.status || !strings.Contains(x.reply, test.text) {
			t.Errorf("%s: %d %s", name, x.status, x.reply)
		}
		if n := len(x.answer["Access-Control-Allow-Origin"]); n > 1 || len(x.answer["Vary"]) > 1 || x.answer.Get("Indus-Forwarded") != "" {
			t.Errorf("%s: %v", name, x.answer)
		}
	}
}

// TestALargeBodyStopsAtTheFirstReplica checks that a body over the bound reaches no other replica.
func TestALargeBodyStopsAtTheFirstReplica(t *testing.T) {
	t.Parallel()
	site := replicas.Start(t, 2, sealed.Random(), func(_ string, o *gateway.Options) *gateway.Gateway {
		o.Host.MaxMessage = 1 << 20
		return gateway.New(context.Background(), nil, o)
	})
	session := openSession(t, site.Members[0].URL+"/mcp", "")
	body := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`
	x := exchanged{url: site.Members[1].URL + "/mcp", session: session, body: body}.send(t)
	if x.status != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", x.status, x.reply)
	}
}

// TestAForwardedRequestStays sends a replica a forwarded request for the state of a third one. A loop is not possible.
func TestAForwardedRequestStays(t *testing.T) {
	t.Parallel()
	keys := sealed.Random()
	path := filepath.Join(t.TempDir(), "peer.keys")
	if err := os.WriteFile(path, []byte(sealed.NewKeyText()), 0o600); err != nil {
		t.Fatal(err)
	}
	address := fixture.FreeAddr(t)
	own, err := replica.New(&replica.Options{Name: "b", Credentials: replica.KeyFile(path), Peers: []replica.Peer{
		{Name: "a", Address: address}, // a request for a would come back
	}})
	if err != nil {
		t.Fatal(err)
	}
	m := replicas.Serve(t, address, func(o *gateway.Options) *gateway.Gateway {
		o.Host.Keys, o.Host.Replica = keys, own
		return gateway.New(context.Background(), nil, o)
	})
	x, err := replica.New(&replica.Options{Name: "x", Credentials: replica.KeyFile(path), Peers: []replica.Peer{{Name: "b", Address: address}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	session := keys.For("a").Seal(sealed.Token{Kind: sealed.Session})
	got := exchanged{url: m + "/mcp", session: session, body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`}.send(t)
	if got.status != 404 {
		t.Errorf("%d %s", got.status, got.reply)
	}
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/mcp", nil)
	r.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Session-Id": {session}}
	w := httptest.NewRecorder()
	if err := x.Forward(w, r, replica.Request{To: "b", Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}); err != nil || w.Code != 404 {
		t.Errorf("%v, %d %s", err, w.Code, w.Body)
	}
}

// TestLastEventIDAtAnotherReplica checks that a client that loses the connection of a call gets the answer through
// another replica.
func TestLastEventIDAtAnotherReplica(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	local := toolbox.NewRegistry(nil)
	local.Add(toolbox.Define("slow", "", func(context.Context, struct{}) (string, error) { <-release; return "at last", nil }))
	site := replicas.Start(t, 3, sealed.Random(), func(_ string, o *gateway.Options) *gateway.Gateway {
		o.Local = local
		return gateway.New(context.Background(), nil, o)
	})
	url := func(i int) string { return site.Members[i].URL + "/mcp" }
	session := openSession(t, url(0), "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open := func(ctx context.Context, method, at, body, last string) *bufio.Scanner {
		r, err := http.NewRequestWithContext(ctx, method, at, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {session}}
		if last != "" {
			r.Header.Set("Last-Event-Id", last)
		}
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Body.Close() })
		if w.StatusCode != 200 {
			t.Fatal(w.Status)
		}
		return bufio.NewScanner(w.Body)
	}
	first := open(ctx, "POST", url(1), `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow","arguments":{}}}`, "")
	last := ""
	for last == "" && first.Scan() {
		last, _ = strings.CutPrefix(first.Text(), "id: ")
	}
	cancel()
	second := open(t.Context(), "GET", url(2), "", last)
	close(release)
	for second.Scan() {
		if strings.Contains(second.Text(), "at last") {
			return
		}
	}
	t.Errorf("the answer after %q did not arrive: %v", last, second.Err())
}

// TestAReplicaLeaves checks the order of an end: first /readyz, then sessions, and calls in flight finish.
func TestAReplicaLeaves(t *testing.T) {
	t.Parallel()
	release, begun := make(chan struct{}), make(chan struct{}, 2)
	local := toolbox.NewRegistry(nil)
	local.Add(toolbox.Define("slow", "", func(context.Context, struct{}) (string, error) {
		begun <- struct{}{}
		<-release
		return "done", nil
	}))
	site := replicas.Start(t, 2, sealed.Random(), func(_ string, o *gateway.Options) *gateway.Gateway {
		o.Local = local
		return gateway.New(context.Background(), nil, o)
	})
	a, b := site.Members[0], site.Members[1]
	health := func(path string) int { return exchanged{url: a.URL + path, method: "GET"}.send(t).status }
	session := openSession(t, a.URL+"/mcp", "")
	call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow","arguments":{}}}`
	answers := make(chan exchanged, 2)
	for i, m := range site.Members {
		own := strings.Replace(call, "7", fmt.Sprint(100+i), 1)
		go func() { answers <- exchanged{url: m.URL + "/mcp", session: session, body: own}.send(t) }()
	}
	<-begun
	<-begun
	if health("/livez") != 200 || health("/readyz") != 200 || health("/healthz") != 200 {
		t.Error("a replica that serves is not ready")
	}
	a.Gateway().Leave()
	if health("/livez") != 200 || health("/readyz") != 503 || health("/healthz") != 503 {
		t.Error("a replica that leaves is ready")
	}
	ping := exchanged{session: session, body: `{"jsonrpc":"2.0","id":8,"method":"ping"}`}
	for _, m := range site.Members {
		ping.url = m.URL + "/mcp"
		if x := ping.send(t); x.status != 200 {
			t.Errorf("during the delay, at %s: %d %s", m.Name, x.status, x.reply)
		}
	}
	stopped := make(chan error, 1)
	go func() { stopped <- a.Stop() }()
	ping.url = b.URL + "/mcp"
	for x := ping.send(t); x.status != 404; x = ping.send(t) {
		if x.status != 200 {
			t.Fatalf("at the end: %d %s", x.status, x.reply)
		}
	}
	close(release)
	for range 2 {
		if x := <-answers; x.status != 200 || !strings.Contains(x.reply, "done") {
			t.Errorf("a call in flight: %d %s", x.status, x.reply)
		}
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
