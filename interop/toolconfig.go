package interop

import (
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/internal/listing"
)

// toolConfig is the part of a server's configuration that does not affect how it is reached: see
// [config.Server.WithSettings]. It belongs to the server, not to a connection, and is immutable.
type toolConfig struct {
	listing.Config
	settings config.Server // its other fields are zero
}

func toolConfigOf(s config.Server) *toolConfig {
	return &toolConfig{
		Config:   listing.Config{Server: s.ID, Rules: listing.Rules(s.Tools), Profile: s.Profile},
		settings: config.Server{}.WithSettings(s),
	}
}

// applyTo returns a server with this configuration of its tools.
func (c *toolConfig) applyTo(server config.Server) config.Server {
	return server.WithSettings(c.settings)
}

// configure sets the configuration of the endpoint, and applies it to the current list.
func (e *Endpoint) configure(c *toolConfig) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.config, e.list = c, e.list.WithConfig(&c.Config)
}
