package config

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/text"
)

// Sandbox is what a [Stdio] server and its descendants may reach. Without further fields it is the strict sandbox: the
// program, its interpreter and libraries can be read, a home of its own can be written, and no host can be reached.
// Other fields only add to it. Paths are absolute, and have no symbolic links if mcpconfig read them.
type Sandbox struct {
	// Base is [Strict] or [Package]. "" is Strict.
	Base Base `json:"base,omitempty"`
	// Read has files and directories that can be read and executed. Write has files and directories that can be changed
	// too.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// Hosts are the hosts that can be connected to over TCP, as "name:port", "*.name:port", "address:port",
	// "localhost:port" (all loopback addresses) or "*:port" (all public addresses).
	Hosts []string `json:"hosts,omitempty"`
	// Listen are the TCP ports that may be opened. 0 is any free port.
	Listen []int `json:"listen,omitempty"`
	// Sockets are Unix stream sockets that can be connected to, by path.
	Sockets []string `json:"sockets,omitempty"`
	// Limits bounds the use of the machine. The zero value has no bounds beside those of the process itself.
	Limits Limits `json:"limits,omitzero"`
	// RealHome keeps the HOME of the user, of which only what Read and Write name can be used. If it is false, the
	// server has a home of its own below Home.
	RealHome bool `json:"realHome,omitempty"`
	// Home is the directory of the server's own HOME and TMPDIR. It is created with mode 0700. It must not be empty
	// unless RealHome is true.
	Home string `json:"home,omitempty"`
	// User is the name or number of the user that the server runs as. It is possible, and needed, only if this program
	// runs as root: a sandbox of root is none.
	User string `json:"user,omitempty"`
	// NoProc hides /proc. Some runtimes do not start without it.
	NoProc bool `json:"noProc,omitempty"`
	// Optional starts the server even if this system cannot enforce the whole sandbox. If it is false, such a server does
	// not start.
	Optional bool `json:"optional,omitempty"`
}

// Base is what a sandbox allows before its row adds anything.
type Base string

// The bases.
const (
	Strict  Base = "strict"  // no host
	Package Base = "package" // strict, and the registries of package launchers
)

// Limits bounds what a server in a sandbox may use. Zero is no bound.
type Limits struct {
	Files     int   `json:"files,omitempty"`     // open files of each process
	Memory    int64 `json:"memory,omitempty"`    // bytes of all its processes together
	Processes int   `json:"processes,omitempty"` // processes and threads together
}

// String returns a short description, such as "package +2 hosts". It is "off" for nil.
func (s *Sandbox) String() string {
	if s == nil {
		return "off"
	}
	out := string(s.base())
	add := func(n int, noun string) {
		if n == 1 {
			out += " +1 " + noun
		} else if n > 1 {
			out += fmt.Sprintf(" +%d %ss", n, noun)
		}
	}
	add(len(s.Hosts), "host")
	add(len(s.Read)+len(s.Write), "path")
	add(len(s.Listen), "port")
	add(len(s.Sockets), "socket")
	return out
}

func (s *Sandbox) base() Base {
	if s.Base == "" {
		return Strict
	}
	return s.Base
}

// Beyond returns what s allows and limit does not, for a person: "host example.com:443", "write /tmp". It returns
// nothing if s is the same or narrower. Nil is no sandbox at all. Homes do not count: each server has its own.
func (s *Sandbox) Beyond(limit *Sandbox) (more []string) {
	switch {
	case limit == nil:
		return nil
	case s == nil:
		return []string{"no sandbox"}
	}
	add := func(isMore bool, text string) {
		if isMore {
			more = append(more, text)
		}
	}
	add(s.base() != Strict && s.base() != limit.base(), "base "+string(s.base()))
	for _, path := range s.Read {
		add(!isBelow(path, slices.Concat(limit.Read, limit.Write)), "read "+path)
	}
	for _, path := range s.Write {
		add(!isBelow(path, limit.Write), "write "+path)
	}
	for _, host := range s.Hosts {
		covers := func(wide string) bool { return coversHost(wide, host) }
		add(!slices.ContainsFunc(limit.Hosts, covers), "host "+host)
	}
	for _, port := range s.Listen {
		add(!slices.Contains(limit.Listen, port), fmt.Sprintf("listen %d", port))
	}
	for _, path := range s.Sockets {
		add(!slices.Contains(limit.Sockets, path), "socket "+path)
	}
	isLess := func(bound, than int64) bool { return than > 0 && (bound <= 0 || bound > than) }
	add(isLess(int64(s.Limits.Files), int64(limit.Limits.Files)), "more files")
	add(isLess(s.Limits.Memory, limit.Limits.Memory), "more memory")
	add(isLess(int64(s.Limits.Processes), int64(limit.Limits.Processes)), "more processes")
	add(s.User != "" && s.User != limit.User, "user "+s.User)
	add(s.RealHome && !limit.RealHome, "your home directory as HOME")
	add(limit.NoProc && !s.NoProc, "/proc")
	add(s.Optional && !limit.Optional, "a start without the sandbox")
	return more
}

// isBelow reports whether a path is one of the paths or is below one of them.
func isBelow(path string, paths []string) bool {
	return slices.ContainsFunc(paths, func(dir string) bool {
		rel, err := filepath.Rel(dir, path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// coversHost reports whether each host that one pattern allows is allowed by another, wider one.
func coversHost(wide, narrow string) bool {
	wideName, widePort := cutPort(wide)
	name, port := cutPort(narrow)
	_, err := netip.ParseAddr(strings.Trim(name, "[]"))
	switch suffix, isPattern := strings.CutPrefix(wideName, "*."); {
	case widePort != port:
		return false
	case wideName == name:
		return true
	case wideName == "localhost":
		address, _ := netip.ParseAddr(strings.Trim(name, "[]"))
		return address.IsLoopback()
	case wideName == "*": // addresses of its own row may be private ones
		return err != nil && name != "localhost"
	default:
		return isPattern && err != nil && strings.HasSuffix(name, "."+suffix)
	}
}

func cutPort(host string) (name, port string) {
	i := strings.LastIndexByte(host, ':')
	return host[:max(i, 0)], host[i+1:]
}

func (s *Sandbox) clone() *Sandbox {
	if s == nil {
		return nil
	}
	c := *s
	c.Read, c.Write, c.Hosts = slices.Clone(s.Read), slices.Clone(s.Write), slices.Clone(s.Hosts)
	c.Listen, c.Sockets = slices.Clone(s.Listen), slices.Clone(s.Sockets)
	return &c
}

// ActsElsewhere reports whether the command is a program whose work is done by another process or machine, such as
// docker and ssh. A sandbox would confine only the program itself.
func (s Stdio) ActsElsewhere() bool {
	switch proc.ProgramName(s.Command) {
	case "docker", "docker-compose", "podman", "podman-compose", "podman-remote", "nerdctl", "finch", "lima", "limactl",
		"container", "kubectl", "oc", "ssh", "mosh", "systemd-run", "machinectl", "wsl", "flatpak", "snap", "vagrant",
		"multipass", "sudo", "doas", "su", "pkexec":
		return true
	}
	return false
}

// CanonicalHost returns an entry of [Sandbox].Hosts in its canonical form: names in lower case without a dot at the
// end, addresses as package netip writes them, IPv6 in brackets. The error ends a sentence that begins with the entry.
func CanonicalHost(entry string) (string, error) {
	name, port := cutPort(entry)
	number, err := strconv.ParseUint(port, 10, 16)
	switch {
	case strings.Contains(entry, "/"):
		return "", errors.New("has a slash: it is a host and a port, not a URL")
	case name == "" || strings.HasPrefix(name, "[") != strings.HasSuffix(name, "]"):
		return "", errors.New("has no port")
	case err != nil || number == 0 || port[0] == '+':
		return "", errors.New("has no port from 1 to 65535 at its end")
	}
	port = strconv.FormatUint(number, 10)
	if address, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		switch {
		case address.Zone() != "" || address.Is6() && name[0] != '[':
			return "", errors.New("has an IPv6 address that is not in brackets, or that has a zone")
		case address.IsUnspecified():
			return "", errors.New("stands for this machine: write localhost")
		}
		return netip.AddrPortFrom(address.Unmap(), uint16(number)).String(), nil
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	plain := strings.TrimPrefix(name, "*.")
	switch {
	case name == "*":
	case strings.Contains(plain, "*"):
		return "", errors.New(`has a "*" that is not the whole first label`)
	case len(plain) > 253 || !hostName().MatchString(plain):
		return "", errors.New("is no name of a host: write an international name in its ASCII form (xn--…)")
	case endsInNumber().MatchString(plain):
		return "", errors.New("is no valid IPv4 address")
	}
	return name + ":" + port, nil
}

var (
	hostName = text.Pattern(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?)*$`)
	// endsInNumber matches names that resolvers read as IPv4 addresses, such as 127.1 and 0x7f000001.
	endsInNumber = text.Pattern(`(^|\.)([0-9]+|0x[0-9a-f]*)$`)
)
