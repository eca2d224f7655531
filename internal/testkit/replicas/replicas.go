// Package replicas runs several gateways that serve the same clients, behind a plain load balancer.
package replicas

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/replica"
)

// Site is several replicas behind a balancer.
type Site struct {
	*Balancer
	Members []*Member
}

// Member is one replica. Its addresses stay when it is started again.
type Member struct {
	Name, URL string

	t             testing.TB
	open          Open
	clients, peer string // addresses
	keys          *host.Keys
	options       replica.Options

	mu      sync.Mutex
	gateway *gateway.Gateway
	end     context.CancelFunc
	ended   chan error
}

// Open opens the gateway of a replica. The options have the parts that all replicas need: Host.Keys, Host.Replica and
// Peers.
type Open func(name string, o *gateway.Options) *gateway.Gateway

// Start starts n replicas, named a, b and so on.
func Start(t testing.TB, n int, keys *host.Keys, open Open) *Site {
	t.Helper()
	path := filepath.Join(t.TempDir(), "peer.keys")
	if err := os.WriteFile(path, []byte(sealed.NewKeyText()), 0o600); err != nil {
		t.Fatal(err)
	}
	var peers []replica.Peer
	site := &Site{}
	for i := range n {
		m := &Member{Name: string(rune('a' + i)), t: t, open: open, keys: keys}
		m.clients, m.peer = fixture.FreeAddr(t), fixture.FreeAddr(t)
		m.URL = "http://" + m.clients
		peers = append(peers, replica.Peer{Name: m.Name, Address: m.peer})
		site.Members = append(site.Members, m)
	}
	for _, m := range site.Members {
		remote := &identity.Remote{}
		m.options = replica.Options{
			Name: m.Name, Credentials: replica.KeyFile(path), Peers: peers, Claims: remote.Claims, Restore: remote.Restore,
		}
		m.Start()
	}
	site.Balancer = NewBalancer(t, site.URLs()...)
	site.WaitReady(t, n)
	t.Cleanup(func() {
		for _, m := range site.Members {
			_ = m.Stop()
		}
	})
	return site
}

// Start starts the replica. It may have been stopped before.
func (m *Member) Start() {
	m.t.Helper()
	own, err := replica.New(&m.options)
	if err != nil {
		m.t.Fatal(err)
	}
	clients, err := net.Listen("tcp", m.clients)
	if err != nil {
		m.t.Fatal(err)
	}
	peers, err := net.Listen("tcp", m.peer)
	if err != nil {
		m.t.Fatal(err)
	}
	g := m.open(m.Name, &gateway.Options{Host: host.Options{Keys: m.keys, Replica: own}, Peers: peers})
	ctx, cancel := context.WithCancel(context.Background())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gateway, m.end, m.ended = g, cancel, make(chan error, 1)
	ended := m.ended
	go func() { ended <- g.Run(ctx, clients) }()
}

// Serve serves one gateway to clients, and to replicas at an address. It returns the URL for clients.
func Serve(t testing.TB, peer string, open func(*gateway.Options) *gateway.Gateway) (url string) {
	t.Helper()
	clients, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	peers, err := net.Listen("tcp", peer)
	if err != nil {
		t.Fatal(err)
	}
	g := open(&gateway.Options{Peers: peers})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx, clients) }()
	t.Cleanup(func() { cancel(); <-ended })
	return "http://" + clients.Addr().String()
}

// Gateway returns the gateway of the replica.
func (m *Member) Gateway() *gateway.Gateway {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.gateway
}

// Stop stops the replica at once, and waits for calls in flight. It may be called twice.
func (m *Member) Stop() error {
	m.mu.Lock()
	end, ended := m.end, m.ended
	m.end = nil
	m.mu.Unlock()
	if end == nil {
		return nil
	}
	end()
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Minute):
		return fmt.Errorf("the replica %s does not stop", m.Name)
	}
}

// URLs returns the addresses of the replicas for clients.
func (s *Site) URLs() (urls []string) {
	for _, m := range s.Members {
		urls = append(urls, m.URL)
	}
	return urls
}
