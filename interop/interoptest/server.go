package interoptest

import (
	"context"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server is an MCP server in memory. It is a real server, except that a pipe replaces
// the network. Every client has its own connection with the whole protocol.
type Server struct {
	// Era is the era that the connections of [Server.Endpoint], [Mount] and [Endpoints]
	// speak. If it is empty, they detect the era, and speak Modern. Set it before the
	// first connection.
	Era interop.Era

	id   string
	host *host.Host
}

// NewServer returns a server in memory with tools, which is mounted under id. It panics
// on a tool that cannot work, as [toolbox.Registry.Add] does. The caller must close the
// result.
func NewServer(id string, tools ...toolbox.Tool) *Server {
	shelf := toolbox.NewRegistry(nil)
	shelf.Add(tools...)
	return Publish(id, shelf)
}

// Publish returns a server in memory that has the tools of src and is mounted under id.
// src may be a registry, so that clients are notified of its changes, or any other
// toolbox. The caller must close the result.
func Publish(id string, src toolbox.Source) *Server {
	return &Server{id: id, host: host.New(src, nil)}
}

// Close ends all connections, cancels the calls in flight and waits for them.
// It may be called twice.
func (s *Server) Close() { s.host.Close() }

// Transport returns a new connection, for any client library.
func (s *Server) Transport() mcp.Transport { return Pipe(s.host) }

// Endpoint returns a new, idle client of the server. The caller opens and closes it.
// opts may be nil. Its Transport is replaced, and so is its Era if Server.Era is set.
func (s *Server) Endpoint(opts *interop.EndpointOptions) *interop.Endpoint {
	return interop.NewEndpoint(s.Config(), s.options(opts))
}

// options returns opts for a new connection.
func (s *Server) options(opts *interop.EndpointOptions) *interop.EndpointOptions {
	o := interop.EndpointOptions{}
	if opts != nil {
		o = *opts
	}
	o.Transport = s.Transport()
	if s.Era != "" {
		o.Era = s.Era
	}
	return &o
}

// Config returns the server's configuration for a fleet. It has no transport, so it
// needs [Endpoints].
func (s *Server) Config() config.Server { return config.Server{ID: s.id} }

// Endpoints returns a function for MountOptions.Endpoint and FleetOptions.Endpoint. It
// returns the connections of servers in memory by their ids. For other servers it
// returns nil, so they use their own transport.
func Endpoints(servers ...*Server) func(config.Server) *interop.EndpointOptions {
	return func(of config.Server) *interop.EndpointOptions {
		for _, s := range servers {
			if s.id == of.ID {
				return s.options(nil)
			}
		}
		return nil
	}
}

// Mount mounts servers in memory, as [interop.Mount] does with others. The caller must
// close the result.
func Mount(ctx context.Context, servers ...*Server) *interop.Mounted {
	configs := make([]config.Server, len(servers))
	for i, s := range servers {
		configs[i] = s.Config()
	}
	return interop.Mount(ctx, configs, &interop.MountOptions{
		FleetOptions: interop.FleetOptions{Endpoint: Endpoints(servers...)},
	})
}
