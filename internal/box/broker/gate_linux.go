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
	stop := context.AfterFunc(b.ctx, func() { _ = conn.Close() })
	return &entry{conn, programOf(c.tid), sync.OnceFunc(func() {
		stop()
		_ = conn.Close()
		<-b.slots
	})}, nil
}

func (c *call) passAlone() (*net.TCPConn, error) {
	to := c.sockaddr(c.b.gateAddress, 0)
	err := c.attempt(to)
	unfinished := err == unix.EINPROGRESS || err == unix.EINTR
	if err != nil && !unfinished {
		return nil, err
	}
	if err == nil && !c.isAtGate() { // an earlier connect to another host has ended
		return nil, unix.EISCONN
	}
	conn, err := c.acceptOwn()
	if err == nil && unfinished {
		if err = c.attempt(to); err != nil { // ends the state of connecting
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

// relay copies in both directions until both have ended. The end of one direction is passed on, and an error ends both.
func (b *Broker) relay(process, host *net.TCPConn) {
	defer host.Close()
	defer context.AfterFunc(b.ctx, func() { _ = host.Close() })()
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
	var back sync.WaitGroup
	back.Go(func() { pump(process, host) })
	pump(host, process)
	back.Wait()
}
