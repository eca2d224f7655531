package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// eventLog counts the events of servers.
type eventLog struct {
	mu     sync.Mutex
	events []string
	more   chan struct{}
}

func (l *eventLog) record(e interop.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e.String())
	close(l.more)
	l.more = make(chan struct{})
}

func (l *eventLog) times(event string) (n int, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if e == event {
			n++
		}
	}
	return n, l.more
}

func (l *eventLog) wait(t testing.TB, event string, times int) {
	t.Helper()
	for {
		n, more := l.times(event)
		if n >= times {
			return
		}
		select {
		case <-more:
		case <-time.After(time.Minute):
			t.Fatalf("%s only %d times", event, n)
		}
	}
}

// Of a lazy server only the tools are known. A list that is not cached starts it, once. Its list stays cached while it
// is idle, and use of an entry starts it again.
func TestListsOfAnIdleServer(t *testing.T) {
	t.Parallel()
	s := library("a", "file:///a")
	s.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
	with := shelf{"a": s, "b": library("b")}
	opts, seen := with.options(t), &eventLog{more: make(chan struct{})}
	opts.Mount.Wait, opts.Mount.Events, opts.Mount.Lazy, opts.Mount.Idle = -1, seen.record, true, 20*time.Millisecond
	opts.Mount.Known = func(string) []toolbox.Wire {
		return []toolbox.Wire{{Format: "mcp/legacy", JSON: []byte(`{"name":"t","inputSchema":{"type":"object"}}`)}}
	}
	g := with.open(t, gateway.Options{Ledger: opts}, "a", "b")
	seen.wait(t, "a: idle", 1)
	c := dial(t, g, "/mcp", interop.Legacy)
	if tools, err := c.ListTools(t.Context(), nil); err != nil || len(tools.Tools) != 2 {
		t.Fatalf("%v, %v", tools, err)
	}
	if n, _ := seen.times("a: connecting"); n != 0 {
		t.Error("tools/list has started it")
	}
	for round := range 3 {
		prompts, err := c.ListPrompts(t.Context(), nil)
		if err != nil || len(prompts.Prompts) != 2 {
			t.Fatalf("round %d: %v, %v", round, prompts, err)
		}
		seen.wait(t, "a: idle", 2)
		seen.wait(t, "b: idle", 2)
	}
	if n, _ := seen.times("a: connecting"); n != 1 {
		t.Errorf("lists have started it %d times", n)
	}
	if r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///a"}); err != nil || r.Contents[0].Text != "a" {
		t.Errorf("%v, %v", r, err)
	}
	if p, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "b__greet"}); err != nil || !strings.HasPrefix(p.Description, "b ") {
		t.Errorf("%v, %v", p, err)
	}
	seen.wait(t, "a: idle", 3)
	one := dial(t, g, "/mcp/a", interop.Legacy) // its description is known
	if got := one.InitializeResult(); got.Instructions != "Use a." {
		t.Errorf("%+v", got)
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if slices.Contains(seen.events, "a: faulted") || slices.Contains(seen.events, "a: withdrawn") {
		t.Error(seen.events)
	}
}

// notifyingLog reports the descriptions that were written to it.
type notifyingLog struct {
	*ledger.File
	written chan<- ledger.Entry
}

func (l notifyingLog) Append(ctx context.Context, entries ...ledger.Entry) ([]ledger.Entry, error) {
	stored, err := l.File.Append(ctx, entries...)
	for _, e := range stored {
		if e.Op == ledger.Describe {
			l.written <- e
		}
	}
	return stored, err
}

// The description and the lists of an earlier run are known while the server does not run. No list starts it, on HTTP
// or stdio. Use of an entry does.
func TestWhatIdleServersHaveIsInTheLedger(t *testing.T) {
	t.Parallel()
	with := shelf{"a": library("a", "file:///a"), "b": mcp.NewServer(&mcp.Implementation{Name: "b", Version: "1"}, nil)}
	for _, s := range with {
		s.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	}
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	written := make(chan ledger.Entry, 100)
	run := func(lazy bool) (*gateway.Gateway, *eventLog) {
		log, err := ledger.OpenFile(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		opts, seen := with.options(t), &eventLog{more: make(chan struct{})}
		opts.Log, opts.Warm, opts.Mount.Events, opts.Mount.Lazy = notifyingLog{log, written}, true, seen.record, lazy
		return with.open(t, gateway.Options{Ledger: opts}, "a", "b"), seen
	}
	listed := func(c *mcp.ClientSession) (names []string) {
		for p, err := range c.Prompts(t.Context(), nil) {
			names = append(names, p.Name, fmt.Sprint(err))
		}
		for r, err := range c.Resources(t.Context(), nil) {
			names = append(names, r.URI, fmt.Sprint(err))
		}
		for r, err := range c.ResourceTemplates(t.Context(), nil) {
			names = append(names, r.URITemplate, fmt.Sprint(err))
		}
		return names
	}
	g, _ := run(false)
	c := dial(t, g, "/mcp", interop.Legacy) // it declares roots
	want, initialized := listed(c), c.InitializeResult()
	for entry := range written { // the lists arrive in any order
		lists, _ := wire.Lookup(entry.Capability.Wire.JSON, "lists")
		if members, _ := wire.Members(lists); len(members) == 3 {
			break
		}
	}
	g.Close()
	if len(want) != 6 || !strings.Contains(initialized.Instructions, "Use a.") {
		t.Fatalf("%v, %+v", want, initialized)
	}

	g, seen := run(true)
	clientEnd, serverEnd := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- g.ServeIO(t.Context(), serverEnd, serverEnd) }()
	piped, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: clientEnd, Writer: clientEnd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for where, c := range map[string]*mcp.ClientSession{
		"stdio": piped, "HTTP": dial(t, g, "/mcp", interop.Legacy), "modern": dial(t, g, "/mcp", interop.Modern), "one": dial(t, g, "/mcp/a", interop.Legacy),
	} {
		t.Run(where, func(t *testing.T) {
			if got := listed(c); where != "one" && !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			if got := c.InitializeResult(); !strings.Contains(got.Instructions, "Use a.") || got.Capabilities.Completions == nil {
				t.Errorf("%+v", got)
			}
		})
	}
	if _, err := piped.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "x:nobody"}); err == nil || !strings.Contains(err.Error(), "indus://SERVER/URI") {
		t.Error(err)
	}
	for _, id := range []string{"a", "b"} {
		if n, _ := seen.times(id + ": connecting"); n != 0 {
			t.Error(id, "was started")
		}
	}
	if p, err := piped.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "a__greet"}); err != nil || !strings.HasPrefix(p.Description, "a ") {
		t.Errorf("%v, %v", p, err)
	}
	seen.wait(t, "a: connecting", 1)
	if err := errors.Join(piped.Close(), <-served); err != nil {
		t.Error(err)
	}
}

// The description and the lists of a server do not apply to another server that gets its name, in this run or the next.
func TestWhatAServerSaidIsNotItsSuccessors(t *testing.T) {
	t.Parallel()
	with := shelf{"one": library("one")} // the other server cannot be reached
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	seen := &eventLog{more: make(chan struct{})}
	run := func(servers ...config.Server) *gateway.Gateway {
		log, err := ledger.OpenFile(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		opts := with.options(t)
		opts.Log, opts.Warm, opts.Mount.Wait, opts.Mount.Lazy, opts.Mount.Idle, opts.Mount.Events = log, true, -1, true, 20*time.Millisecond, seen.record
		reach := opts.Mount.Endpoint
		opts.Mount.Endpoint = func(s config.Server) *interop.EndpointOptions {
			return reach(config.Server{ID: s.Transport.(config.Stdio).Command})
		}
		opts.Mount.Known = func(string) []toolbox.Wire {
			return []toolbox.Wire{{Format: "mcp/legacy", JSON: []byte(`{"name":"t","inputSchema":{"type":"object"}}`)}}
		}
		g := gateway.New(t.Context(), servers, &gateway.Options{Ledger: opts})
		t.Cleanup(g.Close)
		return g
	}
	instructions := func(g *gateway.Gateway) string {
		c := dial(t, g, "/mcp", interop.Legacy)
		return c.InitializeResult().Instructions
	}
	one := config.Server{ID: "a", Transport: config.Stdio{Command: "one"}}
	two := config.Server{ID: "a", Transport: config.Stdio{Command: "two"}}
	g := run(one)
	if got := dial(t, g, "/mcp/a", interop.Legacy).InitializeResult().Instructions; got != "Use one." {
		t.Fatal(got)
	}
	seen.wait(t, "a: idle", 2)
	g.Reload([]config.Server{one}, nil)
	if got := instructions(g); !strings.Contains(got, "Use one.") {
		t.Error(got)
	}
	g.Reload([]config.Server{two}, nil)
	if got := instructions(g); strings.Contains(got, "Use one.") {
		t.Error(got)
	}
	g.Close()
	g = run(two)
	if got := instructions(g); strings.Contains(got, "Use one.") {
		t.Error(got)
	}
}

// A client of one lazy server gets the server's description, which starts the server. This holds for a client that
// comes at once, too.
func TestAnIdleServerSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for range 20 {
		with := shelf{"a": library("a", "file:///a")}
		opts := with.options(t)
		opts.Mount.Wait, opts.Mount.Lazy = -1, true
		opts.Mount.Known = func(string) []toolbox.Wire {
			return []toolbox.Wire{{Format: "mcp/legacy", JSON: []byte(`{"name":"t","inputSchema":{"type":"object"}}`)}}
		}
		g := with.open(t, gateway.Options{Ledger: opts}, "a")
		got := string(ask(t, g.Handler(), "/mcp/a", "server/discover", "{}").Result)
		if !strings.Contains(got, `"Use a."`) || !strings.Contains(got, `"prompts"`) {
			t.Fatal(got)
		}
	}
}
