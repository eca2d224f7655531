package replica

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Peer is another replica, or a name in DNS that lists replicas.
type Peer struct {
	// Name is the name of the replica. It is "" if Service is set.
	Name string
	// Address is the HOST:PORT of its listener for replicas.
	Address string
	// Service is a name with SRV records, one for each replica. The first label of a target is the name of the replica.
	Service string
}

// servicePrefix distinguishes a service from a replica in the text of a peer.
const servicePrefix = "dns+srv:"

// ParsePeer reads NAME=HOST:PORT, or dns+srv:NAME.
func ParsePeer(text string) (Peer, error) {
	if service, ok := strings.CutPrefix(text, servicePrefix); ok {
		if service == "" || strings.ContainsAny(service, " /:=") {
			return Peer{}, fmt.Errorf("write %sNAME, such as %s_peer._tcp.indus", servicePrefix, servicePrefix)
		}
		return Peer{Service: service}, nil
	}
	name, address, _ := strings.Cut(text, "=")
	if !isName(name) {
		return Peer{}, nameError(name)
	}
	if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
		return Peer{}, errors.New("write NAME=HOST:PORT, such as a=10.0.0.1:7333")
	}
	return Peer{Name: name, Address: address}, nil
}

const (
	// lookupInterval is the time after which the targets of a service are looked up again, and lookupRetry the time after
	// which they are if a replica is not among them.
	lookupInterval = 10 * time.Second
	lookupRetry    = time.Second
)

// peers finds the addresses of replicas.
type peers struct {
	members  func(name string) string
	lookup   func(ctx context.Context, name string) ([]*net.SRV, error)
	fixed    map[string]string // addresses by name
	services []*dnsName
}

// dnsName is a name in DNS, with its replicas.
type dnsName struct {
	name string

	mu       sync.Mutex // held while the name is looked up
	looked   time.Time
	replicas map[string]string // addresses by name
}

func (p *peers) set(o *Options) error {
	p.lookup, p.members, p.fixed = o.LookupSRV, o.Members, map[string]string{}
	if p.lookup == nil {
		p.lookup = func(ctx context.Context, name string) ([]*net.SRV, error) {
			_, all, err := net.DefaultResolver.LookupSRV(ctx, "", "", name)
			return all, err
		}
	}
	for _, peer := range o.Peers {
		switch known, ok := p.fixed[peer.Name]; {
		case peer.Service != "":
			p.services = append(p.services, &dnsName{name: peer.Service})
		case !isName(peer.Name):
			return nameError(peer.Name)
		case ok && known != peer.Address:
			return fmt.Errorf("the peer %s has two addresses: %s and %s", peer.Name, known, peer.Address)
		default:
			p.fixed[peer.Name] = peer.Address
		}
	}
	return nil
}

// address returns the address of a replica, or an error if it is not among the peers.
func (p *peers) address(ctx context.Context, name string) (string, error) {
	if address, ok := p.fixed[name]; ok {
		return address, nil
	}
	if p.members != nil {
		if address := p.members(name); address != "" {
			return address, nil
		}
	}
	var failed []error
	for _, s := range p.services {
		address, err := s.address(ctx, name, p.lookup)
		if address != "" {
			return address, nil
		}
		failed = append(failed, err)
	}
	return "", errors.Join(append(failed, errors.New("it is not among the peers"))...)
}

// address looks the service up again if that is due. If DNS fails, the previous targets stay.
func (s *dnsName) address(
	ctx context.Context, name string, lookup func(context.Context, string) ([]*net.SRV, error),
) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := time.Since(s.looked)
	isKnown := s.replicas[name] != ""
	if isKnown && age < lookupInterval || !isKnown && age < lookupRetry && !s.looked.IsZero() {
		return s.replicas[name], nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	targets, err := lookup(ctx, s.name)
	if ctx.Err() == nil { // else the client has left, or DNS is slow: the next request tries again
		s.looked = time.Now()
	}
	if err != nil {
		return s.replicas[name], err
	}
	s.replicas = map[string]string{}
	for _, t := range slices.Backward(targets) { // of two targets with one name, the preferred one
		host := strings.TrimSuffix(t.Target, ".")
		label, _, _ := strings.Cut(host, ".")
		if isName(label) && t.Port != 0 {
			s.replicas[label] = net.JoinHostPort(host, strconv.Itoa(int(t.Port)))
		}
	}
	return s.replicas[name], nil
}
