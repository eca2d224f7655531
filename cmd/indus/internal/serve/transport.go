package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/toolbox"
)

// defaultAddr is where indus serves: on this machine alone.
const defaultAddr = "127.0.0.1:7332"

// shutdownWait bounds how long answers that are being written are waited for.
const shutdownWait = 5 * time.Second

// clientTransport is where clients come in.
type clientTransport struct {
	name      string                                         // in the ledger
	principal func(*http.Request) (toolbox.Principal, error) // nil: everyone is the local user
	// serve blocks until ctx ends, and then until stop has ended the host, or until the
	// one client has closed its end.
	serve func(ctx context.Context, h *host.Host, stop func(), s show.Streams) error
}

// transport is the one that the flags ask for. Whatever is wrong with it is known
// before any server starts.
func (f *serveFlags) transport(ctx context.Context, s show.Streams) (*clientTransport, error) {
	if f.stdio {
		return &clientTransport{name: "indus serve --stdio", serve: serveStdio}, nil
	}
	principal, err := f.admission.principal(ctx, s)
	if err != nil {
		return nil, err
	}
	l, err := listen(f.addr)
	if err != nil {
		return nil, err
	}
	addr := l.Addr().(*net.TCPAddr)
	switch {
	case addr.IP.IsLoopback():
	case principal != nil:
		s.Reportf("%s can be reached from other machines, with a token that travels unencrypted: put a proxy with TLS before it", addr)
	case f.insecure:
		s.Reportf("warning: %s can be reached from other machines, and whoever reaches it may call every tool", addr)
	default:
		l.Close()
		return nil, command.Usagef("--addr %s can be reached from other machines: ask for a token with --token-file FILE or $%s, or let everyone in with --insecure", f.addr, tokenVariable)
	}
	if addr.IP.IsUnspecified() { // clients on this machine write
		addr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: addr.Port}
	}
	url := "http://" + addr.String() + "/mcp"
	serve := func(ctx context.Context, h *host.Host, stop func(), s show.Streams) error {
		return serveHTTP(ctx, l, url, principal != nil, h, stop, s)
	}
	return &clientTransport{"indus serve at " + url, principal, serve}, nil
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
func serveStdio(ctx context.Context, h *host.Host, stop func(), s show.Streams) error {
	if _, ok := show.Terminal(s.In); ok {
		s.Reportf("serving on stdin and stdout, which a client is meant to hold; to connect one:\n" +
			"  claude mcp add indus -- indus serve --stdio\n" +
			`  {"mcpServers":{"indus":{"command":"indus","args":["serve","--stdio"]}}}`)
	}
	defer stopAfter(ctx, stop)()
	return h.ServeStdio(context.WithoutCancel(ctx))
}

// serveHTTP serves a port: any number of clients, which may have to send a token.
func serveHTTP(ctx context.Context, l net.Listener, url string, token bool, h *host.Host, stop func(), s show.Streams) error {
	mux := http.NewServeMux()
	mux.Handle("/mcp", h.Handler())
	server := &http.Server{ // whom nobody has admitted yet holds little, and not for long
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	s.Reportf("serving at %s", url)
	flag, headers := "", ""
	if token {
		flag, headers = ` --header "Authorization: Bearer ${`+tokenVariable+`}"`, `,"headers":{"Authorization":"Bearer ${`+tokenVariable+`}"}`
	}
	s.Reportf("to connect a client:\n  claude mcp add --transport http indus %s%s\n"+
		`  {"mcpServers":{"indus":{"type":"http","url":"%s"%s}}}`, url, flag, url, headers)

	wait := stopAfter(ctx, func() {
		_ = l.Close() // clients that are connected learn of the end, or cancel their calls
		stop()        // ends the streams, for which Shutdown would wait
		end, cancel := context.WithTimeout(context.Background(), shutdownWait)
		defer cancel()
		if server.Shutdown(end) != nil {
			_ = server.Close()
		}
	})
	err := server.Serve(l)
	wait()
	if ctx.Err() != nil {
		return nil
	}
	return err // nobody asked it to end
}

// stopAfter calls stop when ctx ends, and wait waits for it if that was so.
func stopAfter(ctx context.Context, stop func()) (wait func()) {
	done := make(chan struct{})
	unused := context.AfterFunc(ctx, func() { defer close(done); stop() })
	return func() {
		if !unused() {
			<-done
		}
	}
}
