package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/shelf"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

func TestCloseDoesNotWaitForClientsThatDoNotRead(t *testing.T) {
	text := strings.Repeat("x", 60<<10)
	h := host.New(shelf.OneTool(func(context.Context, toolbox.Call) (*toolbox.Result, error) {
		return toolbox.NewResult(toolbox.Text(text)), nil
	}), nil)
	site := serveSite(t, h)
	c, err := net.Dial("tcp", site.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := modern("tools/call", "t", `"name":"t"`)
	one := fmt.Sprintf("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Protocol-Version: 2026-07-28\r\n"+
		"Mcp-Method: tools/call\r\nMcp-Name: t\r\nContent-Length: %d\r\n\r\n%s", len(r.body), r.body)
	_ = c.SetWriteDeadline(time.Now().Add(2 * time.Second)) // the server reads no more
	_, _ = io.WriteString(c, strings.Repeat(one, 1000))
	closed := make(chan struct{})
	go func() { h.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Fatal("Close waits for a client that sends and does not read")
	}
}

// serveFrom sends a request without a network, from an address.
func serveFrom(h http.Handler, remote string, r request) *httptest.ResponseRecorder {
	return serveDirect(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		req.RemoteAddr = remote
		h.ServeHTTP(w, req)
	}), "", "", r)
}

// TestRequestsInFlightAreBoundedByClient counts the requests of all sessions of a client, in both eras.
func TestRequestsInFlightAreBoundedByClient(t *testing.T) {
	g := newHeldTool()
	h := newHost(t, g, &host.Options{MaxInFlight: 4}).Handler()
	for range 2 {
		header := open(h)
		go serveDirect(h, "", "", legacyCall(header, "10", ""))
		go serveDirect(h, "", "", modern("tools/call", "t", `"name":"t"`))
		<-g.begun
		<-g.begun
	}
	for remote, want := range map[string]int{"192.0.2.1:99": 429, "192.0.2.2:1": 200} {
		if w := serveFrom(h, remote, modern("tools/list", "", "")); w.Code != want ||
			(w.Header().Get("Retry-After") != "") != (want == 429) {
			t.Errorf("%s: %d %s", remote, w.Code, w.Body)
		}
	}
	close(g.free)
	for range 4 {
		<-g.ended
	}
}

func TestSessionsAreBoundedByClient(t *testing.T) {
	t.Parallel()
	begin := request{body: fmt.Sprintf(initializeLine, "2025-06-18")}
	ping := request{body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`}
	for _, tt := range []struct {
		name     string
		opts     *host.Options
		flood    func(i int) string
		n, saved int
	}{
		{"the defaults", nil, func(int) string { return "127.0.0.1:1" }, 10_500, 1000},
		{"an address each", &host.Options{MaxSessions: 20, MaxClientSessions: 5}, func(i int) string { return fmt.Sprintf("192.0.2.%d:1", i%5) }, 100, 19},
		{"one network of IPv6", &host.Options{MaxClientSessions: 10}, func(i int) string { return fmt.Sprintf("[2001:db8::%x]:1", i) }, 100, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, echoTool(), tt.opts).Handler()
			open := func(remote string) request {
				w := serveFrom(h, remote, begin)
				return ping.with("Mcp-Session-Id", w.Header().Get("Mcp-Session-Id"))
			}
			own := open("127.0.0.2:1")
			var foreign []request
			for i := range tt.n {
				foreign = append(foreign, open(tt.flood(i)))
			}
			if w := serveFrom(h, "127.0.0.2:2", own); w.Code != 200 {
				t.Errorf("another's sessions ended mine: %d", w.Code)
			}
			saved := 0
			for _, r := range foreign {
				if serveFrom(h, "192.0.2.9:1", r).Code == 200 {
					saved++
				}
			}
			if saved != tt.saved {
				t.Errorf("%d of theirs are kept, want %d", saved, tt.saved)
			}
		})
	}
}

func TestAHopsFieldStandsOnce(t *testing.T) {
	for _, raw := range []string{
		`{"resultType":"input_required","inputRequests":{},"resultType":"complete"}`,
		`{"resultType":"input_required","result\u0054ype":"complete"}`,
		`{"_meta":{"a":1},"_meta":{}}`,
	} {
		site := newSite(t, shelf.OneTool(func(context.Context, toolbox.Call) (*toolbox.Result, error) { return shelf.WireResult(raw), nil }), nil)
		legacy := session(t, site)
		for _, r := range []request{modern("tools/call", "t", `"name":"t"`), legacyCall(legacy, "7", "")} {
			if _, body := r.send(t, site); !strings.Contains(body, `"code":-32603`) {
				t.Errorf("%s became %s", raw, body)
			}
		}
	}
}

func TestOneToolDoesNotSpoilTheList(t *testing.T) {
	var tools []toolbox.Descriptor
	for i, fields := range []string{
		`"description":5`, `"title":{}`, `"icons":{}`, `"annotations":"x"`, `"annotations":{"readOnlyHint":"yes"}`, `"annotations":{"title":1}`,
		`"execution":[]`, `"_meta":7`, "\"description\":\"\xff\"", `"_meta":{"a":` + strings.Repeat("[", 3000) + strings.Repeat("]", 3000) + "}",
	} {
		tools = append(tools, shelf.WireDescriptor(fmt.Sprintf("bad%d", i), `{"name":"x","inputSchema":{"type":"object"},`+fields+`}`))
	}
	tools = append(tools,
		shelf.WireDescriptor("bad-properties", `{"name":"x","inputSchema":{"type":"object","properties":5}}`),
		shelf.WireDescriptor("bad-required", `{"name":"x","inputSchema":{"type":"object","required":"x"}}`),
		shelf.WireDescriptor("good", `{"name":"x","inputSchema":{"type":"object","properties":{},"required":[]},"title":null,"annotations":{"readOnlyHint":true,"x":1}}`))
	src := shelf.OneTool(nil)
	snap := &toolbox.Snapshot{Tools: tools}
	src.Tools = func(toolbox.Principal) *toolbox.Snapshot { return snap }
	site := newSite(t, src, nil)
	_, body := modern("tools/list", "", "").send(t, site)
	var got struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Result.Tools) != len(tools)-2 ||
		strings.Contains(body, "bad8") || strings.Contains(body, "bad9") {
		t.Errorf("%v: %s", err, body)
	}
}

// deadlineRecorder is an answer that records the read deadlines of its connection.
type deadlineRecorder struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
}

func (c *deadlineRecorder) SetReadDeadline(d time.Time) error {
	c.deadlines = append(c.deadlines, d)
	return nil
}

func TestABodyMustCome(t *testing.T) {
	for _, length := range []int64{-1, 3 << 20} {
		body := io.MultiReader(strings.NewReader(strings.Repeat(" ", 1<<20)), strings.NewReader("{}"))
		r := httptest.NewRequest(http.MethodPost, "/", body)
		r.ContentLength = length
		r.Header.Set("Content-Type", "application/json")
		w := &deadlineRecorder{ResponseRecorder: httptest.NewRecorder()}
		newHost(t, shelf.OneTool(nil), nil).Handler().ServeHTTP(w, r)
		n := len(w.deadlines)
		if n < 3 || time.Until(w.deadlines[0]) > 30*time.Second {
			t.Fatalf("%d: %v", length, w.deadlines)
		}
		if more := w.deadlines[n-2].Sub(w.deadlines[0]); more < time.Minute || more > 2*time.Minute {
			t.Errorf("%d: a megabyte gave %v more", length, more)
		}
		if late := w.deadlines[n-1]; late.IsZero() != (length < 0) || time.Until(late) > 5*time.Second {
			t.Errorf("%d: the last deadline is %v", length, late) // none if all has arrived, soon if net/http reads the rest
		}
	}
}

// pipes is a listener with clients on pipes. Their deadlines follow the bubble's clock.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// dialBubble opens a connection and a session to a host in a bubble.
func dialBubble(src toolbox.Source, readTimeout time.Duration) (client net.Conn, session string, end func()) {
	h := host.New(src, nil)
	l := make(pipes)
	s := &http.Server{Handler: h.Handler(), ReadTimeout: readTimeout}
	go func() { _ = s.Serve(l) }()
	client, server := net.Pipe()
	l <- server
	return client, open(h.Handler())["Mcp-Session-Id"], func() { h.Close(); _ = s.Close() }
}

// TestAReadTimeoutEndsNoStream uses a ReadTimeout of the server.
func TestAReadTimeoutEndsNoStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, session, end := dialBubble(echoTool(), time.Second)
		defer end()
		_, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: "+session+"\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := io.ReadFull(resp.Body, make([]byte, len(":\n\n")*10)); err != nil {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// TestABodyThatDoesNotComeHoldsNothing sends incomplete bodies, which net/http reads before it answers.
func TestABodyThatDoesNotComeHoldsNothing(t *testing.T) {
	const head, json = "Host: localhost\r\n", "Content-Type: application/json\r\n"
	for _, tt := range []struct{ request, status string }{
		{"POST / HTTP/1.1\r\n" + head + "Content-Length: 9\r\n\r\n{", "415"},
		{"POST / HTTP/1.1\r\n" + head + json + "Content-Length: 9\r\n\r\n{", "400"},
		{"POST / HTTP/1.1\r\n" + head + json + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", "400"},
		{"POST / HTTP/1.1\r\n" + head + json + "Content-Length: 90000000\r\n\r\n{", "413"},
		{"GET / HTTP/1.1\r\n" + head + "Content-Length: 9\r\n\r\n", "400"},
		{"PUT / HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\n\r\n", "405"},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, _, end := dialBubble(echoTool(), 0)
			defer end()
			began := time.Now()
			if _, err := io.WriteString(client, tt.request); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(client)
			if took := time.Since(began); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 "+tt.status) ||
				took > 40*time.Second {
				t.Errorf("%q: after %v: %v %q", tt.request, took, err, answer)
			}
		})
	}
}

// TestAStalledClientMakesRoom stalls in the middle of a request or an answer. Its memory is released for the next
// client. A message that never fits is refused with 503.
func TestAStalledClientMakesRoom(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 12<<20)
	src := shelf.OneTool(func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		return toolbox.NewResult(toolbox.Text(large)), nil
	})
	site := newSite(t, src, &host.Options{Memory: interop.NewMemory(16 << 20)})
	call := modern("tools/call", "t", `"name":"t","arguments":{"x":"`+large+`"}`)
	for _, sent := range []int{len(call.body) - 1, len(call.body)} { // one client stops sending, the other reads nothing
		request := fmt.Sprintf("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
			"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: t\r\nContent-Length: %d\r\n\r\n%s",
			len(call.body), call.body[:sent])
		for tries := 1; ; tries++ { // on a busy machine, the host may take a client that still sends for a stalled one
			c, err := net.Dial("tcp", site.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err = io.WriteString(c, request); err == nil {
				break
			} else if tries == 5 {
				t.Fatal(err)
			}
		}
		for tries := 1; ; tries++ { // each waits 3 s for room; otherwise a client holds its memory for 30 s
			resp, body := call.send(t, site)
			if resp.StatusCode == 200 {
				break
			}
			if resp.StatusCode != 503 || tries == 5 {
				t.Fatalf("beside one who sent %d of %d: %s %.200s", sent, len(call.body), resp.Status, body)
			}
		}
	}
	call = modern("tools/call", "t", `"name":"t","arguments":{"x":"`+large+large+`"}`)
	if resp, body := call.send(t, site); resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" ||
		!strings.Contains(body, "no room for the message") {
		t.Errorf("more than there is: %s %.200s", resp.Status, body)
	}
}
