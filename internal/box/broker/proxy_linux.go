package broker

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// requestTimeout limits the time for the first bytes of a request to the proxy.
	requestTimeout = 10 * time.Second
	// idleTimeout limits the time between two requests on one connection.
	idleTimeout = 5 * time.Minute
	// maxHeader limits the header of a request.
	maxHeader = 32 << 10
)

// proxy serves HTTP and SOCKS5 for programs with a resolver of their own.
type proxy struct {
	b       *Broker
	server  *http.Server
	forward *httputil.ReverseProxy
	arrived chan net.Conn
}

// programKey is the key of a request's program in its context.
type programKey struct{}

func newProxy(b *Broker) *proxy {
	p := &proxy{b: b, arrived: make(chan net.Conn)}
	p.forward = &httputil.ReverseProxy{
		Rewrite:       func(*httputil.ProxyRequest) {},
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
				program, _ := ctx.Value(programKey{}).(string)
				return b.dial(ctx, address, program)
			},
			DisableCompression: true,
			DisableKeepAlives:  true,
		},
	}
	p.server = &http.Server{
		Handler:           p,
		ReadHeaderTimeout: requestTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, programKey{}, conn.(*served).program)
		},
	}
	return p
}

// serve serves HTTP until the broker is closed.
func (p *proxy) serve() { _ = p.server.Serve(p) }

func (p *proxy) close() { _ = p.server.Close() }

// Accept, Close and Addr make the proxy a listener of the connections that accept has found to be HTTP.
func (p *proxy) Accept() (net.Conn, error) {
	select {
	case conn := <-p.arrived:
		return conn, nil
	case <-p.b.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (p *proxy) Close() error   { return nil }
func (p *proxy) Addr() net.Addr { return p.b.gate.Addr() }

// served is a connection of the HTTP server. Its end ends accept.
type served struct {
	*entry
	done context.CancelFunc
}

func (s *served) Close() error {
	defer s.done()
	return s.entry.Close()
}

// accept serves one connection through the gate.
func (p *proxy) accept(e *entry) {
	if e.SetReadDeadline(time.Now().Add(requestTimeout)) != nil {
		return
	}
	first, err := peek(e.TCPConn)
	if err != nil || e.SetReadDeadline(time.Time{}) != nil {
		return
	}
	if first == socksVersion {
		p.b.serveSOCKS(e)
		return
	}
	ctx, cancel := context.WithCancel(p.b.ctx)
	select {
	case p.arrived <- &served{e, cancel}:
		<-ctx.Done()
	case <-ctx.Done():
		cancel()
	}
}

// peek returns the first byte of a connection, and leaves it there.
func peek(conn *net.TCPConn) (first byte, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var b [1]byte
	var n int
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, _, failed = unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK)
		return failed != unix.EAGAIN && failed != unix.EINTR
	})
	if err == nil {
		err = failed
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	return b[0], err
}

// ServeHTTP serves CONNECT and requests with an absolute URL.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	program, _ := r.Context().Value(programKey{}).(string)
	address := r.Host
	if r.Method != http.MethodConnect {
		if r.URL.Scheme != "http" || r.URL.Host == "" {
			http.Error(w, "this is a proxy: it serves CONNECT and http:// URLs", http.StatusBadRequest)
			return
		}
		address = r.URL.Host
		if r.URL.Port() == "" {
			address = net.JoinHostPort(r.URL.Hostname(), "80")
		}
	}
	target, err := p.b.permit(address, program)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusForbidden)
	case r.Method == http.MethodConnect:
		p.connect(w, r.Context(), target, program)
	default:
		r.URL.Host = target
		p.forward.ServeHTTP(w, r)
	}
}

func (p *proxy) connect(w http.ResponseWriter, ctx context.Context, target, program string) {
	host, err := p.b.dial(ctx, target, program)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = host.Close()
		return
	}
	defer conn.Close()
	early := make([]byte, buffered.Reader.Buffered()) // sent before our answer
	_, _ = io.ReadFull(buffered.Reader, early)
	_, err = host.Write(early)
	if err == nil {
		_, err = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
	}
	if err != nil {
		_ = host.Close()
		return
	}
	p.b.relay(conn.(*served).TCPConn, host)
}

// permit returns the host and port to dial for an address that a program asks the proxy for.
func (b *Broker) permit(address, program string) (string, error) {
	h, err := ParseHost(address)
	if err != nil {
		return "", err
	}
	if !b.rules.covers(h) || h.name == anyName {
		b.reports.add(Denial{What: DeniedHost, Target: h.String(), Program: program})
		return "", errors.New(h.String() + ": not in the sandbox of this program")
	}
	return h.String(), nil
}

// The words of SOCKS5 (RFC 1928).
const (
	socksVersion   = 5
	socksConnect   = 1
	socksIPv4      = 1
	socksName      = 3
	socksIPv6      = 4
	socksOK        = 0
	socksFailed    = 1
	socksForbidden = 2
	socksRefused   = 5
	socksNoCommand = 7
	socksNoAddress = 8
)

// serveSOCKS serves one connection with SOCKS5: no authentication, and only CONNECT.
func (b *Broker) serveSOCKS(e *entry) {
	if e.SetReadDeadline(time.Now().Add(requestTimeout)) != nil {
		return
	}
	methods, err := readFields(e, 2, 1)
	if err != nil || methods[0] != socksVersion {
		return
	}
	if _, err := e.TCPConn.Write([]byte{socksVersion, 0}); err != nil {
		return
	}
	host, code := b.socksRequest(e)
	// The bound address of the answer is not used by clients.
	_, err = e.TCPConn.Write([]byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	if host == nil {
		return
	}
	if err != nil || e.SetReadDeadline(time.Time{}) != nil {
		_ = host.Close()
		return
	}
	b.relay(e.TCPConn, host)
}

// socksRequest reads a request and connects to its host. The connection is nil if the code is not socksOK.
func (b *Broker) socksRequest(e *entry) (*net.TCPConn, byte) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(e.TCPConn, head); err != nil || head[0] != socksVersion {
		return nil, socksFailed
	}
	var name string
	switch head[3] {
	case socksIPv4, socksIPv6:
		address := make([]byte, map[byte]int{socksIPv4: net.IPv4len, socksIPv6: net.IPv6len}[head[3]])
		if _, err := io.ReadFull(e.TCPConn, address); err != nil {
			return nil, socksFailed
		}
		name = net.IP(address).String()
	case socksName:
		field, err := readFields(e, 1, 0)
		if err != nil {
			return nil, socksFailed
		}
		name = string(field[1:])
	default:
		return nil, socksNoAddress
	}
	port := make([]byte, 2)
	if _, err := io.ReadFull(e.TCPConn, port); err != nil {
		return nil, socksFailed
	}
	if head[1] != socksConnect {
		return nil, socksNoCommand
	}
	target, err := b.permit(net.JoinHostPort(name, strconv.Itoa(int(port[0])<<8|int(port[1]))), e.program)
	if err != nil {
		return nil, socksForbidden
	}
	host, err := b.dial(b.ctx, target, e.program)
	if _, ok := errors.AsType[*refusedError](err); ok {
		return nil, socksForbidden
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, socksRefused
	case err != nil:
		return nil, socksFailed
	}
	return host, socksOK
}

// readFields reads a head whose byte at the index is the number of bytes that follow it, and these bytes.
func readFields(e *entry, head, index int) ([]byte, error) {
	b := make([]byte, head, head+255)
	if _, err := io.ReadFull(e.TCPConn, b); err != nil {
		return nil, err
	}
	b = b[:head+int(b[index])]
	_, err := io.ReadFull(e.TCPConn, b[head:])
	return b, err
}
