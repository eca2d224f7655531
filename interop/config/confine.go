package config

import (
	"cmp"
	"os"
	"slices"

	"github.com/indusagi/indus/internal/box"
	"github.com/indusagi/indus/internal/box/broker"
)

// Confine returns the box of a sandbox, and the variables that its process needs. The files and directories of read can
// be read too. denied is called for each refused connection, from any goroutine. It must not block.
func (s Sandbox) Confine(read []string, denied func(broker.Denial)) (*box.Box, []string) {
	hosts, variables := s.Hosts, []string(nil)
	if cmp.Or(s.Base, Strict) == Package {
		home, _ := os.UserHomeDir()
		var registries []string
		registries, variables = box.Registries(home, os.Environ())
		hosts = slices.Concat(hosts, registries)
	}
	b := &box.Box{
		Read: slices.Concat(s.Read, read), Write: s.Write, Listen: s.Listen, Limits: box.Limits(s.Limits),
		Home: s.Home, NoProc: s.NoProc, User: s.User, Optional: s.Optional,
	}
	if needed := len(hosts)+len(s.Listen)+len(s.Sockets) > 0; needed || box.Supported().Hosts {
		b.Broker = func(writable []string) (box.Broker, error) {
			return broker.New(broker.Rules{Hosts: hosts, Listen: s.Listen, Sockets: s.Sockets, Write: writable}, denied)
		}
	}
	if s.RealHome {
		b.Home = ""
	}
	return b, variables
}
