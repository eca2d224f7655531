package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/shelf"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

const initializeLine = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"%s","capabilities":{}}}`

func modernLine(id, method, params string) string {
	if params != "" {
		params += ","
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + modernMeta + `}}`
}

func TestBothErasOnOneProcess(t *testing.T) {
	l := serveLines(t.Context(), t, newHost(t, echoTool(), nil))
	expect := func(send, want string) {
		t.Helper()
		if diff := cmp.Diff(want, l.ask(send)); diff != "" {
			t.Error(diff)
		}
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	initialized := func(version string) string {
		return `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"` + version + `","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"indus-provider-host","version":"0.1.0"}}}`
	}
	expect(list, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"_meta lacks \"io.modelcontextprotocol/protocolVersion\""}}`)
	expect(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	if got := l.ask(modernLine("1", "server/discover", "")); !strings.Contains(got, `"supportedVersions":["2026-07-28"`) {
		t.Error(got)
	}
	expect(fmt.Sprintf(initializeLine, "2025-06-18"), initialized("2025-06-18"))
	expect(list, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}`)
	expect(fmt.Sprintf(initializeLine, "2026-07-28"), initialized("2025-11-25"))
	l.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	expect(list, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}`)
	expect(modernLine("2", "tools/call", `"name":"t","arguments":[1]`),
		`{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete",`+ourMeta+`,"content":[{"type":"text","text":"[1]"}]}}`)
	expect(modernLine("2", "ping", ""), `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"method not found: ping"}}`)
	expect(strings.ReplaceAll(modernLine("2", "tools/list", ""), "2026-07-28", "2025-11-25"),
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32022,"message":"unsupported protocol version","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2025-11-25"}}}`)
	l.in.Close()
	if err := l.wait(); err != nil {
		t.Error(err)
	}
}

func TestBrokenLinesAreAnswered(t *testing.T) {
	l := serveLines(t.Context(), t, newHost(t, echoTool(), &host.Options{MaxMessage: 1000}))
	for send, want := range map[string]string{
		`{"jsonrpc":`: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"wire: unexpected end at byte 11"}}`,
		`nonsense`:    `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"wire: unexpected 'n' at byte 0"}}`,
		`{"jsonrpc":"2.0","id":5,"method":"ping","x":"` + "\xff" + `"}`: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"wire: malformed UTF-8 at byte 45"}}`,
		`[{"id":1}]`: `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported"}}`,
		`{"id":"x"}`: `{"jsonrpc":"2.0","id":"x","error":{"code":-32600,"message":"neither a request, nor a notification, nor a response of JSON-RPC 2.0"}}`,
		"\n\n" + `{"jsonrpc":"2.0","id":5,"method":"ping"}` + "\r":                      `{"jsonrpc":"2.0","id":5,"result":{}}`,
		`{"jsonrpc":"2.0","id":5,"method":"x","p":"` + strings.Repeat("x", 1000) + `"}`: `{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"wire: message of 1044 bytes is over the limit of 1000"}}`,
		strings.Repeat("x", 2000): `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"wire: message of 2000 bytes is over the limit of 1000"}}`,
	} {
		if diff := cmp.Diff(want, l.ask(send)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRequestsRunAtOnceAndAreCancelled(t *testing.T) {
	g := newHeldTool()
	l := serveLines(t.Context(), t, newHost(t, g, nil))
	l.write(modernLine(`"a"`, "tools/call", `"name":"t"`))
	l.write(modernLine("2", "tools/call", `"name":"t"`))
	<-g.begun
	<-g.begun
	if got := l.ask(modernLine("2.0", "tools/call", `"name":"t"`)); got != `{"jsonrpc":"2.0","id":2.0,"error":{"code":-32600,"message":"a request with this id is in flight"}}` {
		t.Error(got)
	}
	l.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0061"}}`)
	l.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`)
	l.write(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`)
	if err := <-g.ended; err == nil {
		t.Error("not cancelled")
	}
	g.free <- struct{}{}
	if got := l.read(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":2,"result":`) { // and no reply to "a"
		t.Error(got)
	}
	if got := l.ask(modernLine(`"a"`, "ping", "")); !strings.Contains(got, "-32601") {
		t.Error(got)
	}
}

func TestNewsOnStdio(t *testing.T) {
	t.Parallel()
	reg := toolbox.NewRegistry(nil)
	l := serveLines(t.Context(), t, newHost(t, reg, nil))
	run := func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) { return nil, nil }
	l.ask(fmt.Sprintf(initializeLine, "2025-06-18"))
	reg.Add(toolbox.Tool{Name: "early", Run: run}) // the client has not sent notifications/initialized
	ack := l.ask(modernLine(`"s"`, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`))
	if ack != `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"},"notifications":{"toolsListChanged":true}}}` {
		t.Fatal(ack)
	}
	reg.Add(toolbox.Tool{Name: "a", Run: run})
	const tagged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}}`
	if got := l.read(); got != tagged {
		t.Error(got)
	}
	l.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	l.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`) // earlier messages are handled now
	reg.Add(toolbox.Tool{Name: "b", Run: run})
	got := map[string]bool{l.read(): true, l.read(): true}
	if !got[tagged] || !got[`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`] {
		t.Error(got)
	}
	l.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}`)
	l.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	reg.Remove("b")
	if got := l.read(); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
		t.Error(got)
	}
}

func TestTheContextEndsStdio(t *testing.T) {
	g := newHeldTool()
	ctx, cancel := context.WithCancel(t.Context())
	l := serveLines(ctx, t, newHost(t, g, nil))
	l.ask(modernLine(`1`, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`))
	l.write(modernLine("2", "tools/call", `"name":"t"`))
	<-g.begun
	cancel()
	got := map[string]bool{l.read(): true, l.read(): true}
	if !got[`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":1,`+ourInfo+`}}}`] ||
		!got[`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"tools/call: the host is closing; whether the call took effect is not known"}}`] {
		t.Error(got)
	}
	if got := l.read(); got != "" {
		t.Error(got)
	}
	if err := l.wait(); err != nil {
		t.Error(err)
	}
}

func TestWhatWasPipedInIsAnswered(t *testing.T) {
	g := newHeldTool()
	l := serveLines(t.Context(), t, newHost(t, g, nil))
	l.write(modernLine("2", "tools/call", `"name":"t"`))
	<-g.begun
	l.in.Close()
	g.free <- struct{}{}
	if got := l.read(); !strings.Contains(got, `"done"`) {
		t.Error(got)
	}
	if err := l.wait(); err != nil {
		t.Error(err)
	}
}

func TestAClientThatClosesItsReadingSide(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	outR.Close()
	done := make(chan error, 1)
	h := newHost(t, echoTool(), nil)
	go func() { done <- h.ServeIO(t.Context(), inR, outW) }()
	if _, err := io.WriteString(inW, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, interop.Transport) || !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

func TestAClientThatDoesNotReadHoldsNothingUp(t *testing.T) {
	t.Parallel()
	inR, inW := io.Pipe()
	_, outW := io.Pipe()
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	h := newHost(t, echoTool(), nil)
	go func() { done <- h.ServeIO(ctx, inR, outW) }()
	for range 3 {
		if _, err := io.WriteString(inW, `{"jsonrpc":"2.0","id":1,"method":"nope"}`+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestFirstListOnStdioWaitsForServers(t *testing.T) {
	var now atomic.Pointer[toolbox.Snapshot]
	now.Store(&toolbox.Snapshot{Pending: []string{"slow", "slower"}})
	src := &shelf.Shelf{Tools: func(toolbox.Principal) *toolbox.Snapshot { return now.Load() }}
	list := modernLine("1", "tools/list", "")
	requested := make(chan string, 3)
	l := serveLines(t.Context(), t, newHost(t, src, &host.Options{ListWait: time.Hour}))
	l.write(list)
	l.write(modernLine("2", "tools/list", ""))
	if got := l.ask(modernLine("3", "ping", "")); !strings.Contains(got, `"id":3`) {
		t.Errorf("others wait too: %s", got)
	}
	go func() { requested <- l.read(); requested <- l.read() }()
	tool := []toolbox.Descriptor{{Name: "late"}}
	now.Store(&toolbox.Snapshot{Version: 1, Tools: tool, Pending: []string{"slower"}})
	src.Notify()
	select {
	case got := <-requested:
		t.Errorf("it did not wait: %s", got)
	default:
	}
	known := append(tool, toolbox.Descriptor{Name: "known", Server: "slower"}) // listed, but not connected yet
	now.Store(&toolbox.Snapshot{Version: 2, Tools: known, Pending: []string{"slower"}})
	src.Notify()
	for range 2 {
		if got := <-requested; !strings.Contains(got, `"late"`) {
			t.Error(got)
		}
	}
	now.Store(&toolbox.Snapshot{Version: 3, Pending: []string{"again"}})
	if got := l.ask(list); !strings.Contains(got, `"tools":[]`) {
		t.Errorf("only the first one waits: %s", got)
	}
	impatient := serveLines(t.Context(), t, newHost(t, src, &host.Options{ListWait: -1}))
	if got := impatient.ask(list); !strings.Contains(got, `"tools":[]`) {
		t.Error(got)
	}
	short := serveLines(t.Context(), t, newHost(t, src, &host.Options{ListWait: time.Millisecond}))
	if got := short.ask(list); !strings.Contains(got, `"tools":[]`) {
		t.Error(got)
	}
	_, got := modern("tools/list", "", "").send(t, newSite(t, src, &host.Options{ListWait: time.Hour}))
	if !strings.Contains(got, `"tools":[]`) {
		t.Errorf("over HTTP nothing waits: %s", got)
	}
}

func TestTenMegabytesPassThroughStdio(t *testing.T) {
	t.Parallel()
	raw := "{\n\"content\": [ \"" + strings.Repeat("x", 10<<20) + "\" ,\r\n 9007199254740993 ] }"
	src := shelf.OneTool(func(context.Context, toolbox.Call) (*toolbox.Result, error) { return shelf.WireResult(raw), nil })
	l := serveLines(t.Context(), t, newHost(t, src, nil))
	l.ask(fmt.Sprintf(initializeLine, "2025-06-18"))
	got := l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`)
	want := `{"jsonrpc":"2.0","id":1,"result":` + strings.NewReplacer("\n", " ", "\r", " ").Replace(raw) + `}`
	if got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
}

func TestAThousandInFlightHoldBackTheRest(t *testing.T) {
	var running atomic.Int64
	full, free := make(chan struct{}), make(chan struct{})
	src := shelf.OneTool(func(ctx context.Context, _ toolbox.Call) (*toolbox.Result, error) {
		if running.Add(1) == 1000 {
			close(full)
		}
		<-free
		return nil, nil
	})
	l := serveLines(t.Context(), t, newHost(t, src, &host.Options{MaxInFlight: 1000}))
	go func() {
		for i := range 1100 {
			_, _ = io.WriteString(l.in, modernLine(fmt.Sprint(i), "tools/call", `"name":"t"`)+"\n")
		}
	}()
	<-full
	if n := running.Load(); n != 1000 {
		t.Errorf("%d run", n)
	}
	close(free)
	seen := map[string]bool{}
	for range 1100 {
		seen[l.read()] = true
	}
	if len(seen) != 1100 {
		t.Errorf("%d answers", len(seen))
	}
}
