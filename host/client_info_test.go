package host_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// namingHost returns a host that sends the client of each request to the channel.
func namingHost(t *testing.T) (*host.Host, chan *interop.Client) {
	seen := make(chan *interop.Client, 10)
	return newScripted(t, nil, func(_ context.Context, m interop.Message, _ interop.Peer) (json.RawMessage, error) {
		seen <- m.Client
		if strings.HasSuffix(m.Method, "/list") {
			return json.RawMessage(`{"tools":[]}`), nil
		}
		return json.RawMessage(`{}`), nil
	}), seen
}

// Each request has the name, the version and the address of its client, in both eras and over each transport.
func TestTheBackendKnowsNameAndAddress(t *testing.T) {
	h, seen := namingHost(t)
	site := httptest.NewServer(h.Handler())
	t.Cleanup(site.Close)
	sse := httptest.NewServer(h.SSEHandler())
	t.Cleanup(sse.Close)
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	go func() { _ = h.Serve(t.Context(), serverEnd) }()
	for what, tt := range map[string]struct {
		transport        mcp.Transport
		version, address string
	}{
		"legacy": {&mcp.StreamableClientTransport{Endpoint: site.URL}, "2025-11-25", "127.0.0.1"},
		"modern": {&mcp.StreamableClientTransport{Endpoint: site.URL}, "", "127.0.0.1"},
		"sse":    {&mcp.SSEClientTransport{Endpoint: sse.URL}, "", "127.0.0.1"},
		"memory": {clientEnd, "2025-11-25", ""},
	} {
		client := mcp.NewClient(&mcp.Implementation{Name: "client of " + what, Version: "1.2"}, nil)
		c, err := client.Connect(t.Context(), tt.transport, &mcp.ClientSessionOptions{ProtocolVersion: tt.version})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if _, err := c.ListTools(t.Context(), nil); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got := <-seen
		if got.Name != "client of "+what || got.Version != "1.2" || got.Address != tt.address {
			t.Errorf("%s: %q, %q, %q", what, got.Name, got.Version, got.Address)
		}
		_ = c.Close()
	}
	l := serveLines(t.Context(), t, h)
	expect := func(what, name, version string) {
		t.Helper()
		if c := <-seen; c.Name != name || c.Version != version || c.Address != "" {
			t.Errorf("%s: %q, %q, %q", what, c.Name, c.Version, c.Address)
		}
	}
	const info = `"io.modelcontextprotocol/clientInfo":{"version":"3","name":"lines"}`
	l.ask(strings.Replace(modernLine("1", "x", ""), `"_meta":{`, `"_meta":{`+info+`,`, 1))
	expect("modern lines", "lines", "3")
	l.ask(strings.Replace(initializeBody(`{}`), `"capabilities"`, `"clientInfo":{"name":"old","version":"4"},"capabilities"`, 1))
	l.ask(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
	expect("legacy lines", "old", "4")
	l.write(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	expect("a note", "old", "4")
}

// The name of a client is a short line of text, whatever the client sends. The address is an address without a port.
func TestAHostileClientInfo(t *testing.T) {
	h, seen := namingHost(t)
	for _, tt := range []struct{ info, name, version string }{
		{`{"name":"a\u001b[31m\nb\u202ec","version":"\ud800"}`, "a[31m bc", "\ufffd"},
		{`{"name":"` + strings.Repeat("é", 300) + `"}`, strings.Repeat("é", 126) + "…", ""},
		{`{"name":"` + strings.Repeat("x", 256) + `","version":"` + strings.Repeat("x", 257) + `"}`,
			strings.Repeat("x", 256), strings.Repeat("x", 253) + "…"},
		{`{"name":"` + strings.Repeat("x", 5000) + `","version":7}`, "", ""},
		{`{"name":{},"version":null}`, "", ""}, {`null`, "", ""}, {`"name"`, "", ""}, {`[]`, "", ""}, {`{}`, "", ""},
	} {
		w := serveDirect(h.Handler(), "", "", request{body: `{"jsonrpc":"2.0","id":0,"method":"initialize","params":` +
			`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":` + tt.info + `}}`})
		header := map[string]string{"Mcp-Session-Id": w.Header().Get("Mcp-Session-Id")}
		serveDirect(h.Handler(), "", "", request{body: `{"jsonrpc":"2.0","id":1,"method":"x"}`, header: header})
		r := modern("x", "", "")
		r.body = strings.Replace(r.body, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/clientInfo":`+tt.info+`,`, 1)
		serveDirect(h.Handler(), "", "", r)
		for _, era := range []string{"legacy", "modern"} {
			c := <-seen
			if c.Name != tt.name || c.Version != tt.version || !utf8.ValidString(c.Name) || c.Address != "192.0.2.1" {
				t.Errorf("%s, %.60s: %q, %q, %q", era, tt.info, c.Name, c.Version, c.Address)
			}
		}
	}
}
