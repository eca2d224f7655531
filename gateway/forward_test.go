package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/interop/config"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callerHeader sets headers on each request of a client.
type callerHeader struct{ id, token string }

func (c callerHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Request-Id", c.id)
	r.Header.Set("Authorization", "Bearer "+c.token)
	return http.DefaultTransport.RoundTrip(r)
}

// Clients call at the same time over real sockets. Each call brings its own caller's headers to the server, and only
// the headers that are configured for that server.
func TestForwardedHeadersDoNotCross(t *testing.T) {
	upstream := func(of string) string {
		server := mcp.NewServer(&mcp.Implementation{Name: of, Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "who"}, func(_ context.Context, r *mcp.CallToolRequest, in struct {
			As string `json:"as"`
		}) (*mcp.CallToolResult, any, error) {
			token := r.Extra.Header.Get("Authorization") // no result repeats it
			switch token {
			case "":
			case "Bearer token-of-" + in.As:
				token = "its own"
			default:
				token = "another's"
			}
			got := fmt.Sprint(in.As, "|", strings.Join(r.Extra.Header.Values("X-Request-Id"), ","), "|", token)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: got}}}, nil, nil
		})
		web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
		t.Cleanup(web.Close)
		return web.URL
	}
	both := upstream("s")
	servers := []config.Server{
		{ID: "none", Transport: config.HTTP{URL: both}},
		{ID: "id", Transport: config.HTTP{URL: both}, Forward: config.Forward{Headers: []string{"x-request-id"}}},
		{ID: "token", Transport: config.HTTP{URL: both}, Forward: config.Forward{Authorization: true}},
	}
	g := gateway.New(t.Context(), servers, nil)
	t.Cleanup(g.Close)
	if err := g.Attached().Fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(g.Handler())
	t.Cleanup(web.Close)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			who := fmt.Sprint("caller", i)
			opts := &mcp.ClientSessionOptions{}
			if i%2 == 0 {
				opts.ProtocolVersion = "2025-11-25"
			}
			c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
			s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: web.URL + "/mcp", HTTPClient: &http.Client{Transport: callerHeader{who, "token-of-" + who}},
			}, opts)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			for range 5 {
				for server, want := range map[string]string{"none": who + "||", "id": who + "|" + who + "|", "token": who + "||its own"} {
					r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: server + "__who", Arguments: map[string]any{"as": who}})
					if err != nil {
						t.Error(err)
						return
					}
					if got := r.Content[0].(*mcp.TextContent).Text; got != want {
						t.Errorf("%s: got %q, want %q", server, got, want)
					}
				}
			}
		})
	}
	all.Wait()
}
