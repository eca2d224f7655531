package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pairings runs a test for clients and servers of both eras.
func pairings(t *testing.T, run func(t *testing.T, client, server interop.Era)) {
	for _, client := range []interop.Era{interop.Legacy, interop.Modern} {
		for _, server := range []interop.Era{interop.Legacy, interop.Modern} {
			t.Run(fmt.Sprintf("%s client, %s server", client, server), func(t *testing.T) { t.Parallel(); run(t, client, server) })
		}
	}
}

// bulletin is a server that counts its subscriptions.
type bulletin struct {
	*mcp.Server
	subscribed, unsubscribed chan string
}

func newBulletin(uris ...string) *bulletin {
	b := &bulletin{subscribed: make(chan string, 100), unsubscribed: make(chan string, 100)}
	b.Server = mcp.NewServer(&mcp.Implementation{Name: "b", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(_ context.Context, r *mcp.SubscribeRequest) error { b.subscribed <- r.Params.URI; return nil },
		UnsubscribeHandler: func(_ context.Context, r *mcp.UnsubscribeRequest) error { b.unsubscribed <- r.Params.URI; return nil },
	})
	for _, uri := range uris {
		b.AddResource(&mcp.Resource{URI: uri, Name: uri}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{}, nil
		})
	}
	b.AddPrompt(&mcp.Prompt{Name: "p"}, nil)
	mcp.AddTool(b.Server, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	return b
}

// openEra returns a gateway for servers of one era, after all of them have answered.
func (s shelf) openEra(t testing.TB, era interop.Era, ids ...string) *gateway.Gateway {
	t.Helper()
	servers := s.servers(ids...)
	for i := range servers {
		servers[i].Era = era
	}
	g := gateway.New(t.Context(), servers, &gateway.Options{Ledger: s.options(t)})
	t.Cleanup(g.Close)
	if err := g.Attached().Fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

// listenTo returns a client of the SDK, and a channel of the changes that it is notified of.
func listenTo(t testing.TB, g *gateway.Gateway, path string, era interop.Era) (c *mcp.ClientSession, received chan string) {
	t.Helper()
	received = make(chan string, 1000)
	web := httptest.NewServer(g.Handler())
	t.Cleanup(web.Close)
	opts := &mcp.ClientSessionOptions{}
	if era == interop.Legacy {
		opts.ProtocolVersion = "2025-11-25"
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { received <- "tools" },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { received <- "prompts" },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { received <- "resources" },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			received <- r.Params.URI
		},
	})
	c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL + path}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, received
}

// until repeats do until the notification want arrives. The SDK's modern client does not report when its subscription
// is acknowledged.
func until(t testing.TB, received <-chan string, want string, do func()) {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		do()
		for again := time.After(50 * time.Millisecond); again != nil; {
			select {
			case got := <-received:
				if got == want {
					return
				}
			case <-again:
				again = nil
			case <-late:
				t.Fatalf("%s was never heard", want)
			}
		}
	}
}

func (b *bulletin) update(t testing.TB, uri string) {
	if err := b.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
		t.Error(err)
	}
}

// Two clients share one subscription, at the server that has the resource.
func TestUpdatesReachWhoAsked(t *testing.T) {
	t.Parallel()
	pairings(t, func(t *testing.T, client, server interop.Era) {
		a, b := newBulletin("file:///same"), newBulletin("file:///same", "file:///other")
		g := shelf{"a": a.Server, "b": b.Server}.openEra(t, server, "a", "b")
		const uri = "indus://b/file:///same"
		one, first := listenTo(t, g, "/mcp", client)
		two, second := listenTo(t, g, "/mcp", client)
		_, deaf := listenTo(t, g, "/mcp", client)
		if _, err := one.ListResources(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for _, c := range []*mcp.ClientSession{one, two} {
			if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
				t.Fatal(err)
			}
		}
		until(t, first, uri, func() { b.update(t, "file:///same") })
		until(t, second, uri, func() { b.update(t, "file:///same") })
		if got := <-b.subscribed; got != "file:///same" || len(b.subscribed) != 0 || len(a.subscribed) != 0 {
			t.Errorf("%s, and %d and %d more", got, len(a.subscribed), len(b.subscribed))
		}
		if err := one.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: uri}); err != nil {
			t.Error(err)
		}
		for len(second) > 0 {
			<-second
		}
		until(t, second, uri, func() { b.update(t, "file:///same") })
		if n := len(b.unsubscribed); n != 0 {
			t.Errorf("unsubscribed %d times", n)
		}
		if client == interop.Legacy { // a modern subscription ends with its stream
			if err := two.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: uri}); err != nil {
				t.Error(err)
			}
		} else {
			_ = two.Close()
		}
		if got := <-b.unsubscribed; got != "file:///same" {
			t.Error(got)
		}
		for len(deaf) > 0 {
			if got := <-deaf; got == uri {
				t.Error("who did not ask was told")
			}
		}
	})
}

// A view of one server uses the server's own URIs and returns its errors.
func TestSubscriptionsOfOneServer(t *testing.T) {
	t.Parallel()
	b, plain := newBulletin("file:///x"), library("plain", "file:///x")
	g := shelf{"b": b.Server, "plain": plain}.openEra(t, "", "b", "plain")
	c, received := listenTo(t, g, "/mcp/b", interop.Legacy)
	if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "file:///x"}); err != nil {
		t.Fatal(err)
	}
	until(t, received, "file:///x", func() { b.update(t, "file:///x") })
	c, _ = listenTo(t, g, "/mcp/plain", interop.Legacy)
	if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "file:///x"}); err == nil {
		t.Error("a server without subscriptions has one")
	}
	c, _ = listenTo(t, g, "/mcp", interop.Legacy)
	if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "indus://plain/file:///x"}); err == nil {
		t.Error("a server without subscriptions has one")
	}
}

// Clients are notified when the lists of servers change, and when servers come and go.
func TestListsThatChange(t *testing.T) {
	t.Parallel()
	pairings(t, func(t *testing.T, client, server interop.Era) {
		b := newBulletin("file:///x")
		all := shelf{"b": b.Server}
		g := all.openEra(t, server, "b")
		_, received := listenTo(t, g, "/mcp", client)
		_, own := listenTo(t, g, "/mcp/b", client)
		n := 0
		for _, feature := range []string{"prompts", "resources", "tools"} {
			change := func() {
				n++
				switch name := fmt.Sprint("x", n); feature {
				case "prompts":
					b.AddPrompt(&mcp.Prompt{Name: name}, nil)
				case "resources":
					b.AddResource(&mcp.Resource{URI: "file:///" + name, Name: name}, nil)
				case "tools":
					mcp.AddTool(b.Server, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
						return nil, nil, nil
					})
				}
			}
			until(t, received, feature, change)
			until(t, own, feature, change)
		}
		for len(received) > 0 {
			<-received
		}
		g.Reload(nil, nil)
		gone := map[string]bool{}
		for len(gone) < 3 {
			gone[<-received] = true
		}
	})
}

// A lost connection is made again with its subscriptions, and the subscribers get an update.
func TestUpdatesAfterAGap(t *testing.T) {
	t.Parallel()
	b := newBulletin("file:///x")
	var mu sync.Mutex
	var sessions []*mcp.ServerSession
	o := &ledger.Options{Mount: &interop.MountOptions{FleetOptions: interop.FleetOptions{
		Restart: interop.Restart{First: 1},
		Endpoint: func(config.Server) *interop.EndpointOptions {
			clientEnd, serverEnd := mcp.NewInMemoryTransports()
			session, err := b.Connect(context.Background(), serverEnd, nil)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			sessions = append(sessions, session)
			mu.Unlock()
			return &interop.EndpointOptions{Transport: clientEnd}
		},
	}}}
	t.Cleanup(func() { // runs after the gateway is closed, which reconnects
		for _, s := range sessions {
			_ = s.Close()
		}
	})
	g := shelf{}.open(t, gateway.Options{Ledger: o}, "b")
	c, received := listenTo(t, g, "/mcp", interop.Legacy)
	if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "file:///x"}); err != nil {
		t.Fatal(err)
	}
	<-b.subscribed
	mu.Lock()
	_ = sessions[0].Close()
	mu.Unlock()
	for got := ""; got != "file:///x"; got = <-received {
	}
	if got := <-b.subscribed; got != "file:///x" {
		t.Error(got)
	}
}

// A server that changes its lists without end does not cause notifications without end.
func TestAServerThatChangesItsListsAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBulletin("file:///x")
		s := shelf{"b": b.Server}
		g := gateway.New(t.Context(), s.servers("b"), &gateway.Options{Ledger: s.options(t)})
		defer g.Close()
		near, far := io.Pipe()
		back, out := io.Pipe()
		served := make(chan error, 1)
		go func() { served <- g.ServeIO(t.Context(), near, out) }()
		notified := 0
		read := make(chan struct{})
		go func() {
			defer close(read)
			for lines := bufio.NewScanner(back); lines.Scan(); {
				if strings.Contains(lines.Text(), "resources/list_changed") {
					notified++
				}
			}
		}()
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		} {
			if _, err := io.WriteString(far, line+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		for i := range 6000 { // ten minutes, ten times a second
			b.AddResource(&mcp.Resource{URI: fmt.Sprintf("file:///%d", i%2), Name: "x"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return nil, nil
			})
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Minute) // the last change is reported
		g.Close()
		_ = far.Close()
		<-served
		<-read
		if notified < 30 || notified > 100 {
			t.Errorf("told %d times", notified)
		}
	})
}

// stray is a server that sends updates of resources that were not requested.
type stray struct{ script }

func (s *stray) Subscribe(
	_ context.Context, _ interop.Message, _ string, updated func(interop.Message),
) (stop func(), err error) {
	updated(interop.Message{Params: json.RawMessage(`{"uri":"ui://b/form"}`)})
	return func() {}, nil
}

// A modern server's updates must be of the requested resource, or of a part of it.
func TestUpdatesOfWhatNobodyAskedForAreNone(t *testing.T) {
	t.Parallel()
	s := &stray{}
	s.answers = map[string]func(interop.Message) (string, error){
		"server/discover": discovers(`{"resources":{"subscribe":true}}`),
		"resources/list":  replyWith(`{"resources":[{"uri":"news:/1","name":"n"}]}`),
	}
	front := host.NewFront(s, &host.Options{Exact: true})
	t.Cleanup(front.Close)
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	go func() { _ = front.Serve(context.Background(), serverEnd) }()
	g := gateway.New(t.Context(), []config.Server{{ID: "a", Era: interop.Modern}}, &gateway.Options{Ledger: &ledger.Options{Mount: &interop.MountOptions{
		FleetOptions: interop.FleetOptions{Endpoint: func(config.Server) *interop.EndpointOptions { return &interop.EndpointOptions{Transport: clientEnd} }},
	}}})
	t.Cleanup(g.Close)
	received := make(chan string, 10)
	stop, err := g.Attached().Fleet.Subscribe(t.Context(), "a", "news:/1", "", func(m interop.Message) { received <- string(m.Params) })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if got := <-received; got != `{"uri":"news:/1"}` {
		t.Errorf("the update is %s", got)
	}
}

// If a client ends a subscription that it does not hold, the server answers, as it does without a gateway.
func TestUnsubscribeWithoutASubscription(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ capabilities, answer, want string }{
		"refused":          {`{"resources":{"subscribe":true}}`, "", "not subscribed"},
		"taken":            {`{"resources":{"subscribe":true}}`, `{}`, "{}"},
		"no subscriptions": {`{"resources":{}}`, "", "method not found"},
	} {
		for _, path := range []string{"/mcp", "/mcp/s"} {
			s := &raw{answers: map[string]string{
				"initialize":            `{"protocolVersion":"2025-11-25","capabilities":` + tt.capabilities + `,"serverInfo":{"name":"s","version":"1"}}`,
				"resources/list":        `{"resources":[{"uri":"file:///r","name":"r"}]}`,
				"resources/subscribe":   `{}`,
				"resources/unsubscribe": tt.answer,
			}, refusal: "not subscribed"}
			web := s.gateway(t, "s", interop.Legacy, gateway.Options{})
			ask := legacyAsker(t, web.Config.Handler, path)
			if got := ask("resources/unsubscribe", `{"uri":"file:///r"}`); !strings.Contains(got, tt.want) {
				t.Errorf("%s, %s: %s", name, path, got)
			}
			if strings.Contains(tt.capabilities, "true") {
				if got := ask("resources/subscribe", `{"uri":"file:///r"}`) + ask("resources/unsubscribe", `{"uri":"file:///r"}`); got != "{}{}" {
					t.Errorf("%s, %s: %s", name, path, got)
				}
			}
		}
	}
}
