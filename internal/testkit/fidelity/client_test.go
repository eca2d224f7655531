package fidelity

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	modernVersion = "2026-07-28"
	legacyVersion = "2025-11-25"
	// waitLimit limits how long anything may take before a test fails. A passing test never waits for
	// it.
	waitLimit = 60 * time.Second
)

// client is one kind of client of a host: raw bytes, in one era.
type client struct {
	t      testing.TB
	name   string
	modern bool
	begin  func(c *client, id, body, method, tool string) *exchange
	notify func(c *client, body string) // sends a notification

	ids int
}

// exchange is a pending request.
type exchange struct {
	id       string
	leave    func()      // disconnects the client; nil if it cannot
	received chan []byte // messages for the request, with the response last; closed at the end
	session  *client
}

// reply holds the messages for a request.
type reply struct {
	notes         [][]byte // params of notifications/progress, in the order of arrival
	result, error []byte
}

// hop returns the members that a client of its era has to send in _meta, with a comma at the end. A
// legacy client gets a reserved key too, so that every client has some.
func (c *client) hop() string {
	if c.modern {
		return `"io.modelcontextprotocol/protocolVersion":"` +
			modernVersion + `","io.modelcontextprotocol/clientCapabilities":{},`
	}
	return `"io.modelcontextprotocol/related":{"x":1},`
}

// start sends a request. In params, "io.modelcontextprotocol/HOP":0 is replaced by the result of hop.
// Every other byte is sent as it is, also in the id.
func (c *client) start(method, tool, params string) *exchange {
	c.ids++
	id := fmt.Sprintf(`"%s \u0069d %d"`, c.name, c.ids)
	body := `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"`
	if params != "" {
		body += `,"params":` + strings.Replace(params, `"io.modelcontextprotocol/HOP":0,`, c.hop(), 1)
	}
	return c.begin(c, id, body+"}", method, tool)
}

// call calls a tool of the fixture. params has all members except the name.
func (c *client) call(tool, params string) reply {
	c.t.Helper()
	return c.startCall(tool, params).wait()
}

// startCall is call without waiting.
func (c *client) startCall(tool, params string) *exchange {
	return c.start("tools/call", tool, `{"name":"`+tool+`",`+strings.TrimPrefix(params, "{"))
}

// wait returns the messages until the response.
func (x *exchange) wait() reply {
	t := x.session.t
	t.Helper()
	var r reply
	for {
		m := x.next()
		if m == nil {
			t.Fatalf("%s: no answer", x.session.name)
		}
		var env struct {
			ID, Params, Result, Error json.RawMessage
			Method                    string
		}
		if err := json.Unmarshal(m, &env); err != nil {
			t.Fatalf("%s: %v in %.200s", x.session.name, err, m)
		}
		switch { // a client on streams may also learn meanwhile that a list has changed
		case env.Method == "notifications/progress":
			r.notes = append(r.notes, env.Params)
			continue
		case env.ID == nil:
			continue
		}
		if string(env.ID) != x.id {
			t.Fatalf("%s: the answer of %s, and not of %s", x.session.name, env.ID, x.id)
		}
		r.result, r.error = env.Result, env.Error
		return r
	}
}

// next returns the next message of an exchange, or nil at its end.
func (x *exchange) next() []byte {
	x.session.t.Helper()
	select {
	case m := <-x.received:
		return m
	case <-time.After(waitLimit):
		x.session.t.Fatalf("%s: nothing comes", x.session.name)
		return nil
	}
}

// httpClient returns a client over streamable HTTP. accept is its Accept header.
func httpClient(t testing.TB, name, url string, modern bool, accept string) *client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	h := &httpSession{url: url, accept: accept, version: legacyVersion, client: &http.Client{Transport: transport}}
	c := &client{t: t, name: name, modern: modern, begin: h.begin}
	c.notify = func(c *client, body string) {
		resp, err := h.post(t.Context(), body, "", "")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	t.Cleanup(h.running.Wait)
	if modern {
		h.version = modernVersion
		return c
	}
	h.version = ""
	resp, err := h.post(t.Context(), initializeBody, "", "")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	h.session, h.version = resp.Header.Get("Mcp-Session-Id"), legacyVersion
	c.notify(c, initializedBody)
	return c
}

const (
	initializeBody = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` +
		legacyVersion + `","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
	initializedBody = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// httpSession holds the headers of each request of one client.
type httpSession struct {
	url, accept, version, session string
	client                        *http.Client
	running                       sync.WaitGroup
}

func (h *httpSession) post(ctx context.Context, body, method, tool string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	set := func(key, value string) {
		if value != "" {
			req.Header.Set(key, value)
		}
	}
	set("Content-Type", "application/json")
	set("Accept", h.accept)
	set("Mcp-Protocol-Version", h.version)
	set("Mcp-Session-Id", h.session)
	if h.version == modernVersion {
		set("Mcp-Method", method)
		set("Mcp-Name", tool)
	}
	return h.client.Do(req)
}

func (h *httpSession) begin(c *client, id, body, method, tool string) *exchange {
	ctx, cancel := context.WithCancel(context.Background())
	x := &exchange{id: id, leave: cancel, received: make(chan []byte, 1000), session: c}
	h.running.Go(func() {
		defer close(x.received)
		defer cancel()
		resp, err := h.post(ctx, body, method, tool)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
			readEvents(resp.Body, x.received)
			return
		}
		if b, err := io.ReadAll(resp.Body); err == nil {
			x.received <- b
		}
	})
	return x
}

// readEvents sends the data of an event stream to a channel.
func readEvents(r io.Reader, to chan<- []byte) {
	lines := bufio.NewReader(r)
	var data [][]byte
	for {
		line, err := lines.ReadBytes('\n')
		line = bytes.TrimSuffix(line, []byte("\n"))
		switch {
		case err != nil:
			return
		case len(line) == 0 && data != nil:
			to <- bytes.Join(data, []byte("\n"))
			data = nil
		case bytes.HasPrefix(line, []byte("data: ")):
			data = append(data, line[len("data: "):])
		}
	}
}

// pipeClient returns a client on a pair of streams with a message on each line.
func pipeClient(t testing.TB, name string, modern bool, in io.WriteCloser, out io.Reader) *client {
	p := &pipeSession{in: in, lines: make(chan []byte)}
	t.Cleanup(func() { _ = in.Close() })
	go p.readAll(t.Context(), out)
	c := &client{t: t, name: name, modern: modern, begin: p.begin}
	c.notify = func(_ *client, body string) { p.write(t, body) }
	if !modern {
		p.write(t, initializeBody)
		<-p.lines
		p.write(t, initializedBody)
	}
	return c
}

// pipeSession handles one exchange at a time.
type pipeSession struct {
	in    io.Writer
	lines chan []byte // closed at the end of the stream
}

func (p *pipeSession) readAll(ctx context.Context, out io.Reader) {
	defer close(p.lines)
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		select {
		case p.lines <- line:
		case <-ctx.Done():
		}
	}
}

func (p *pipeSession) write(t testing.TB, body string) {
	t.Helper()
	body = strings.NewReplacer("\n", " ", "\r", " ").Replace(body) // a message is one line
	if _, err := io.WriteString(p.in, body+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (p *pipeSession) begin(c *client, id, body, _, _ string) *exchange {
	c.t.Helper()
	p.write(c.t, body)
	return &exchange{id: id, received: p.lines, session: c}
}
