package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/shelf"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// transports are the ways to connect a client of the SDK to a host.
var transports = map[string]func(*testing.T, *host.Host) mcp.Transport{
	"memory": func(t *testing.T, h *host.Host) mcp.Transport {
		client, server := mcp.NewInMemoryTransports()
		done := make(chan error, 1)
		go func() { done <- h.Serve(context.Background(), server) }()
		t.Cleanup(func() {
			h.Close()
			if err := <-done; err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
		return client
	},
	"lines": func(t *testing.T, h *host.Host) mcp.Transport {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- h.ServeIO(context.Background(), inR, outW) }()
		t.Cleanup(func() {
			h.Close()
			if err := <-done; err != nil {
				t.Errorf("ServeIO: %v", err)
			}
		})
		return &mcp.IOTransport{Reader: outR, Writer: inW}
	},
	"http": func(t *testing.T, h *host.Host) mcp.Transport {
		site := serveSite(t, h)
		return &mcp.StreamableClientTransport{Endpoint: site.URL, HTTPClient: site.Client()}
	},
	"HTTP+SSE": func(t *testing.T, h *host.Host) mcp.Transport {
		site := siteOf(t, h, h.SSEHandler())
		return &mcp.SSEClientTransport{Endpoint: site.URL, HTTPClient: site.Client()}
	},
}

// onEachTransport runs a test over each transport in each era.
func onEachTransport(
	t *testing.T, run func(t *testing.T, era string, connect func(*host.Host, *mcp.ClientOptions) *mcp.ClientSession),
) {
	for transport, dial := range transports {
		for _, version := range []string{"2025-06-18", "2026-07-28"} {
			if transport == "HTTP+SSE" && version == "2026-07-28" {
				continue // HTTP+SSE is older than this revision
			}
			t.Run(transport+" "+version, func(t *testing.T) {
				run(t, version, func(h *host.Host, opts *mcp.ClientOptions) *mcp.ClientSession {
					transport := dial(t, h)
					c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
					s, err := c.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = s.Close() })
					if got := s.InitializeResult().ProtocolVersion; version != "2026-07-28" && got != version {
						t.Fatalf("agreed on %s, want %s", got, version)
					}
					return s
				})
			})
		}
	}
}

func TestSDKClientListsAndCalls(t *testing.T) {
	reg := toolbox.NewRegistry(nil)
	reg.Add(toolbox.Define("greet", "says hello",
		func(_ context.Context, in struct {
			Name string `json:"name,omitempty"`
		}) (*toolbox.Result, error) {
			return toolbox.StructuredResult(json.RawMessage(`{"to":"`+in.Name+`"}`), toolbox.Text("hello "+in.Name)), nil
		}))
	onEachTransport(t, func(t *testing.T, _ string, connect func(*host.Host, *mcp.ClientOptions) *mcp.ClientSession) {
		s := connect(newHost(t, reg, &host.Options{Instructions: "be kind"}), nil)
		if got := s.InitializeResult(); got.Instructions != "be kind" || got.Capabilities.Tools == nil ||
			!got.Capabilities.Tools.ListChanged {
			t.Errorf("initialize: %+v", got)
		}
		list, err := s.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "greet" || list.Tools[0].Description != "says hello" {
			t.Fatalf("list: %+v, %v", list, err)
		}
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": "you"}})
		if err != nil || r.IsError {
			t.Fatalf("call: %+v, %v", r, err)
		}
		if text := r.Content[0].(*mcp.TextContent).Text; text != "hello you" {
			t.Errorf("text %q", text)
		}
		if diff := cmp.Diff(map[string]any{"to": "you"}, r.StructuredContent); diff != "" {
			t.Error(diff)
		}
		r, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"nam": 1}})
		if err != nil || !r.IsError {
			t.Errorf("a tool's failure is a result: %+v, %v", r, err)
		}
		_, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "nope"})
		var rpc *jsonrpc.Error
		if !errors.As(err, &rpc) || rpc.Code != interop.CodeInvalidParams ||
			rpc.Message != `no tool named "nope" is available` {
			t.Errorf("unknown tool: %v", err)
		}
	})
}

func TestSDKClientHearsProgressInOrderAndBeforeTheResult(t *testing.T) {
	src := shelf.OneTool(func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		if c.Progress == nil {
			return nil, errors.New("nobody listens")
		}
		for i := range 20 {
			c.Progress(toolbox.Progress{Done: float64(i + 1), Total: 20, Message: "on it"})
		}
		return toolbox.NewResult(), nil
	})
	onEachTransport(t, func(t *testing.T, _ string, connect func(*host.Host, *mcp.ClientOptions) *mcp.ClientSession) {
		received := make(chan float64, 20)
		s := connect(newHost(t, src, nil), &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				if r.Params.ProgressToken != "tok" || r.Params.Total != 20 || r.Params.Message != "on it" {
					t.Errorf("progress %+v", r.Params)
				}
				received <- r.Params.Progress
			}})
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Meta: mcp.Meta{"progressToken": "tok"}, Name: "t"})
		if err != nil || r.IsError {
			t.Fatalf("%+v, %v", r, err)
		}
		for i := range 20 {
			if got := <-received; got != float64(i+1) {
				t.Fatalf("progress %v, want %d", got, i+1)
			}
		}
	})
}

func TestSDKClientCancels(t *testing.T) {
	onEachTransport(t, func(t *testing.T, _ string, connect func(*host.Host, *mcp.ClientOptions) *mcp.ClientSession) {
		begun, ended := make(chan struct{}), make(chan struct{})
		src := shelf.OneTool(func(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
			if string(c.Input) == `{"hang":true}` {
				close(begun)
				<-ctx.Done()
				close(ended)
				return nil, ctx.Err()
			}
			return toolbox.NewResult(), nil
		})
		s := connect(newHost(t, src, nil), nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-begun; cancel() }()
		_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "t", Arguments: json.RawMessage(`{"hang":true}`)})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("call: %v", err)
		}
		<-ended
		if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"}); err != nil {
			t.Fatalf("the session is gone: %v", err)
		}
	})
}

func TestSDKClientHearsThatToolsChanged(t *testing.T) {
	t.Parallel()
	onEachTransport(t, func(t *testing.T, era string, connect func(*host.Host, *mcp.ClientOptions) *mcp.ClientSession) {
		reg := toolbox.NewRegistry(nil)
		run := func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) { return nil, nil }
		reg.Add(toolbox.Tool{Name: "a", Run: run})
		changed := make(chan struct{}, 100)
		s := connect(newHost(t, reg, nil), &mcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
		})
		names := func() (out []string) {
			list, err := s.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, tool := range list.Tools {
				out = append(out, tool.Name)
			}
			return out
		}
		for { // the client's subscription may be under way
			if got := names(); !slices.Equal(got, []string{"a"}) {
				t.Fatalf("%v", got)
			}
			reg.Add(toolbox.Tool{Name: "b", Run: run})
			select {
			case <-changed:
				if got := names(); !slices.Equal(got, []string{"a", "b"}) {
					t.Fatalf("%v", got)
				}
				return
			case <-time.After(500 * time.Millisecond):
				reg.Remove("b")
			}
		}
	})
}

func TestServeFailsToConnect(t *testing.T) {
	h := newHost(t, echoTool(), nil)
	err := h.Serve(t.Context(), deafTransport{})
	var fault *interop.Fault
	if !errors.As(err, &fault) || fault.Kind != interop.Transport || !errors.Is(err, errDeaf) {
		t.Fatalf("%v", err)
	}
	h.Close()
	if err := h.ServeIO(t.Context(), eofReader{}, io.Discard); !errors.Is(err, interop.Transport) {
		t.Fatalf("after Close: %v", err)
	}
}

type deafTransport struct{}

var errDeaf = errors.New("broken")

func (deafTransport) Connect(context.Context) (mcp.Connection, error) { return nil, errDeaf }

type eofReader struct{}

func (eofReader) Read([]byte) (int, error) { return 0, io.EOF }
