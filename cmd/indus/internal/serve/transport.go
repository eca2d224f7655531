package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/gateway"
)

// defaultAddr is the default address, reachable only from this machine.
const defaultAddr = "127.0.0.1:7332"

// clientTransport is the transport of clients: an address, or stdin and stdout.
type clientTransport struct {
	addr       *net.TCPAddr // nil for stdin and stdout
	remoteAddr string       // the address for other machines, or "" if there is none
	// The fields below are set by listen, which runs last, after all flags and files are checked.
	listener net.Listener
	local    string // the scheme and host for programs of this machine
	announce func() // reports the page for operators; nil: there is none
}

// transport returns the transport that the flags select.
func (f *serveFlags) transport() (*clientTransport, error) {
	if f.stdio {
		return &clientTransport{}, nil
	}
	_, _, err := net.SplitHostPort(f.addr)
	t := &clientTransport{}
	if err == nil {
		t.addr, err = net.ResolveTCPAddr("tcp", f.addr)
	}
	if err != nil {
		return nil, command.Usagef("--addr %q: %w; write HOST:PORT, such as %s", f.addr, err, defaultAddr)
	}
	if !t.addr.IP.IsLoopback() {
		t.remoteAddr = f.addr
	}
	return t, nil
}

// listen opens the listener, if there is an address.
func (t *clientTransport) listen() error {
	if t.addr == nil {
		return nil
	}
	l, err := net.ListenTCP("tcp", t.addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w; is another indus serving there? --addr takes another HOST:PORT", err)
	case err != nil:
		return err
	}
	at := l.Addr().(*net.TCPAddr)
	if at.IP.IsUnspecified() { // an address that local clients can use
		at = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: at.Port}
	}
	t.listener, t.local = l, "http://"+at.String()
	return nil
}

// close closes the listener if it is not being served.
func (t *clientTransport) close() {
	if t.listener != nil {
		t.listener.Close()
	}
}

// name returns the name of this process in the ledger.
func (t *clientTransport) name() string {
	if t.listener == nil {
		return "indus serve --stdio"
	}
	return "indus serve at " + t.local + "/mcp"
}

// serve blocks until ctx ends and the gateway has stopped, or until the client on stdin closes it. If calls were
// aborted, the error is [context.DeadlineExceeded]. connect is the command that connects a client.
func (t *clientTransport) serve(ctx context.Context, g *gateway.Gateway, connect string, s show.Streams) error {
	if t.listener == nil {
		return serveStdio(ctx, g, connect, s)
	}
	s.Reportf("serving at %s/mcp", t.local)
	s.Reportf("to connect a client: %s", connect)
	if t.announce != nil {
		t.announce()
	}
	notifyService(serviceReady, s)
	defer inBackground(ctx, func(ended context.Context) {
		<-ended.Done()
		notifyService(serviceStopping, s)
	})()
	return g.Run(ctx, t.listener)
}

// checkReach reports that other machines can connect. If every client could, it refuses this unless the flags allow it.
func (f *serveFlags) checkReach(t *clientTransport, token bool, s show.Streams) error {
	switch {
	case t.remoteAddr == "":
	case token:
		s.Reportf(
			"%s can be reached from other machines, and its token is sent unencrypted: use a proxy with TLS in front of it",
			t.remoteAddr)
	case f.insecure:
		s.Reportf("warning: %s can be reached from other machines, and every client that reaches it may call every tool",
			t.remoteAddr)
	default:
		return command.Usagef(
			"--addr %s can be reached from other machines: ask for a token with --auth keys, --token-file FILE or $%s, or "+
				"let everyone in with --insecure", f.addr, tokenVariable)
	}
	return nil
}

// serveStdio serves the one client on stdin and stdout.
func serveStdio(ctx context.Context, g *gateway.Gateway, connect string, s show.Streams) error {
	if _, ok := show.Terminal(s.In); ok {
		s.Reportf("serving on stdin and stdout, which a client is meant to hold; to connect one: %s", connect)
	}
	ended := make(chan error, 1)
	unused := context.AfterFunc(ctx, func() { ended <- g.Stop() })
	err := g.ServeStdio(context.WithoutCancel(ctx))
	if unused() {
		return err
	}
	return cmp.Or(<-ended, err)
}

// States of the protocol of sd_notify(3).
const (
	serviceReady    = "READY=1"
	serviceStopping = "STOPPING=1"
)

// notifyService sends a state to the service manager that started this process with a socket for it, such as systemd
// with Type=notify. Without a socket it does nothing.
func notifyService(state string, s show.Streams) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	c, err := net.Dial("unixgram", socket) // a leading @ stands for an abstract address
	if err == nil {
		defer c.Close()
		_, err = c.Write([]byte(state))
	}
	if err != nil {
		s.Reportf("the service manager does not get %s: %v; its NOTIFY_SOCKET must be a datagram socket", state, err)
	}
}
