package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// restartedPlace is a server of go-sdk that does the same as each server of testdata/peers/restarted.mjs.
type restartedPlace struct {
	standing bool
	mu       sync.Mutex
	serving  http.Handler
	servers  []*mcp.Server   // also of before a restart
	life     context.Context // until the restart
	conns    context.CancelFunc
	whole    context.Context // until the end
	stop     context.CancelFunc
	runs     int
	began    chan struct{} // closed when a call hangs
}

func (p *restartedPlace) restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns != nil {
		p.conns()
	}
	p.life, p.conns = context.WithCancel(context.Background())
	s := mcp.NewServer(&mcp.Implementation{Name: "restarted"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: p.standing}},
	})
	s.AddTool(&mcp.Tool{Name: "work", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(p.whole, cancel)()
			p.mu.Lock()
			p.runs++
			text := fmt.Sprintf("run %d", p.runs)
			p.mu.Unlock()
			switch {
			case strings.Contains(string(r.Params.Arguments), "hang"):
				close(p.began)
				<-ctx.Done()
			case strings.Contains(string(r.Params.Arguments), "ask"):
				if _, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "go on?"}); err != nil {
					return nil, err
				}
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	p.servers = append(p.servers, s)
	p.serving = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

func (p *restartedPlace) end() {
	p.conns()
	p.stop()
	for _, s := range p.servers {
		for session := range s.Sessions() {
			session.Close()
		}
	}
}

func (p *restartedPlace) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	runs, life, serving := p.runs, p.life, p.serving
	p.mu.Unlock()
	switch {
	case r.URL.RawQuery == "restart":
		p.restart()
	case r.URL.RawQuery == "began":
		<-p.began
	case r.URL.RawQuery == "runs":
		fmt.Fprint(w, runs)
	case r.Method == http.MethodGet && !p.standing:
		w.WriteHeader(http.StatusMethodNotAllowed)
	default:
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		serving.ServeHTTP(w, r.WithContext(ctx))
		if life.Err() != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// The servers of the official SDKs lose their sessions in a restart, while nothing runs, a call runs, or a question
// waits. An idle server's next call works. A call that was running fails and is not repeated, and the next one works.
func TestARestartedServerOfAnSDKWorksAgain(t *testing.T) {
	t.Parallel()
	nodes := peers.Restarted(t)
	for _, kind := range []string{"1/single", "1/many", "2/single", "2/many", "go"} {
		for _, stream := range []string{"standing", "none"} {
			for _, as := range []string{"idle", "hang", "ask"} {
				if as == "ask" && strings.Contains(kind, "single") {
					continue // one transport has one session, and a client that is asked has its own
				}
				t.Run(strings.Join([]string{kind, stream, as}, "/"), func(t *testing.T) {
					t.Parallel()
					at := strings.Join([]string{nodes, kind, stream, as}, "/")
					if kind == "go" {
						place := &restartedPlace{standing: stream == "standing", began: make(chan struct{})}
						place.whole, place.stop = context.WithCancel(context.Background())
						place.restart()
						site := httptest.NewServer(place)
						t.Cleanup(func() { place.end(); site.Close() })
						at = site.URL
					}
					restartWhile(t, at, as)
				})
			}
		}
	}
}

func restartWhile(t *testing.T, at, as string) {
	control := func(query string) string {
		t.Helper()
		res, err := http.Get(at + "?" + query) //nolint:noctx // ends with the test
		if err != nil {
			t.Error(err)
			return ""
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return string(b)
	}
	fleet := fleetOf(t, config.Server{ID: "a", Era: interop.Legacy, Transport: config.HTTP{URL: at}}, nil)
	c := newRecordingClient(interop.Legacy, "Ada", "")
	asked := func() {}
	if as == "ask" {
		c = newRecordingClient(interop.Legacy, "Ada", everyCapability)
		answer := c.Back
		c.Back = func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
			asked()
			return answer(ctx, m)
		}
	}
	work := func(as string) (string, error) {
		return callAs(t.Context(), fleet, &c.Client, "", "work", `{"name":"work","arguments":{"as":"`+as+`"}}`)
	}
	usual := strings.Replace(as, "hang", "idle", 1)
	if got, err := work(usual); got != "run 1" {
		t.Fatalf("%s, %v", got, err)
	}
	runs := 2
	switch as {
	case "idle":
		control("restart")
	case "hang":
		runs++
		var restarted sync.WaitGroup
		restarted.Go(func() { control("began"); control("restart") })
		if got, err := work("hang"); err == nil {
			t.Errorf("the call that was running: %s", got)
		}
		restarted.Wait()
	case "ask":
		runs++
		asked = sync.OnceFunc(func() { control("restart") })
		if got, err := work("ask"); err == nil {
			t.Errorf("the call that was asking: %s", got)
		}
	}
	if got, err := work(usual); got != fmt.Sprint("run ", runs) {
		t.Errorf("after the restart: %s, %v", got, err)
	}
	if n := control("runs"); n != fmt.Sprint(runs) {
		t.Errorf("%s runs, want %d", n, runs)
	}
}
