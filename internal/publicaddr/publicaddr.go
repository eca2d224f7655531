// Package publicaddr tells addresses of the public internet from all others. [Refusal] is the only function: it returns
// the reason why an address is not public. A program that connects to a name which another party chose checks each
// address with it at the moment of the dial, in [net.Dialer.ControlContext].
package publicaddr

import (
	"net"
	"net/netip"
)

// reserved lists networks outside the public internet for which [netip.Addr] has no method. The list comes from the
// IANA's registries of special-purpose addresses. It omits networks that Refusal refuses without it.
var reserved = []struct {
	network netip.Prefix
	reason  string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of this host"},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address shared by a provider's customers"},
	{netip.MustParsePrefix("168.63.129.16/32"), "an address of a cloud's own services"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved"},
	{netip.MustParsePrefix("192.0.2.0/24"), "reserved for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a relay to IPv6"},
	{netip.MustParsePrefix("198.18.0.0/15"), "reserved for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "reserved for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "reserved for documentation"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("64:ff9b::/96"), "an IPv4 address in an IPv6 one"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "an IPv4 address in an IPv6 one"},
	{netip.MustParsePrefix("2001::/23"), "reserved"}, // includes Teredo
	{netip.MustParsePrefix("2001:db8::/32"), "reserved for documentation"},
	{netip.MustParsePrefix("2002::/16"), "an IPv4 address in an IPv6 one"},
	{netip.MustParsePrefix("3fff::/20"), "reserved for documentation"},
}

// allocatedIPv6 contains all allocated networks. Other addresses are reserved, local, or stand for one of IPv4.
var allocatedIPv6 = netip.MustParsePrefix("2000::/3")

// Refusal describes an address that is not on the public internet, or that is in a network of one of this machine's
// interfaces. A firewall may protect such a neighbour from the public. It returns "" for a public address.
func Refusal(a netip.Addr) string {
	a = a.WithZone("").Unmap()
	if reason := special(a); reason != "" {
		return reason
	}
	if isNeighbour(a) {
		return "in a network of this machine"
	}
	return ""
}

// special returns the reason that the address itself gives.
func special(a netip.Addr) string {
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
		if r.network.Contains(a) {
			return r.reason
		}
	}
	if a.Is6() && !allocatedIPv6.Contains(a) {
		return "reserved"
	}
	return ""
}

// isNeighbour reports whether an address is in a network of one of this machine's interfaces.
func isNeighbour(a netip.Addr) bool {
	addrs, _ := net.InterfaceAddrs()
	for _, addr := range addrs {
		n, ok := addr.(*net.IPNet)
		if ok && n.Contains(a.AsSlice()) {
			return true
		}
	}
	return false
}
