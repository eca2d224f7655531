package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// script is a server in memory. It writes each part of its output after it has received
// a given number of lines, and then closes.
type script struct {
	mu     sync.Mutex
	more   sync.Cond
	parts  []part
	lines  int
	closed bool
}

type part struct {
	after int
	text  []byte
}

func newScript(parts ...part) *script {
	s := &script{parts: parts}
	s.more.L = &s.mu
	return s
}

func (s *script) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, io.ErrClosedPipe
	}
	s.lines += bytes.Count(b, []byte("\n"))
	s.more.Broadcast()
	return len(b), nil
}

func (s *script) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.parts) > 0 && !s.closed {
		if p := &s.parts[0]; s.lines >= p.after {
			n := copy(b, p.text)
			p.text = p.text[n:]
			if len(p.text) == 0 {
				s.parts = s.parts[1:]
			}
			if n > 0 {
				return n, nil
			}
			continue
		}
		s.more.Wait()
	}
	s.closed = true
	return 0, io.EOF
}

func (s *script) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.more.Broadcast()
	return nil
}

// FuzzEndpointStream lets a server write any bytes: before the handshake is over, or
// while a listing and a call wait for their replies. In each case, every operation ends
// when the server ends, and every result consists of bytes that the server wrote.
func FuzzEndpointStream(f *testing.F) {
	const discover = `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}}` + "\n"
	for _, seed := range []string{
		"", "\n\n", "npm notice\n", "{", `{"jsonrpc":"2.0","id":2}`, discover,
		`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}` + "\n",
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["x"]}}}` + "\n",
		`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"x"}],"resultType":"complete"}}` + "\n" +
			`{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"x"}}` + "\n" +
			`{"jsonrpc":"2.0","id":4,"result":{"tools":[]}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1e999}}` + "\n",
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}` + "\n",
		`{"jsonrpc":"2.0","id":"q","method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":-1.5,"method":"roots/list"}` + "\n",
		`{"jsonrpc":"2.0","id":3,"error":"x"}` + "\n" + `{"jsonrpc":"2.0","id":2,"error":null}` + "\r\n",
		`{"jsonrpc":"2.0","id":2,"result":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}\n",
		`{"jsonrpc":"2.0","result":{"x":"` + strings.Repeat("y", 5000) + `"},"id":2}` + "\n",
	} {
		f.Add(true, []byte(seed))
		f.Add(false, []byte(seed))
	}
	f.Fuzz(func(t *testing.T, shaken bool, said []byte) {
		s := newScript(part{1, said})
		if shaken { // the rest comes after the requests for the listing, the call and the subscription
			s = newScript(part{1, []byte(discover)}, part{4, said})
		}
		e := interop.NewEndpoint(config.Server{ID: "fx", Timeouts: config.Timeouts{Connect: eventWait, List: eventWait, Call: eventWait}},
			&interop.EndpointOptions{Transport: &mcp.IOTransport{Reader: s, Writer: s}, MaxMessage: 4096, MaxPages: 5})
		defer e.Close()
		if err := e.Open(context.Background()); err != nil {
			wantFault(t, err, interop.Transport)
			return
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := e.Tools(context.Background())
			wantAnyFault(t, err)
		})
		wg.Go(func() {
			res, err := e.Invoke(context.Background(), "t", nil)
			wantAnyFault(t, err)
			if err != nil {
				return
			}
			if raw := res.Wire().JSON; !json.Valid(raw) || !bytes.Contains(said, raw) {
				t.Errorf("result %q was not said", raw)
			}
			_, _, _ = res.Blocks(), res.Structured(), res.IsError()
		})
		wg.Wait()
		<-e.Done()
		if p := e.Phase(); p != interop.Faulted {
			t.Errorf("phase %s after the end of the stream", p)
		}
	})
}

// wantAnyFault is for goroutines. It checks that err is nil or a fault, but never a
// Timeout.
func wantAnyFault(t *testing.T, err error) {
	f, ok := errors.AsType[*interop.Fault](err)
	if err != nil && (!ok || !slices.Contains(kinds, f.Kind) || f.Kind == interop.Timeout) {
		t.Errorf("%T %v", err, err)
	}
}
