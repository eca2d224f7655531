package host_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestAQuestionFindsTheClient asks while the connection of the request is lost. The question is sent on the session's
// own stream if there is one. Otherwise it waits until the client reconnects.
func TestAQuestionFindsTheClient(t *testing.T) {
	for _, listens := range []bool{false, true} {
		begun := make(chan struct{})
		hosted := newScripted(t, nil, func(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
			_, _ = back(ctx, interop.Message{Method: "notifications/message", Params: json.RawMessage(`{"level":"info","data":"here"}`)})
			close(begun)
			return askingBackend(ctx, m, back)
		})
		site := serveSite(t, hosted)
		resp, body := request{body: initializeBody(rootsCapability)}.send(t, site)
		header := map[string]string{"Mcp-Session-Id": resp.Header.Get("Mcp-Session-Id")}
		if resp.StatusCode != 200 {
			t.Fatal(body)
		}
		news := &events{t: t}
		if listens {
			news.body = request{method: http.MethodGet, header: header}.start(t.Context(), t, site).Body
			news.event()
		}
		lost := make(chan string)
		go func() {
			_, last, _ := exchange(t, hosted.Handler(), request{body: callLine("7", "roots/list", false), header: header}, 60)
			lost <- last
		}()
		<-begun
		name := "a1-1"
		if listens {
			name = "a2-2"
		}
		ask := func(on *events) {
			if got := on.next(); got != question(1) {
				t.Errorf("listens %t: %s", listens, got)
			}
		}
		if listens {
			ask(news)
		}
		again := &events{t: t, body: resumeRequest(header, name).start(t.Context(), t, site).Body}
		if got := again.next(); !strings.Contains(got, `"data":"here"`) {
			t.Fatal(got)
		}
		if !listens {
			ask(again)
		}
		request{body: `{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`, header: header}.send(t, site)
		if got := again.next(); got != answerLine("7", `{"roots":[]}`) || again.next() != "" {
			t.Errorf("listens %t: %s", listens, got)
		}
		if last := <-lost; last != name {
			t.Errorf("listens %t: %s", listens, last)
		}
	}
}

// cuttingTransport breaks the first streams of answers after a number of bytes.
type cuttingTransport struct {
	http.RoundTripper
	after int64
	left  atomic.Int32
}

func (c *cuttingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(r)
	if err == nil && r.Method == http.MethodPost && resp.Header.Get("Content-Type") == "text/event-stream" &&
		c.left.Add(-1) >= 0 {
		resp.Body = &cutBody{resp.Body, io.LimitReader(resp.Body, c.after)}
	}
	return resp, err
}

type cutBody struct {
	io.Closer
	io.Reader
}

func (b *cutBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		_ = b.Closer.Close()
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// TestRealClientsGetTheirAnswersAcrossALostConnection uses the client of the SDK and the client of package interop.
func TestRealClientsGetTheirAnswersAcrossALostConnection(t *testing.T) {
	t.Parallel()
	site := newSite(t, talkingTools(), nil)
	lossy := func() *http.Client {
		c := &cuttingTransport{RoundTripper: site.Client().Transport, after: 60} // in the middle of the first report
		c.left.Store(1)
		return &http.Client{Transport: c}
	}
	t.Run("SDK", func(t *testing.T) {
		t.Parallel()
		received := make(chan float64, 10)
		c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { received <- r.Params.Progress },
		})
		s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: site.URL, HTTPClient: lossy()},
			&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Meta: mcp.Meta{"progressToken": "p"}, Name: "t", Arguments: map[string]any{"say": []string{"a", "b"}}})
		if err != nil || r.Content[0].(*mcp.TextContent).Text != "done" {
			t.Fatalf("%+v, %v", r, err)
		}
		for want := range 2 {
			if got := <-received; got != float64(want) {
				t.Errorf("progress %v, want %d", got, want)
			}
		}
	})
	t.Run("our own", func(t *testing.T) {
		t.Parallel()
		e := interop.NewEndpoint(config.Server{ID: "s", Era: interop.Legacy, Transport: config.HTTP{URL: site.URL}},
			&interop.EndpointOptions{HTTPClient: lossy()})
		t.Cleanup(e.Close)
		if err := e.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		var reported int
		ctx := interop.WithClient(t.Context(), &interop.Client{Era: interop.Legacy, Back: func(_ context.Context, m interop.Message) (json.RawMessage, error) {
			reported++
			return nil, nil
		}})
		r, err := e.Do(ctx, interop.Message{Method: "tools/call", Params: json.RawMessage(`{"name":"t","arguments":{"say":["a","b"]},"_meta":{"progressToken":"p"}}`)})
		if err != nil || string(r) != doneResult || reported != 2 {
			t.Errorf("%s, %d, %v", r, reported, err)
		}
	})
}
