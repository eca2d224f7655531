package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// TestAHangingServerTakesNothingFromAnother checks that a server answers while more calls than the limit hang in
// another server, from one client and in one session.
func TestAHangingServerTakesNothingFromAnother(t *testing.T) {
	t.Parallel()
	const most, calls = 1000, 1100
	hang := func(i int) string {
		return fmt.Sprintf(
			`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"slow__hang","arguments":{"key":"k"}}}`, i+10)
	}
	const echo = `{"jsonrpc":"2.0","id":"echo","method":"tools/call","params":{"name":"good__echo","arguments":{"message":"hi"}}}`
	t.Run("stdio", func(t *testing.T) {
		f := fixture.New(t)
		p := startServe(t, map[string]row{"good": {fixture.Build(t), nil, nil}, "slow": {f.Path, f.Args, nil}}, "--stdio")
		p.waitFor(&p.err, `good: ready`)
		p.waitFor(&p.err, `slow: ready`)
		p.send(helloLegacy)
		for i := range calls {
			p.send(hang(i))
		}
		f.WaitN("call hang", most)
		p.send(echo)
		p.waitFor(&p.out, `"id":"echo","result":.*"text":"hi"`)
		p.waitFor(&p.out, `"text":"slow: busy: 1000 calls of this caller are in flight there, and none ended within 10s`)
		p.signal(9)
		p.ends(-1)
	})
	t.Run("http", func(t *testing.T) {
		f := fixture.New(t)
		p := startServe(t, map[string]row{"good": {fixture.Build(t), nil, nil}, "slow": {f.Path, f.Args, nil}}, "--addr",
			"127.0.0.1:0")
		url := p.waitFor(&p.err, `serving at (\S+)\n`)
		p.waitFor(&p.err, `good: ready`)
		p.waitFor(&p.err, `slow: ready`)
		_, session := post(t, url, "", "initialize",
			`"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}`)
		for i := range calls {
			go func() {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(hang(i)))
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Mcp-Session-Id", session)
				if resp, err := timedClient.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}()
		}
		f.WaitN("call hang", most)
		if text, _ := post(t, url, session, "tools/call",
			`"name":"good__echo","arguments":{"message":"hi"}`); !strings.Contains(text, `"text":"hi"`) {
			t.Error(text)
		}
		p.signal(9)
		p.ends(-1)
	})
}
