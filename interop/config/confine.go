package config

import (
	"context"
	"net"
	"os"
	"slices"
	"time"

	"github.com/indusagi/indus/internal/box"
	"github.com/indusagi/indus/internal/box/broker"
)

// Confine returns the box of a sandbox, and the variables that its process needs. The files and directories of read can
// be read too. denied is called for each refused connection, from any goroutine. It must not block.
func (s Sandbox) Confine(read []string, denied func(broker.Denial)) (*box.Box, []string) {
	var registries, variables []string
	if s.Base == Package {
		home, _ := os.UserHomeDir()
		registries, variables = box.Registries(home, os.Environ())
	}
	b := &box.Box{
		Read: slices.Concat(s.Read, read), Write: s.Write, Listen: s.Listen, Limits: box.Limits(s.Limits),
		Home: s.Home, NoProc: s.NoProc, User: s.User, Optional: s.Optional,
	}
	if needed := len(s.Hosts)+len(registries)+len(s.Listen)+len(s.Sockets) > 0; needed || box.Supported().Hosts {
		b.Broker = func(writable []string) (box.Broker, error) {
			hosts := slices.Concat(s.Hosts, registries, addressesOf(registries))
			return broker.New(broker.Rules{Hosts: hosts, Listen: s.Listen, Sockets: s.Sockets, Write: writable}, denied)
		}
	}
	if s.RealHome {
		b.Home = ""
	}
	return b, variables
}

// addressesOf returns the present addresses of the registries of the user, with their ports. A registry in a private
// network is reached too, because the user's own settings name it; other names lead to public addresses only.
func addressesOf(hosts []string) (addresses []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for _, host := range hosts {
		name, port, err := net.SplitHostPort(host)
		if err != nil {
			continue
		}
		found, _ := net.DefaultResolver.LookupHost(ctx, name) // without an address the name alone counts
		for _, address := range found {
			addresses = append(addresses, net.JoinHostPort(address, port))
		}
	}
	return addresses
}
