package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// company is a gateway with callers that have keys.
type company struct {
	*gateway.Gateway
	offices map[string]*office
	keys    *identity.Keys
}

func newCompany(t testing.TB, text string) *company {
	t.Helper()
	keys := identity.NewKeys(t.TempDir() + "/keys.json")
	guard := identity.NewGuard(nil, keys)
	g, offices := controlledHost(t, control.Options{}, text, host.Options{Authenticate: guard.Principal})
	return &company{g, offices, keys}
}

// key returns the header of a new key of a caller.
func (c *company) key(t testing.TB, name string) string {
	t.Helper()
	token, _, err := c.keys.Add(t.Context(), identity.Key{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + token
}

// keyed sends requests with a key.
type keyed struct {
	key  string
	next http.RoundTripper
}

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", k.key)
	return k.next.RoundTrip(r)
}

// limited calls a tool, and reports whether a limit refused the call.
func limited(ctx context.Context, c *mcp.ClientSession, params *mcp.CallToolParams) (bool, error) {
	r, err := c.CallTool(ctx, params)
	switch {
	case err != nil:
		return false, err
	case !r.IsError:
		return false, nil
	case strings.Contains(answerText(r), "this caller has reached a limit of the policy: try again in "):
		return true, nil
	}
	return false, fmt.Errorf("the call failed: %s", answerText(r))
}

// Fifty clients (ten, without INDUS_SOAK) of both eras send more than their limit at once, at several views and through the catalog. Each caller
// gets exactly its limit, also if two clients share it. A caller without a limit gets all of its calls.
func TestLimitsOfFiftyClients(t *testing.T) {
	t.Parallel()
	const limit, each = 10, 15
	clients := fixture.Size(t, 10, 50)
	callers := clients * 4 / 5
	c := newCompany(t, fmt.Sprintf(`
		@rate("%d/d") permit(principal, action == Action::"call", resource) unless { principal == User::"free" };
		permit(principal == User::"free", action == Action::"call", resource);`, limit))
	web := httptest.NewServer(c.Handler())
	t.Cleanup(web.Close)
	var mu sync.Mutex
	accepted, refused := map[string]int{}, map[string]int{}
	var keys []string
	for i := range callers {
		keys = append(keys, c.key(t, fmt.Sprint("caller", i)))
	}
	keys = append(keys, c.key(t, "free"))
	var running sync.WaitGroup
	for i := range clients + 2 {
		caller := i % callers
		name := fmt.Sprint("caller", caller)
		if i >= clients {
			caller, name = callers, "free"
		}
		path := []string{"/mcp", "/mcp/@all", "/mcp/@catalog"}[i%3]
		params := call("a__open")
		if path == "/mcp/@catalog" {
			params = &mcp.CallToolParams{Name: "call", Arguments: map[string]any{
				"operation": "a__open", "input": map[string]any{"path": "p"},
			}}
		}
		session := openDoor(t, name, path, bothEras[(i+i/callers)%2], &mcp.StreamableClientTransport{
			Endpoint: web.URL + path, HTTPClient: &http.Client{Transport: authorized(keys[caller])},
		}).client
		running.Go(func() {
			for range each {
				over, err := limited(t.Context(), session, params)
				mu.Lock()
				switch {
				case err != nil:
					t.Errorf("%s at %s: %v", name, path, err)
				case over:
					refused[name]++
				default:
					accepted[name]++
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	reached := 0
	for i := range callers {
		name := fmt.Sprint("caller", i)
		reached += accepted[name]
		if accepted[name] != limit || refused[name] == 0 {
			t.Errorf("%s: %d calls accepted and %d refused, want %d accepted", name, accepted[name], refused[name], limit)
		}
	}
	if accepted["free"] != 2*each {
		t.Errorf("the caller without a limit got %d of %d calls", accepted["free"], 2*each)
	}
	if n := c.offices["a"].calls.Load(); n != int64(reached+2*each) {
		t.Errorf("%d calls reached the server, want %d", n, reached+2*each)
	}
}

// pipes is a network in memory, so that its connections can be in a bubble of package synctest.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p <- server
	return client, nil
}

// Over several periods, each of fifty clients that send three times their limit gets its limit in each period.
func TestLimitsOfFiftyClientsOverTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, minutes = 10, 2
		clients := fixture.Size(t, 10, 50)
		c := newCompany(t, fmt.Sprintf(`@rate("%d/m") permit(principal, action == Action::"call", resource);`, limit))
		network := make(pipes)
		server := &http.Server{Handler: c.Handler(), ReadHeaderTimeout: time.Minute}
		served := make(chan error, 1)
		go func() { served <- server.Serve(network) }()
		transport := &http.Transport{DialContext: network.dial, MaxIdleConnsPerHost: clients}
		var running sync.WaitGroup
		var sessions []*mcp.ClientSession
		for i := range clients {
			as := &http.Client{Transport: keyed{c.key(t, fmt.Sprint("caller", i)), transport}}
			sessions = append(sessions, openDoor(t, fmt.Sprint(i), "/mcp", bothEras[i%2], &mcp.StreamableClientTransport{
				Endpoint: "http://127.0.0.1/mcp", HTTPClient: as,
			}).client)
		}
		for i, session := range sessions {
			running.Go(func() {
				accepted := 0
				for range 3 * limit * minutes {
					over, err := limited(t.Context(), session, call("a__open"))
					if err != nil {
						t.Errorf("client %d: %v", i, err)
						return
					}
					if !over {
						accepted++
					}
					time.Sleep(time.Minute / (3 * limit))
				}
				if accepted != limit*minutes {
					t.Errorf("client %d: %d calls were accepted in %d minutes, want %d", i, accepted, minutes, limit*minutes)
				}
			})
		}
		running.Wait()
		for _, session := range sessions {
			_ = session.Close()
		}
		transport.CloseIdleConnections()
		c.Close()
		_ = server.Close()
		<-served
	})
}

// seen has the last answer to a POST.
type seen struct {
	mu     sync.Mutex
	status int
	header http.Header
	body   string
}

func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || r.Method != http.MethodPost || resp.StatusCode == http.StatusAccepted {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(strings.NewReader(string(body)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.header, s.body = resp.StatusCode, resp.Header, string(body)
	return resp, err
}

// A refused call is a result that a model reads. The answer to any other method is an error with the time to wait. A
// modern client gets it with the status 429; a legacy client with 200, because some of them do not survive another.
func TestTheAnswerAboveALimit(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			g, _ := controlled(t, control.Options{}, `@rate("1/h") permit(principal, action, resource);`)
			web := httptest.NewServer(g.Handler())
			t.Cleanup(web.Close)
			last := &seen{}
			c := openDoor(t, "", "/mcp", era, &mcp.StreamableClientTransport{
				Endpoint: web.URL + "/mcp", HTTPClient: &http.Client{Transport: last},
			}).client
			if over, err := limited(t.Context(), c, call("a__open")); over || err != nil {
				t.Fatal(over, err)
			}
			if over, err := limited(t.Context(), c, call("a__open")); !over || err != nil || last.status != http.StatusOK {
				t.Errorf("a second call: refused by the limit: %v; status %d, %v", over, last.status, err)
			}
			ref := &mcp.CompleteReference{Type: "ref/prompt", Name: "a__open"}
			requests := map[string]func() error{
				"prompts/get": func() error {
					_, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "a__open"})
					return err
				},
				"resources/read": func() error {
					_, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "a://open/x"})
					return err
				},
				"completion/complete": func() error {
					_, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: "id"}})
					return err
				},
			}
			if era == interop.Legacy {
				requests["resources/subscribe"] = func() error {
					return c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "a://open/x"})
				}
			}
			for method, send := range requests {
				if send() == nil {
					t.Errorf("%s was answered", method)
				}
				status := map[interop.Era]int{interop.Legacy: http.StatusOK, interop.Modern: http.StatusTooManyRequests}[era]
				after, err := strconv.Atoi(last.header.Get("Retry-After"))
				if last.status != status || err != nil || after < 1 || after > 3600 {
					t.Errorf("%s: status %d, header %v", method, last.status, last.header)
				}
				checkLimitError(t, method, last.body)
			}
			if over, err := limited(t.Context(), c, call("a__open")); !over || err != nil {
				t.Errorf("the session ended: %v", err)
			}
		})
	}
}

func checkLimitError(t *testing.T, method, body string) {
	t.Helper()
	var m struct {
		ID    json.RawMessage
		Error struct {
			Code    int
			Message string
			Data    struct{ RetryAfterMs int }
		}
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Errorf("%s: %v: %s", method, err, body)
	}
	e := m.Error
	if len(m.ID) == 0 || e.Code != -32010 || e.Data.RetryAfterMs < 1 || e.Data.RetryAfterMs > 3_600_000 ||
		!strings.HasPrefix(e.Message, method+": this caller has reached a limit of the policy: try again in ") {
		t.Errorf("%s: %s", method, body)
	}
}

// An event stream has no status of its own: the error is in its last event.
func TestTheAnswerAboveALimitInAStream(t *testing.T) {
	t.Parallel()
	g, _ := controlled(t, control.Options{}, `@rate("1/h") permit(principal, action, resource);`)
	for i := range 2 {
		body := `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a__open","_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
		r.Header = http.Header{
			"Content-Type": {"application/json"}, "Accept": {"text/event-stream"},
			"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"prompts/get"}, "Mcp-Name": {"a__open"},
		}
		w := httptest.NewRecorder()
		g.Handler().ServeHTTP(w, r)
		_, data, _ := strings.Cut(strings.TrimSpace(w.Body.String()), "data: ")
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/event-stream" || data == "" {
			t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		if i == 1 {
			checkLimitError(t, "prompts/get", data)
		}
	}
}

// Each call within a batch counts.
func TestALimitWithinABatch(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		g, offices := controlled(t, control.Options{}, `@rate("3/h") permit(principal, action == Action::"call", resource);`)
		c := dial(t, g, "/mcp/@catalog", era)
		var calls []any
		for range 5 {
			calls = append(calls, map[string]any{"operation": "a__open", "input": map[string]any{"path": "p"}})
		}
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "batch", Arguments: map[string]any{"calls": calls}})
		if err != nil {
			t.Fatal(err)
		}
		text := answerText(r)
		if n := strings.Count(text, "try again in "); n != 2 || offices["a"].calls.Load() != 3 {
			t.Errorf("%s: %d calls reached the server and %d were refused: %s", era, offices["a"].calls.Load(), n, text)
		}
	}
}
