package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/shelf"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// heldTool is a tool that reports its calls, and waits until they are released.
type heldTool struct {
	*shelf.Shelf
	begun chan toolbox.Call
	free  chan struct{}
	ended chan error // the errors of the calls' contexts
}

func newHeldTool() *heldTool {
	g := &heldTool{begun: make(chan toolbox.Call, 10), free: make(chan struct{}), ended: make(chan error, 10)}
	g.Shelf = shelf.OneTool(func(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
		g.begun <- c
		select {
		case <-g.free:
			g.ended <- nil
			return toolbox.NewResult(toolbox.Text("done")), nil
		case <-ctx.Done():
			g.ended <- context.Cause(ctx)
			return nil, ctx.Err()
		}
	})
	return g
}

const doneResult = `{"content":[{"type":"text","text":"done"}]}`

func legacyCall(header map[string]string, id, extra string) request {
	return request{body: `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"t"` + extra + `}}`, header: header}
}

func TestProgressTurnsTheAnswerIntoAStream(t *testing.T) {
	g := newHeldTool()
	site := newSite(t, g, nil)
	legacy := session(t, site)
	for _, r := range []request{
		legacyCall(legacy, "7", `,"_meta":{"progressToken":"p"}`),
		{body: strings.Replace(modern("tools/call", "t", `"name":"t"`).body, `"_meta":{`, `"_meta":{"progressToken":"p",`, 1), header: modern("tools/call", "t", "").header},
	} {
		go func() {
			c := <-g.begun
			c.Progress(toolbox.Progress{Done: 1})
			c.Progress(toolbox.Progress{Wire: toolbox.Wire{Format: "mcp/legacy", JSON: json.RawMessage("{\n\"progress\":2,\r\n\"progressToken\":1}")}})
			g.free <- struct{}{}
		}()
		resp := r.start(t.Context(), t, site)
		for k, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"} {
			if got := resp.Header.Get(k); got != want {
				t.Errorf("%s: %q", k, got)
			}
		}
		e := &events{t: t, body: resp.Body}
		for _, want := range []string{
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{ "progress":2,  "progressToken":"p"}}`,
		} {
			if got := e.next(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		if got := e.next(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":7,"result":{`) || e.next() != "" {
			t.Errorf("last: %s", got)
		}
		resp.Body.Close()
	}
}

func TestWhoTakesNoStreamGetsNoProgress(t *testing.T) {
	g := newHeldTool()
	site := newSite(t, g, &host.Options{KeepAlive: time.Millisecond})
	legacy := session(t, site)
	go func() {
		c := <-g.begun
		c.Progress(toolbox.Progress{Done: 1})
		g.free <- struct{}{}
	}()
	resp, body := legacyCall(legacy, "7", `,"_meta":{"progressToken":"p"}`).with("Accept", "application/json").
		send(t, site)
	if want := `{"jsonrpc":"2.0","id":7,"result":` + doneResult + `}`; body != want ||
		resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s", resp.Header, body)
	}
}

func TestSilenceIsBroken(t *testing.T) {
	g := newHeldTool()
	site := newSite(t, g, &host.Options{KeepAlive: time.Millisecond})
	legacy := session(t, site)
	resp := legacyCall(legacy, "7", "").start(t.Context(), t, site) // returns with the header, before the tool
	defer resp.Body.Close()
	p := make([]byte, len("id: a1-1\nretry: 1000\ndata:\n\n:\n\n"))
	if _, err := io.ReadFull(resp.Body, p); err != nil || string(p) != "id: a1-1\nretry: 1000\ndata:\n\n:\n\n" {
		t.Fatalf("%q, %v", p, err)
	}
	g.free <- struct{}{}
	e := &events{t: t, body: resp.Body}
	if got := e.next(); got != `{"jsonrpc":"2.0","id":7,"result":`+doneResult+`}` {
		t.Error(got)
	}
	stream := request{method: http.MethodGet, header: legacy}.start(t.Context(), t, site)
	defer stream.Body.Close()
	if _, err := io.ReadFull(stream.Body, p); err != nil || string(p) != "id: n2-3\nretry: 1000\ndata:\n\n:\n\n" {
		t.Errorf("GET: %q, %v", p, err)
	}
}

func TestAModernClientThatLeavesCancels(t *testing.T) {
	g := newHeldTool()
	site := newSite(t, g, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-g.begun; cancel() }()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, site.URL,
		strings.NewReader(modern("tools/call", "t", `"name":"t"`).body))
	for k, v := range modern("tools/call", "t", "").with("Content-Type", "application/json").header {
		req.Header.Set(k, v)
	}
	if _, err := site.Client().Do(req); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := <-g.ended; err == nil {
		t.Error("the call went on")
	}
}

func TestALegacyClientThatLeavesDoesNotCancel(t *testing.T) {
	g := newHeldTool()
	site := newSite(t, g, nil)
	legacy := session(t, site)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, site.URL, strings.NewReader(legacyCall(nil, "7", "").body))
		for k, v := range legacyCall(legacy, "7", "").with("Content-Type", "application/json").header {
			req.Header.Set(k, v)
		}
		if _, err := site.Client().Do(req); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	<-g.begun
	cancel()
	<-left
	// The call is still in flight, and only its own session can cancel it.
	if resp, body := legacyCall(legacy, "7", "").send(t, site); resp.StatusCode != 400 ||
		!strings.Contains(body, "-32600") {
		t.Errorf("the same id again: %s %s", resp.Status, body)
	}
	other := session(t, site)
	cancelled := request{body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7.0}}`, header: other}
	cancelled.send(t, site) // of another session: no effect
	g.free <- struct{}{}
	if err := <-g.ended; err != nil {
		t.Errorf("cancelled: %v", err)
	}
}

func TestCancelledByTheClientIsNotAnswered(t *testing.T) {
	g := newHeldTool()
	site := newSite(t, g, nil)
	legacy := session(t, site)
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		<-g.begun
		request{body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0061"}}`, header: legacy}.send(t, site)
	}()
	defer func() { <-reported }()
	resp, body := legacyCall(legacy, `"a"`, "").send(t, site)
	if body != "" || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%s %s %q", resp.Status, resp.Header, body)
	}
	if err := <-g.ended; err == nil {
		t.Error("the call went on")
	}
}

func TestNewsGoToOneStreamOfASession(t *testing.T) {
	t.Parallel()
	reg := toolbox.NewRegistry(nil)
	site := newSite(t, reg, nil)
	legacy := session(t, site)
	run := func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) { return nil, nil }
	reg.Add(toolbox.Tool{Name: "before", Run: run}) // waits for a stream
	received := make(chan string, 10)
	var bodies []io.Closer
	for range 2 {
		resp := request{method: http.MethodGet, header: legacy}.start(t.Context(), t, site)
		if resp.StatusCode != 200 {
			t.Fatal(resp.Status)
		}
		bodies = append(bodies, resp.Body)
		go func() {
			e := &events{t: t, body: resp.Body}
			for s := e.next(); s != ""; s = e.next() {
				received <- s
			}
			received <- ""
		}()
	}
	const want = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	if got := <-received; got != want {
		t.Fatal(got)
	}
	began := time.Now()
	for i := range 20 { // tools added together
		reg.Add(toolbox.Tool{Name: string(rune('a' + i)), Run: run})
	}
	more := int(time.Since(began) / (50 * time.Millisecond)) // the time in which changes are combined
	if got := <-received; got != want {
		t.Fatal(got)
	}
	if resp, _ := (request{method: http.MethodDelete, header: legacy}).send(t, site); resp.StatusCode != 204 {
		t.Fatal(resp.Status)
	}
	for ended := 0; ended < 2; { // both streams end, with at most as many notifications as the time allows
		if got := <-received; got == "" {
			ended++
		} else if more--; more < 0 {
			t.Errorf("again: %s", got)
		}
	}
	for _, b := range bodies {
		_ = b.Close()
	}
}

func TestListening(t *testing.T) {
	b := &fixedBackend{}
	h := host.NewFront(b, nil)
	site := serveSite(t, h)
	listen := func(id, filter string) *events {
		r := modern("subscriptions/listen", "", `"notifications":`+filter)
		r.body = strings.Replace(r.body, `"id":7`, `"id":`+id, 1)
		return &events{t: t, body: r.start(t.Context(), t, site).Body}
	}
	tag := func(id string) string {
		return `"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}`
	}
	ack := func(id, agreed string) string {
		return `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + tag(id) + `,"notifications":` + agreed + `}}`
	}
	expect := func(e *events, want string) {
		t.Helper()
		if got := e.next(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	one := listen("1726000000000", `{"promptsListChanged":true,"toolsListChanged":true,"resourcesListChanged":true}`)
	expect(one, ack("1726000000000", `{"promptsListChanged":true}`))
	two := listen(`"x"`, `{"promptsListChanged":true}`)
	expect(two, ack(`"x"`, `{"promptsListChanged":true}`))
	none := listen("3", `{"promptsListChanged":false,"resourceSubscriptions":["a"]}`)
	expect(none, ack("3", `{}`))
	b.notify(interop.Message{Method: "notifications/tools/list_changed"})
	b.notify(interop.Message{Method: "notifications/prompts/list_changed", Params: json.RawMessage(`{"_meta":{"k":1},"x":2}`)})
	expect(one, `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":{"k":1,"io.modelcontextprotocol/subscriptionId":1726000000000},"x":2}}`)
	expect(two, `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":{"k":1,"io.modelcontextprotocol/subscriptionId":"x"},"x":2}}`)
	_ = two.body.Close() // this client disconnects
	h.Close()
	end := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `,` + ourInfo + `}}}`
	}
	expect(one, end("1726000000000"))
	expect(one, "")
	expect(none, end("3"))
	_ = one.body.Close()
	_ = none.body.Close()

	for name, r := range map[string]request{
		"no filter":        modern("subscriptions/listen", "", ""),
		"filter no object": modern("subscriptions/listen", "", `"notifications":true`),
	} {
		h := host.NewFront(b, nil)
		t.Cleanup(h.Close)
		resp, body := r.send(t, serveSite(t, h))
		if resp.StatusCode != 400 || !strings.Contains(body, "-32602") {
			t.Errorf("%s: %s %s", name, resp.Status, body)
		}
	}
}

func TestCloseEndsEverythingOverHTTP(t *testing.T) {
	g := newHeldTool()
	h := newHost(t, g, nil)
	site := serveSite(t, h)
	legacy := session(t, site)
	answers := make(chan string, 2)
	for _, r := range []request{legacyCall(legacy, "7", ""), modern("tools/call", "t", `"name":"t"`)} {
		go func() {
			_, body := r.send(t, site)
			answers <- body
		}()
		<-g.begun
	}
	stream := request{method: http.MethodGet, header: legacy}.start(t.Context(), t, site)
	h.Close()
	h.Close()
	for range 2 {
		if got := <-answers; got != `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"tools/call: the host is closing; whether the call took effect is not known"}}` {
			t.Error(got)
		}
		if err := <-g.ended; err == nil {
			t.Error("a call went on")
		}
	}
	e := &events{t: t, body: stream.Body}
	if got := e.next(); got != "" {
		t.Error(got)
	}
	_ = stream.Body.Close()
	if resp, _ := legacyCall(legacy, "7", "").send(t, site); resp.StatusCode != 503 {
		t.Error(resp.Status)
	}
}

func TestCloseDoesNotWaitForABody(t *testing.T) {
	h := newHost(t, echoTool(), nil)
	site := serveSite(t, h)
	conn, err := net.Dial("tcp", site.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, len("HTTP/1.1 100 Continue"))
	if _, err := io.ReadFull(conn, p); err != nil || string(p) != "HTTP/1.1 100 Continue" { // sent when the body is read
		t.Fatalf("%q, %v", p, err)
	}
	h.Close()
}
