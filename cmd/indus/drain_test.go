package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// client sends requests over HTTP or stdio, in the modern era, and records the answers.
type client struct {
	t        *testing.T
	p        *program
	url      string // "" for stdio
	ids      int
	messages transcript
	over     chan struct{}
}

// call sends a tools/call. Its progress token is p and its id.
func (c *client) call(tool, arguments string) (id int) {
	c.t.Helper()
	c.ids++
	id = c.ids
	m := strings.TrimSuffix(meta, "}") + fmt.Sprintf(`,"progressToken":"p%d"}`, id)
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, id, tool,
		arguments, m)
	if c.url == "" {
		c.p.send(body)
		return id
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		r.Header.Set(k, v)
	}
	go func() {
		defer cancel()
		if resp, err := timedClient.Do(r); err == nil {
			defer resp.Body.Close()
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); { // complete lines, because answers arrive in parallel
				fmt.Fprintf(&c.messages, "%s\n", lines.Text())
			}
		} else {
			fmt.Fprintf(&c.messages, "%d: %v\n", id, err)
		}
	}()
	return id
}

func (c *client) waitFor(pattern string) string {
	c.t.Helper()
	if c.url == "" {
		return c.p.waitFor(&c.p.out, pattern)
	}
	return c.messages.waitFor(c.t, pattern, c.over)
}

// TestServeDrains checks that after the first signal new calls are refused, and running calls continue with their
// progress for the time of --drain. A second signal ends indus at once.
func TestServeDrains(t *testing.T) {
	for _, door := range []string{"--stdio", "--addr=127.0.0.1:0"} {
		begin := func(t *testing.T, drain string) (*client, *fixture.Server) {
			t.Parallel()
			f := fixture.New(t)
			p := startServe(t, map[string]row{"one": {f.Path, f.Args, nil}}, door, "--drain", drain)
			c := &client{t: t, p: p, over: make(chan struct{})}
			if door != "--stdio" {
				c.url = p.waitFor(&p.err, `serving at (\S+)\n`)
			}
			p.waitFor(&p.err, `one: ready`)
			return c, f
		}
		hang := func(c *client, f *fixture.Server, key string) int {
			id := c.call("one__hang", fmt.Sprintf(`{"key":%q}`, key))
			f.Wait("call hang")
			return id
		}
		t.Run(door+" ends what runs", func(t *testing.T) {
			c, f := begin(t, "1h")
			hang(c, f, "x")
			long := c.call("one__progress", `{"steps":400,"ms":5}`)
			c.waitFor(fmt.Sprintf(`"p%d".*"step 2"|"step 2".*"p%d"`, long, long))
			c.call("one__echo", `{"message":"before"}`) // over HTTP the connection of this call stays open
			c.waitFor(`before`)
			c.p.signal(syscall.SIGTERM)
			c.p.signal(syscall.SIGTERM) // npx forwards the signal that the terminal also sends
			for refused := false; !refused; {
				id := c.call("one__echo", `{"message":"after"}`)
				answer := c.waitFor(fmt.Sprintf(`(?m)^(?:data: )?(\{.*"id":%d[,}].*|%d: .*)$`, id, id))
				// No connection was free.
				refused = strings.Contains(answer, "takes no new requests") || strings.HasSuffix(answer, "refused")
			}
			c.waitFor(`"step 400"`)
			c.waitFor(fmt.Sprintf(`"id":%d.*"done"|"done".*"id":%d`, long, long))
			f.Send("release x")
			c.waitFor(`"released"`)
			c.p.ends(0)
		})
		t.Run(door+" gives up", func(t *testing.T) {
			c, f := begin(t, "100ms")
			id := hang(c, f, "x")
			c.p.signal(syscall.SIGTERM)
			c.waitFor(fmt.Sprintf(`"id":%d.*the host is closing; whether the call took effect is not known`, id))
			c.p.waitFor(&c.p.err, `calls in flight were given up after 100ms`)
			c.p.ends(0)
		})
		t.Run(door+" at once", func(t *testing.T) {
			c, f := begin(t, "0")
			id := hang(c, f, "x")
			c.p.signal(syscall.SIGINT)
			c.waitFor(fmt.Sprintf(`"id":%d.*the host is closing`, id))
			c.p.ends(0)
		})
		t.Run(door+" ends at the second signal", func(t *testing.T) {
			c, f := begin(t, "1h")
			hang(c, f, "x")
			c.p.signal(syscall.SIGTERM)
			c.p.waitFor(&c.p.err, `a second signal`)
			c.p.signal(syscall.SIGTERM)
			c.p.ends(-1)
		})
	}
}
