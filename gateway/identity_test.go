package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// changingKey sends requests with the API key that it holds at the time.
type changingKey struct{ token atomic.Pointer[string] }

func (c *changingKey) RoundTrip(r *http.Request) (*http.Response, error) {
	return authorized("Bearer " + *c.token.Load()).RoundTrip(r)
}

// identities is a gateway with one tool, which returns the identity in its context. The tool "asked" asks the client
// before that.
func identities(t *testing.T, authenticate func(*http.Request) (toolbox.Principal, error)) *gateway.Gateway {
	local := toolbox.NewRegistry(nil)
	describe := func(ctx context.Context) string {
		id := identity.FromContext(ctx)
		if id == nil {
			return "none"
		}
		return fmt.Sprint(id.Principal, " ", id.Views)
	}
	local.Add(toolbox.Define("plain", "", func(ctx context.Context, _ struct{}) (string, error) { return describe(ctx), nil }))
	local.Add(toolbox.Define("asked", "", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := toolbox.Elicit[struct {
			Name string `json:"name"`
		}](ctx, "Who?")
		return describe(ctx), err
	}))
	s := shelf{"a": mcp.NewServer(&mcp.Implementation{Name: "a", Version: "1"}, nil)}
	return s.open(t, gateway.Options{Local: local, Host: host.Options{Authenticate: authenticate}}, "a")
}

// Each call has the identity of the request that began it: in both eras, in one session and over HTTP+SSE, also after a
// question that is answered with another key. The two keys of one principal differ in their views.
func TestACallHasTheIdentityOfItsRequest(t *testing.T) {
	keys := identity.NewKeys(t.TempDir() + "/keys.json")
	wide, _, err := keys.Add(t.Context(), identity.Key{Name: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	narrow, _, err := keys.Add(t.Context(), identity.Key{Name: "ann", Views: []string{"", "a"}})
	if err != nil {
		t.Fatal(err)
	}
	g := identities(t, identity.NewGuard(nil, keys).Principal)
	web := httptest.NewServer(g.Handler())
	t.Cleanup(web.Close)
	key := &changingKey{}
	client := &http.Client{Transport: key}
	for name, tt := range map[string]struct {
		transport mcp.Transport
		version   string
	}{
		"legacy": {&mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp", HTTPClient: client}, "2025-11-25"},
		"modern": {&mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp", HTTPClient: client}, ""},
		"sse":    {&mcp.SSEClientTransport{Endpoint: web.URL + "/sse", HTTPClient: client}, ""},
	} {
		key.token.Store(&wide)
		c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				key.token.Store(&wide) // the key of the answer
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "ann"}}, nil
			},
		})
		session, err := c.Connect(t.Context(), tt.transport, &mcp.ClientSessionOptions{ProtocolVersion: tt.version})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Cleanup(func() { _ = session.Close() })
		for _, step := range []struct{ token, want string }{
			{wide, "user:ann []"}, {narrow, "user:ann [ a]"}, {wide, "user:ann []"},
		} {
			for _, tool := range []string{"plain", "asked"} {
				key.token.Store(&step.token)
				if got := textOf(t, session, tool); got != step.want {
					t.Errorf("%s: %s has the identity %q instead of %q", name, tool, got, step.want)
				}
			}
		}
	}
}

// textOf calls a tool without arguments, and returns its text.
func textOf(t *testing.T, c *mcp.ClientSession, tool string) string {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
	if err != nil || len(r.Content) != 1 {
		t.Fatalf("%s: %+v, %v", tool, r, err)
	}
	return r.Content[0].(*mcp.TextContent).Text
}

// Without a guard, and on a pair of streams, there is no identity.
func TestACallWithoutAGuardHasNoIdentity(t *testing.T) {
	for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
		open := identities(t, nil)
		if got := textOf(t, dial(t, open, "/mcp", era), "plain"); got != "none" {
			t.Errorf("%s: %s", era, got)
		}
		byName := identities(t, func(*http.Request) (toolbox.Principal, error) { return "ann", nil })
		if got := textOf(t, dial(t, byName, "/mcp", era), "plain"); got != "none" {
			t.Errorf("%s: a caller of another check has the identity %s", era, got)
		}
	}
	g := identities(t, identity.NewGuard(nil, identity.NewKeys(t.TempDir()+"/keys.json")).Principal)
	clientEnd, serverEnd := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- g.ServeIO(t.Context(), serverEnd, serverEnd) }()
	piped, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.IOTransport{Reader: clientEnd, Writer: clientEnd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := textOf(t, piped, "plain"); got != "none" {
		t.Errorf("stdio: %s", got)
	}
	if err := errors.Join(piped.Close(), <-served); err != nil {
		t.Error(err)
	}
}
