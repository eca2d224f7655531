package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// askingBackend is a backend with a tools/call that asks the client the question in its arguments. It returns the
// answer, or the error, as text.
func askingBackend(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	var call struct {
		Arguments struct {
			Method string
			Params json.RawMessage
			Always bool
		}
	}
	_ = json.Unmarshal(m.Params, &call)
	if call.Arguments.Always {
		back = m.Client.Always
	}
	r, err := back(ctx, interop.Message{Method: call.Arguments.Method, Params: call.Arguments.Params})
	if err != nil {
		r = json.RawMessage(err.Error())
	}
	text, err := json.Marshal(string(r))
	return json.RawMessage(`{"content":[{"type":"text","text":` + string(text) + `}]}`), err
}

// asked returns the text of an asker's result.
func asked(t testing.TB, s *mcp.ClientSession, method, params string, always bool) string {
	t.Helper()
	args := map[string]any{"method": method, "params": json.RawMessage(params), "always": always}
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask", Arguments: args})
	if err != nil {
		t.Error(err)
		return ""
	}
	return r.Content[0].(*mcp.TextContent).Text
}

// elicitingClient returns the options of a client that answers all questions with its name.
func elicitingClient(name string) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": name + " " + r.Params.Message}}, nil
		},
		//lint:ignore SA1019 sampling is deprecated, and there for as long as its peers are
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			//lint:ignore SA1019 see above
			return &mcp.CreateMessageResult{Model: name, Role: "assistant", Content: &mcp.TextContent{Text: "four"}}, nil
		},
	}
}

const (
	elicitation = `{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}},"_meta":{"progressToken":1}}`
	sampling    = `{"messages":[{"role":"user","content":{"type":"text","text":"2+2"}}],"maxTokens":9}`
)

// Real clients are asked during a request. Clients with a session are also asked outside of requests.
func TestClientsAreAsked(t *testing.T) {
	t.Parallel()
	onEachTransport(t, func(t *testing.T, era string, connect func(*host.Host, *mcp.ClientOptions) *mcp.ClientSession) {
		t.Parallel()
		s := connect(newScripted(t, nil, askingBackend), elicitingClient("ann"))
		for _, tt := range []struct{ method, params, want string }{
			{"elicitation/create", elicitation, `"name":"ann who?"`},
			{"sampling/createMessage", sampling, `"model":"ann"`},
			{"roots/list", `{}`, `"roots":`},
			{"sampling/createMessage", sampling[:len(sampling)-1] + `,"tools":[]}`, "the client did not declare sampling.tools (-32602)"},
			{"elicitation/create", `{"mode":"url","message":"open","url":"https://a.example/","elicitationId":"1"}`, "the client did not declare elicitation.url (-32602)"},
			{"elicitation/create", `{"mode":"form","mode":"url"}`, `key "mode" stands twice`},
			{"elicitation/create", `[]`, `-32602`},
			{"x/y", `{}`, "a client cannot be asked x/y (-32601)"},
		} {
			for _, always := range []bool{false, true} {
				if era == "2026-07-28" && always {
					continue
				}
				if got := asked(t, s, tt.method, tt.params, always); !strings.Contains(got, tt.want) {
					t.Errorf("%s, always %t: %s", tt.method, always, got)
				}
			}
		}
	})
}

// A client is asked only for capabilities that it declares.
func TestClientsAreAskedWhatTheyDeclare(t *testing.T) {
	for _, caps := range []string{`{}`, `{"elicitation":true,"sampling":null,"roots":[]}`} {
		l := serveLines(t.Context(), t, newScripted(t, nil, askingBackend))
		l.ask(initializeBody(caps))
		for _, method := range []string{"elicitation/create", "sampling/createMessage", "roots/list"} {
			if got := l.ask(callLine("1", method, false)); !strings.Contains(got, "did not declare the capability") ||
				!strings.Contains(got, "-32601") {
				t.Errorf("%s: %s", caps, got)
			}
		}
	}
	l := serveLines(t.Context(), t, newScripted(t, nil, askingBackend))
	l.ask(initializeBody(`{"elicitation":{"url":{}}}`))
	if got := l.ask(callLine("1", "elicitation/create", false)); !strings.Contains(got, "did not declare elicitation.form") {
		t.Error(got)
	}
}

// callLine returns a call for askingBackend.
func callLine(id, method string, always bool) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"ask","arguments":{"method":%q,"params":{},"always":%t}}}`, id, method, always)
}

// question returns the question that an asker sends with an id.
func question(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"roots/list","params":{}}`, id)
}

// answerLine returns the result of an asker for the request id.
func answerLine(id, text string) string {
	b, _ := json.Marshal(text)
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":` + string(b) + `}]}}`
}

const rootsCapability = `{"roots":{}}`

// A response without an open question is dropped. An unreadable response to a question ends it.
func TestAnswersToNoQuestionAreDropped(t *testing.T) {
	l := serveLines(t.Context(), t, newScripted(t, &host.Options{MaxMessage: 2000}, askingBackend))
	l.ask(initializeBody(rootsCapability))
	for i, tt := range []struct{ answer, want string }{
		{`{"jsonrpc":"2.0","id":%d,"result":{ "roots" : []}}`, `{ "roots" : []}`},
		{`{"jsonrpc":"2.0","id":%d.0,"result":{}}`, `{}`},
		{`{"jsonrpc":"2.0","id":%d,"error":{"code":-1,"message":"no","data":{"k":1}}}`, `no (-1)`},
		{`{"jsonrpc":"2.0","id":%d,"result":[]}`, "the client's answer is not an object (-32603)"},
		{`{"jsonrpc":"2.0","id":%d,"result":{"x":"` + "\xff" + `"}}`, "the client's answer cannot be read: wire: malformed UTF-8 at byte 39 (-32603)"},
		{`{"jsonrpc":"2.0","id":%d,"result":{]}`, "the client's answer cannot be read: wire: unexpected ']' at byte 34 (-32603)"},
		{`{"jsonrpc":"2.0","id":%d,"result":{"x":"` + strings.Repeat("x", 2000) + `"}}`, "the client's answer cannot be read: wire: message of 2042 bytes is over the limit of 2000 (-32603)"},
	} {
		if diff := cmp.Diff(question(i+1), l.ask(callLine("7", "roots/list", false))); diff != "" {
			t.Fatal(diff)
		}
		for _, id := range []string{fmt.Sprintf(`"%d"`, i+1), fmt.Sprint(i), "99", "-1", "0.5"} {
			l.write(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
		}
		l.write(`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`)
		answer := fmt.Sprintf(tt.answer, i+1)
		if diff := cmp.Diff(answerLine("7", tt.want), l.ask(answer)); diff != "" {
			t.Error(diff)
		}
		l.write(answer) // a second time
		if strings.Contains(tt.want, "cannot be read") {
			if got := l.read(); !strings.Contains(got, `"error"`) { // now it answers no question
				t.Error(got)
			}
		}
	}
}

// When a question ends for any reason, the server receives the reason, and the client is notified.
func TestQuestionsEnd(t *testing.T) {
	release := make(chan struct{})
	var back, always interop.Peer
	received := make(chan error, 1)
	h := newScripted(t, nil, func(ctx context.Context, m interop.Message, b interop.Peer) (json.RawMessage, error) {
		switch m.Method {
		case "cancel": // the server withdraws the question
			ctx, cancel := context.WithCancelCause(ctx)
			go cancel(context.DeadlineExceeded)
			_, err := b(ctx, interop.Message{Method: "roots/list"})
			received <- err
		case "leave": // the server answers, and continues to ask
			back, always = b, m.Client.Always
			go func() {
				_, err := b(context.Background(), interop.Message{Method: "roots/list"})
				received <- err
			}()
			<-release
		case "drop":
			_, err := b(ctx, interop.Message{Method: "roots/list"})
			received <- err
		}
		return json.RawMessage(`{}`), nil
	})
	l := serveLines(t.Context(), t, h)
	l.ask(initializeBody(rootsCapability))
	call := func(method string) string { return `{"jsonrpc":"2.0","id":7,"method":"` + method + `"}` }
	expect := func(want string) {
		t.Helper()
		if diff := cmp.Diff(want, l.read()); diff != "" {
			t.Error(diff)
		}
	}
	ends := func(want string) {
		t.Helper()
		if err := <-received; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	question := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`, id)
	}
	withdrawn := func(id int, reason string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":%q}}`, id,
			reason)
	}
	l.write(call("cancel"))
	expect(question(1))
	expect(withdrawn(1, "context deadline exceeded"))
	expect(`{"jsonrpc":"2.0","id":7,"result":{}}`)
	ends("context deadline exceeded")

	l.write(call("leave"))
	expect(question(2))
	release <- struct{}{}
	const ended = "the request to which this question belongs has ended"
	expect(withdrawn(2, ended))
	expect(`{"jsonrpc":"2.0","id":7,"result":{}}`)
	ends(ended)
	if _, err := back(context.Background(), interop.Message{Method: "roots/list"}); err == nil || err.Error() != ended {
		t.Errorf("asked after the answer: %v", err)
	}

	l.write(call("drop")) // the client cancels its own request, and thereby the question
	expect(question(3))
	l.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"enough"}}`)
	expect(withdrawn(3, "enough"))
	ends("enough")

	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, err := always(ctx, interop.Message{Method: "roots/list"})
		received <- err
	}()
	expect(question(4))
	cancel()
	expect(withdrawn(4, "context canceled"))
	ends("context canceled")

	for i := range 16 { // the maximum
		go func() { _, _ = always(context.Background(), interop.Message{Method: "roots/list"}) }()
		expect(question(5 + i))
	}
	if _, err := always(context.Background(), interop.Message{Method: "roots/list"}); err == nil ||
		err.Error() != "the client has too many open questions" {
		t.Error(err)
	}
	l.in.Close() // a client that has closed its side does not answer any more
	if err := l.wait(); err != nil {
		t.Error(err)
	}
	if _, err := always(context.Background(), interop.Message{Method: "roots/list"}); err == nil {
		t.Error("asked after the end")
	}
}

// The questions of one request leave room for others, and all together are bounded.
func TestQuestionsAreBounded(t *testing.T) {
	const many = "the client has too many open questions"
	h := newScripted(t, nil, func(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
		if m.Method == "one" {
			return back(ctx, interop.Message{Method: "roots/list"})
		}
		failed := make(chan error, 16)
		for range 16 {
			go func() {
				_, err := back(ctx, interop.Message{Method: "roots/list"})
				failed <- err
			}()
		}
		return nil, <-failed
	})
	l := serveLines(t.Context(), t, h)
	l.ask(initializeBody(rootsCapability))
	for id := range 4 {
		l.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x"}`, id))
		for range 16 {
			if got := l.read(); !strings.Contains(got, `"method":"roots/list"`) {
				t.Fatal(got)
			}
		}
	}
	if got := l.ask(`{"jsonrpc":"2.0","id":9,"method":"one"}`); !strings.Contains(got, `"id":9,"error"`) ||
		!strings.Contains(got, many) {
		t.Error(got)
	}
}

// The answer to a question is read even if the maximum of requests waits for answers.
func TestQuestionsLeaveRoomForTheirAnswers(t *testing.T) {
	h := newScripted(t, &host.Options{MaxInFlight: 2}, askingBackend)
	l := serveLines(t.Context(), t, h)
	l.ask(initializeBody(rootsCapability))
	if got := l.ask(callLine("1", "roots/list", false)); got != question(1) {
		t.Fatal(got)
	}
	for _, id := range []string{"2", "3"} {
		if got := l.ask(callLine(id, "roots/list", false)); !strings.Contains(got, "too many open questions") {
			t.Error(got)
		}
	}
	if got := l.ask(`{"jsonrpc":"2.0","id":1,"result":{}}`); got != answerLine("1", "{}") {
		t.Error(got)
	}

	site := serveSite(t, newScripted(t, &host.Options{MaxInFlight: 1}, askingBackend))
	header := openSession(t, site, rootsCapability)
	resp := request{body: callLine("1", "roots/list", false), header: header}.start(t.Context(), t, site)
	e := &events{t: t, body: resp.Body}
	if got := e.next(); got != question(1) {
		t.Fatal(got)
	}
	if resp, _ := (request{body: callLine("2", "roots/list", false), header: header}).send(t, site); resp.StatusCode != 429 {
		t.Error(resp.Status)
	}
	postAnswer(t, site, header, 202, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	if got := e.next(); got != answerLine("1", "{}") {
		t.Error(got)
	}
	resp.Body.Close()
}

// openSession opens a session over HTTP with capabilities.
func openSession(t testing.TB, site *httptest.Server, caps string) map[string]string {
	t.Helper()
	return openWith(t, func(r request) (func(string) string, string) {
		resp, body := r.send(t, site)
		return resp.Header.Get, body
	}, caps)
}

// postAnswer posts a response.
func postAnswer(t testing.TB, site *httptest.Server, header map[string]string, status int, body string) {
	t.Helper()
	if resp, got := (request{body: body, header: header}).send(t, site); resp.StatusCode != status {
		t.Errorf("%s: %s %s", body, resp.Status, got)
	}
}

// A question over HTTP is sent on the stream of its request. If the client accepts no stream there, it is sent on the
// session's stream. No other client can answer it.
func TestQuestionsOverHTTP(t *testing.T) {
	site := serveSite(t, newScripted(t, &host.Options{MaxMessage: 5000}, askingBackend))
	own, other := openSession(t, site, rootsCapability), openSession(t, site, rootsCapability)
	ask := func(always bool, accept string) (*http.Response, *events) {
		r := request{body: callLine(`"a"`, "roots/list", always), header: own}.with("Accept", accept)
		resp := r.start(t.Context(), t, site)
		return resp, &events{t: t, body: resp.Body}
	}
	const both, onlyJSON = "application/json, text/event-stream", "application/json"
	expect := func(e *events, want string) {
		t.Helper()
		if diff := cmp.Diff(want, e.next()); diff != "" {
			t.Error(diff)
		}
	}
	for i, tt := range []struct {
		answer, want string
		status       int
	}{
		{`{"jsonrpc":"2.0","id":%d,"result":{"roots":[]}}`, `{"roots":[]}`, 202},
		{`{"jsonrpc":"2.0","id":%d,"result":{"roots":[}}`, `the client's answer cannot be read: wire: unexpected '}' at byte 43 (-32603)`, 400},
		{`{"jsonrpc":"2.0","id":%d,"result":{"roots":"` + strings.Repeat("x", 5000) + `"}}`, `the client's answer cannot be read: the message is too large (-32603)`, 413},
	} {
		resp, e := ask(false, both)
		expect(e, question(i+1))
		answer := fmt.Sprintf(tt.answer, i+1)
		postAnswer(t, site, other, tt.status, answer)
		postAnswer(t, site, own, 202, `{"jsonrpc":"2.0","id":"1","result":{}}`)
		postAnswer(t, site, own, tt.status, answer)
		expect(e, answerLine(`"a"`, tt.want))
		resp.Body.Close()
	}
	if _, body := (request{body: callLine(`"a"`, "roots/list", false), header: own}).with("Accept", onlyJSON).send(t, site); body != answerLine(`"a"`, "the client cannot be asked roots/list: the client does not accept text/event-stream") {
		t.Error(body)
	}
	stream := request{method: http.MethodGet, header: own}.start(t.Context(), t, site)
	standing := &events{t: t, body: stream.Body}
	for i, always := range []bool{false, true} {
		done := make(chan string, 1)
		go func() {
			_, body := (request{body: callLine(`"a"`, "roots/list", always), header: own}).with("Accept", onlyJSON).send(t, site)
			done <- body
		}()
		expect(standing, question(i+5))
		postAnswer(t, site, own, 202, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, i+5))
		if got := <-done; got != answerLine(`"a"`, "{}") {
			t.Error(got)
		}
	}
	resp, e := ask(false, both) // the session ends
	expect(e, question(7))
	(request{method: http.MethodDelete, header: own}).send(t, site)
	expect(e, answerLine(`"a"`, "the session has ended"))
	resp.Body.Close()
	expect(standing, "")
	stream.Body.Close()
}

// A question that needs a stream waits for one, but not forever.
func TestQuestionsWaitForAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := host.NewFront(&scriptedBackend{handle: askingBackend}, nil)
		defer h.Close()
		post := func(r request) (func(string) string, string) {
			req := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(r.body))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json") // without a stream
			for k, v := range r.header {
				req.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			h.Handler().ServeHTTP(w, req)
			return w.Header().Get, w.Body.String()
		}
		header := openWith(t, post, rootsCapability)
		_, body := post(request{body: callLine("1", "roots/list", true), header: header})
		if !strings.Contains(body, "the client has no stream open on which it could be asked") {
			t.Error(body)
		}
	})
}

// A client without a stream beside its requests is asked on the stream of any request if the question's own request is
// not known. A lost stream, or a request without a stream, is not used. A question that no request can carry waits for
// the next request.
func TestQuestionsTakeAnyStreamOfTheSession(t *testing.T) {
	t.Parallel()
	came, release, notified := make(chan *interop.Client, 4), make(chan struct{}), make(chan error, 4)
	site := serveSite(t, newScripted(t, nil, func(_ context.Context, m interop.Message, _ interop.Peer) (json.RawMessage, error) {
		released := release // of the calls that have begun; the next one has its own
		came <- m.Client
		<-released
		return json.RawMessage(`{}`), nil
	}))
	header := openSession(t, site, rootsCapability)
	const both, onlyJSON = "application/json, text/event-stream", "application/json"
	var client *interop.Client
	begin := func(ctx context.Context, id int, accept string) (received chan string) {
		received = make(chan string, 4)
		var begun sync.WaitGroup
		begun.Go(func() { client = <-came })
		go func() {
			defer close(received)
			r := request{body: fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x"}`, id), header: header}.with("Accept", accept)
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, site.URL+"/mcp", strings.NewReader(r.body))
			req.Header.Set("Content-Type", "application/json")
			for k, v := range r.header {
				req.Header.Set(k, v)
			}
			resp, err := site.Client().Do(req)
			if err != nil {
				return
			}
			defer resp.Body.Close()
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
					received <- data
				}
			}
		}()
		begun.Wait()
		return received
	}
	sendQuestion := func() {
		client := client // the next call has its own
		go func() {
			_, err := client.Always(context.Background(), interop.Message{Method: "roots/list", Params: json.RawMessage(`{}`)})
			notified <- err
		}()
	}
	expect := func(what string, received chan string, id int) {
		t.Helper()
		if diff := cmp.Diff(question(id), <-received); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		postAnswer(t, site, header, 202, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, id))
		if err := <-notified; err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	one := begin(t.Context(), 101, both)
	lost, leave := context.WithCancel(t.Context())
	two := begin(lost, 102, both)
	begin(t.Context(), 103, onlyJSON)
	sendQuestion()
	expect("two calls", two, 1)
	leave()
	for range two { // the stream is lost
	}
	sendQuestion()
	expect("a call that was lost", one, 2)
	close(release)
	for range one {
	}
	release = make(chan struct{})
	sendQuestion() // before the next call or during it
	expect("the next call", begin(t.Context(), 104, both), 3)
	close(release)
}

// Two clients are asked at once, and each answers its own questions.
func TestQuestionsDoNotCross(t *testing.T) {
	h := newScripted(t, nil, askingBackend)
	site := serveSite(t, h)
	var wg sync.WaitGroup
	for _, name := range []string{"ann", "bob"} {
		c := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, elicitingClient(name))
		s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: site.URL, HTTPClient: site.Client()},
			&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for i := range 8 {
			wg.Go(func() {
				for k := range 10 {
					params := fmt.Sprintf(`{"message":"%d.%d","requestedSchema":{"type":"object"}}`, i, k)
					if got, want := asked(t, s, "elicitation/create", params, k%2 == 0), fmt.Sprintf(`"name":"%s %d.%d"`, name, i, k); !strings.Contains(got, want) {
						t.Errorf("%s, want %s", got, want)
					}
				}
			})
		}
	}
	wg.Wait()
}

// askerScript are clients that answer with their names: the TypeScript SDK 1, and 2 in the legacy era.
const askerScript = `
import { Client as One } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HTTPOne } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, CreateMessageRequestSchema, ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Client as Two, StreamableHTTPClientTransport as HTTPTwo } from "@modelcontextprotocol/client";
const url = new URL(process.argv[1]);
const capabilities = { elicitation: {}, sampling: {}, roots: {} };
const answers = {
  "elicitation/create": name => ({ action: "accept", content: { name } }),
  "sampling/createMessage": name => ({ model: name, role: "assistant", content: { type: "text", text: "four" } }),
  "roots/list": name => ({ roots: [{ uri: "file:///" + name }] }),
};
const schemas = { "elicitation/create": ElicitRequestSchema, "sampling/createMessage": CreateMessageRequestSchema, "roots/list": ListRootsRequestSchema };
const params = {
  "elicitation/create": { message: "who?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } },
  "sampling/createMessage": { messages: [{ role: "user", content: { type: "text", text: "2+2" } }], maxTokens: 9 },
  "roots/list": {},
};
const out = {};
for (const [name, client, transport] of [
  ["one", new One({ name: "one", version: "1" }, { capabilities }), new HTTPOne(url)],
  ["two", new Two({ name: "two", version: "1" }, { capabilities }), new HTTPTwo(url)],
]) {
  for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(name === "one" ? schemas[method] : method, async () => answer(name));
  await client.connect(transport);
  for (const method of Object.keys(answers)) for (const always of [false, true]) {
    const r = await client.callTool({ name: "ask", arguments: { method, params: params[method], always } });
    out[name + " " + method + " " + always] = r.content[0].text;
  }
  await client.close();
}
console.log(JSON.stringify(out));
process.exit(0);
`

// The official clients of another language are asked too.
func TestTypeScriptClientsAreAsked(t *testing.T) {
	t.Parallel()
	site := serveSite(t, newScripted(t, nil, askingBackend))
	cmd := exec.Command(peers.Node(t), "--input-type=module", "-e", askerScript, site.URL)
	cmd.Dir = filepath.Join("..", "testdata", "peers") // where node searches for packages
	out, err := cmd.CombinedOutput()
	var got map[string]string
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil || len(got) != 12 {
		t.Fatalf("%v: %s", err, out)
	}
	for what, answer := range got {
		if name, _, _ := strings.Cut(what, " "); !strings.Contains(answer, name) {
			t.Errorf("%s: %s", what, answer)
		}
	}
}

// A client that has lost its connection is asked when it reconnects. A question too large to be kept is not sent.
func TestQuestionsToAClientThatComesBack(t *testing.T) {
	for _, tt := range []struct{ params, want string }{
		{`{"x":"` + strings.Repeat("x", 100) + `"}`, `{"roots":[]}`},
		{`{"x":"` + strings.Repeat("x", 2000) + `"}`, "the client has lost its connection, and this is too large to be kept for it"},
	} {
		h := newScripted(t, &host.Options{Replay: host.NewReplay(1000, 0)}, askingBackend)
		site := serveSite(t, h)
		header := openSession(t, site, rootsCapability)
		r := request{body: strings.Replace(callLine("7", "roots/list", false), `"params":{},`, `"params":`+tt.params+`,`, 1), header: header}
		var lost sync.WaitGroup
		lost.Go(func() { exchange(t, h.Handler(), r, 20) })
		resp := resumeRequest(header, "a1-1").start(t.Context(), t, site)
		for resp.StatusCode != http.StatusOK { // the stream has not begun
			resp.Body.Close()
			resp = resumeRequest(header, "a1-1").start(t.Context(), t, site)
		}
		e := &events{t: t, body: resp.Body}
		got := e.next()
		if strings.Contains(got, `"method":"roots/list"`) {
			postAnswer(t, site, header, 202, `{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`)
			got = e.next()
		}
		var answer struct{ Result mcp.CallToolResult }
		if err := json.Unmarshal([]byte(got), &answer); err != nil ||
			!strings.Contains(answer.Result.Content[0].(*mcp.TextContent).Text, tt.want) {
			t.Errorf("%s, want %s", got, tt.want)
		}
		resp.Body.Close()
		lost.Wait()
	}
}
