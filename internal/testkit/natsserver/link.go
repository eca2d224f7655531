//go:build unix

package natsserver

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Link is a TCP proxy before an address. Each direction can be cut: then bytes wait, as they do in a network that is
// divided, and connections stay open.
type Link struct {
	Address     string
	delay       time.Duration
	there, back gate
}

// NewLink starts a link to an address. It ends with the test.
func NewLink(tb testing.TB, to string) *Link { return NewLongLink(tb, to, 0) }

// NewLongLink starts a link whose bytes take a time in each direction.
func NewLongLink(tb testing.TB, to string, delay time.Duration) *Link {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	l := &Link{Address: listener.Addr().String(), delay: delay}
	ended := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { l.serve(conn, to, ended) })
		}
	})
	tb.Cleanup(func() {
		close(ended)
		_ = listener.Close()
		l.Cut(false, false)
		running.Wait()
	})
	return l
}

// Cut stops the bytes to the address, the bytes from it, or both. Bytes that waited for a direction go on.
func (l *Link) Cut(there, back bool) {
	l.there.set(there)
	l.back.set(back)
}

func (l *Link) serve(near net.Conn, to string, ended <-chan struct{}) {
	far, err := net.Dial("tcp", to)
	if err != nil {
		_ = near.Close()
		return
	}
	done := make(chan struct{}, 2)
	var copying sync.WaitGroup
	copying.Go(func() { l.there.copy(far, near, l.delay); done <- struct{}{} })
	copying.Go(func() { l.back.copy(near, far, l.delay); done <- struct{}{} })
	select {
	case <-done:
	case <-ended:
	}
	_ = near.Close()
	_ = far.Close()
	copying.Wait()
}

// gate is a direction of a link.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // closed when the gate opens; nil: it is open
}

func (g *gate) set(cut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case cut && g.open == nil:
		g.open = make(chan struct{})
	case !cut && g.open != nil:
		close(g.open)
		g.open = nil
	}
}

// pass waits until the gate is open.
func (g *gate) pass() {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	if open != nil {
		<-open
	}
}

// copy copies bytes through the gate until one side ends, each after a delay.
func (g *gate) copy(to, from net.Conn, delay time.Duration) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		time.Sleep(delay)
		g.pass()
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}
