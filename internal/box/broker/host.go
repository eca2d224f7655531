package broker

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/indusagi/indus/internal/publicaddr"
)

// Names with a meaning of their own.
const (
	localhost = "localhost" // all loopback addresses
	anyName   = "*"         // all public addresses, and all names that lead to them
)

// Host is a host of a row, with its port. Equal hosts are equal values.
type Host struct {
	name string     // lower case, without the last dot; "*.name" is all names below it; "" for an address
	addr netip.Addr // zero for a name
	port uint16
}

// ParseHosts parses a list, and drops repeated hosts. Its error has one line for each bad host.
func ParseHosts(list []string) ([]Host, error) {
	var hosts []Host
	var errs []error
	seen := map[Host]bool{}
	for _, s := range list {
		h, err := ParseHost(s)
		switch {
		case err != nil:
			errs = append(errs, err)
		case !seen[h]:
			seen[h] = true
			hosts = append(hosts, h)
		}
	}
	return hosts, errors.Join(errs...)
}

// ParseHost parses "name:port", "*.name:port" (all names below), "address:port", "[address]:port", "localhost:port"
// (all loopback addresses) or "*:port" (all public addresses). Upper case and the last dot of a name do not matter.
func ParseHost(s string) (Host, error) {
	bad := func(format string, args ...any) (Host, error) {
		return Host{}, fmt.Errorf("host %q: %s", s, fmt.Sprintf(format, args...))
	}
	if strings.Contains(s, "/") {
		return bad("a URL or a network is no host: write a name and a port, as in api.example.com:443")
	}
	name, number, err := net.SplitHostPort(s)
	switch {
	case err != nil && strings.Count(s, ":") > 1 && !strings.HasPrefix(s, "["):
		return bad("an IPv6 address stands in brackets before its port, as in [2001:db8::1]:443")
	case err != nil || number == "":
		return bad("the port is missing: write NAME:PORT, as in api.example.com:443")
	case name == "":
		return bad("the name is missing: write NAME:PORT, or *:%s for all public addresses", number)
	}
	port, err := strconv.ParseUint(number, 10, 16)
	if err != nil || port == 0 || number[0] == '0' {
		return bad("the port %q is not a number from 1 to 65535", number)
	}
	addr, err := netip.ParseAddr(name)
	switch {
	case strings.HasPrefix(s, "[") && !addr.Is6():
		return bad("%q is not an IPv6 address", name)
	case err == nil:
		return addressHost(addr, uint16(port), bad)
	}
	if problem := badName(name); problem != "" {
		return bad("%s", problem)
	}
	return Host{name: canonicalName(name), port: uint16(port)}, nil
}

func addressHost(addr netip.Addr, port uint16, bad func(string, ...any) (Host, error)) (Host, error) {
	switch {
	case addr.Zone() != "":
		return bad("an address with a zone cannot be permitted: write it without %%%s", addr.Zone())
	case addr.IsUnspecified():
		return bad("%v stands for this machine: write localhost:%d", addr, port)
	case fakeNetwork.Contains(addr.Unmap()):
		return bad("addresses of %v stand for names: write the name", fakeNetwork)
	}
	return Host{addr: addr.Unmap(), port: port}, nil
}

// badName returns the problem of a name.
func badName(name string) string {
	for _, r := range name {
		if r >= 0x80 {
			if ascii, err := idna.Lookup.ToASCII(name); err == nil {
				return "a name is written in ASCII: " + ascii
			}
			return "a name is written in ASCII, as in xn--bcher-kva.example"
		}
	}
	if name == anyName {
		return ""
	}
	name = strings.TrimPrefix(name, "*.")
	if strings.Contains(name, "*") {
		return "* is only possible as the whole first label, as in *.example.com"
	}
	name = canonicalName(name)
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case !isName(name):
		return "this is not a name: labels have letters, digits, hyphens and underscores, at most 63 of them"
	case strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x"):
		return "this looks like an IPv4 address: write four decimal numbers, without leading zeros"
	}
	return ""
}

// canonicalName returns a name in lower case, without its last dot.
func canonicalName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// isName reports whether a canonical name consists of labels.
func isName(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return len(name) <= 253
}

// String returns the host as ParseHost reads it.
func (h Host) String() string {
	name := h.name
	if h.addr.IsValid() {
		name = h.addr.String()
	}
	return net.JoinHostPort(name, strconv.Itoa(int(h.port)))
}

// Covers reports whether h permits every connection that other permits.
func (h Host) Covers(other Host) bool {
	switch {
	case h == other:
		return true
	case h.port != other.port:
		return false
	case h.name == anyName && other.addr.IsValid():
		return publicaddr.Refusal(other.addr) == ""
	case h.name == anyName:
		return other.name != localhost
	case h.name == localhost:
		return other.addr.IsLoopback()
	case strings.HasPrefix(h.name, "*."):
		return strings.HasSuffix(strings.TrimPrefix(other.name, "*"), h.name[1:]) && len(other.name) > len(h.name)-1
	}
	return false
}
