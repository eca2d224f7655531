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

// clientTransport is where clients come in.
type clientTransport struct {
	name string // in the ledger
	// addr is where other machines reach it; "": they do not, or it is one client's stdin and stdout.
	addr string
	// local is where programs of this machine reach it: a scheme and a host; "": stdin and stdout.
	local string
	// close ends what listens, where it is not served.
	close func()
	// serve blocks until ctx ends, and then until the gateway has, or until the one client has
	// closed its end. [context.DeadlineExceeded] says that calls were given up.
	serve func(ctx context.Context, g *gateway.Gateway, token bool, s show.Streams) error
}

// transport is the one that the flags ask for. Whatever is wrong with it is known
// before any server starts.
func (f *serveFlags) transport() (*clientTransport, error) {
	if f.stdio {
		return &clientTransport{name: "indus serve --stdio", close: func() {}, serve: serveStdio}, nil
	}
	l, err := listen(f.addr)
	if err != nil {
		return nil, err
	}
	addr, reached := l.Addr().(*net.TCPAddr), ""
	if !addr.IP.IsLoopback() {
		reached = addr.String()
	}
	if addr.IP.IsUnspecified() { // clients on this machine write
		addr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: addr.Port}
	}
	local := "http://" + addr.String()
	url := local + "/mcp"
	serve := func(ctx context.Context, g *gateway.Gateway, token bool, s show.Streams) error {
		reportAddress(url, token, s)
		return g.Run(ctx, l)
	}
	return &clientTransport{"indus serve at " + url, reached, local, func() { l.Close() }, serve}, nil
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

func listen(addr string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, command.Usagef("--addr %q: %w; write HOST:PORT, such as %s", addr, err, defaultAddr)
	}
	l, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%w; is another indus serving there? --addr takes another HOST:PORT", err)
	case errors.As(err, new(*net.DNSError)), errors.As(err, new(*net.AddrError)):
		return nil, command.Usagef("--addr %q: %w; write HOST:PORT, such as %s", addr, err, defaultAddr)
	}
	return l, err
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
