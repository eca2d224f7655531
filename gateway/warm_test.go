package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// gated is a transport that connects after a receive from gate, unless the received value is an error.
type gated struct {
	mcp.Transport
	gate <-chan error
}

func (g gated) Connect(ctx context.Context) (mcp.Connection, error) {
	select {
	case err := <-g.gate:
		if err != nil {
			return nil, err
		}
		return g.Transport.Connect(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// warmStart is a gateway in its second run, which has served a library before. Its server has not answered yet.
type warmStart struct {
	*gateway.Gateway
	books *mcp.Server
	gate  chan error // closed: the server answers
	seen  *eventLog
	want  []string
}

// listedNames returns the names of all entries that a client is listed, except tools.
func listedNames(t testing.TB, c *mcp.ClientSession) (names []string) {
	t.Helper()
	for p, err := range c.Prompts(t.Context(), nil) {
		names = append(names, p.Name)
		if err != nil {
			t.Fatal(err)
		}
	}
	for r, err := range c.Resources(t.Context(), nil) {
		names = append(names, r.URI)
		if err != nil {
			t.Fatal(err)
		}
	}
	for r, err := range c.ResourceTemplates(t.Context(), nil) {
		names = append(names, r.URITemplate)
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// newWarmStart runs a gateway without clients until the ledger has the lists, and then starts a second run.
func newWarmStart(t *testing.T, o gateway.Options) *warmStart {
	w := &warmStart{books: library("a", "file:///a"), gate: make(chan error), seen: &eventLog{more: make(chan struct{})},
		want: []string{"a__greet", "file:///a", "a:///{name}"}}
	w.books.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
	path, written := filepath.Join(t.TempDir(), "ledger.jsonl"), make(chan ledger.Entry, 100)
	run := func(gate <-chan error) *gateway.Gateway {
		with := shelf{"a": w.books}
		log, err := ledger.OpenFile(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		opts := with.options(t)
		reach := opts.Mount.Endpoint
		opts.Mount.Endpoint = func(s config.Server) *interop.EndpointOptions {
			e := reach(s)
			if gate != nil {
				e.Transport = gated{e.Transport, gate}
			}
			return e
		}
		opts.Log, opts.Warm, opts.Mount.Wait, opts.Mount.Events, opts.Mount.Grace = notifyingLog{log, written}, true, -1, w.seen.record, -1
		o.Ledger = opts
		return with.open(t, o, "a")
	}
	g := run(nil)
	for entry := range written {
		if instructions := entry.Capability.Wire.JSON; bytes.Contains(instructions, []byte(`"prompts/list"`)) && bytes.Contains(instructions, []byte(`"resources/list"`)) &&
			bytes.Contains(instructions, []byte(`"resources/templates/list"`)) {
			break
		}
	}
	g.Close()
	w.Gateway = run(w.gate)
	return w
}

// listens returns a channel that is closed when a modern client's subscription is acknowledged. The client is not
// notified of earlier changes.
func listens(c *mcp.Client) (acknowledged <-chan struct{}) {
	done := make(chan struct{})
	once := sync.OnceFunc(func() { close(done) })
	c.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "notifications/subscriptions/acknowledged" {
				once()
			}
			return next(ctx, method, r)
		}
	})
	return done
}

// piped connects a client over stdio.
func (w *warmStart) piped(t *testing.T, client *mcp.Client) *mcp.ClientSession {
	clientEnd, serverEnd := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- w.ServeIO(t.Context(), serverEnd, serverEnd) }()
	c, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: clientEnd, Writer: clientEnd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	return c
}

// At a second start, prompts, resources and templates are listed from the ledger, whether a client of the first run
// listed them or not. When the server answers, clients are notified.
func TestListsAtAWarmStart(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"stdio", "HTTP legacy", "HTTP modern", "one server"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			w := newWarmStart(t, gateway.Options{})
			notified := make(chan string, 100)
			o := &mcp.ClientOptions{
				PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { notified <- "prompts" },
				ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { notified <- "resources" },
			}
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
			acknowledged := listens(client)
			var c *mcp.ClientSession
			want := w.want
			switch where {
			case "stdio":
				c = w.piped(t, client)
				<-acknowledged
			case "HTTP legacy":
				c = dialClient(t, w.Gateway, "/mcp", interop.Legacy, client)
			case "HTTP modern":
				c = dialClient(t, w.Gateway, "/mcp", interop.Modern, client)
				<-acknowledged
			default:
				c, want = dialClient(t, w.Gateway, "/mcp/a", interop.Legacy, client), []string{"greet", "file:///a", "a:///{name}"}
				if got := c.InitializeResult(); got.Instructions != "Use a." || got.Capabilities.Completions == nil {
					t.Errorf("%+v", got)
				}
			}
			if got := listedNames(t, c); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			if n, _ := w.seen.times("a: ready"); n != 1 {
				t.Fatal("the server is up")
			}
			w.books.RemovePrompts("greet")
			close(w.gate)
			for seen := map[string]bool{}; len(seen) < 2; {
				seen[<-notified] = true
			}
			if got := listedNames(t, c); !slices.Equal(got, want[1:]) {
				t.Errorf("%q, want %q", got, want[1:])
			}
		})
	}
}

// Lists that arrive at the same time are written in order, so that the ledger never loses one again.
func TestListsAreWrittenInOrder(t *testing.T) {
	t.Parallel()
	for range 20 {
		with, written := shelf{"a": library("a", "file:///a")}, make(chan ledger.Entry, 100)
		log, err := ledger.OpenFile(t.Context(), filepath.Join(t.TempDir(), "ledger.jsonl"), nil)
		if err != nil {
			t.Fatal(err)
		}
		opts := with.options(t)
		opts.Log = notifyingLog{log, written}
		g := with.open(t, gateway.Options{Ledger: opts}, "a")
		for maxCount := 0; maxCount < 3; {
			instructions := (<-written).Capability.Wire.JSON
			maxCount = max(maxCount, bytes.Count(instructions, []byte(`/list":[`)))
		}
		g.Close()
		for len(written) > 0 { // at its end the gateway writes only lists that the ledger lacks
			if instructions := (<-written).Capability.Wire.JSON; bytes.Count(instructions, []byte(`/list":[`)) < 3 {
				t.Fatalf("the ledger has less again: %s", instructions)
			}
		}
	}
}

// A request that uses an entry of a list from the ledger waits for the server.
func TestUseOfAListAtAWarmStart(t *testing.T) {
	t.Parallel()
	w := newWarmStart(t, gateway.Options{})
	c := dial(t, w.Gateway, "/mcp", interop.Modern)
	read := make(chan error, 1)
	go func() {
		_, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///a"})
		read <- err
	}()
	w.seen.wait(t, "a: connecting", 2)
	close(w.gate)
	if err := <-read; err != nil {
		t.Error(err)
	}
}

// If the server cannot be reached, its lists from the ledger are withdrawn, like its tools.
func TestListsOfAServerThatDoesNotComeBack(t *testing.T) {
	t.Parallel()
	w := newWarmStart(t, gateway.Options{})
	notified := make(chan string, 100)
	c := dialWith(t, w.Gateway, "/mcp", interop.Legacy, &mcp.ClientOptions{
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { notified <- "resources" },
	})
	if got := listedNames(t, c); !slices.Equal(got, w.want) {
		t.Errorf("%q, want %q", got, w.want)
	}
	go func() {
		for {
			select {
			case w.gate <- errors.New("it does not come"):
			case <-t.Context().Done():
				return
			}
		}
	}()
	for {
		<-notified
		if got := listedNames(t, c); len(got) == 0 {
			break
		}
	}
}
