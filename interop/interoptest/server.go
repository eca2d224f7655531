package interoptest

import (
	"context"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server is an MCP server in memory. It is real but for its wire, which is a
// pipe: every client has a connection of its own, with the whole protocol on it.
type Server struct {
	// Era is what the connections of [Server.Endpoint], [Mount] and [Endpoints]
	// speak. "": they find it out, and speak Modern. Set it before the first one.
	Era interop.Era

	id   string
	host *host.Host
}

// NewServer is a server in memory with tools, which is mounted under id. It
// panics on a tool that cannot work, as [toolbox.Registry.Add] does. The caller
// closes what it gets.
func NewServer(id string, tools ...toolbox.Tool) *Server {
	shelf := toolbox.NewRegistry(nil)
	shelf.Add(tools...)
	return Publish(id, shelf)
}

// Publish is a server in memory that has the tools of src, which is mounted
// under id: a registry of one's own, whose changes clients hear of, or what else
// is a toolbox. The caller closes what it gets.
func Publish(id string, src toolbox.Source) *Server {
	return &Server{id: id, host: host.New(src, nil)}
}

// Close ends all connections, cancels the calls in flight and waits for them.
// It may be called twice.
func (s *Server) Close() { s.host.Close() }

// Transport is a new connection, for a client of any make.
func (s *Server) Transport() mcp.Transport { return Pipe(s.host) }

// Endpoint is a new client of the server: idle, for the caller to open and
// close. opts may be nil; its Transport, and where Server.Era is set its Era,
// are replaced.
func (s *Server) Endpoint(opts *interop.EndpointOptions) *interop.Endpoint {
	return interop.NewEndpoint(s.Config(), s.options(opts))
}

// options are opts for a new connection.
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

// Config is the server as a fleet is given it. It has no transport: [Endpoints]
// has to be with it.
func (s *Server) Config() interop.Server { return interop.Server{ID: s.id} }

// Endpoints is for MountOptions.Endpoint and FleetOptions.Endpoint: the
// connections of servers in memory, told by their ids. Other servers get nil,
// and with that their own transport.
func Endpoints(servers ...*Server) func(interop.Server) *interop.EndpointOptions {
	return func(config interop.Server) *interop.EndpointOptions {
		for _, s := range servers {
			if s.id == config.ID {
				return s.options(nil)
			}
		}
		return nil
	}
}

// Mount mounts servers in memory, as [interop.Mount] does with others. The
// caller closes what it gets.
func Mount(ctx context.Context, servers ...*Server) *interop.Mounted {
	configs := make([]interop.Server, len(servers))
	for i, s := range servers {
		configs[i] = s.Config()
	}
	return interop.Mount(ctx, configs, &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: Endpoints(servers...)}})
}
