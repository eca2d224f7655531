package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/shelf"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// A code that an era does not have does not reach its clients: -32042 requires a URL, -32002 was removed.
func TestErrorsAreOfTheClientsEra(t *testing.T) {
	site := newSite(t, shelf.OneTool(func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		return nil, &interop.RPCError{Code: -32042, Message: "open it", Data: []byte(`{"elicitations":[]}`)}
	}), nil)
	_, old := legacyCall(session(t, site), "7", "").send(t, site)
	_, new := modern("tools/call", "t", `"name":"t"`).send(t, site)
	if !strings.Contains(old, `"code":-32042,"message":"open it","data":{"elicitations":[]}`) ||
		!strings.Contains(new, `"code":-32603,"message":"open it","data":{"elicitations":[]}`) {
		t.Errorf("legacy: %s\nmodern: %s", old, new)
	}
}

// A server sees the capabilities of a modern client, so its error about a missing capability is returned to the client.
// A result with questions is refused for a method that cannot ask.
func TestWhatIsMissingIsTheClientsBusiness(t *testing.T) {
	b := &fixedBackend{err: interop.NewFault(interop.ToolError, "s", "x", &interop.RPCError{Code: -32021, Message: "m", Data: json.RawMessage(`{"requiredCapabilities":{"elicitation":{}}}`)})}
	h := host.NewFront(b, nil)
	t.Cleanup(h.Close)
	site := serveSite(t, h)
	resp, got := modern("prompts/x", "", "").send(t, site)
	if resp.StatusCode != 400 || got != `{"jsonrpc":"2.0","id":7,"error":{"code":-32021,"message":"m","data":{"requiredCapabilities":{"elicitation":{}}}}}` {
		t.Errorf("modern: %s %s", resp.Status, got)
	}
	_, got = (request{body: `{"jsonrpc":"2.0","id":7,"method":"prompts/x"}`, header: session(t, site)}).send(t, site)
	if !strings.Contains(got, `"code":-32603,"message":"m"`) {
		t.Errorf("legacy: %s", got)
	}
	b.err, b.result = nil, `{"resultType":"input_required","requestState":"x"}`
	_, got = modern("prompts/x", "", "").send(t, site)
	if !strings.Contains(got, `"code":-32603,"message":"prompts/x: the answer is of type \"input_required\", which this method does not have"`) {
		t.Errorf("input: %s", got)
	}
}

// A header with a later date decides nothing. A request with an unknown revision is refused in the form of the era of
// its shape.
func TestAVersionIsKnownOrTheShapeDecides(t *testing.T) {
	site := newSite(t, echoTool(), nil)
	future := modern("tools/list", "", "")
	future.body = strings.ReplaceAll(future.body, "2026-07-28", "2027-01-01")
	for _, tt := range []struct {
		r    request
		want string
	}{
		{future.with("Mcp-Protocol-Version", "2027-01-01"), `"code":-32022`},
		{modern("tools/list", "", "").with("Mcp-Protocol-Version", "2027-01-01"), `"code":-32020`},
		{request{body: `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, header: map[string]string{"Mcp-Protocol-Version": "2027-01-01", "Mcp-Method": "tools/list"}}, `_meta lacks`},
		{request{body: `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, header: session(t, site)}.with("Mcp-Protocol-Version", "2027-01-01"), "unsupported MCP-Protocol-Version"},
		{request{method: "GET", header: session(t, site)}.with("Mcp-Protocol-Version", "9"), "unsupported MCP-Protocol-Version"},
	} {
		if resp, body := tt.r.send(t, site); resp.StatusCode != 400 || !strings.Contains(body, tt.want) {
			t.Errorf("%+v: %s %s, want %s", tt.r, resp.Status, body, tt.want)
		}
	}
}

// The reason of a client's cancellation becomes the cause of the call, and so reaches its server.
func TestTheReasonOfACancellationIsPassedOn(t *testing.T) {
	causes := make(chan error, 1)
	begun := make(chan bool, 1)
	l := serveLines(t.Context(), t, newHost(t, shelf.OneTool(func(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
		begun <- true
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil, ctx.Err()
	}), nil))
	for reason, want := range map[string]string{`"the user\nthought again"`: "the user thought again", `""`: "cancelled by the client", `7`: "cancelled by the client"} {
		l.write(modernLine("1", "tools/call", `"name":"t"`))
		<-begun
		l.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":` + reason + `}}`)
		if err := <-causes; err.Error() != want {
			t.Errorf("%s became %q", reason, err)
		}
	}
}
