package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// puppet is an MCP server in memory, of the legacy era. Its list and its refusals can
// be changed while it runs. As a transport it can be dialled repeatedly, and uses no
// goroutine.
type puppet struct {
	mu       sync.Mutex
	tools    string                   // the result array of tools/list; "" is an error
	refuse   error                    // the error of a dial
	gates    map[string]chan struct{} // by method: its replies wait
	dialed   []time.Time
	requests []string        // methods, and called tools
	token    json.RawMessage // of the last call's progress
	live     []*puppetConn
}

func newPuppet(tools ...string) *puppet {
	s := &puppet{gates: map[string]chan struct{}{}}
	s.list(tools...)
	return s
}

// list changes the list without a notification.
func (s *puppet) list(tools ...string) {
	rows := make([]string, len(tools))
	for i, name := range tools {
		rows[i] = fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)
	}
	s.listRaw("[" + strings.Join(rows, ",") + "]")
}

func (s *puppet) listRaw(tools string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = tools
}

func (s *puppet) refuseWith(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = err
}

// hold delays replies to a method until the returned function is called.
func (s *puppet) hold(method string) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gates[method] = make(chan struct{})
	return func() { s.open(method) }
}

// open releases waiting and later replies.
func (s *puppet) open(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if gate, ok := s.gates[method]; ok {
		delete(s.gates, method)
		close(gate)
	}
}

// notifyChanged sends a notification of a changed list, even if the list did not change.
func (s *puppet) notifyChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.live {
		c.out <- &jsonrpc.Request{Method: "notifications/tools/list_changed"}
	}
}

// notifyProgress sends progress of the last call.
func (s *puppet) notifyProgress() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.live {
		c.out <- &jsonrpc.Request{Method: "notifications/progress", Params: json.RawMessage(fmt.Sprintf(`{"progressToken":%s,"progress":1}`, s.token))}
	}
}

// die ends every connection.
func (s *puppet) die() {
	s.mu.Lock()
	live := s.live
	s.live = nil
	s.mu.Unlock()
	for _, c := range live {
		c.Close()
	}
}

func (s *puppet) dials() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.dialed)
}

// requestCount counts the requests of a method, or of "call NAME".
func (s *puppet) requestCount(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, a := range s.requests {
		if a == what {
			n++
		}
	}
	return n
}

// connected counts the connections that are still open.
func (s *puppet) connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.live {
		select {
		case <-c.dead:
		default:
			n++
		}
	}
	return n
}

// awaitRequest waits until a method was requested.
func (s *puppet) awaitRequest(t testing.TB, what string) {
	t.Helper()
	for end := time.Now().Add(giveUp); s.requestCount(what) == 0; {
		if time.Now().After(end) {
			t.Fatalf("nobody asks %s", what)
		}
		runtime.Gosched()
	}
}

func (s *puppet) Connect(context.Context) (mcp.Connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialed = append(s.dialed, time.Now())
	if s.refuse != nil {
		return nil, s.refuse
	}
	c := &puppetConn{puppet: s, out: make(chan jsonrpc.Message, 1000), dead: make(chan struct{})}
	s.live = append(s.live, c)
	return c, nil
}

type puppetConn struct {
	puppet *puppet
	out    chan jsonrpc.Message
	dead   chan struct{}
	once   sync.Once
}

func (c *puppetConn) SessionID() string { return "" }

func (c *puppetConn) Close() error {
	c.once.Do(func() { close(c.dead) })
	return nil
}

func (c *puppetConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case <-c.dead:
		return nil, io.EOF
	default:
	}
	select {
	case m := <-c.out:
		return m, nil
	case <-c.dead:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *puppetConn) Write(_ context.Context, m jsonrpc.Message) error {
	r, ok := m.(*jsonrpc.Request)
	if !ok || !r.ID.IsValid() {
		return nil
	}
	select {
	case <-c.dead:
		return io.ErrClosedPipe
	default:
	}
	answer, gate := c.puppet.answer(r)
	if gate == nil {
		c.out <- answer
		return nil
	}
	go func() {
		select {
		case <-gate:
			c.out <- answer
		case <-c.dead:
		}
	}()
	return nil
}

func (s *puppet) answer(r *jsonrpc.Request) (*jsonrpc.Response, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := s.gates[r.Method]
	s.requests = append(s.requests, r.Method)
	result := ""
	switch r.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"puppet","version":"1"}}`
	case "tools/list":
		if s.tools != "" {
			result = `{"tools":` + s.tools + `}`
		}
	case "tools/call":
		var p struct {
			Name string
			Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
		}
		_ = json.Unmarshal(r.Params, &p)
		s.token = p.Meta.ProgressToken
		s.requests = append(s.requests, "call "+p.Name)
		result = fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, p.Name)
	}
	if result == "" {
		return &jsonrpc.Response{ID: r.ID, Error: &jsonrpc.Error{Code: -32601, Message: "no " + r.Method}}, gate
	}
	return &jsonrpc.Response{ID: r.ID, Result: json.RawMessage(result)}, gate
}

// puppets gives each server of a fleet its own puppet.
func puppets(by map[string]*puppet) func(config.Server) *interop.EndpointOptions {
	return func(s config.Server) *interop.EndpointOptions {
		one, ok := by[s.ID]
		if !ok {
			return nil
		}
		return &interop.EndpointOptions{Transport: one}
	}
}

// serversNamed returns servers without a transport, for puppets.
func serversNamed(ids ...string) []config.Server {
	out := make([]config.Server, len(ids))
	for i, id := range ids {
		out[i] = config.Server{ID: id}
	}
	return out
}
