package interop

import (
	"os"
	"slices"

	"github.com/indusagi/indus/internal/box"
	"github.com/indusagi/indus/internal/box/broker"
	"github.com/indusagi/indus/interop/config"
)

// boxOf returns the box of a server's sandbox, and variables that the process needs in it.
func (e *Endpoint) boxOf(s config.Sandbox, env []string) (b *box.Box, variables []string) {
	hosts := s.Hosts
	if s.Base == config.Package {
		var registries []string
		registries, variables = box.Registries(os.Getenv("HOME"), env)
		hosts = slices.Concat(hosts, registries)
	}
	b = &box.Box{
		Read: s.Read, Write: s.Write, Listen: s.Listen, Limits: box.Limits(s.Limits),
		Home: s.Home, NoProc: s.NoProc, User: s.User, Optional: s.Optional,
		Broker: func(writable []string) (box.Broker, error) {
			rules := broker.Rules{Hosts: hosts, Listen: s.Listen, Sockets: s.Sockets, Write: writable}
			return broker.New(rules, func(d broker.Denial) { e.deny(d.What, d.Target) })
		},
	}
	if s.RealHome {
		b.Home = ""
	}
	return b, variables
}
