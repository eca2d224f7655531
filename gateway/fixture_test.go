package gateway_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// shelf holds servers of the SDK, in memory, by id.
type shelf map[string]*mcp.Server

// servers returns the configuration of the servers, in the order of ids.
func (shelf) servers(ids ...string) []config.Server {
	out := make([]config.Server, len(ids))
	for i, id := range ids {
		out[i] = config.Server{ID: id}
	}
	return out
}

// options connects a gateway to the servers. A server that is nil cannot be reached.
func (s shelf) options(t testing.TB) *ledger.Options {
	return &ledger.Options{Mount: &interop.MountOptions{FleetOptions: interop.FleetOptions{
		Endpoint: func(of config.Server) *interop.EndpointOptions {
			clientEnd, serverEnd := mcp.NewInMemoryTransports()
			if s[of.ID] != nil {
				session, err := s[of.ID].Connect(context.Background(), serverEnd, nil)
				if err != nil {
					t.Error(err)
				}
				t.Cleanup(func() { _ = session.Close() })
			}
			return &interop.EndpointOptions{Transport: clientEnd}
		},
	}}}
}

// open returns a gateway for the servers ids, after all of them have answered.
func (s shelf) open(t testing.TB, opts gateway.Options, ids ...string) *gateway.Gateway {
	t.Helper()
	if opts.Ledger == nil {
		opts.Ledger = s.options(t)
	}
	g := gateway.New(t.Context(), s.servers(ids...), &opts)
	t.Cleanup(g.Close)
	return g
}

// dial connects a client of the SDK to a view, in one of the eras.
func dial(t testing.TB, g *gateway.Gateway, path string, era interop.Era) *mcp.ClientSession {
	t.Helper()
	return dialWith(t, g, path, era, nil)
}

func dialWith(t testing.TB, g *gateway.Gateway, path string, era interop.Era, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	return dialClient(t, g, path, era, mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o))
}

func dialClient(t testing.TB, g *gateway.Gateway, path string, era interop.Era, c *mcp.Client) *mcp.ClientSession {
	t.Helper()
	web := httptest.NewServer(g.Handler())
	t.Cleanup(web.Close)
	opts := &mcp.ClientSessionOptions{}
	if era == interop.Legacy {
		opts.ProtocolVersion = "2025-11-25"
	}
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL + path}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}
