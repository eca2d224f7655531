package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// withTools adds tools to a server. Their results contain the id of the server.
func withTools(s *mcp.Server, id string, names ...string) *mcp.Server {
	for _, name := range names {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}, Meta: mcp.Meta{"ui": map[string]any{"resourceUri": "ui://form.html"}}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: id + " " + name}, &mcp.ResourceLink{URI: "ui://form.html", Name: "form"}}}, nil
			})
	}
	return s
}

func threeServers() shelf {
	return shelf{
		"a": withTools(library("a", "file:///same", "ui://form.html"), "a", "x", "y"),
		"b": withTools(library("b", "file:///same"), "b", "x"),
		"c": withTools(library("c"), "c", "x"),
	}
}

// names returns the names in a view: tools with their pages, prompts and resources.
func names(t *testing.T, c *mcp.ClientSession) (out []string) {
	t.Helper()
	for tool, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		ui, _ := tool.Meta["ui"].(map[string]any)
		out = append(out, strings.TrimSpace(fmt.Sprint(tool.Name, " ", ui["resourceUri"])))
	}
	for prompt, err := range c.Prompts(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, prompt.Name)
	}
	for r, err := range c.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r.URI)
	}
	return out
}

func TestViews(t *testing.T) {
	t.Parallel()
	g := threeServers().open(t, gateway.Options{Views: map[string]gateway.View{
		"some": {Servers: []string{"a", "b"}, Tools: []string{"*__x", "a__greet"}},
	}}, "a", "b", "c")
	for _, tt := range []struct {
		path string
		want []string
		call string // the first server's tool x
		link string // in its result
	}{
		{"/mcp", []string{
			"a__x ui://a/form.html", "a__y ui://a/form.html", "b__x ui://b/form.html", "c__x ui://c/form.html",
			"a__greet", "b__greet", "c__greet", "file:///same", "ui://a/form.html", "indus://b/file:///same",
		}, "a__x", "ui://a/form.html"},
		{"/mcp/a", []string{"x ui://form.html", "y ui://form.html", "greet", "file:///same", "ui://form.html"}, "x", "ui://form.html"},
		{"/mcp/@some", []string{
			"a__x ui://a/form.html", "b__x ui://b/form.html", "a__greet", "ui://a/form.html",
		}, "a__x", "ui://a/form.html"},
	} {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			eras(t, func(t *testing.T, era interop.Era) {
				c := dial(t, g, tt.path, era)
				if diff := cmp.Diff(tt.want, names(t, c)); diff != "" {
					t.Error(diff)
				}
				r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tt.call})
				if err != nil {
					t.Fatal(err)
				}
				if got := r.Content[0].(*mcp.TextContent).Text + " " + r.Content[1].(*mcp.ResourceLink).URI; got != "a x "+tt.link {
					t.Error(got)
				}
				if tt.path == "/mcp" {
					return
				}
				if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "c__x"}); err == nil || !strings.Contains(err.Error(), `no tool named "c__x"`) {
					t.Errorf("a tool of another view: %v", err)
				}
				if _, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "b__greet"}); err == nil {
					t.Error("a prompt of another view was given")
				}
			})
		})
	}
}

// A view that shows other tools in place of its servers' tools still has their prompts, resources and instructions. Its
// clients cannot find tools that are for apps alone.
func TestExposedViews(t *testing.T) {
	t.Parallel()
	with := shelf{"a": withTools(library("a", "file:///a"), "a", "x")}
	with["a"].AddTool(&mcp.Tool{Name: "button", InputSchema: map[string]any{"type": "object"}, Meta: mcp.Meta{"ui": map[string]any{"visibility": []string{"app"}}}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	over := func(s toolbox.Source) toolbox.Source { return catalog.Over(s, nil) }
	g := with.open(t, gateway.Options{Views: map[string]gateway.View{"few": {Expose: over}}}, "a")
	same := func(s toolbox.Source) toolbox.Source { return s }
	all := with.open(t, gateway.Options{Expose: over, Views: map[string]gateway.View{"every": {Expose: same}}}, "a")
	if r := ask(t, all.Handler(), "/mcp/@every", "tools/call", `{"name":"a__button","arguments":{}}`); r.Error != nil {
		t.Errorf("a view that shows all tools has none for apps: %v", r.Error)
	}
	for path, g := range map[string]*gateway.Gateway{"/mcp": all, "/mcp/@few": g} {
		eras(t, func(t *testing.T, era interop.Era) {
			c := dial(t, g, path, era)
			got := names(t, c)
			if len(got) != 6 || slices.Contains(got, "a__x") || !cmp.Equal(got[4:], []string{"a__greet", "file:///a"}) {
				t.Errorf("%s: %q", path, got)
			}
			if instructions := c.InitializeResult().Instructions; !strings.Contains(instructions, "Use a.") || !strings.Contains(instructions, `"a__"`) {
				t.Errorf("%s: %q", path, instructions)
			}
			for name, want := range map[string]string{"a__x": "a x", "a__button": "NOT_FOUND"} {
				r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "call", Arguments: map[string]any{"operation": name, "input": map[string]any{}}})
				if text := fmt.Sprint(err, encoded(t, r)); !strings.Contains(text, want) {
					t.Errorf("%s: %s: %s", path, name, text)
				}
			}
			if p, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "a__greet"}); err != nil || p.Description != "a greet" {
				t.Errorf("%v, %v", p, err)
			}
			if r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///a"}); err != nil || r.Contents[0].Text != "a" {
				t.Errorf("%v, %v", r, err)
			}
		})
	}
}

// encoded returns a result as JSON.
func encoded(t *testing.T, result any) string {
	t.Helper()
	b, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A request for a view that does not exist gets an explanation of the paths, but no name of a view.
func TestNoView(t *testing.T) {
	t.Parallel()
	g := threeServers().open(t, gateway.Options{}, "a")
	for _, path := range []string{"/mcp/nobody", "/mcp/@nobody", "/mcp/@", "/mcp/a/b"} {
		w := httptest.NewRecorder()
		g.Handler().ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader("{}")))
		body, _ := io.ReadAll(w.Body)
		if w.Code != 404 || !strings.Contains(string(body), `"error":{"code":-32600,"message":"there is no such view`) || !strings.Contains(string(body), "/mcp/@NAME") {
			t.Errorf("%s: %d %s", path, w.Code, body)
		}
	}
	for _, path := range []string{"/mcp/a", "/mcp/nobody"} { // a web page cannot learn whether a view exists
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", path, strings.NewReader("{}"))
		r.Header.Set("Origin", "https://evil.example")
		if g.Handler().ServeHTTP(w, r); w.Code != 403 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	if g.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil)); w.Code != 404 || w.Body.String() != "nothing is here: the MCP server is at /mcp\n" {
		t.Errorf("/: %d %s", w.Code, w.Body)
	}
}

// A refused request stays refused, even if a second check an instant later would admit it. In particular it does not
// reach the view of everything.
func TestWhoIsRefusedIsNotAskedAboutAgain(t *testing.T) {
	t.Parallel()
	requests := 0
	g := threeServers().open(t, gateway.Options{Host: host.Options{Authenticate: func(*http.Request) (toolbox.Principal, error) {
		requests++
		if requests%2 == 1 {
			return "", &interop.HTTPError{Status: 503, Body: "ask again", Header: http.Header{"Retry-After": {"5"}}}
		}
		return "ann", nil
	}}}, "a", "b")
	for _, path := range []string{"/mcp/a", "/mcp/nobody"} {
		requests = 0
		r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Origin": {"http://localhost:1"}}
		w := httptest.NewRecorder()
		g.Handler().ServeHTTP(w, r)
		if h := w.Header(); w.Code != 503 || requests != 1 || h.Get("Mcp-Session-Id") != "" || h.Get("Retry-After") != "5" || h.Get("Access-Control-Allow-Origin") == "" {
			t.Errorf("%s: %d %v %s, asked %d times", path, w.Code, h, w.Body, requests)
		}
	}
}

// A tool for apps alone is not available to models, whether its server is up, is down, or has not answered yet.
func TestAppsToolsOfServersThatAreNotUp(t *testing.T) {
	t.Parallel()
	over := func(s toolbox.Source) toolbox.Source { return catalog.Over(s, nil) }
	call := func(t *testing.T, g *gateway.Gateway, path string) string {
		return string(ask(t, g.Handler(), path, "tools/call", `{"name":"call","arguments":{"operation":"a__button","input":{}}}`).Result)
	}
	for _, path := range []string{"/mcp", "/mcp/@some"} {
		ready := make(chan struct{})
		s := &script{answers: map[string]func(interop.Message) (string, error){
			"server/discover": discovers(`{"tools":{}}`),
			"tools/call":      replyWith(`{"content":[{"type":"text","text":"called"}]}`),
			"tools/list": func(interop.Message) (string, error) {
				<-ready
				return `{"tools":[{"name":"button","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["app"]}}}]}`, nil
			},
		}}
		ledger := scripts{"a": s}.options(t)
		ledger.Mount.Wait = -1
		g := gateway.New(t.Context(), []config.Server{{ID: "a"}}, &gateway.Options{Ledger: ledger, Expose: over, Views: map[string]gateway.View{"some": {Servers: []string{"a"}}}})
		t.Cleanup(g.Close)
		var early string
		var waiting sync.WaitGroup
		waiting.Go(func() { early = call(t, g, path) })
		for s.times("tools/list") == 0 {
			runtime.Gosched()
		}
		close(ready)
		waiting.Wait()
		up := call(t, g, path)
		s.kill()
		for len(g.Attached().Snapshot("").Down) == 0 {
			runtime.Gosched()
		}
		down := call(t, g, path)
		if !strings.Contains(up, "NOT_FOUND") || early != up || down != up || s.times("tools/call") != 0 {
			t.Errorf("%s: before it was heard: %s\nup: %s\ndown: %s", path, early, up, down)
		}
	}
}

// A change of a list is reported only to the views that contain the list.
func TestChangesOfOtherViews(t *testing.T) {
	t.Parallel()
	with := threeServers()
	g := with.open(t, gateway.Options{Views: map[string]gateway.View{"bx": {Tools: []string{"b__x"}}}}, "a", "b")
	eras(t, func(t *testing.T, era interop.Era) {
		received := map[string]chan string{}
		for _, path := range []string{"/mcp", "/mcp/b", "/mcp/@bx"} {
			notes := make(chan string, 100)
			received[path] = notes
			o := &mcp.ClientOptions{
				Capabilities:               &mcp.ClientCapabilities{}, // otherwise b may list something else to it
				ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { notes <- "tools" },
				PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { notes <- "prompts" },
				ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { notes <- "resources" },
			}
			names(t, dialWith(t, g, path, era, o))
		}
		own := string(era)
		withTools(with["a"], "a", "of-"+own)
		<-received["/mcp"]
		withTools(with["b"], "b", "of-"+own)
		if note := <-received["/mcp/b"]; note != "tools" || len(received["/mcp/@bx"]) > 0 {
			t.Errorf("%s, and %s to the view of another tool", note, <-received["/mcp/@bx"])
		}
	})
}

// Clients of a view of parts of a server are notified of changes of the prompts and resources in the view, and of no
// others.
func TestChangesOfOtherParts(t *testing.T) {
	t.Parallel()
	prompt := func(s *mcp.Server, name string) {
		s.AddPrompt(&mcp.Prompt{Name: name}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, nil })
	}
	resource := func(s *mcp.Server, uri string) {
		s.AddResource(&mcp.Resource{URI: uri, Name: "r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return nil, nil })
	}
	eras(t, func(t *testing.T, era interop.Era) {
		//lint:ignore SA1019 roots are deprecated, and there for as long as their peers are
		for name, declared := range map[string]*mcp.ClientCapabilities{"nothing": {}, "roots": {RootsV2: &mcp.RootCapabilities{}}} {
			with := threeServers()
			g := with.open(t, gateway.Options{Views: map[string]gateway.View{"part": {Tools: []string{"b__x"}, Prompts: []string{"b__mine*"}, Resources: []string{"b__mine:*"}}}}, "a", "b")
			received := map[string]chan string{}
			for _, path := range []string{"/mcp/b", "/mcp/@part"} {
				notes := make(chan string, 100)
				received[path] = notes
				names(t, dialWith(t, g, path, era, &mcp.ClientOptions{
					Capabilities:               declared,
					PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { notes <- "prompts" },
					ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { notes <- "resources" },
				}))
			}
			passes := func(want string) {
				for <-received["/mcp/b"] != want { // others may come first, because b has become ready
				}
			}
			expect := func(want string) {
				t.Helper()
				if got := <-received["/mcp/@part"]; got != want {
					t.Errorf("a client that declares %s: %s, want %s", name, got, want)
				}
			}
			prompt(with["b"], "other")
			passes("prompts")
			resource(with["b"], "mine:1")
			expect("resources") // and no prompts before
			resource(with["b"], "other:1")
			passes("resources")
			prompt(with["b"], "mine")
			expect("prompts")
		}
	})
}

// A server with an id that begins like the name of a view has its own path. It never has the path of a view.
func TestServersCalledLikeViews(t *testing.T) {
	t.Parallel()
	g := shelf{"@x": withTools(library("@x"), "server", "t"), "y": withTools(library("y"), "y", "u")}.open(t, gateway.Options{Views: map[string]gateway.View{"x": {Servers: []string{"y"}}}}, "@x", "y")
	for path, want := range map[string]string{"/mcp/@x": "y__u", "/mcp/@@x": "t"} {
		if got := names(t, dial(t, g, path, interop.Modern)); len(got) == 0 || !strings.HasPrefix(got[0], want+" ") {
			t.Errorf("%s: %q", path, got)
		}
	}
	if r := httptest.NewRecorder(); true {
		if g.Handler().ServeHTTP(r, httptest.NewRequest("POST", "/mcp/@@y", strings.NewReader("{}"))); r.Code != 404 {
			t.Errorf("/mcp/@@y: %d", r.Code)
		}
	}
}

// careless calls tools with arguments that are no JSON.
type careless struct{ toolbox.Source }

func (c careless) Do(ctx context.Context, call toolbox.Call) (*toolbox.Result, error) {
	return c.Source.Do(ctx, toolbox.Call{Name: call.Name, Caller: call.Caller, Input: []byte("{}}\n{\"jsonrpc\":\"2.0\"")})
}

// TestArgumentsOfAProgramAreChecked checks that no server gets arguments of a tool of the program that are no JSON.
func TestArgumentsOfAProgramAreChecked(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "a", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		t.Error("the server was called")
		return nil, nil, nil
	})
	g := shelf{"a": s}.open(t, gateway.Options{Expose: func(s toolbox.Source) toolbox.Source { return careless{s} }}, "a")
	_, err := dial(t, g, "/mcp", interop.Modern).CallTool(t.Context(), &mcp.CallToolParams{Name: "a__t"})
	if err == nil || !strings.Contains(err.Error(), "the arguments are not valid JSON") {
		t.Error(err)
	}
}
