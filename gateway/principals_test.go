package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// notebooks connects to servers of the SDK, one for each connection. A tool writes pages into them.
type notebooks struct{ dialled atomic.Int32 }

func (n *notebooks) Connect(ctx context.Context) (mcp.Connection, error) {
	n.dialled.Add(1)
	s := mcp.NewServer(&mcp.Implementation{Name: "notebook", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{
			Prompts: &mcp.PromptCapabilities{ListChanged: true}, Resources: &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	mcp.AddTool(s, &mcp.Tool{Name: "write"}, func(ctx context.Context, _ *mcp.CallToolRequest, in forWhom) (*mcp.CallToolResult, any, error) {
		uri := "page:" + in.For
		s.AddResource(&mcp.Resource{URI: uri, Name: in.For}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Text: "of " + in.For}}}, nil
		})
		s.AddPrompt(&mcp.Prompt{Name: in.For}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: "of " + in.For}, nil
		})
		return &mcp.CallToolResult{}, nil, s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri})
	})
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	if _, err := s.Connect(context.WithoutCancel(ctx), serverEnd, nil); err != nil {
		return nil, err
	}
	return clientEnd.Connect(ctx)
}

// authorized sends requests with an Authorization header.
type authorized string

func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", string(a))
	return http.DefaultTransport.RoundTrip(r)
}

// Two principals write into, list, read and follow a server with one name. Each principal has its own server.
func TestAServerForEachPrincipal(t *testing.T) {
	t.Parallel()
	for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			books := &notebooks{}
			mount := &interop.MountOptions{FleetOptions: interop.FleetOptions{
				Endpoint: func(config.Server) *interop.EndpointOptions { return &interop.EndpointOptions{Transport: books} },
			}}
			servers := []config.Server{{ID: "book", Era: era, Pool: config.Pool{Per: config.PerPrincipal}}}
			g := gateway.New(t.Context(), servers, &gateway.Options{
				Ledger: &ledger.Options{Mount: mount},
				Host: host.Options{Authenticate: func(r *http.Request) (toolbox.Principal, error) {
					return toolbox.Principal(r.Header.Get("Authorization")), nil
				}},
			})
			t.Cleanup(g.Close)
			web := httptest.NewServer(g.Handler())
			t.Cleanup(web.Close)
			updates := map[string]chan string{"ann": make(chan string, 100), "bob": make(chan string, 100)}
			clients := map[string]*mcp.ClientSession{}
			for who, received := range updates {
				c := mcp.NewClient(&mcp.Implementation{Name: who, Version: "1"}, &mcp.ClientOptions{
					ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { received <- r.Params.URI },
				})
				session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
					Endpoint: web.URL + "/mcp", HTTPClient: &http.Client{Transport: authorized(who)},
				}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = session.Close() })
				clients[who] = session
			}
			for who, c := range clients {
				if got := notebookOf(t, c); got != "[] []" {
					t.Errorf("%s is listed %s before anything was written", who, got)
				}
				for _, of := range []string{"ann", "bob"} {
					if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "page:" + of}); err != nil {
						t.Fatal(err)
					}
				}
			}
			for who, c := range clients {
				if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "book__write", Arguments: forWhom{who}}); err != nil {
					t.Fatal(err)
				}
				if got := <-updates[who]; got != "page:"+who {
					t.Errorf("%s hears of %s", who, got)
				}
			}
			for who, c := range clients {
				want := fmt.Sprintf("[page:%[1]s] [book__%[1]s]", who)
				for notebookOf(t, c) != want { // until the change arrives
					if t.Context().Err() != nil {
						t.Fatal("the list is not the principal's")
					}
				}
				for _, of := range []string{"ann", "bob"} {
					r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "page:" + of})
					if isOwner := of == who; (err == nil) != isOwner {
						t.Errorf("%s reads %s's: %+v, %v", who, of, r, err)
					}
				}
				if len(updates[who]) > 0 {
					t.Errorf("%s hears also of %s", who, <-updates[who])
				}
			}
			if n := books.dialled.Load(); n != 3 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// notebookOf returns the resources and prompts that a client sees.
func notebookOf(t *testing.T, c *mcp.ClientSession) string {
	t.Helper()
	uris, names := []string{}, []string{}
	resources, err := c.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range resources.Resources {
		uris = append(uris, r.URI)
	}
	prompts, err := c.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range prompts.Prompts {
		names = append(names, p.Name)
	}
	return fmt.Sprint(uris, " ", names)
}
