package gateway_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// raw is a server that answers each method with bytes, and records the params.
type raw struct {
	answers      map[string]string
	streams      func(mcp.Connection, *jsonrpc.Request) // answers subscriptions/listen; nil: answers is used
	refusal      string                                 // the text of errors; "": the text for an unknown method
	beforeAnswer func(mcp.Connection, *jsonrpc.Request) // runs before an answer; nil: nothing runs

	mu       sync.Mutex
	received map[string]string
}

// gateway returns a gateway for the server. Its principals are the bearer tokens of the requests.
func (s *raw) gateway(t *testing.T, id string, era interop.Era, opts gateway.Options) *httptest.Server {
	t.Helper()
	s.received = map[string]string{}
	opts.Ledger = &ledger.Options{Mount: &interop.MountOptions{FleetOptions: interop.FleetOptions{
		Endpoint: func(config.Server) *interop.EndpointOptions {
			clientEnd, serverEnd := mcp.NewInMemoryTransports()
			go s.serve(serverEnd)
			return &interop.EndpointOptions{Transport: clientEnd}
		},
	}}}
	opts.Host.Authenticate = func(r *http.Request) (toolbox.Principal, error) {
		return toolbox.Principal(r.Header.Get("Authorization")), nil
	}
	withAll(&opts)
	g := gateway.New(t.Context(), []config.Server{{ID: id, Era: era}}, &opts)
	t.Cleanup(g.Close)
	if st := g.Attached().Status()[0]; st.Phase != interop.Ready {
		t.Fatal(st.Fault)
	}
	web := httptest.NewServer(g.Handler())
	t.Cleanup(web.Close)
	return web
}

func (s *raw) serve(t mcp.Transport) {
	c, err := t.Connect(context.Background())
	if err != nil {
		return
	}
	for {
		m, err := c.Read(context.Background())
		if err != nil {
			return
		}
		r, ok := m.(*jsonrpc.Request)
		if !ok || !r.ID.IsValid() {
			continue
		}
		s.mu.Lock()
		s.received[r.Method] = string(r.Params)
		s.mu.Unlock()
		if s.streams != nil && r.Method == "subscriptions/listen" {
			s.streams(c, r)
			continue
		}
		if s.beforeAnswer != nil {
			s.beforeAnswer(c, r)
		}
		answer := &jsonrpc.Response{ID: r.ID, Result: json.RawMessage(s.answers[r.Method])}
		if s.answers[r.Method] == "" {
			answer.Error = &jsonrpc.Error{Code: -32601, Message: cmp.Or(s.refusal, "method not found")}
		}
		if c.Write(context.Background(), answer) != nil {
			return
		}
	}
}

func (s *raw) params(method string) json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return json.RawMessage(s.received[method])
}

// post sends a modern request of a client with these capabilities, and returns the result or the error.
func post(
	t *testing.T, web *httptest.Server, who, capabilities, method, params string,
) (result json.RawMessage, failed *interop.RPCError) {
	t.Helper()
	return postTo(t, web, "/mcp", who, capabilities, method, params)
}

// postTo is post to the view at path.
func postTo(
	t *testing.T, web *httptest.Server, path, who, capabilities, method, params string,
) (result json.RawMessage, failed *interop.RPCError) {
	t.Helper()
	meta := fmt.Sprintf(`{"%s":"2026-07-28","%s":%s}`, protocol.MetaVersion, protocol.MetaClientCaps, capabilities)
	full, err := wire.Rewrite(json.RawMessage(params), wire.Edit{Key: "_meta", Value: json.RawMessage(meta)})
	if err != nil {
		t.Fatal(err)
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+path,
		strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, full)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", who)
	r.Header.Set(protocol.HeaderVersion, "2026-07-28")
	r.Header.Set(protocol.HeaderMethod, method)
	for _, key := range []string{"name", "taskId", "uri"} {
		if name, ok := protocol.LookupString(full, key); ok {
			r.Header.Set(protocol.HeaderName, protocol.HeaderText(name))
		}
	}
	resp, err := web.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return answerOf(t, resp.Body)
}

// answerOf reads the reply to a request, as an object or an event.
func answerOf(t *testing.T, r io.Reader) (result json.RawMessage, failed *interop.RPCError) {
	t.Helper()
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, data, ok := bytes.Cut(body, []byte("data: {")); ok {
		body = append([]byte("{"), data...)
	}
	body = bytes.TrimSpace(body)
	if e, ok := wire.Lookup(body, "error"); ok {
		return nil, protocol.ParseError(e)
	}
	result, ok := wire.Lookup(body, "result")
	if !ok {
		t.Fatalf("%s", body)
	}
	return bytes.Clone(result), nil
}

const takesTasks = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

func TestTasksOfAModernServer(t *testing.T) {
	t.Parallel()
	s := &raw{answers: map[string]string{
		"server/discover": `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":0,"cacheScope":"public"}`,
		"tools/list":      `{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"public"}`,
		"tools/call":      `{"resultType":"task","taskId":"T-1","status":"working"}`,
		"tasks/get":       `{"resultType":"complete","taskId":"T-1","status":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"who?"}}}}`,
		"tasks/update":    `{"resultType":"complete"}`,
		"tasks/cancel":    `{"resultType":"complete"}`,
	}}
	web := s.gateway(t, "jobs", interop.Modern, gateway.Options{})

	if _, failed := post(t, web, "ann", `{}`, "tools/call", `{"name":"jobs__t","arguments":{}}`); failed == nil {
		t.Error("a client that takes no tasks got one")
	}
	created, failed := post(t, web, "ann", takesTasks, "tools/call", `{"name":"jobs__t","arguments":{}}`)
	if failed != nil {
		t.Fatal(failed)
	}
	id, _ := protocol.LookupString(created, "taskId")
	if kind, _ := protocol.LookupString(created, "resultType"); kind != "task" || id == "" || id == "T-1" {
		t.Fatalf("%s", created)
	}
	got, failed := post(t, web, "ann", takesTasks, "tasks/get", `{"taskId":"`+id+`"}`)
	if failed != nil {
		t.Fatal(failed)
	}
	if again, _ := protocol.LookupString(got, "taskId"); again != id || !bytes.Contains(got, []byte(`"[jobs] who?"`)) {
		t.Errorf("%s", got)
	}
	for _, method := range []string{"tasks/update", "tasks/cancel"} {
		if _, failed := post(t, web, "ann", takesTasks, method, `{"taskId":"`+id+`","inputResponses":{"k":{"action":"accept"}}}`); failed != nil {
			t.Errorf("%s: %v", method, failed)
		}
		if own, _ := protocol.LookupString(s.params(method), "taskId"); own != "T-1" {
			t.Errorf("%s: the server got %s", method, s.params(method))
		}
		for who, id := range map[string]string{"eve": id, "ann": "T-1"} {
			if _, failed := post(t, web, who, takesTasks, method, `{"taskId":"`+id+`","inputResponses":{}}`); failed == nil || failed.Code != interop.CodeInvalidParams {
				t.Errorf("%s of %s: %v", method, who, failed)
			}
		}
	}
}

// Tasks of 2025-11-25 (SEP-1686), on the view of their server.
func TestTasksOfALegacyServer(t *testing.T) {
	t.Parallel()
	s := &raw{answers: map[string]string{
		"initialize":   `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"jobs","version":"1"}}`,
		"tools/list":   `{"tools":[{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`,
		"tools/call":   `{"task":{"taskId":"T-1","status":"working","createdAt":"x"}}`,
		"tasks/get":    `{"taskId":"T-1","status":"completed"}`,
		"tasks/result": `{"content":[{"type":"text","text":"done"}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"T-1"}}}`,
		"tasks/cancel": `{"taskId":"T-1","status":"cancelled"}`,
		"tasks/list":   `{"tasks":[{"taskId":"T-2"}]}`,
	}}
	web := s.gateway(t, "jobs", interop.Legacy, gateway.Options{})
	session := ""
	send := func(who, method, params string) (json.RawMessage, *interop.RPCError) {
		t.Helper()
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/mcp/jobs",
			strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", who)
		if session != "" && method != "initialize" {
			r.Header.Set(protocol.HeaderSession, session)
		}
		resp, err := web.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if method == "initialize" {
			session = resp.Header.Get(protocol.HeaderSession)
		}
		return answerOf(t, resp.Body)
	}
	const hello = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`
	shaken, _ := send("ann", "initialize", hello)
	if !bytes.Contains(shaken, []byte(`"tasks":{"cancel":{},"requests"`)) {
		t.Errorf("it says %s", shaken)
	}
	created, failed := send("ann", "tools/call", `{"name":"t","arguments":{},"task":{"ttl":60000}}`)
	if failed != nil {
		t.Fatal(failed)
	}
	task, _ := wire.Lookup(created, "task")
	id, _ := protocol.LookupString(task, "taskId")
	if id == "" || id == "T-1" {
		t.Fatalf("%s", created)
	}
	for method, want := range map[string]string{
		"tasks/get":    `{"taskId":"` + id + `","status":"completed"}`,
		"tasks/result": `{"content":[{"type":"text","text":"done"}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"` + id + `"}}}`,
		"tasks/cancel": `{"taskId":"` + id + `","status":"cancelled"}`,
	} {
		if got, failed := send("ann", method, `{"taskId":"`+id+`"}`); failed != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", method, got, failed, want)
		}
		if own, _ := protocol.LookupString(s.params(method), "taskId"); own != "T-1" {
			t.Errorf("%s: the server got %s", method, s.params(method))
		}
	}
	if got, failed := send("ann", "tasks/list", `{}`); failed == nil {
		t.Errorf("everybody's tasks were listed: %s", got)
	}
	send("eve", "initialize", hello)
	if got, failed := send("eve", "tasks/get", `{"taskId":"`+id+`"}`); failed == nil || failed.Code != interop.CodeInvalidParams {
		t.Errorf("another's task: %s, %v", got, failed)
	}
}

// During a task, the messages and questions of a legacy server name the task by the client's id. The client's answers
// name it by the server's id. This holds on a view of several servers and on the server's own view.
func TestMessagesOfALegacyTask(t *testing.T) {
	t.Parallel()
	const related = `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"T-1"}}`
	answers := make(chan string, 2)
	s := &raw{answers: map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"jobs","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}`,
		"tools/call": `{"task":{"taskId":"T-1","status":"working","createdAt":"x"}}`,
	}, beforeAnswer: func(c mcp.Connection, r *jsonrpc.Request) {
		if r.Method != "tools/call" {
			return
		}
		ctx := context.Background()
		id, _ := jsonrpc.MakeID("ask")
		for _, m := range []*jsonrpc.Request{
			{Method: "notifications/tasks/status", Params: json.RawMessage(`{"taskId":"T-1","status":"working",` + related + `}`)},
			{Method: "elicitation/create", ID: id, Params: json.RawMessage(`{"message":"who?","requestedSchema":{"type":"object","properties":{}},` + related + `}`)},
		} {
			if err := c.Write(ctx, m); err != nil {
				t.Error(err)
			}
		}
		for {
			m, err := c.Read(ctx)
			if a, ok := m.(*jsonrpc.Response); ok || err != nil {
				answers <- string(a.Result)
				return
			}
		}
	}}
	web := s.gateway(t, "jobs", interop.Legacy, gateway.Options{})
	for path, tool := range map[string]string{"/mcp": "jobs__t", "/mcp/jobs": "t"} {
		session := ""
		send := func(body string) *http.Response {
			t.Helper()
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+path, strings.NewReader(`{"jsonrpc":"2.0",`+body+`}`))
			r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"ann"}}
			if session != "" {
				r.Header.Set(protocol.HeaderSession, session)
			}
			resp, err := web.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = resp.Body.Close() })
			return resp
		}
		shaken := send(`"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}`)
		if body, _ := io.ReadAll(shaken.Body); !bytes.Contains(body, []byte(`"tasks":{`)) {
			t.Errorf("%s: it has a tool that needs tasks, and declares none: %s", path, body)
		}
		session = shaken.Header.Get(protocol.HeaderSession)
		var ids []string
		events := json.NewDecoder(sseData(send(`"id":2,"method":"tools/call","params":{"name":"` + tool + `","arguments":{},"task":{}}`).Body))
		for {
			var m struct {
				ID     json.RawMessage
				Method string
				Params struct {
					TaskID string
					Meta   struct {
						Task struct{ TaskID string } `json:"io.modelcontextprotocol/related-task"`
					} `json:"_meta"`
				}
				Result struct{ Task struct{ TaskID string } }
			}
			if err := events.Decode(&m); err != nil {
				t.Fatal(err)
			}
			of := m.Params.Meta.Task.TaskID
			switch m.Method {
			case "notifications/tasks/status":
				ids = append(ids, of, m.Params.TaskID)
				continue
			case "elicitation/create":
				ids = append(ids, of)
				send(`"id":` + string(m.ID) + `,"result":{"action":"accept","content":{},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"` + of + `"}}}`)
				continue
			}
			ids = append(ids, m.Result.Task.TaskID)
			break
		}
		if len(ids) != 4 || ids[0] == "T-1" || ids[0] == "" || len(slices.Compact(ids)) != 1 {
			t.Errorf("%s: one task has the ids %q", path, ids)
		}
		if got := <-answers; !strings.Contains(got, `"taskId":"T-1"`) {
			t.Errorf("%s: the server was answered %s", path, got)
		}
	}
}

// sseData returns the data of events.
func sseData(r io.Reader) io.Reader {
	data, into := io.Pipe()
	go func() {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			if line, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
				_, _ = io.WriteString(into, line)
			}
		}
		_ = into.Close()
	}()
	return data
}
