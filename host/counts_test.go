package host_test

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/indusagi/indus/host"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestCounts opens sessions at two hosts that stand beside one another, over HTTP, HTTP+SSE and in memory.
func TestCounts(t *testing.T) {
	ended := make(chan string, 10)
	o := host.Options{SessionEnded: func(version, transport string, lasted time.Duration) {
		ended <- fmt.Sprint(version, " ", transport, " ", lasted > 0)
	}}
	first := host.New(nil, &o)
	defer first.Close()
	o.Beside = first
	second := host.New(nil, &o)
	defer second.Close()
	counts := func(sessions, streams int) {
		t.Helper()
		for _, h := range []*host.Host{first, second} {
			for {
				gotSessions, parked, gotStreams := h.Counts()
				if gotSessions == sessions && gotStreams == streams && parked == 0 {
					break
				}
				select {
				case <-t.Context().Done():
					t.Fatalf("%d sessions, %d parked, %d streams", gotSessions, parked, gotStreams)
				case <-time.After(10 * time.Millisecond):
				}
			}
		}
	}
	dial := func(transport mcp.Transport) *mcp.ClientSession {
		t.Helper()
		c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
		s, err := c.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	ends := func(s *mcp.ClientSession, want string) {
		t.Helper()
		_ = s.Close()
		if got := <-ended; got != want {
			t.Errorf("%s ended, want %s", got, want)
		}
	}
	counts(0, 0)
	web, events := httptest.NewServer(first.Handler()), httptest.NewServer(second.SSEHandler())
	defer web.Close()
	defer events.Close()
	overHTTP := dial(&mcp.StreamableClientTransport{Endpoint: web.URL})
	counts(1, 1)
	overSSE := dial(&mcp.SSEClientTransport{Endpoint: events.URL})
	counts(2, 2)
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	go func() { _ = second.Serve(t.Context(), serverEnd) }()
	inMemory := dial(clientEnd)
	counts(3, 2)
	ends(inMemory, "2025-11-25 memory true")
	counts(2, 2)
	ends(overSSE, "2025-11-25 sse true")
	counts(1, 1)
	ends(overHTTP, "2025-11-25 http true")
	counts(0, 0)
}
