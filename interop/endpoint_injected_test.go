package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// beforeModern limits a server of the SDK to the revisions before 2026-07-28.
type beforeModern struct{ mcp.Transport }

func (beforeModern) SupportsProtocolVersion(v string) bool { return v < "2026" }

// pipes returns two transports of lines that are connected to each other.
func pipes() (client, server *mcp.IOTransport) {
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	return &mcp.IOTransport{Reader: toClient, Writer: fromClient}, &mcp.IOTransport{Reader: toServer, Writer: fromServer}
}

// newPeer returns a server of the SDK: a peer from another project.
func newPeer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, &mcp.ServerOptions{Instructions: "Be kind."})
	object := json.RawMessage(`{"type":"object"}`)
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: object}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "progress", InputSchema: object}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i)})
		}
		return &mcp.CallToolResult{}, nil
	})
	s.AddTool(&mcp.Tool{Name: "hang", InputSchema: object}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken()})
		<-ctx.Done()
		return nil, ctx.Err()
	})
	return s
}

func TestEndpointOverAnInjectedTransport(t *testing.T) {
	inMemory := func() (mcp.Transport, mcp.Transport) { c, s := mcp.NewInMemoryTransports(); return c, s }
	lines := func() (mcp.Transport, mcp.Transport) { c, s := pipes(); return c, s }
	for name, transports := range map[string]func() (client, server mcp.Transport){"in memory": inMemory, "lines": lines} {
		for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
			t.Run(name+"/"+string(era), func(t *testing.T) {
				client, server := transports()
				if era == interop.Legacy {
					server = beforeModern{server}
				}
				s := newPeer()
				session, err := s.Connect(t.Context(), server, nil)
				if err != nil {
					t.Fatal(err)
				}
				notified := make(chan string, 10)
				e := newEndpoint(t, config.Server{ID: "fx", Transport: config.Stdio{Command: "no-such-command"}}, &interop.EndpointOptions{
					Transport: client,
					Receive: func(_ context.Context, m interop.Message) (json.RawMessage, error) {
						notified <- fmt.Sprintf("%s of %d", m.Method, m.Of)
						return nil, nil
					},
				})
				useInjected(t, e, era, notified)
				if err := session.Close(); err != nil {
					t.Error(err)
				}
				receiveSoon(t, e.Done(), "the end")
				if p := e.Phase(); p != interop.Faulted {
					t.Errorf("phase %s", p)
				}
				wantFault(t, e.Open(t.Context()), interop.Transport)
			})
		}
	}
}

// useInjected runs every operation on a peer.
func useInjected(t *testing.T, e *interop.Endpoint, era interop.Era, told <-chan string) {
	mustOpen(t, e)
	if s := e.Status(); s.Era != era || s.Phase != interop.Ready || e.Instructions() != "Be kind." {
		t.Errorf("%+v, %q", s, e.Instructions())
	}
	tools, err := e.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"echo", "hang", "progress"}, toolNames(tools)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	res, err := e.Invoke(t.Context(), "echo", json.RawMessage(`{"n": 9007199254740993}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := textOf(t, res); got != `{"n": 9007199254740993}` && got != `{"n":9007199254740993}` {
		t.Error(got)
	}
	call := func(ctx context.Context, tool string) error {
		_, err := e.Do(ctx, interop.Message{Method: "tools/call", Params: json.RawMessage(`{"name":"` + tool + `","arguments":{}}`), Of: 7})
		return err
	}
	if err := call(t.Context(), "progress"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := receiveSoon(t, told, "progress"); got != "notifications/progress of 7" {
			t.Error(got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	hung := make(chan error, 1)
	go func() { hung <- call(ctx, "hang") }()
	receiveSoon(t, told, "the call")
	cancel()
	if err := receiveSoon(t, hung, "the cancelled call"); err != context.Canceled {
		t.Error(err)
	}
	err = call(t.Context(), "nope")
	wantFault(t, err, interop.ToolError)
	if !isCode(err, interop.CodeInvalidParams) {
		t.Error(err)
	}
}

func isCode(err error, code int64) bool {
	e, ok := errors.AsType[*interop.RPCError](err)
	return ok && e.Code == code
}

// checkUnread is a peer in memory that completes the handshake and then never reads again.
func checkUnread(t *testing.T, server mcp.Transport) {
	t.Helper()
	c, err := server.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		m, err := c.Read(t.Context())
		if err != nil {
			return
		}
		_ = c.Write(t.Context(), &jsonrpc.Response{ID: m.(*jsonrpc.Request).ID, Result: json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{}}`)})
	}()
}

func TestEndpointOverATransportWhosePeerDoesNotRead(t *testing.T) {
	t.Parallel()
	memory, memoryServer := mcp.NewInMemoryTransports()
	line, lineServer := pipes()
	for name, c := range map[string]struct{ client, server mcp.Transport }{"in memory": {memory, memoryServer}, "lines": {line, lineServer}} {
		t.Run(name, func(t *testing.T) {
			checkUnread(t, c.server)
			e := newEndpoint(t, config.Server{ID: "fx"}, &interop.EndpointOptions{Transport: c.client})
			mustOpen(t, e)
			ctx, cancel := context.WithTimeout(t.Context(), brief)
			defer cancel()
			large := fmt.Appendf(nil, `{"message":"%s"}`, strings.Repeat("x", 1<<20))
			for range 3 { // the first is half sent, and the others wait behind it
				if _, err := e.Invoke(ctx, "echo", large); err != context.DeadlineExceeded {
					t.Errorf("%v, want the context's own error", err)
				}
			}
			e.Close()
		})
	}
}

func TestEndpointKeepsBytesOverInjectedLines(t *testing.T) {
	const args = `{"a":1e400,"b":"\u0041<&>\u2028","a":-0,"n":9007199254740993}`
	const result = `{"x":null,"content":[{"type":"odd","\u0041":1.0}],"n":9007199254740993,"isError":false,"s":"<\/&>"}`
	client, server := pipes()
	e := newEndpoint(t, config.Server{ID: "fx"}, &interop.EndpointOptions{Transport: client})
	asked := make(chan string, 1)
	go func() {
		defer server.Writer.Close()
		lines := json.NewDecoder(server.Reader)
		for _, answer := range []string{`{"supportedVersions":["2026-07-28"],"capabilities":{}}`, result} {
			var m struct{ ID, Params json.RawMessage }
			if lines.Decode(&m) != nil {
				return
			}
			if string(m.ID) == "2" {
				asked <- string(m.Params)
			}
			fmt.Fprintf(server.Writer, "npm notice\r\n{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\r\n", m.ID, answer)
		}
	}()
	mustOpen(t, e)
	res, err := e.Invoke(t.Context(), "t", json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	if got := <-asked; !strings.HasPrefix(got, `{"name":"t","arguments":`+args+`,"_meta":{`) {
		t.Errorf("sent %s", got)
	}
	if got := string(res.Wire().JSON); got != result {
		t.Errorf("got  %s\nwant %s", got, result)
	}
}

func TestEndpointOverLinesThatCannotBeWritten(t *testing.T) {
	client, server := pipes()
	checkUnread(t, server)
	broken := errors.New("the disk is full")
	e := newEndpoint(t, config.Server{ID: "fx"}, &interop.EndpointOptions{Transport: client})
	mustOpen(t, e)
	_ = server.Reader.(*io.PipeReader).CloseWithError(broken)
	_, err := e.Invoke(t.Context(), "echo", nil)
	wantFault(t, err, interop.ToolError)
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	receiveSoon(t, e.Done(), "the end")
	if f := e.Status().Fault; !errors.Is(f, broken) {
		t.Errorf("%v", f)
	}
}
