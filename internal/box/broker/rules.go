package broker

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/publicaddr"
)

// fakeNetwork has the addresses that stand for names. It is reserved for benchmarks of network devices (RFC 2544).
var fakeNetwork = netip.MustParsePrefix("198.18.0.0/15")

// compiled holds the rules in the form in which they are asked.
type compiled struct {
	hosts   []Host
	listen  []int
	sockets []place
	write   []place
}

// place is a path as the row has it, and without symbolic links.
type place struct{ written, resolved string }

func compile(r Rules) (compiled, error) {
	hosts, err := ParseHosts(r.Hosts)
	errs := []error{err}
	for _, port := range r.Listen {
		if port < 0 || port > 65535 {
			errs = append(errs, fmt.Errorf("listen %d: not a port: write 1 to 65535, or 0 for any free port", port))
		}
	}
	sockets, err := resolvePlaces(r.Sockets)
	errs = append(errs, err)
	write, err := resolvePlaces(r.Write)
	errs = append(errs, err)
	// The process may have put links into these directories in an earlier run, so a path below is not resolved.
	below := func(p place) bool {
		return slices.ContainsFunc(write, func(dir place) bool { return dir.contains(p.written) || dir.contains(p.resolved) })
	}
	sockets, write = slices.DeleteFunc(sockets, below), slices.DeleteFunc(slices.Clone(write), below)
	return compiled{hosts, slices.Clone(r.Listen), sockets, write}, errors.Join(errs...)
}

// contains reports whether a path is below a directory.
func (p place) contains(path string) bool { return p.rest(path) != "" }

// rest returns the part of a path below a directory. It is "" for other paths.
func (p place) rest(path string) string {
	for _, dir := range []string{p.written, p.resolved} {
		if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/"); ok {
			return rest
		}
	}
	return ""
}

func resolvePlaces(paths []string) (list []place, err error) {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("path %q: not absolute", path)
		}
		path = filepath.Clean(path)
		resolved, err := filepath.EvalSymlinks(path)
		if err != nil { // it may appear later
			resolved = path
		}
		list = append(list, place{path, resolved})
	}
	return list, nil
}

func (c *compiled) covers(h Host) bool {
	return slices.ContainsFunc(c.hosts, func(have Host) bool { return have.Covers(h) })
}

// permitsName reports whether a name may be looked up: whether a port of it is permitted.
func (c *compiled) permitsName(name string) bool {
	return slices.ContainsFunc(c.hosts, func(have Host) bool { return have.Covers(Host{name: name, port: have.port}) })
}

// permitsAddress reports whether a literal address is permitted.
func (c *compiled) permitsAddress(at netip.AddrPort) bool {
	return c.covers(Host{addr: at.Addr().WithZone("").Unmap(), port: at.Port()})
}

// namesAddress reports whether a row has the literal address itself.
func (c *compiled) namesAddress(at netip.AddrPort) bool {
	return slices.Contains(c.hosts, Host{addr: at.Addr(), port: at.Port()})
}

// refusalOf returns the reason why an address of a permitted name must not be dialled. It is "" for a public address,
// and for an address that the row names.
func (c *compiled) refusalOf(at netip.AddrPort) string {
	if c.permitsAddress(at) {
		return ""
	}
	return publicaddr.Refusal(at.Addr())
}

func (c *compiled) permitsListen(port int) bool {
	return slices.Contains(c.listen, 0) || port != 0 && slices.Contains(c.listen, port)
}

// socketPath returns the path without symbolic links of a permitted Unix socket. The path is absolute and clean, and
// begins as the row has it. Nothing below the beginning may be a symbolic link.
func (c *compiled) socketPath(path string) (string, bool) {
	for _, p := range c.sockets {
		if path == p.written || path == p.resolved {
			return p.resolved, true
		}
	}
	for _, p := range c.write {
		if rest := p.rest(path); rest != "" {
			return filepath.Join(p.resolved, rest), true
		}
	}
	return "", false
}
