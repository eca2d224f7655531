package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/operation/bridge"
	"github.com/indusagi/indus/toolbox"
)

// city is the input schema of the shop's queries.
const city = `{"type":"object","properties":{"city":{"type":"string","description":"Its name."}},"required":["city"]}`

// shop returns a registry with operations of all kinds.
func shop(t testing.TB) *operation.Registry {
	t.Helper()
	echo := func(_ context.Context, c *operation.Context, input json.RawMessage) (json.RawMessage, error) {
		return input, nil
	}
	external := func(name, description string, kind operation.Kind, scopes ...string) operation.Registration {
		return operation.Registration{
			Spec: operation.Spec{
				Name: name, Description: description, Kind: kind, Visibility: operation.External,
				Input: json.RawMessage(city), Access: operation.Access{ScopesAll: scopes},
			},
			Handler: echo,
		}
	}
	weather := external("weather/today", "The weather of a city. It may rain.", operation.Query, "weather:read")
	weather.Spec.Namespace = "weather"
	weather.Spec.Output = json.RawMessage(`{"type":"object"}`)
	weather.Spec.Errors = []operation.ErrorDefinition{{Code: "NO_SUCH_CITY", Description: "Nobody knows it.", Retryable: true}}
	weather.Handler = func(_ context.Context, c *operation.Context, input json.RawMessage) (json.RawMessage, error) {
		var in struct{ City string }
		if err := json.Unmarshal(input, &in); err != nil {
			return nil, err
		}
		switch in.City {
		case "Ulm":
			return json.Marshal(map[string]string{"sky": "rain", "for": string(c.Caller().Principal)})
		case "Oz":
			return nil, &operation.Error{Code: "NO_SUCH_CITY", Message: "<Oz> is a story", Details: json.RawMessage(`{"book":true}`)}
		}
		return nil, errors.New("the barometer is broken")
	}
	ban := external("weather/ban", "Forbid the rain in a city.", operation.Mutation, "weather:write")
	secret := external("audit", "Who asked for the weather of a city.", operation.Query)
	secret.Spec.Visibility = operation.Internal
	slow := external("wait", "Waits until the caller has enough.", operation.Query)
	slow.Spec.Input = nil
	slow.Handler = func(ctx context.Context, _ *operation.Context, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	token := external("token", "The caller's token for another service, as it should never be shown.", operation.Query)
	token.Spec.Input = nil
	token.Handler = func(_ context.Context, c *operation.Context, _ json.RawMessage) (json.RawMessage, error) {
		s, _ := c.Capability("other")
		return json.Marshal(s.Reveal())
	}
	r := operation.NewRegistry(nil)
	t.Cleanup(r.Close)
	if err := r.Add(weather, ban, secret, slow, token); err != nil {
		t.Fatal(err)
	}
	return r
}

func grant(p operation.Principal, scopes ...string) operation.Identity {
	return operation.Identity{Principal: p, Grants: operation.Grants{Scopes: scopes}}
}

// people knows two principals: ada may read and write, and bob may only read.
func people(_ context.Context, p toolbox.Principal) (operation.Identity, error) {
	switch p {
	case "ada":
		return grant("ada", "weather:read", "weather:write"), nil
	case "bob":
		return grant("bob", "weather:read"), nil
	}
	return operation.Identity{}, bridge.ErrNobody
}

// named verifies tokens that are a prefix and a principal's name.
type named string

func (n named) Verify(_ context.Context, token string) (*identity.Identity, error) {
	if name, ok := strings.CutPrefix(token, string(n)); ok {
		return &identity.Identity{Principal: toolbox.Principal(name)}, nil
	}
	return nil, identity.ErrForeign
}

// site starts an HTTP server for a host of the operations.
func site(t testing.TB, r *operation.Registry, o *bridge.ToMCPOptions) *httptest.Server {
	t.Helper()
	h := host.New(bridge.ToMCP(r, o), &host.Options{Authenticate: identity.NewGuard(nil, named("token-of-")).Principal})
	s := httptest.NewServer(h.Handler())
	t.Cleanup(func() {
		h.Close() // before the server, whose Close waits for open streams
		s.Client().CloseIdleConnections()
		s.Close()
	})
	return s
}

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// client returns a client of the SDK with a token, for one era.
func client(t testing.TB, s *httptest.Server, token, version string) *mcp.ClientSession {
	t.Helper()
	transport := &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: &http.Client{Transport: bearer(token)}}
	return connect(t, transport, version)
}

func connect(t testing.TB, transport mcp.Transport, version string) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// use calls one of the four tools and returns its structured content.
func use(t testing.TB, s *mcp.ClientSession, tool string, args any) (structured string, isError bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if len(r.Content) != 1 || !ok {
		t.Fatalf("%s: content %v", tool, r.Content)
	}
	if r.StructuredContent != nil {
		var plain any
		if err := json.Unmarshal([]byte(text.Text), &plain); err != nil {
			t.Fatalf("%s: the text is not the structured content: %s", tool, text.Text)
		}
	}
	return text.Text, r.IsError
}

type object = map[string]any

// childEnv is the variable that makes the test binary a server on stdio.
const childEnv = "INDUS_TEST_TO_MCP"

// TestServeChild is the server of TestOverStdio. It runs in a separate process.
func TestServeChild(t *testing.T) {
	if os.Getenv(childEnv) == "" {
		return // this is the parent
	}
	h := host.New(bridge.ToMCP(shop(t), &bridge.ToMCPOptions{Local: grant("me", "weather:read")}), nil)
	if err := h.ServeStdio(context.Background()); err != nil {
		os.Exit(1)
	}
	h.Close()
	os.Exit(0) // before the test framework writes to stdout
}

func child(t testing.TB) mcp.Transport {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestServeChild$")
	cmd.Env = append(os.Environ(), childEnv+"=1")
	return &mcp.CommandTransport{Command: cmd}
}
