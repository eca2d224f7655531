package conn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/memory"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// testPatience is how long an event may take. A test that passes never waits for it.
const testPatience = 20 * time.Second

// noLeaks fails t if goroutines are left once all its cleanups have run.
func noLeaks(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

// serve serves h until the test ends.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// sdkServer is a server with tools named after their function.
type sdkServer struct {
	*mcp.Server
	started, ended chan struct{} // of "hang"
}

func newSDKServer() *sdkServer {
	s := &sdkServer{
		mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{Instructions: "be kind"}),
		make(chan struct{}, 1), make(chan struct{}, 1),
	}
	add := func(name string, f func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, f)
	}
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	add("echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(string(r.Params.Arguments)), nil
	})
	add("progress", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1)})
		}
		return text("done"), nil
	})
	add("hang", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.started <- struct{}{}
		<-ctx.Done()
		s.ended <- struct{}{}
		return nil, ctx.Err()
	})
	add("ping", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if err := r.Session.Ping(ctx, nil); err != nil {
			return nil, err
		}
		return text("pong"), nil
	})
	add("grow", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		add("grown", nil)
		return text("grown"), nil
	})
	return s
}

func (s *sdkServer) http(o mcp.StreamableHTTPOptions) http.Handler {
	o.PropagateRequestCancellation = o.Stateless
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.Server }, &o)
}

func (s *sdkServer) sse() http.Handler {
	return mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s.Server }, nil)
}

var clientInfo = protocol.Info{Name: "indus-protocol-bridge", Version: "0.1.0"}

// dialOptions combines [URL] and [Options].
type dialOptions struct {
	url     string
	headers http.Header
	client  *http.Client
	era     protocol.Era // the server's last known era
	pin     protocol.Era
	max     int
	memory  *memory.Budget
	gap     func()
	receive Receiver
	probe   time.Duration
	logger  *slog.Logger
	secrets *secret.Set
}

func (o dialOptions) split() (URL, Options) {
	return URL{URL: o.url, Header: o.headers, Client: o.client}, Options{
		Info: clientInfo, Era: o.pin, LastEra: o.era, MaxMessage: o.max, Memory: o.memory, Missed: o.gap,
		Receive: o.receive, ProbeWait: o.probe, Logger: o.logger, Secrets: o.secrets,
	}
}

func dialHTTP(ctx context.Context, o dialOptions) (Conn, Handshake, error) {
	u, opts := o.split()
	return DialHTTP(ctx, u, opts)
}

func dialSSE(ctx context.Context, o dialOptions) (Conn, Handshake, error) {
	u, opts := o.split()
	return DialSSE(ctx, u, opts)
}

// mustDial connects to url. The connection is closed at the end of the test.
func mustDial(t *testing.T, o dialOptions) (Conn, Handshake) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	c, h, err := dialHTTP(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, h
}

// toolCall returns a call of a tool, as the endpoint makes it in that era.
func toolCall(era protocol.Era, name, args string, token int64) Request {
	meta := ""
	if token != 0 {
		meta = fmt.Sprintf(`"progressToken":%d`, token)
	}
	if era == protocol.Modern {
		m := strings.TrimSuffix(strings.TrimPrefix(string(ModernMeta(clientInfo, nil)), "{"), "}")
		meta = m + "," + meta
		if token == 0 {
			meta = m
		}
	}
	return Request{
		Method: protocol.MethodToolsCall, Name: name, Token: token,
		Params: json.RawMessage(fmt.Sprintf(`{"name":%q,"arguments":%s,"_meta":{%s}}`, name, args, meta)),
	}
}

// notes collects messages, by method.
type notes struct {
	mu   sync.Mutex
	list []Message
	more chan Message
}

func newNotes() *notes { return &notes{more: make(chan Message, 1000)} }

func (n *notes) take(_ context.Context, m Message) (json.RawMessage, error) {
	n.mu.Lock()
	n.list = append(n.list, m)
	n.mu.Unlock()
	n.more <- m
	return nil, &protocol.RPCError{Code: protocol.CodeMethodNotFound, Message: "no"}
}

// next returns the next message.
func (n *notes) next(t *testing.T) Message {
	t.Helper()
	select {
	case m := <-n.more:
		return m
	case <-time.After(testPatience):
		t.Fatal("nothing was told")
		return Message{}
	}
}

func waitFor(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(testPatience):
		t.Fatal("waited in vain for: " + what)
	}
}

// onEveryTransport runs f with servers of the SDK over the three transports.
func onEveryTransport(t *testing.T, f func(t *testing.T, s *sdkServer, h http.Handler, era protocol.Era)) {
	for _, tt := range []struct {
		name string
		h    func(*sdkServer) http.Handler
		era  protocol.Era
	}{
		{"modern events", func(s *sdkServer) http.Handler { return s.http(mcp.StreamableHTTPOptions{Stateless: true}) }, protocol.Modern},
		{"modern json", func(s *sdkServer) http.Handler {
			return s.http(mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
		}, protocol.Modern},
		{"legacy events", func(s *sdkServer) http.Handler { return s.http(mcp.StreamableHTTPOptions{}) }, protocol.Legacy},
		{"legacy json", func(s *sdkServer) http.Handler { return s.http(mcp.StreamableHTTPOptions{JSONResponse: true}) }, protocol.Legacy},
		{"legacy resumable", func(s *sdkServer) http.Handler {
			return s.http(mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
		}, protocol.Legacy},
		{"sse", (*sdkServer).sse, protocol.Legacy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			noLeaks(t)
			s := newSDKServer()
			f(t, s, tt.h(s), tt.era)
		})
	}
}

func TestHTTPAnswersCalls(t *testing.T) {
	onEveryTransport(t, func(t *testing.T, _ *sdkServer, h http.Handler, era protocol.Era) {
		c, shake := mustDial(t, dialOptions{url: serve(t, h)})
		if shake.Era != era || shake.Instructions != "be kind" || !strings.Contains(string(shake.ServerInfo), `"sdk"`) ||
			len(shake.Capabilities) == 0 {
			t.Errorf("handshake = %+v, %s", shake, shake.ServerInfo)
		}
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				args := fmt.Sprintf(`{"n":9007199254740993,"i":%d}`, i)
				got, err := c.Call(t.Context(), toolCall(era, "echo", args, 0))
				if err != nil || !strings.Contains(string(got), fmt.Sprintf(`{\"n\":9007199254740993,\"i\":%d}`, i)) {
					t.Errorf("%s, %v", got, err)
				}
			})
		}
		wg.Wait()
		_, err := c.Call(t.Context(), toolCall(era, "nothing", `{}`, 0))
		var rpc *protocol.RPCError
		if !errors.As(err, &rpc) || rpc.Code != protocol.CodeInvalidParams {
			t.Errorf("an unknown tool: %v", err)
		}
		if err := c.Err(); err != nil {
			t.Errorf("the connection died: %v", err)
		}
	})
}

func TestHTTPTellsProgressInOrder(t *testing.T) {
	onEveryTransport(t, func(t *testing.T, _ *sdkServer, h http.Handler, era protocol.Era) {
		if strings.Contains(t.Name(), "json") {
			t.Skip("an answer that is no stream tells nothing")
		}
		c, _ := mustDial(t, dialOptions{url: serve(t, h)})
		n := newNotes()
		x := toolCall(era, "progress", `{}`, 7)
		x.Receive, x.Of = n.take, 42
		if _, err := c.Call(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		if len(n.list) != 3 {
			t.Fatalf("%d reports", len(n.list))
		}
		for i, m := range n.list {
			if m.Method != protocol.NoteProgress || m.Of != 42 || m.Era != era ||
				!strings.Contains(string(m.Params), fmt.Sprintf(`"progress":%d`, i+1)) {
				t.Errorf("report %d: %+v %s", i, m, m.Params)
			}
		}
	})
}

func TestHTTPCancels(t *testing.T) {
	onEveryTransport(t, func(t *testing.T, s *sdkServer, h http.Handler, era protocol.Era) {
		c, _ := mustDial(t, dialOptions{url: serve(t, h)})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-s.started; cancel() }()
		if _, err := c.Call(ctx, toolCall(era, "hang", `{}`, 0)); err != context.Canceled {
			t.Errorf("err = %v", err)
		}
		waitFor(t, s.ended, "the tool's context to end")
		if got, err := c.Call(t.Context(), toolCall(era, "echo", `{}`, 0)); err != nil {
			t.Errorf("afterwards: %s, %v", got, err)
		}
	})
}

func TestHTTPAnswersTheServersPing(t *testing.T) {
	onEveryTransport(t, func(t *testing.T, _ *sdkServer, h http.Handler, era protocol.Era) {
		if era == protocol.Modern || strings.Contains(t.Name(), "json") {
			t.Skip("the server cannot ask")
		}
		c, _ := mustDial(t, dialOptions{url: serve(t, h)})
		got, err := c.Call(t.Context(), toolCall(era, "ping", `{}`, 0))
		if err != nil || !strings.Contains(string(got), "pong") {
			t.Errorf("%s, %v", got, err)
		}
	})
}

func TestHTTPHearsOfChanges(t *testing.T) {
	onEveryTransport(t, func(t *testing.T, _ *sdkServer, h http.Handler, era protocol.Era) {
		n := newNotes()
		c, _ := mustDial(t, dialOptions{url: serve(t, h), receive: n.take})
		if era == protocol.Modern {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			defer func() { cancel(); waitFor(t, ended, "the subscription to end") }()
			x := Request{Method: protocol.MethodListen, Receive: n.take}
			x.Params = json.RawMessage(fmt.Sprintf(`{"notifications":{"toolsListChanged":true},"_meta":%s}`, ModernMeta(clientInfo, nil)))
			go func() { defer close(ended); _, _ = c.Call(ctx, x) }()
			if m := n.next(t); m.Method != protocol.NoteAcknowledged {
				t.Fatalf("first came %s", m.Method)
			}
		}
		if _, err := c.Call(t.Context(), toolCall(era, "grow", `{}`, 0)); err != nil {
			t.Fatal(err)
		}
		if m := n.next(t); m.Method != protocol.NoteToolsChanged {
			t.Errorf("told %s", m.Method)
		}
	})
}

func TestHTTPClosesUnderACall(t *testing.T) {
	onEveryTransport(t, func(t *testing.T, s *sdkServer, h http.Handler, era protocol.Era) {
		c, _ := mustDial(t, dialOptions{url: serve(t, h)})
		go func() { <-s.started; c.Close(); c.Close() }()
		_, err := c.Call(t.Context(), toolCall(era, "hang", `{}`, 0))
		var lost *LostError
		if !errors.As(err, &lost) || !errors.Is(err, errClosed) {
			t.Errorf("err = %v", err)
		}
		waitFor(t, s.ended, "the tool's context to end")
		waitFor(t, c.Done(), "done")
		if _, err := c.Call(t.Context(), toolCall(era, "echo", `{}`, 0)); !errors.Is(err, errClosed) {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestHTTPOverHTTP2WithAnInjectedClient(t *testing.T) {
	noLeaks(t)
	s := newSDKServer()
	h := s.http(mcp.StreamableHTTPOptions{Stateless: true})
	protocols := make(chan string, 100)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocols <- r.Proto
		h.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	client := server.Client()
	client.Timeout = time.Nanosecond // no effect: it would end streams
	c, _ := mustDial(t, dialOptions{url: server.URL, client: client})
	if _, err := c.Call(t.Context(), toolCall(protocol.Modern, "echo", `{}`, 0)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-s.started; cancel() }()
	if _, err := c.Call(ctx, toolCall(protocol.Modern, "hang", `{}`, 0)); err != context.Canceled {
		t.Errorf("err = %v", err)
	}
	waitFor(t, s.ended, "the tool's context to end")
	if p := <-protocols; p != "HTTP/2.0" {
		t.Errorf("spoke %s", p)
	}
	c.Close()
	client.CloseIdleConnections()
}

func TestModernHTTPSubscriptionThatTheServerEnds(t *testing.T) {
	noLeaks(t)
	for _, end := range []string{
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":ID}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete"}}`,
	} {
		c, _ := mustDial(t, dialOptions{url: serve(t, rawModern(func(w http.ResponseWriter, r rawRequest) {
			rawEvents(w, `data: {"jsonrpc":"2.0","id":7,"method":"forbidden"}`+"\n\n"+
				`data: {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`+"\n\n")
			rawEvents(w, "data: "+strings.ReplaceAll(end, "ID", string(r.ID))+"\n\n")
			<-r.HTTP.Context().Done() // the client must not wait for the end of the stream
		}))})
		n := newNotes()
		result, err := c.Call(t.Context(), Request{Method: protocol.MethodListen, Receive: n.take})
		if (result == nil) != errors.Is(err, errServerCancelled) || len(n.list) != 1 || c.Err() != nil {
			t.Errorf("%s, %v; told %v", result, err, n.list)
		}
	}
}
