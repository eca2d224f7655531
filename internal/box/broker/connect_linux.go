package broker

import (
	"cmp"
	"net/netip"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// attemptTime is the time after which a connect of a blocking socket returns to us. It frees the thread.
	attemptTime = 10 * time.Millisecond
	// connectTimeout limits a connect of a blocking socket. The kernel gives up a little earlier.
	connectTimeout = 140 * time.Second
	// aliveInterval is the time between two looks at whether a waiting thread still exists.
	aliveInterval = time.Second
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
	}
	if c.domain == unix.AF_UNIX {
		err = c.connectPath(to.path)
	} else {
		err = c.connectHost(to)
	}
	if c.b.repeats {
		err = errorOfRepetition(err)
	}
	return err
}

// connectHost selects the way to an address.
func (c *call) connectHost(to sockaddr) error {
	at := netip.AddrPortFrom(to.at.Addr().Unmap(), to.at.Port())
	if at.Addr().IsUnspecified() { // the kernel connects to this machine
		at = netip.AddrPortFrom(loopbackLike(at.Addr()), at.Port())
	}
	name, permitted := c.nameOf(at)
	switch {
	case at == c.b.gateAddress:
		return c.enter(c.b.proxy.accept)
	case c.b.rules.namesAddress(at):
		return c.connectTo(c.sockaddr(at, to.scope))
	case permitted:
		if reason := c.b.rules.refusalOf(at); reason != "" {
			return c.deny(Denial{What: DeniedHost, Target: name, Reason: at.Addr().String() + " is " + reason})
		}
		return c.connectTo(c.sockaddr(at, to.scope))
	case at.Port() == dnsPort:
		return c.enter(c.b.resolve)
	case c.b.rules.permitsAddress(at), at.Addr().IsLoopback() && c.b.listening.owns(at.Port()):
		return c.connectTo(c.sockaddr(at, to.scope))
	}
	return c.deny(Denial{What: DeniedHost, Target: name})
}

// nameOf returns the name and port that an address stands for, and whether they are permitted. If no name leads to the
// address, it returns the address.
func (c *call) nameOf(at netip.AddrPort) (string, bool) {
	shown := at.String()
	for i, name := range c.b.names.of(at.Addr()) {
		h := Host{name: name, port: at.Port()}
		if c.b.rules.covers(h) {
			return h.String(), true
		}
		if i == 0 {
			shown = h.String()
		}
	}
	return shown, false
}

// deny reports a denial and returns its error.
func (c *call) deny(d Denial) error {
	d.Program = programOf(c.tid)
	c.b.reports.add(d)
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
	start := time.Now()
	for {
		err := c.attempt(to)
		switch err {
		case unix.EINPROGRESS, unix.EALREADY, unix.EINTR, unix.EAGAIN:
		default:
			return err
		}
		full := err == unix.EAGAIN // the queue of a Unix socket
		left := time.Until(start.Add(cmp.Or(c.limit, connectTimeout)))
		switch {
		case c.nonblocking():
			return err
		case left > 0:
			if err := c.waitConnected(min(left, aliveInterval), full); err != nil {
				return err
			}
		case full:
			return unix.EAGAIN
		case c.limit != 0:
			return unix.EINPROGRESS
		default:
			return unix.ETIMEDOUT
		}
	}
}

// attempt begins to connect the socket, or looks at how far it is. With a blocking socket it takes attemptTime at most:
// the limit for sending is also one for connect. The limit of the process is restored. Two calls for one socket at the
// same time must not restore the limit of the other one.
func (c *call) attempt(to unix.Sockaddr) error {
	if c.nonblocking() {
		return unix.Connect(c.sock, to)
	}
	cookie, err := unix.GetsockoptUint64(c.sock, unix.SOL_SOCKET, unix.SO_COOKIE) // the number of the socket
	if err != nil {
		return err
	}
	lock := &c.b.limits[cookie%uint64(len(c.b.limits))]
	lock.Lock()
	defer lock.Unlock()
	limit, err := unix.GetsockoptTimeval(c.sock, unix.SOL_SOCKET, unix.SO_SNDTIMEO)
	if err != nil {
		return err
	}
	c.limit = time.Duration(limit.Nano())
	brief := unix.NsecToTimeval(int64(attemptTime))
	if err := unix.SetsockoptTimeval(c.sock, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &brief); err != nil {
		return err
	}
	err = unix.Connect(c.sock, to)
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
		case <-c.b.ctx.Done():
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
	if c.b.ctx.Err() != nil {
		return unix.ECONNABORTED
	}
	return nil
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
