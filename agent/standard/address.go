package standard

import (
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// reserved lists networks outside the public internet for which [netip.Addr] has no method. The list comes from the
// IANA's registries of special-purpose addresses. It omits networks that nonPublicReason refuses without it.
var reserved = []struct{ network, what string }{
	{"0.0.0.0/8", "an address of this host"},
	{"100.64.0.0/10", "an address shared by a provider's customers"},
	{"168.63.129.16/32", "an address of a cloud's own services"},
	{"192.0.0.0/24", "reserved"},
	{"192.0.2.0/24", "reserved for documentation"},
	{"192.88.99.0/24", "a relay to IPv6"},
	{"198.18.0.0/15", "reserved for benchmarks"},
	{"198.51.100.0/24", "reserved for documentation"},
	{"203.0.113.0/24", "reserved for documentation"},
	{"240.0.0.0/4", "reserved"},
	{"64:ff9b::/96", "an IPv4 address in an IPv6 one"},
	{"64:ff9b:1::/48", "an IPv4 address in an IPv6 one"},
	{"2001::/23", "reserved"}, // includes Teredo
	{"2001:db8::/32", "reserved for documentation"},
	{"2002::/16", "an IPv4 address in an IPv6 one"},
	{"3fff::/20", "reserved for documentation"},
}

// publicIPv6 contains all allocated IPv6 networks. Addresses outside are reserved, local, or stand for an IPv4 address.
var publicIPv6 = netip.MustParsePrefix("2000::/3")

// nonPublicReason describes an address that is not on the public internet. It returns "" for a public address.
func nonPublicReason(a netip.Addr) string {
	a = a.WithZone("").Unmap()
	switch {
	case a.IsUnspecified():
		return "an address of this host"
	case a.IsLoopback():
		return "a loopback address"
	case a.IsPrivate():
		return "a private address"
	case a.IsLinkLocalUnicast():
		return "a link-local address"
	case a.IsMulticast():
		return "a multicast address"
	}
	for _, r := range reserved {
		if netip.MustParsePrefix(r.network).Contains(a) {
			return r.what
		}
	}
	if a.Is6() && !publicIPv6.Contains(a) {
		return "reserved"
	}
	return ""
}

// isNeighbour reports whether an address is in a network of one of this machine's interfaces. It may belong to this
// machine, or to a machine beside it that a firewall protects from the public.
func isNeighbour(a netip.Addr) bool {
	addrs, _ := net.InterfaceAddrs()
	for _, addr := range addrs {
		n, ok := addr.(*net.IPNet)
		if ok && n.Contains(a.WithZone("").Unmap().AsSlice()) {
			return true
		}
	}
	return false
}

// refusedAddress is the error of an address that must not be reached.
type refusedAddress struct {
	addr   netip.Addr
	reason string
}

func (e *refusedAddress) Error() string {
	return fmt.Sprintf("%v is %s: only public addresses are fetched", e.addr, e.reason)
}

// onlyPublic refuses addresses that are not public.
func onlyPublic(a netip.Addr) error {
	if reason := nonPublicReason(a); reason != "" {
		return &refusedAddress{a, reason}
	}
	if isNeighbour(a) {
		return &refusedAddress{a, "in a network of this machine"}
	}
	return nil
}

// checkDial checks each address that is dialled, after names are resolved. An earlier result of the same name does not
// matter.
func (f *fetcher) checkDial(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return f.check(at.Addr())
}
