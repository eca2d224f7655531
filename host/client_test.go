package host_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/shelf"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// scriptedBackend is a backend with answers that a test decides. It declares logging.
type scriptedBackend struct {
	handle func(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error)
}

func (s *scriptedBackend) Handle(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	if m.Method == "server/discover" {
		return json.RawMessage(`{"capabilities":{"logging":{},"tools":{}}}`), nil
	}
	return s.handle(ctx, m, back)
}

func (s *scriptedBackend) Watch(func(interop.Message)) (stop func()) { return func() {} }

// newScripted returns a host over a script, which is closed at the end of the test.
func newScripted(
	t testing.TB, opts *host.Options, handle func(context.Context, interop.Message, interop.Peer) (json.RawMessage, error),
) *host.Host {
	h := host.NewFront(&scriptedBackend{handle: handle}, opts)
	t.Cleanup(h.Close)
	return h
}

// initializeBody returns the handshake of a client with capabilities.
func initializeBody(caps string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + caps + `}}`
}

// openWith opens a session over HTTP with capabilities.
func openWith(
	t testing.TB, send func(request) (header func(string) string, body string), caps string,
) map[string]string {
	t.Helper()
	header, body := send(request{body: initializeBody(caps)})
	if header("Mcp-Session-Id") == "" {
		t.Fatal(body)
	}
	return map[string]string{"Mcp-Session-Id": header("Mcp-Session-Id"), "Mcp-Protocol-Version": "2025-11-25"}
}

// A backend receives with each request a description of its client, and sees only capabilities that the client
// declares.
func TestTheBackendKnowsTheClient(t *testing.T) {
	came := make(chan *interop.Client, 1)
	h := newScripted(t, nil, func(_ context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
		came <- m.Client
		return json.RawMessage(`{}`), nil
	})
	site := serveSite(t, h)
	post := func(r request) (func(string) string, string) {
		resp, body := r.send(t, site)
		return resp.Header.Get, body
	}
	expect := func(what string, era interop.Era, session, always bool, caps, level string) *interop.Client {
		t.Helper()
		c := <-came
		if c.Era != era || (c.Session != "") != session || (c.Always != nil) != always || (c.Life != nil) != session ||
			string(c.Capabilities) != caps || c.LogLevel != level || c.Back == nil {
			t.Errorf("%s: %+v", what, c)
		}
		return c
	}
	const caps = `{"roots": {}, "sampling":{"tools":{}}}`
	one, two := openWith(t, post, caps), openWith(t, post, `{ }`)
	x := request{body: `{"jsonrpc":"2.0","id":7,"method":"x"}`}
	x.header = one
	post(x)
	first := expect("legacy", interop.Legacy, true, true, caps, "")
	for _, tt := range []struct{ params, want string }{
		{`{"level":"loud"}`, `-32602`}, {`{}`, `-32602`}, {`{"level":"warning"}`, `"result":{}`},
	} {
		if _, got := post(request{body: `{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":` + tt.params + `}`, header: one}); !strings.Contains(got, tt.want) {
			t.Errorf("setLevel %s: %s", tt.params, got)
		}
	}
	post(x)
	if again := expect("again", interop.Legacy, true, true, caps, "warning"); again.Session != first.Session {
		t.Error("one session has two names")
	}
	post(request{body: `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, header: one})
	expect("note", interop.Legacy, true, true, caps, "warning")
	x.header = two
	post(x)
	if other := expect("another", interop.Legacy, true, true, "", ""); other.Session == first.Session {
		t.Error("two sessions have one name")
	}
	post(modern("x", "", ""))
	expect("modern", interop.Modern, false, false, "", "")
	r := modern("x", "", "")
	r.body = strings.Replace(r.body, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/logLevel":"info"`, 1)
	post(r)
	expect("declaring", interop.Modern, false, false, `{"elicitation":{}}`, "info")

	l := serveLines(t.Context(), t, h)
	l.ask(modernLine("1", "x", ""))
	pipe := expect("modern pipe", interop.Modern, true, false, "", "")
	l.ask(initializeBody(caps))
	l.ask(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
	if c := expect("legacy pipe", interop.Legacy, true, true, caps, ""); c.Session != pipe.Session ||
		c.Session == first.Session {
		t.Error("the connection's name")
	}
	if first.Life.Err() != nil || pipe.Life.Err() != nil {
		t.Error("a session ends while its client is there")
	}
	(request{method: http.MethodDelete, header: one}).send(t, site)
	<-first.Life.Done()
	if got := l.ask(initializeBody(`{"x":"` + strings.Repeat("x", 64<<10) + `"}`)); !strings.Contains(got, "larger than 64 KiB") {
		t.Error(got)
	}
	l.in.Close()
	if err := l.wait(); err != nil {
		t.Error(err)
	}
	<-pipe.Life.Done()
}

// Log messages of a backend reach a client from the level on that it sets. Without a level, a legacy client receives
// all, a modern client none.
func TestLogMessagesHaveTheClientsLevel(t *testing.T) {
	h := newScripted(t, nil, func(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
		for _, level := range []string{"debug", "warning", "emergency", "odd"} {
			_, _ = back(ctx, interop.Message{Method: "notifications/message", Params: json.RawMessage(`{"level":"` + level + `"}`)})
		}
		_, _ = back(ctx, interop.Message{Method: "notifications/cancelled", Params: json.RawMessage(`{"requestId":1}`)})
		return json.RawMessage(`{}`), nil
	})
	l := serveLines(t.Context(), t, h)
	received := func(what, send, want string) {
		t.Helper()
		var got []string
		for s := l.ask(send); strings.Contains(s, `"method"`); s = l.read() {
			got = append(got, strings.Split(s, `"level":"`)[1])
		}
		if s := strings.ReplaceAll(strings.Join(got, " "), `"}}`, ""); s != want {
			t.Errorf("%s: %q", what, s)
		}
	}
	received("modern", modernLine("1", "x", ""), "")
	meta := func(level string) string {
		return strings.Replace(modernLine("1", "x", ""), `"_meta":{`,
			`"_meta":{"io.modelcontextprotocol/logLevel":"`+level+`",`, 1)
	}
	received("modern warning", meta("warning"), "warning emergency")
	received("modern odd", meta("odd"), "")
	l.ask(initializeBody("{}"))
	const x = `{"jsonrpc":"2.0","id":1,"method":"x"}`
	received("legacy", x, "debug warning emergency odd")
	l.ask(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"alert"}}`)
	received("legacy alert", x, "emergency")
}

// A host without logging refuses levels.
func TestLevelsNeedLogging(t *testing.T) {
	bare := host.NewFront(&fixedBackend{result: `{"capabilities":{}}`}, nil)
	t.Cleanup(bare.Close)
	for want, site := range map[string]*httptest.Server{`"code":-32601`: serveSite(t, bare), `"result":{}`: newSite(t, echoTool(), nil)} {
		_, got := request{body: `{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"info"}}`, header: session(t, site)}.send(t, site)
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A tool's source finds the client in its context.
func TestTheClientReachesTheToolbox(t *testing.T) {
	came := make(chan *interop.Client, 1)
	site := newSite(t, shelf.OneTool(func(ctx context.Context, _ toolbox.Call) (*toolbox.Result, error) {
		came <- interop.ClientOf(ctx)
		return nil, nil
	}), nil)
	legacyCall(session(t, site), "1", "").send(t, site)
	if c := <-came; c == nil || c.Era != interop.Legacy || c.Session == "" {
		t.Errorf("%+v", c)
	}
}

// The header names the subject of a request, also if it is a task.
func TestTheHeaderNamesATask(t *testing.T) {
	h := newScripted(t, nil, func(context.Context, interop.Message, interop.Peer) (json.RawMessage, error) {
		return json.RawMessage(`{}`), nil
	})
	site := serveSite(t, h)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		for name, want := range map[string]string{"": "-32020", "other": "-32020", "mine": `"result"`} {
			if _, got := modern(method, name, `"taskId":"mine"`).send(t, site); !strings.Contains(got, want) {
				t.Errorf("%s %q: %s", method, name, got)
			}
		}
	}
}

// Progress is reported with the token of the client. Changes are reported only to subscriptions.
func TestWhatIsSaidFitsTheRequest(t *testing.T) {
	h := newScripted(t, nil, func(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
		for _, note := range []interop.Message{
			{Method: "notifications/progress", Params: json.RawMessage(`{"progressToken":99,"progress":1}`)},
			{Method: "notifications/progress"},
			{Method: "notifications/tools/list_changed"},
			{Method: "notifications/resources/updated", Params: json.RawMessage(`{"uri":"a"}`)},
			{Method: "notifications/x", Params: json.RawMessage(`{"k":1}`)},
		} {
			_, _ = back(ctx, note)
		}
		return json.RawMessage(`{}`), nil
	})
	l := serveLines(t.Context(), t, h)
	sent := func(send string, want ...string) {
		t.Helper()
		var got []string
		for s := l.ask(send); strings.Contains(s, `"method"`); s = l.read() {
			got = append(got, strings.TrimPrefix(s, `{"jsonrpc":"2.0","method":"notifications/`))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	const progress, extension = `progress","params":{"progressToken":"p","progress":1}}`, `x","params":{"k":1}}`
	sent(modernLine("1", "x", ""), extension)
	sent(strings.Replace(modernLine("1", "x", ""), `"_meta":{`, `"_meta":{"progressToken":"p",`, 1), progress, extension)
	l.ask(initializeBody("{}"))
	sent(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":"p"}}}`,
		progress, `tools/list_changed"}`, `resources/updated","params":{"uri":"a"}}`, extension)
}

// The life of a session ends once: when it is deleted, evicted by another session, or ended with the host.
func TestTheLifeOfASessionEnds(t *testing.T) {
	came, left := make(chan string, 1), make(chan string, 10)
	h := newScripted(t, &host.Options{MaxSessions: 2}, func(_ context.Context, m interop.Message, _ interop.Peer) (json.RawMessage, error) {
		session := m.Client.Session
		context.AfterFunc(m.Client.Life, func() { left <- session })
		came <- session
		return json.RawMessage(`{}`), nil
	})
	site := serveSite(t, h)
	post := func(r request) (func(string) string, string) {
		resp, body := r.send(t, site)
		return resp.Header.Get, body
	}
	var names []string
	open := func() map[string]string {
		header := openWith(t, post, `{"roots":{}}`)
		post(request{body: `{"jsonrpc":"2.0","id":7,"method":"x"}`, header: header})
		names = append(names, <-came)
		return header
	}
	ended := func(session string) {
		t.Helper()
		if got := <-left; got != session {
			t.Errorf("%q is over, not %q", got, session)
		}
	}
	open()
	second := open()
	open() // evicts the first session
	ended(names[0])
	request{method: "DELETE", header: second}.send(t, site)
	ended(names[1])
	h.Close()
	ended(names[2])
}
