package replica

import (
	"context"
	"net"
	"time"
)

// MaxSilence is short in tests. An owner hangs after this time and one question without an answer.
const MaxSilence = time.Second

func init() { askInterval, maxSilence = 50*time.Millisecond, MaxSilence }

// Dial connects to a peer as Forward does.
func Dial(c *Credentials) func(ctx context.Context, network, address string) (net.Conn, error) {
	r := &Replica{opts: Options{Credentials: c}}
	return r.dialTLS(&net.Dialer{})
}

// Recheck makes credentials look at their files at the next use.
func Recheck(all ...*Credentials) {
	for _, c := range all {
		c.mu.Lock()
		c.checked = time.Time{}
		c.mu.Unlock()
	}
}

// Finder returns a function that finds the address of a replica of a service.
func Finder(own, name string, lookup func(context.Context, string) ([]*net.SRV, error)) func(context.Context, string) string {
	p := &peers{}
	_ = p.set(&Options{Name: own, Peers: []Peer{{Service: name}}, LookupSRV: lookup})
	return func(ctx context.Context, replica string) string {
		address, _ := p.address(ctx, replica)
		return address
	}
}
