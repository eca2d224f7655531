package broker

import (
	"net"
	"net/netip"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// attemptTime is the time after which a connect of a blocking socket returns to us. It frees the thread.
	attemptTime = 10 * time.Millisecond
	// connectTimeout limits a connect of a blocking socket. The kernel gives up a little earlier.
	connectTimeout = 140 * time.Second
	// gateTimeout limits the time in which a connected socket must arrive at the gate.
	gateTimeout = 5 * time.Second
	// dnsPort is the port of resolvers.
	dnsPort = 53
)

// connect answers connect(2).
func (c *call) connect() error {
	raw, err := c.memory(c.args[1], c.args[2])
	if err != nil {
		return err
	}
	if err := c.take(); err != nil {
		return err
	}
	to, err := parseSockaddr(raw)
	switch {
	case err != nil:
		return err
	case to.family == unix.AF_UNSPEC:
		return disconnect(c.sock)
	case to.family != c.domain:
		return unix.EAFNOSUPPORT
	case c.domain == unix.AF_UNIX:
		return c.connectPath(to.path)
	}
	err = c.connectHost(to)
	if err == unix.EISCONN && c.b.restarted.take(c.cookie()) {
		return nil
	}
	return err
}

// connectHost selects the way to an address.
func (c *call) connectHost(to sockaddr) error {
	at := netip.AddrPortFrom(to.at.Addr().Unmap(), to.at.Port())
	if at.Addr().IsUnspecified() { // the kernel connects to this machine
		at = netip.AddrPortFrom(loopbackLike(at.Addr()), at.Port())
	}
	name := c.b.names.of(at.Addr())
	switch {
	case at == c.b.gateAddress:
		return c.enter(c.b.proxy.accept)
	case name != "" && c.b.rules.covers(Host{name: name, port: at.Port()}):
		return c.tunnel(net.JoinHostPort(name, strconv.Itoa(int(at.Port()))))
	case name != "":
		return c.deny(DeniedHost, net.JoinHostPort(name, strconv.Itoa(int(at.Port()))))
	case at.Port() == dnsPort && !c.b.rules.namesAddress(at):
		return c.enter(c.b.resolve)
	case c.b.rules.permitsAddress(at):
		return c.connectTo(c.sockaddr(at, to.scope))
	}
	return c.deny(DeniedHost, at.String())
}

// deny reports a denial and returns its error.
func (c *call) deny(what, target string) error {
	c.b.reports.add(Denial{What: what, Target: target, Program: programOf(c.tid)})
	return unix.EACCES
}

func loopbackLike(a netip.Addr) netip.Addr {
	if a.Is4() {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.IPv6Loopback()
}

// sockaddr returns an address for the domain of the socket.
func (c *call) sockaddr(at netip.AddrPort, scope uint32) unix.Sockaddr {
	if c.domain == unix.AF_INET {
		return &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16(), ZoneId: scope}
}

// disconnect dissolves the connection of a socket.
func disconnect(sock int) error {
	var b [16]byte // AF_UNSPEC
	_, _, e := unix.Syscall(unix.SYS_CONNECT, uintptr(sock), uintptr(unsafe.Pointer(&b)), uintptr(len(b)))
	if e != 0 {
		return e
	}
	return nil
}

// connectTo connects the socket as its own connect would: at once if it is non-blocking.
func (c *call) connectTo(to unix.Sockaddr) error {
	if c.nonblocking() {
		return unix.Connect(c.sock, to)
	}
	limit, err := unix.GetsockoptTimeval(c.sock, unix.SOL_SOCKET, unix.SO_SNDTIMEO)
	if err != nil {
		return err
	}
	own := time.Duration(limit.Nano())
	end := time.Now().Add(connectTimeout)
	if own > 0 {
		end = time.Now().Add(own)
	}
	for {
		err := c.attempt(to, limit)
		switch err {
		case unix.EINPROGRESS, unix.EALREADY, unix.EINTR, unix.EAGAIN:
		default:
			return err
		}
		if time.Now().After(end) {
			if own > 0 {
				return err
			}
			return unix.ETIMEDOUT
		}
		if err := c.waitConnected(min(time.Until(end), aliveInterval), err == unix.EAGAIN); err != nil {
			return err
		}
	}
}

// attempt begins to connect a blocking socket, or looks at how far it is. It takes attemptTime at most: the limit for
// sending is also one for connect. The limit of the process is restored.
func (c *call) attempt(to unix.Sockaddr, limit *unix.Timeval) error {
	brief := unix.NsecToTimeval(int64(attemptTime))
	if err := unix.SetsockoptTimeval(c.sock, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &brief); err != nil {
		return err
	}
	err := unix.Connect(c.sock, to)
	_ = unix.SetsockoptTimeval(c.sock, unix.SOL_SOCKET, unix.SO_SNDTIMEO, limit)
	return err
}

// waitConnected waits until the socket is connected or failed, or for the limit. A full queue of a Unix socket has no
// event.
func (c *call) waitConnected(limit time.Duration, full bool) error {
	if !c.alive() {
		return unix.ESRCH
	}
	if full {
		select {
		case <-c.ctx.Done():
			return unix.ECONNABORTED
		case <-time.After(attemptTime):
			return nil
		}
	}
	w, err := newWaiter(c.sock, unix.EPOLLOUT)
	if err != nil {
		return unix.ENOBUFS
	}
	defer w.close()
	_, _ = w.wait(max(limit, time.Millisecond))
	if c.ctx.Err() != nil {
		return unix.ECONNABORTED
	}
	return nil
}

// listen answers listen(2).
func (c *call) listen() error {
	if err := c.take(); err != nil {
		return err
	}
	if c.domain != unix.AF_UNIX {
		local, err := unix.Getsockname(c.sock)
		if err != nil {
			return err
		}
		if port := int(addressPort(local).Port()); !c.b.rules.permitsListen(port) {
			return c.deny(DeniedListen, ":"+strconv.Itoa(port))
		}
	}
	return unix.Listen(c.sock, int(int32(c.args[1])))
}

// addressPort returns the address of a socket of TCP, without the form of IPv6 for an address of IPv4.
func addressPort(a unix.Sockaddr) netip.AddrPort {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port))
	}
	return netip.AddrPort{}
}
