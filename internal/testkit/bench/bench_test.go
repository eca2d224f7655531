package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var sizes = []struct {
	name  string
	bytes int
}{{"64B", 64}, {"256KiB", 256 << 10}}

// BenchmarkConnect starts n servers over stdio, connects and lists.
func BenchmarkConnect(b *testing.B) {
	bin := fixture.Build(b)
	for _, n := range []int{1, 10} {
		b.Run(fmt.Sprintf("sdk/n=%d", n), func(b *testing.B) {
			for b.Loop() {
				done := make(chan struct{})
				for range n {
					go func() {
						s := sdkClient(b, bin)
						if _, err := s.ListTools(b.Context(), nil); err != nil {
							b.Error(err)
						}
						_ = s.Close()
						done <- struct{}{}
					}()
				}
				for range n {
					<-done
				}
			}
		})
		b.Run(fmt.Sprintf("mount/n=%d", n), func(b *testing.B) {
			servers := make([]config.Server, n)
			for i := range servers {
				servers[i] = stdio(fmt.Sprintf("s%d", i), bin)
			}
			for b.Loop() {
				m := interop.Mount(b.Context(), servers, nil)
				if len(m.Box.Snapshot("").Tools) == 0 {
					b.Error("no tools")
				}
				m.Close()
			}
		})
	}
}

// BenchmarkList repeatedly requests the tools of one server.
func BenchmarkList(b *testing.B) {
	bin := fixture.Build(b)
	for _, n := range []int{10, 1000} {
		args := []string{"-bare", "-tools", fmt.Sprint(n)}
		b.Run(fmt.Sprintf("sdk/tools=%d", n), func(b *testing.B) {
			s := sdkClient(b, bin, args...)
			defer s.Close()
			for b.Loop() {
				if _, err := s.ListTools(b.Context(), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("endpoint/tools=%d", n), func(b *testing.B) {
			e := interop.NewEndpoint(stdio("s", bin, args...), nil)
			open(b, e)
			for b.Loop() {
				if _, err := e.Do(b.Context(), interop.Message{Method: "tools/list"}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("mount/tools=%d", n), func(b *testing.B) {
			m := mount(b, stdio("s", bin, args...))
			for b.Loop() {
				if len(m.Box.Snapshot("").Tools) != n {
					b.Fatal("tools are missing")
				}
			}
		})
		b.Run(fmt.Sprintf("both/tools=%d", n), func(b *testing.B) {
			c := publish(b, mount(b, stdio("s", bin, args...)).Box)
			for b.Loop() {
				c.post(b, "tools/list", "", `{%s}`)
			}
		})
	}
}

// BenchmarkCall calls a tool that returns one text: on the bare SDK, through an endpoint, through a
// mounted box, and also through a host over HTTP. The SDK's host has the same tool in its own
// process.
func BenchmarkCall(b *testing.B) {
	bin := fixture.Build(b)
	for _, size := range sizes {
		args := json.RawMessage(fmt.Sprintf(`{"bytes":%d}`, size.bytes))
		call := toolbox.Call{Name: "s__block", Input: args}
		b.Run("sdk/"+size.name, func(b *testing.B) {
			s := sdkClient(b, bin)
			defer s.Close()
			b.SetBytes(int64(size.bytes))
			for b.Loop() {
				if _, err := s.CallTool(b.Context(), &mcp.CallToolParams{Name: "block", Arguments: args}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("endpoint/"+size.name, func(b *testing.B) {
			e := interop.NewEndpoint(stdio("s", bin), nil)
			open(b, e)
			b.SetBytes(int64(size.bytes))
			for b.Loop() {
				if _, err := e.Invoke(b.Context(), "block", args); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("mount/"+size.name, func(b *testing.B) {
			m := mount(b, stdio("s", bin))
			b.SetBytes(int64(size.bytes))
			for b.Loop() {
				if _, err := m.Box.Do(b.Context(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("sdkhost/"+size.name, func(b *testing.B) {
			c := publishSDK(b, size.bytes)
			b.SetBytes(int64(size.bytes))
			for b.Loop() {
				c.post(b, "tools/call", "s__block", `{"name":"s__block","arguments":{},%s}`)
			}
		})
		b.Run("host/"+size.name, func(b *testing.B) {
			r := toolbox.NewRegistry(nil)
			text := strings.Repeat("x", size.bytes)
			r.Add(toolbox.Tool{
				Name: "s__block", Description: "returns text", Schema: json.RawMessage(`{"type":"object"}`),
				Run: func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
					return toolbox.NewResult(toolbox.Text(text)), nil
				},
			})
			c := publish(b, r)
			b.SetBytes(int64(size.bytes))
			for b.Loop() {
				c.post(b, "tools/call", "s__block", `{"name":"s__block","arguments":{},%s}`)
			}
		})
		b.Run("both/"+size.name, func(b *testing.B) {
			c := publish(b, mount(b, stdio("s", bin)).Box)
			b.SetBytes(int64(size.bytes))
			for b.Loop() {
				c.post(b, "tools/call", "s__block", `{"name":"s__block","arguments":`+string(args)+`,%s}`)
			}
		})
	}
}

func stdio(id, bin string, args ...string) config.Server {
	return config.Server{ID: id, Transport: config.Stdio{Command: bin, Args: args}}
}

func open(b *testing.B, e *interop.Endpoint) {
	b.Helper()
	b.Cleanup(e.Close)
	if err := e.Open(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func mount(b *testing.B, servers ...config.Server) *interop.Mounted {
	b.Helper()
	m := interop.Mount(b.Context(), servers, nil)
	b.Cleanup(m.Close)
	for _, s := range m.Fleet.Status() {
		if s.Fault != nil {
			b.Fatal(s.Fault)
		}
	}
	return m
}

func sdkClient(b *testing.B, bin string, args ...string) *mcp.ClientSession {
	b.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	s, err := c.Connect(b.Context(), &mcp.CommandTransport{Command: exec.Command(bin, args...)}, nil)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// client is a minimal client over HTTP: it decodes nothing.
type client struct{ url string }

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}`

func (c client) post(b *testing.B, method, name, params string) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":`+params+`}`, method, meta)
	req, err := http.NewRequest(http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method},
	}
	if name != "" {
		req.Header["Mcp-Name"] = []string{name}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	answer, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != 200 || !bytes.Contains(answer[:min(len(answer), 400)], []byte(`"result"`)) {
		b.Fatalf("%d %.300s %v", resp.StatusCode, answer, err)
	}
}

func publish(b *testing.B, src toolbox.Source) client {
	b.Helper()
	h := host.New(src, nil)
	b.Cleanup(h.Close)
	s := httptest.NewServer(h.Handler())
	b.Cleanup(s.Close)
	return client{s.URL}
}

// publishSDK starts the SDK's own host with one tool.
func publishSDK(b *testing.B, size int) client {
	b.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	text := strings.Repeat("x", size)
	server.AddTool(&mcp.Tool{Name: "s__block", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	s := httptest.NewServer(h)
	b.Cleanup(s.Close)
	return client{s.URL}
}
