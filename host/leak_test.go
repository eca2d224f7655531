package host_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/indusagi/indus/host"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

func TestNoGoroutineOutlivesAHost(t *testing.T) {
	before := goleak.IgnoreCurrent()
	g := newHeldTool()
	h := host.New(g, nil)
	site := httptest.NewServer(h.Handler())
	legacy := session(t, site)
	var bodies []io.Closer
	for _, r := range []request{
		{method: http.MethodGet, header: legacy},
		modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`),
	} {
		bodies = append(bodies, r.start(t.Context(), t, site).Body)
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		legacyCall(legacy, "7", "").send(t, site)
	}()
	<-g.begun

	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 2)
	go func() { served <- h.ServeIO(context.Background(), inR, outW) }()
	go func() { _, _ = io.Copy(io.Discard, outR) }()
	for _, line := range []string{
		strings.ReplaceAll(initializeLine, "%s", "2025-06-18"), `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		modernLine("1", "tools/call", `"name":"t"`), modernLine("2", "subscriptions/listen", `"notifications":{"toolsListChanged":true}`),
	} {
		if _, err := io.WriteString(inW, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	<-g.begun
	client, server := mcp.NewInMemoryTransports()
	go func() { served <- h.Serve(context.Background(), server) }()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), client, nil)
	if err != nil {
		t.Fatal(err)
	}

	old := httptest.NewServer(h.SSEHandler())
	overSSE := openSSE(t, old, nil)
	if status, body := overSSE.post(legacyCall(nil, "7", "").body, nil); status != 202 {
		t.Fatal(status, body)
	}
	<-g.begun

	h.Close()
	for range 2 {
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
	<-answered
	_ = s.Close()
	for _, b := range bodies {
		_ = b.Close()
	}
	overSSE.end()
	for _, s := range []*httptest.Server{site, old} {
		s.Client().CloseIdleConnections()
		s.Close()
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
