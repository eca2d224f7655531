package interop

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/indusagi/indus/internal/box/broker"
	"github.com/indusagi/indus/interop/config"
)

// A connection that the sandbox refuses during a call is in its result, after the server's own content.
func TestAResultNamesWhatTheSandboxRefused(t *testing.T) {
	t.Parallel()
	e := NewEndpoint(config.Server{ID: "s", Transport: config.Stdio{Command: "x", Sandbox: &config.Sandbox{}}},
		&EndpointOptions{Logger: slog.New(slog.DiscardHandler)})
	defer e.Close()
	e.deny(broker.Denial{What: broker.DeniedHost, Target: "before.example:443"})
	call := func(method, result string, refused ...string) string {
		do := e.withDenials(func(context.Context, Message) (json.RawMessage, error) {
			for _, host := range refused {
				e.deny(broker.Denial{What: broker.DeniedHost, Target: host})
			}
			return json.RawMessage(result), nil
		})
		out, err := do(t.Context(), Message{Method: method})
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	const add = `{"type":"text","text":"s: connect to a.example: not in its sandbox. Add it: indus mcp sandbox allow s --host a.example:443"}`
	for _, c := range []struct{ method, result, want string }{
		{"tools/call", `{"content":[{"type":"text","text":"x"}],"isError":true}`, `{"content":[{"type":"text","text":"x"},` + add + `],"isError":true}`},
		{"tools/call", `{"content":[]}`, `{"content":[` + add + `]}`},
		{"tools/call", `{"structuredContent":1}`, `{"structuredContent":1}`},
		{"tools/list", `{"content":[]}`, `{"content":[]}`},
	} {
		if got := call(c.method, c.result, "a.example"); got != c.want {
			t.Errorf("%s %s: %s", c.method, c.result, got)
		}
		if got := call(c.method, c.result); got != c.result {
			t.Errorf("nothing was refused, and the result is %s", got)
		}
	}
	for i := range 2 * maxDenials {
		e.deny(broker.Denial{What: broker.DeniedListen, Target: ":" + string(rune('a'+i%26))})
	}
	if n := len(e.Denied()); n > maxDenials || n < 26 {
		t.Errorf("%d denials are kept", n)
	}
}
