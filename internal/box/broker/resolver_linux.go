package broker

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	// maxAddresses limits the addresses with names. A row with a wildcard permits any number of names.
	maxAddresses = 8192
	// maxAnswers limits the addresses of one answer.
	maxAnswers = 32
	// queryTimeout limits the time for a query to arrive, or for its answer to leave.
	queryTimeout = 10 * time.Second
	// lookUpTimeout limits the time to look up a name.
	lookUpTimeout = 10 * time.Second
	// answerTTL is the time for which an answer may be kept. The library of a process asks for each kind of address.
	answerTTL = 10 * time.Second
)

// names holds the addresses of the permitted names that processes have looked up.
type names struct {
	mu        sync.Mutex
	byAddress map[netip.Addr][]string
	recent    map[string]answer
}

// answer has the addresses of a name.
type answer struct {
	addresses []netip.Addr
	code      dnsmessage.RCode
	until     time.Time
}

// of returns the names of an address.
func (n *names) of(a netip.Addr) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.byAddress[a])
}

// add remembers the addresses of a name. It reports whether there was room for all.
func (n *names) add(name string, a answer) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.byAddress == nil {
		n.byAddress = map[netip.Addr][]string{}
	}
	if n.recent == nil || len(n.recent) >= maxAddresses {
		n.recent = map[string]answer{}
	}
	for _, address := range a.addresses {
		list := n.byAddress[address]
		if slices.Contains(list, name) {
			continue
		}
		if len(n.byAddress) >= maxAddresses || len(list) >= maxAnswers {
			return false
		}
		n.byAddress[address] = append(list, name)
	}
	n.recent[name] = a
	return true
}

// kept returns the last answer for a name, while it may be kept.
func (n *names) kept(name string) (answer, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a, ok := n.recent[name]
	return a, ok && time.Now().Before(a.until)
}

// resolve answers the queries of one connection (RFC 1035 section 4.2.2). A message that is no query ends it.
func (b *Broker) resolve(e *entry) {
	message := make([]byte, 2+1<<16)
	for {
		if e.SetDeadline(time.Now().Add(queryTimeout)) != nil {
			return
		}
		if _, err := io.ReadFull(e.TCPConn, message[:2]); err != nil {
			return
		}
		query := message[2 : 2+int(binary.BigEndian.Uint16(message))]
		if _, err := io.ReadFull(e.TCPConn, query); err != nil {
			return
		}
		reply, err := b.answerQuery(query, e.program)
		if err != nil || e.SetDeadline(time.Now().Add(queryTimeout)) != nil {
			return
		}
		if _, err := e.TCPConn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

// answerQuery returns the reply to a query. It fails if the message is none.
func (b *Broker) answerQuery(query []byte, program string) ([]byte, error) {
	var parser dnsmessage.Parser
	header, err := parser.Start(query)
	if err != nil {
		return nil, err
	}
	if header.Response {
		return nil, errors.New("not a query")
	}
	reply := dnsmessage.Message{Header: dnsmessage.Header{ID: header.ID, Response: true, OpCode: header.OpCode,
		RecursionDesired: header.RecursionDesired, RecursionAvailable: true}}
	question, err := parser.Question()
	_, more := parser.Question()
	switch {
	case header.OpCode != 0:
		reply.RCode = dnsmessage.RCodeNotImplemented
	case err != nil || !errors.Is(more, dnsmessage.ErrSectionDone):
		reply.RCode = dnsmessage.RCodeFormatError
	case question.Class != dnsmessage.ClassINET:
		reply.RCode = dnsmessage.RCodeRefused
	default:
		reply.Questions = []dnsmessage.Question{question}
		a := b.lookUp(canonicalName(question.Name.String()), program)
		reply.RCode, reply.Answers = a.code, a.resources(question)
	}
	return reply.Pack()
}

// resources returns the addresses of the kind that a question asks for.
func (a answer) resources(q dnsmessage.Question) (list []dnsmessage.Resource) {
	header := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: uint32(answerTTL.Seconds())}
	for _, address := range a.addresses {
		switch {
		case q.Type == dnsmessage.TypeA && address.Is4():
			list = append(list, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: address.As4()}})
		case q.Type == dnsmessage.TypeAAAA && address.Is6():
			list = append(list, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}})
		}
	}
	return list
}

// lookUp returns the addresses of a permitted name. Other names do not exist.
func (b *Broker) lookUp(name, program string) answer {
	switch {
	case name == localhost:
		return answer{addresses: []netip.Addr{loopbackLike(netip.IPv4Unspecified()), netip.IPv6Loopback()}}
	case !isName(name) || strings.HasSuffix(name, ".arpa"): // no host, and not worth a report
		return answer{code: dnsmessage.RCodeNameError}
	case !b.rules.permitsName(name):
		b.reports.add(Denial{What: DeniedHost, Target: name, Program: program})
		return answer{code: dnsmessage.RCodeNameError}
	}
	if a, ok := b.names.kept(name); ok {
		return a
	}
	ctx, cancel := context.WithTimeout(b.ctx, lookUpTimeout)
	defer cancel()
	resolver := b.dialer.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	found, err := resolver.LookupNetIP(ctx, "ip", name+".")
	a := answer{addresses: routed(found), until: time.Now().Add(answerTTL)}
	if err != nil {
		a.code = dnsmessage.RCodeServerFailure
		if missing, ok := errors.AsType[*net.DNSError](err); ok && missing.IsNotFound {
			a.code = dnsmessage.RCodeNameError
		}
	} else if !b.names.add(name, a) {
		return answer{code: dnsmessage.RCodeServerFailure}
	}
	return a
}

// routed returns the addresses to which this machine has a route, or all if it has none. A process cannot find that out
// itself: its library would connect UDP sockets.
func routed(found []netip.Addr) []netip.Addr {
	all := make([]netip.Addr, 0, maxAnswers)
	for _, a := range found[:min(len(found), maxAnswers)] {
		all = append(all, a.Unmap().WithZone(""))
	}
	usable := slices.DeleteFunc(slices.Clone(all), func(a netip.Addr) bool {
		conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, dnsPort))) // sends nothing
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	if len(usable) == 0 {
		return all
	}
	return usable
}
