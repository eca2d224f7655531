package interop

import (
	"maps"
	"slices"
	"time"

	"github.com/indusagi/indus/interop/internal/listing"
)

// toolConfig is the part of a server's configuration that does not affect how it is reached: its tools, and when it is
// connected. It belongs to the server, not to a connection, and is immutable.
type toolConfig struct {
	listing.Config
	changes ChangePolicy
	lazy    *bool // as in Server
	idle    time.Duration
	pool    Pool
}

func toolConfigOf(s Server) *toolConfig {
	return &toolConfig{
		Config:  listing.Config{Server: s.ID, Rules: listing.Rules(s.Tools), Profile: s.Profile},
		changes: s.Changes, lazy: s.Lazy, idle: s.Idle, pool: s.Pool,
	}
}

// applyTo returns a server with this configuration of its tools.
func (c *toolConfig) applyTo(server Server) Server {
	server.Tools, server.Profile, server.Changes = ToolRules(c.Rules), c.Profile, c.changes
	server.Lazy, server.Idle, server.Pool = c.lazy, c.idle, c.pool
	return server
}

// configure sets the configuration of the endpoint, and applies it to the current list.
func (e *Endpoint) configure(c *toolConfig) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.config, e.list = c, e.list.WithConfig(&c.Config)
}

func (r ToolRules) clone() ToolRules {
	return ToolRules{
		Allow: slices.Clone(r.Allow), Deny: slices.Clone(r.Deny),
		Rename: maps.Clone(r.Rename), Describe: maps.Clone(r.Describe),
	}
}
