package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

const (
	// maxConnections limits the connections of all processes of a broker through the gate. Each needs two descriptors.
	maxConnections = 512
	// maxCalls limits the notifications that are answered at the same time. The kernel queues the others.
	maxCalls = 256
	// dialTimeout limits the time to look up a name and to connect to one of its addresses.
	dialTimeout = 30 * time.Second
	// closeTimeout limits Close. A hostile process can delay a system call of the broker on its own socket.
	closeTimeout = 5 * time.Second
)

// Broker connects the sockets of confined processes. Use [New].
type Broker struct {
	rules       compiled
	names       names
	reports     reports
	dialer      net.Dialer
	gate        *net.TCPListener
	gateAddress netip.AddrPort
	entering    sync.Mutex    // held while a socket enters the gate
	slots       chan struct{} // one for each connection through the gate
	proxy       *proxy
	repeats     bool // connect may be repeated
	listening   listening
	limits      [64]sync.Mutex // held while the limit of a socket is changed

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// New opens the gate. The function is called for each connection that is refused. It may be nil.
func New(r Rules, denied func(Denial)) (*Broker, error) {
	rules, err := compile(r)
	if err != nil {
		return nil, err
	}
	gate, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("no port for the resolver and the proxy: %w", err)
	}
	b := &Broker{
		repeats: callsRepeat(), rules: rules, reports: reports{denied: denied}, slots: make(chan struct{}, maxConnections),
		gate: gate, gateAddress: gate.Addr().(*net.TCPAddr).AddrPort(),
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.dialer = net.Dialer{Timeout: dialTimeout, ControlContext: b.checkDial}
	b.proxy = newProxy(b)
	b.start(b.proxy.serve)
	return b, nil
}

// Environ returns the variables for the processes: the C library asks its resolver over TCP, and programs with an
// own resolver use the proxy. ALL_PROXY has no scheme of SOCKS, because some libraries refuse such a value.
func (b *Broker) Environ() []string {
	url := "http://" + b.gateAddress.String()
	env := []string{"RES_OPTIONS=use-vc", "LOCALDOMAIN=.", "NODE_USE_ENV_PROXY=1"}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		env = append(env, name+"="+url)
	}
	return append(env, "NO_PROXY=localhost,127.0.0.1", "no_proxy=localhost,127.0.0.1")
}

// start runs a function in a goroutine that Close waits for. It reports whether the broker is open.
func (b *Broker) start(run func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.running.Go(run)
	return true
}

// Close closes the gate with all its connections, and all listeners. It may be called more than once.
func (b *Broker) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel()
	_ = b.gate.Close()
	b.proxy.close()
	done := make(chan struct{})
	go func() {
		b.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(closeTimeout):
		return errors.New("a process delays a call on its socket")
	}
}

// refusedError is the error of a permitted name whose address must not be dialled.
type refusedError struct{ address, reason string }

func (e *refusedError) Error() string { return e.address + " is " + e.reason }

// checkDial checks each address after the name is resolved, right before the connection. There is no second look-up.
func (b *Broker) checkDial(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if reason := b.rules.refusalOf(at); reason != "" {
		return &refusedError{address, reason}
	}
	return nil
}

// dial connects to a permitted host, and reports a refused address.
func (b *Broker) dial(ctx context.Context, target, program string) (*net.TCPConn, error) {
	conn, err := b.dialer.DialContext(ctx, "tcp", target)
	if err != nil {
		if refused, ok := errors.AsType[*refusedError](err); ok {
			b.reports.add(Denial{What: DeniedHost, Target: target, Reason: refused.Error(), Program: program})
		}
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}
