//lint:file-ignore SA1019 logging is deprecated, and there for as long as its peers are

package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// gossip is a server that sends messages and questions to the client of the last call, during the call and after it.
// Each message names the principal that it is for.
type gossip struct {
	*mcp.Server
	late   sync.WaitGroup
	owned  bool     // each connection belongs to one principal
	owners sync.Map // the principal of each connection, if it has only one
	mixed  atomic.Int64
}

// recordOwner records the principal of a call on a connection. A connection on which a client can be asked belongs to
// one principal.
func (g *gossip) recordOwner(r *mcp.CallToolRequest, who string) {
	p := r.Session.InitializeParams()
	if !g.owned && (p == nil || p.ProtocolVersion == "2026-07-28" || p.Capabilities == nil || p.Capabilities.Elicitation == nil) {
		return
	}
	if owner, _ := g.owners.LoadOrStore(r.Session, who); owner != who {
		g.mixed.Add(1)
	}
}

type forWhom struct {
	For string `json:"for"`
}

func newGossip() *gossip {
	subscribed := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	unsubscribed := func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
	g := &gossip{Server: mcp.NewServer(&mcp.Implementation{Name: "gossip", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler: subscribed, UnsubscribeHandler: unsubscribed,
	})}
	for _, who := range []string{"ann", "bob"} {
		g.AddResource(&mcp.Resource{URI: "news:" + who, Name: who}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "news:" + who, Text: "for " + who}}}, nil
		})
	}
	mcp.AddTool(g.Server, &mcp.Tool{Name: "ask"}, func(_ context.Context, r *mcp.CallToolRequest, in forWhom) (*mcp.CallToolResult, any, error) {
		g.recordOwner(r, in.For)
		if a, ok := r.Params.InputResponses["k"].(*mcp.ElicitResult); ok {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(in.For, " is ", a.Content["name"])}}}, nil, nil
		}
		return &mcp.CallToolResult{RequestState: "of " + in.For, InputRequests: mcp.InputRequestMap{"k": &mcp.ElicitParams{
			Message:         "for " + in.For,
			RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}},
		}}}, nil, nil
	})
	mcp.AddTool(g.Server, &mcp.Tool{Name: "twice"}, func(ctx context.Context, r *mcp.CallToolRequest, in forWhom) (*mcp.CallToolResult, any, error) {
		for range 2 {
			if _, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "for " + in.For}); err != nil {
				return nil, nil, err
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.For + " is " + in.For}}}, nil, nil
	})
	mcp.AddTool(g.Server, &mcp.Tool{Name: "talk"}, func(ctx context.Context, r *mcp.CallToolRequest, in forWhom) (*mcp.CallToolResult, any, error) {
		g.recordOwner(r, in.For)
		message := func(ctx context.Context) {
			_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "error", Data: "for " + in.For})
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: "for " + in.For})
		}
		message(ctx)
		g.late.Go(func() { // by now it should be quiet
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Millisecond)
			defer cancel()
			message(ctx)
			_, _ = r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "for " + in.For})
		})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "for " + in.For}}}, nil, nil
	})
	return g
}

// diary is a server that returns a different list each time. Each list is private to the caller.
type diary struct {
	script
	serial atomic.Int64
}

func newDiary() *diary {
	d := &diary{}
	d.answers = map[string]func(interop.Message) (string, error){
		"server/discover": discovers(`{"resources":{},"prompts":{}}`),
		"resources/list": func(interop.Message) (string, error) {
			return fmt.Sprintf(`{"resources":[{"uri":"page:%d","name":"p"}],"cacheScope":"private","ttlMs":5}`, d.serial.Add(1)), nil
		},
		"resources/templates/list": replyWith(`{"resourceTemplates":[]}`),
		"prompts/list":             replyWith(`{"prompts":[]}`),
	}
	return d
}

// crowd is the clients of two principals at one gateway.
type crowd struct {
	*testing.T
	keys  *sealed.Keys
	url   string
	until time.Time
	done  sync.Map // the kinds of events that have happened

	mu    sync.Mutex
	pages map[string]string // the principal that has seen each page
}

func (c *crowd) markDone(what string) { c.done.Store(what, true) }

// isRunning reports whether the clients go on. They go on for their time and, on a slow machine, until each kind of
// event has happened once.
func (c *crowd) isRunning() bool {
	now := time.Now()
	return now.Before(c.until) || !c.Failed() && now.Before(c.until.Add(20*time.Second)) && len(c.missing()) > 0
}

// missing returns the kinds of events that have not happened.
func (c *crowd) missing() (out []string) {
	for _, what := range []string{"question", "progress", "log", "update", "page", "theft", "task", "listened"} {
		if _, ok := c.done.Load(what); !ok {
			out = append(out, what)
		}
	}
	return out
}

// checkOwner checks that a text is for the principal that got it.
func (c *crowd) checkOwner(who, what, text string) {
	c.markDone(what)
	if !strings.HasSuffix(text, who) {
		c.Errorf("%s got the %s %q", who, what, text)
	}
}

func (c *crowd) page(who, uri string) {
	if !strings.Contains(uri, "page:") {
		return
	}
	c.markDone("page")
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.pages[uri]; first != "" && first != who {
		c.Errorf("%s has seen %s, which is %s's", who, uri, first)
	}
	c.pages[uri] = who
}

func (c *crowd) client(who string, canBeAsked bool) *mcp.Client {
	o := &mcp.ClientOptions{
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			c.checkOwner(who, "log", fmt.Sprint(r.Params.Data))
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			c.checkOwner(who, "progress", r.Params.Message)
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			c.checkOwner(who, "update", r.Params.URI)
		},
	}
	if !canBeAsked {
		o.Capabilities = &mcp.ClientCapabilities{} // otherwise the client has roots, and can be asked for them
	} else {
		o.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			c.checkOwner(who, "question", r.Params.Message)
			if !regexp.MustCompile(`^\[(old|new|own)\] `).MatchString(r.Params.Message) {
				c.Errorf("a question without its server: %q", r.Params.Message)
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": who}}, nil
		}
	}
	return mcp.NewClient(&mcp.Implementation{Name: who, Version: "1"}, o)
}

// live runs one client.
func (c *crowd) live(ctx context.Context, who, version, path string, canBeAsked bool) {
	web := &http.Client{Transport: bearer(who)}
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: c.url + path, HTTPClient: web}
	if path == "/sse" {
		transport = &mcp.SSEClientTransport{Endpoint: c.url + path, HTTPClient: web}
	}
	session, err := c.client(who, canBeAsked).Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		c.Error(err)
		return
	}
	defer session.Close()
	if version != "" {
		_ = session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"})
	}
	for i := 0; c.isRunning(); i++ {
		server := []string{"old", "new", "own"}[i%3]
		uri := map[string]string{"old": "news:" + who, "new": "indus://new/news:" + who, "own": "indus://own/news:" + who}[server]
		if err := session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
			c.Errorf("%s: %s: %v", who, uri, err)
		}
		call := &mcp.CallToolParams{Name: server + "__talk", Arguments: forWhom{who}}
		call.SetProgressToken(fmt.Sprint(i % 3))
		if r, err := session.CallTool(ctx, call); err != nil || text(r) != "for "+who {
			c.Errorf("%s at %s: %v, %v", who, server, r, err)
		}
		if canBeAsked {
			r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: server + "__ask", Arguments: forWhom{who}})
			if err != nil || text(r) != who+" is "+who {
				c.Errorf("%s at %s: %v, %v", who, server, r, err)
			}
		}
		if r, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri}); err != nil || r.Contents[0].Text != "for "+who {
			c.Errorf("%s: %s: %v, %v", who, uri, r, err)
		}
		if r, err := session.ListResources(ctx, nil); err != nil {
			c.Error(err)
		} else {
			for _, one := range r.Resources {
				c.page(who, one.URI)
			}
		}
		_ = session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri})
	}
}

// post sends one message without changes.
func (c *crowd) post(ctx context.Context, who, session, method, params string) (status int, reply string) {
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/mcp", strings.NewReader(body))
	if err != nil {
		c.Error(err)
		return 0, ""
	}
	r.Header.Set("Authorization", who)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	if strings.Contains(params, "2026-07-28") {
		modernHeaders(r, method, params)
	}
	return c.send(r)
}

func (c *crowd) send(r *http.Request) (status int, reply string) {
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		c.Error(err)
		return 0, ""
	}
	defer w.Body.Close()
	if w.StatusCode == http.StatusOK && r.Method == http.MethodGet {
		return w.StatusCode, ""
	}
	all, _ := io.ReadAll(w.Body)
	if i := bytes.LastIndex(all, []byte("data: {")); i >= 0 {
		all = all[i+len("data: "):]
	}
	return w.StatusCode, string(all)
}

// steal uses the state of ann's call: as bob, altered, and twice.
func (c *crowd) steal(ctx context.Context) {
	for i := 0; c.isRunning(); i++ {
		server := []string{"old", "new"}[i%2]
		params := `{"name":"` + server + `__ask","arguments":{"for":"ann"},` + meta
		_, reply := c.post(ctx, "ann", "", "tools/call", params+`}`)
		var first struct {
			Result struct {
				InputRequests map[string]any
				RequestState  string
			}
		}
		if err := json.Unmarshal([]byte(reply), &first); err != nil || len(first.Result.InputRequests) != 1 {
			c.Errorf("%v: %s", err, reply)
			return
		}
		state := first.Result.RequestState
		retry := func(who, params, state string) bool {
			answers := ""
			for key := range first.Result.InputRequests {
				answers = `"` + key + `":{"action":"accept","content":{"name":"` + who + `"}}`
			}
			_, reply := c.post(ctx, who, "", "tools/call", params+`,"inputResponses":{`+answers+`},"requestState":"`+state+`"}`)
			if strings.Contains(reply, `"error"`) {
				return false
			}
			if who != "ann" || !strings.Contains(reply, "ann is ann") {
				c.Errorf("%s got %s", who, reply)
			}
			return true
		}
		c.markDone("theft")
		at := i % len(state)
		altered := state[:at] + string("AB"[(state[at]&1)]) + state[at+1:]
		other := map[string]string{"old": "new", "new": "old"}[server]
		taken := []bool{
			retry("bob", params, state),
			altered != state && retry("ann", params, altered),
			retry("ann", strings.Replace(params, server+"__", other+"__", 1), state),
			retry("ann", strings.Replace(params, `"arguments"`, `"n":1,"arguments"`, 1), state),
			retry("ann", params, c.expired(server, state)),
			!retry("ann", params, state), // ann's own retry
			server == "old" && retry("ann", params, state),
		}
		for k, yes := range taken {
			if yes {
				c.Errorf("%s: attempt %d", server, k)
			}
		}
		c.stealSession(ctx)
		c.stealTask(ctx)
		c.answerTwice(ctx)
	}
}

func (c *crowd) stealSession(ctx context.Context) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
	if err != nil {
		c.Error(err)
		return
	}
	for key, value := range map[string]string{"Authorization": "ann", "Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
		r.Header.Set(key, value)
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		c.Error(err)
		return
	}
	_, _ = io.Copy(io.Discard, w.Body)
	w.Body.Close()
	id := w.Header.Get("Mcp-Session-Id")
	if status, reply := c.post(ctx, "bob", id, "tools/list", `{}`); status == http.StatusOK {
		c.Errorf("bob is in ann's session: %s", reply)
	}
	for _, path := range []string{"/mcp", "/mcp/old"} {
		for _, who := range []string{"bob", "ann"} {
			for _, event := range []string{"", "n1-1", "a1-1"} {
				if who == "ann" && path == "/mcp" {
					continue
				}
				get, _ := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
				get.Header.Set("Authorization", who)
				get.Header.Set("Accept", "text/event-stream")
				get.Header.Set("Mcp-Session-Id", id)
				get.Header.Set("Last-Event-Id", event)
				if status, _ := c.send(get); status == http.StatusOK {
					c.Errorf("%s hears ann's session at %s, from %q on", who, path, event)
				}
			}
		}
	}
	end, _ := http.NewRequestWithContext(ctx, http.MethodDelete, c.url+"/mcp", nil)
	end.Header.Set("Mcp-Session-Id", id)
	end.Header.Set("Authorization", "bob")
	if status, _ := c.send(end); status < 400 {
		c.Errorf("bob has ended ann's session: %d", status)
	}
	end = end.Clone(ctx)
	end.Header.Set("Authorization", "ann")
	if status, reply := c.send(end); status >= 400 {
		c.Errorf("ann's session is gone: %d %s", status, reply)
	}
}

// Two principals, of both eras and on all transports, use servers of both eras that send too much. Meanwhile the state
// of one principal is stolen. Nothing crosses. The test takes a moment, or minutes with INDUS_SOAK.
func TestSoakNothingCrosses(t *testing.T) {
	t.Parallel()
	nothingCrosses(t, func(keys *sealed.Keys, open func(*gateway.Options) *gateway.Gateway) string {
		o := &gateway.Options{}
		o.Host.Keys = keys
		g := open(o)
		t.Cleanup(g.Close)
		web := httptest.NewServer(g.Handler())
		t.Cleanup(web.Close)
		return web.URL
	})
}

// nothingCrosses runs the clients and the thief at the URL that serve returns.
func nothingCrosses(t *testing.T, serve func(*sealed.Keys, func(*gateway.Options) *gateway.Gateway) (url string)) {
	wait := 700 * time.Millisecond
	if os.Getenv("INDUS_SOAK") != "" {
		wait = 3 * time.Minute
	}
	talkers := map[string]*gossip{"old": newGossip(), "new": newGossip(), "own": newGossip()}
	talkers["own"].owned = true
	scripts := map[string]*host.Host{
		"diary": host.NewFront(newDiary(), &host.Options{Exact: true}), "jobs": host.NewFront(newJobs(), &host.Options{Exact: true}),
	}
	for _, h := range scripts {
		t.Cleanup(h.Close)
	}
	inMemory := shelf{"old": talkers["old"].Server, "new": talkers["new"].Server, "own": talkers["own"].Server}.options(t).Mount.Endpoint
	attached := &ledger.Options{Mount: &interop.MountOptions{FleetOptions: interop.FleetOptions{
		Endpoint: func(s config.Server) *interop.EndpointOptions {
			if scripts[s.ID] == nil {
				return inMemory(s)
			}
			clientEnd, serverEnd := mcp.NewInMemoryTransports()
			go func() { _ = scripts[s.ID].Serve(context.Background(), serverEnd) }()
			return &interop.EndpointOptions{Transport: clientEnd}
		},
	}}}
	keys := sealed.Random()
	url := serve(keys, func(o *gateway.Options) *gateway.Gateway {
		o.Ledger = attached
		o.Host.Authenticate = func(r *http.Request) (toolbox.Principal, error) {
			return toolbox.Principal(r.Header.Get("Authorization")), nil
		}
		return gateway.New(context.Background(), []config.Server{
			{ID: "old", Era: interop.Legacy}, {ID: "new", Era: interop.Modern}, {ID: "own", Era: interop.Legacy, Pool: config.Pool{Per: config.PerPrincipal}},
			{ID: "diary", Era: interop.Modern}, {ID: "jobs", Era: interop.Modern},
		}, o)
	})
	c := &crowd{T: t, keys: keys, url: url, until: time.Now().Add(wait), pages: map[string]string{}}
	ctx, cancel := context.WithTimeout(t.Context(), wait+2*time.Minute)
	defer cancel()

	var all sync.WaitGroup
	for _, who := range []string{"ann", "bob"} {
		for _, canBeAsked := range []bool{true, false} {
			all.Go(func() { c.live(ctx, who, "", "/mcp", canBeAsked) })
			all.Go(func() { c.live(ctx, who, "2025-11-25", "/mcp", canBeAsked) })
			all.Go(func() { c.live(ctx, who, "2024-11-05", "/sse", canBeAsked) })
		}
	}
	for _, who := range []string{"ann", "bob"} {
		all.Go(func() { c.listen(ctx, who) })
	}
	all.Go(func() { c.steal(ctx) })
	all.Go(func() {
		for c.isRunning() {
			for _, s := range talkers {
				for _, who := range []string{"ann", "bob"} {
					_ = s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "news:" + who})
				}
				s.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, nil })
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	all.Wait()
	for id, s := range talkers {
		s.late.Wait()
		if n := s.mixed.Load(); n > 0 {
			t.Errorf("%s: %d calls came on a connection that was somebody else's", id, n)
		}
	}
	if missing := c.missing(); len(missing) > 0 {
		t.Errorf("there was no %q", missing)
	}
}
