package broker

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// entry is our end of a connection through the gate.
type entry struct {
	*net.TCPConn
	program string // of the other end
	close   func()
}

// Close closes the connection and frees its slot. It may be called more than once.
func (e *entry) Close() error {
	e.close()
	return nil
}

// enter connects the socket to the gate, and gives our end to serve in a goroutine of its own. Serve need not close it.
func (c *call) enter(serve func(*entry)) error {
	e, err := c.pass()
	if err != nil {
		return err
	}
	if !c.b.start(func() {
		defer e.Close()
		serve(e)
	}) {
		_ = e.Close()
		return unix.ECONNABORTED
	}
	return nil
}

// tunnel connects the socket to a host. A blocking socket is connected after the host, so that the process gets the
// error of the host. A non-blocking one must not wait. It is connected at once, and reset if the host fails.
func (c *call) tunnel(target string) error {
	if c.isConnected() {
		return unix.EISCONN
	}
	program := programOf(c.tid)
	if c.nonblocking() {
		return c.enter(func(e *entry) {
			if host, err := c.b.dial(c.b.ctx, target, program); err != nil {
				reset(e.TCPConn)
			} else {
				c.b.relay(e.TCPConn, host)
			}
		})
	}
	ctx, cancel := c.whileAlive()
	defer cancel()
	host, err := c.b.dial(ctx, target, program)
	if err != nil {
		return errorNumber(err)
	}
	err = c.enter(func(e *entry) { c.b.relay(e.TCPConn, host) })
	if err != nil {
		_ = host.Close()
	}
	return err
}

func (c *call) isConnected() bool {
	_, err := unix.Getpeername(c.sock)
	return err == nil
}

// pass connects the socket to the gate and accepts it there. One socket passes at a time. So every other connection
// that arrives is from another process, and is closed before a byte is read.
func (c *call) pass() (*entry, error) {
	b := c.b
	select {
	case b.slots <- struct{}{}:
	default:
		return nil, unix.EADDRNOTAVAIL
	}
	b.entering.Lock()
	conn, err := c.passAlone()
	b.entering.Unlock()
	if err != nil {
		<-b.slots
		return nil, err
	}
	e := &entry{TCPConn: conn, program: programOf(c.tid)}
	stop := context.AfterFunc(b.ctx, func() { _ = e.Close() })
	e.close = sync.OnceFunc(func() {
		stop()
		_ = conn.Close()
		<-b.slots
	})
	return e, nil
}

func (c *call) passAlone() (*net.TCPConn, error) {
	to := c.sockaddr(c.b.gateAddress, 0)
	begin := func() error { return unix.Connect(c.sock, to) }
	if !c.nonblocking() {
		limit, err := unix.GetsockoptTimeval(c.sock, unix.SOL_SOCKET, unix.SO_SNDTIMEO)
		if err != nil {
			return nil, err
		}
		begin = func() error { return c.attempt(to, limit) }
	}
	err := begin()
	unfinished := err == unix.EINPROGRESS || err == unix.EINTR
	if err != nil && !unfinished {
		return nil, err
	}
	if err == nil && !c.isAtGate() { // an earlier connect to another host has ended
		return nil, unix.EISCONN
	}
	conn, err := c.acceptOwn()
	if err == nil && unfinished {
		if err = begin(); err != nil { // ends the state of connecting
			reset(conn)
		}
	}
	return conn, err
}

func (c *call) isAtGate() bool {
	peer, err := unix.Getpeername(c.sock)
	return err == nil && addressPort(peer) == c.b.gateAddress
}

// acceptOwn accepts connections until it has the other end of the socket.
func (c *call) acceptOwn() (*net.TCPConn, error) {
	if err := c.b.gate.SetDeadline(time.Now().Add(gateTimeout)); err != nil {
		return nil, unix.ECONNABORTED
	}
	for {
		conn, err := c.b.gate.AcceptTCP()
		if err != nil {
			return nil, unix.ETIMEDOUT
		}
		local, err := unix.Getsockname(c.sock)
		remote := conn.RemoteAddr().(*net.TCPAddr).AddrPort()
		remote = netip.AddrPortFrom(remote.Addr().Unmap(), remote.Port())
		// The socket must still be connected: then no other one has its two addresses.
		if err == nil && addressPort(local) == remote && c.isAtGate() {
			return conn, nil
		}
		reset(conn)
	}
}

// reset closes a connection so that its other end fails.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

// relayInterval is the time between two looks at whether the end of a process still exists.
const relayInterval = 15 * time.Second

// relay copies in both directions until both have ended. The end of one direction is passed on, and an error ends both.
func (b *Broker) relay(process, host *net.TCPConn) {
	defer host.Close()
	defer context.AfterFunc(b.ctx, func() { _ = host.Close() })()
	var both sync.WaitGroup
	pump := func(to, from *net.TCPConn) {
		_, err := io.Copy(to, from)
		if err == nil {
			err = to.CloseWrite()
		}
		if err != nil {
			reset(to)
			reset(from)
		}
	}
	answered := make(chan struct{})
	both.Go(func() {
		pump(process, host)
		close(answered)
	})
	pump(host, process)
	awaitAnswer(answered, process, host)
	both.Wait()
}

// awaitAnswer waits until the host has ended its direction, after the process has ended its own. A process that closed
// its socket does not read any more: then the connection to it fails sooner or later, and the one to the host is reset.
func awaitAnswer(answered <-chan struct{}, process, host *net.TCPConn) {
	ticker := time.NewTicker(relayInterval)
	defer ticker.Stop()
	for {
		select {
		case <-answered:
			return
		case <-ticker.C:
			if isGone(process) {
				reset(host)
				return
			}
		}
	}
}

// isGone reports whether a connection is dissolved.
func isGone(conn *net.TCPConn) bool {
	gone := true
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			gone = err != nil || info.State == tcpClosed
		})
	}
	return gone
}

// tcpClosed is TCP_CLOSE of the kernel.
const tcpClosed = 7
