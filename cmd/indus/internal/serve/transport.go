package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/gateway"
)

// defaultAddr is where indus serves: on this machine alone.
const defaultAddr = "127.0.0.1:7332"

// clientTransport is where clients come in. What follows open is known once that listens, which is last: until then flags and files
// may turn out to be wrong.
type clientTransport struct {
	// addr is where other machines reach it; "": they do not, or it is one client's stdin and stdout.
	addr string
	// open listens.
	open func() error

	name string // in the ledger
	// local is where programs of this machine reach it: a scheme and a host; "": stdin and stdout.
	local string
	// close ends what listens, where it is not served.
	close func()
	// serve blocks until ctx ends, and then until the gateway has, or until the one client has
	// closed its end. [context.DeadlineExceeded] says that calls were given up.
	serve func(ctx context.Context, g *gateway.Gateway, token bool, s show.Streams) error
}

// transport is the one that the flags ask for.
func (f *serveFlags) transport() (*clientTransport, error) {
	t := &clientTransport{name: "indus serve --stdio", open: func() error { return nil }, close: func() {}, serve: serveStdio}
	if f.stdio {
		return t, nil
	}
	if _, _, err := net.SplitHostPort(f.addr); err != nil {
		return nil, addrError(f.addr, err)
	}
	addr, err := net.ResolveTCPAddr("tcp", f.addr)
	if err != nil {
		return nil, addrError(f.addr, err)
	}
	if !addr.IP.IsLoopback() {
		t.addr = f.addr
	}
	t.open = func() error { return t.listen(addr) }
	return t, nil
}

func addrError(addr string, err error) error {
	return command.Usagef("--addr %q: %w; write HOST:PORT, such as %s", addr, err, defaultAddr)
}

func (t *clientTransport) listen(addr *net.TCPAddr) error {
	l, err := net.ListenTCP("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w; is another indus serving there? --addr takes another HOST:PORT", err)
	case err != nil:
		return err
	}
	at := l.Addr().(*net.TCPAddr)
	if at.IP.IsUnspecified() { // clients on this machine write
		at = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: at.Port}
	}
	t.local = "http://" + at.String()
	url := t.local + "/mcp"
	t.name, t.close = "indus serve at "+url, func() { l.Close() }
	t.serve = func(ctx context.Context, g *gateway.Gateway, token bool, s show.Streams) error {
		reportAddress(url, token, s)
		return g.Run(ctx, l)
	}
	return nil
}

// checkReach says who reaches it, and refuses that everyone does, unless the flags want that.
func (f *serveFlags) checkReach(t *clientTransport, token bool, s show.Streams) error {
	switch {
	case t.addr == "":
	case token:
		s.Reportf("%s can be reached from other machines, with a token that travels unencrypted: put a proxy with TLS before it", t.addr)
	case f.insecure:
		s.Reportf("warning: %s can be reached from other machines, and whoever reaches it may call every tool", t.addr)
	default:
		return command.Usagef("--addr %s can be reached from other machines: ask for a token with --auth keys, --token-file FILE or $%s, or let everyone in with --insecure", f.addr, tokenVariable)
	}
	return nil
}

// serveStdio serves stdin and stdout: one client.
func serveStdio(ctx context.Context, g *gateway.Gateway, _ bool, s show.Streams) error {
	if _, ok := show.Terminal(s.In); ok {
		s.Reportf("serving on stdin and stdout, which a client is meant to hold; to connect one:\n" +
			"  claude mcp add indus -- indus serve --stdio\n" +
			`  {"mcpServers":{"indus":{"command":"indus","args":["serve","--stdio"]}}}`)
	}
	ended := make(chan error, 1)
	unused := context.AfterFunc(ctx, func() { ended <- g.Stop() })
	err := g.ServeStdio(context.WithoutCancel(ctx))
	if unused() {
		return err
	}
	return cmp.Or(<-ended, err)
}

// reportAddress says where clients connect, who may have to send a token, and how.
func reportAddress(url string, token bool, s show.Streams) {
	s.Reportf("serving at %s", url)
	flag, headers := "", ""
	if token {
		flag, headers = ` --header "Authorization: Bearer ${`+tokenVariable+`}"`, `,"headers":{"Authorization":"Bearer ${`+tokenVariable+`}"}`
	}
	s.Reportf("to connect a client:\n  claude mcp add --transport http indus %s%s\n"+
		`  {"mcpServers":{"indus":{"type":"http","url":"%s"%s}}}`, url, flag, url, headers)
}
