package broker

import (
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	// maxNames limits the names with an address. A row with a wildcard permits any number.
	maxNames = 4096
	// queryTimeout limits the time for a query to arrive, or for its answer to leave.
	queryTimeout = 10 * time.Second
	// answerTTL is the number of seconds for which an answer may be kept. Addresses of names do not change.
	answerTTL = 60
)

var errTooManyNames = errors.New("too many names")

// names holds the addresses that stand for names. A name keeps its address.
type names struct {
	mu        sync.Mutex
	byAddress map[netip.Addr]string
	byName    map[string]netip.Addr
	last      netip.Addr
}

// of returns the name of an address, or "".
func (n *names) of(a netip.Addr) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byAddress[a]
}

// address returns the address that stands for a name.
func (n *names) address(name string) (netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a, ok := n.byName[name]; ok {
		return a, nil
	}
	if len(n.byName) >= maxNames {
		return netip.Addr{}, errTooManyNames
	}
	if n.byName == nil {
		n.byName, n.byAddress, n.last = map[string]netip.Addr{}, map[netip.Addr]string{}, fakeNetwork.Addr()
	}
	n.last = n.last.Next()
	n.byName[name], n.byAddress[n.last] = n.last, name
	return n.last, nil
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
		answer, err := b.answerQuery(query, e.program)
		if err != nil {
			return
		}
		if _, err := e.TCPConn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// answerQuery returns the answer to a query. It fails if the message is none.
func (b *Broker) answerQuery(query []byte, program string) ([]byte, error) {
	var parser dnsmessage.Parser
	header, err := parser.Start(query)
	if err != nil {
		return nil, err
	}
	if header.Response {
		return nil, errors.New("not a query")
	}
	answer := dnsmessage.Message{Header: dnsmessage.Header{ID: header.ID, Response: true, OpCode: header.OpCode,
		RecursionDesired: header.RecursionDesired, RecursionAvailable: true}}
	question, err := parser.Question()
	_, more := parser.Question()
	switch {
	case header.OpCode != 0:
		answer.RCode = dnsmessage.RCodeNotImplemented
	case err != nil || !errors.Is(more, dnsmessage.ErrSectionDone):
		answer.RCode = dnsmessage.RCodeFormatError
	default:
		answer.Questions = []dnsmessage.Question{question}
		answer.RCode, answer.Answers = b.lookUp(question, program)
	}
	return answer.Pack()
}

// lookUp answers one question. Permitted names have one address of IPv4, and nothing else.
func (b *Broker) lookUp(q dnsmessage.Question, program string) (dnsmessage.RCode, []dnsmessage.Resource) {
	name := canonicalName(q.Name.String())
	header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: answerTTL}
	switch {
	case q.Class != dnsmessage.ClassINET:
		return dnsmessage.RCodeRefused, nil
	case name == localhost && q.Type == dnsmessage.TypeA:
		body := &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}
		return dnsmessage.RCodeSuccess, []dnsmessage.Resource{{Header: header, Body: body}}
	case name == localhost:
		return dnsmessage.RCodeSuccess, nil
	case !isName(name) || strings.HasSuffix(name, ".arpa"): // no host, and not worth a report
		return dnsmessage.RCodeNameError, nil
	case !b.rules.permitsName(name):
		b.reports.add(Denial{What: DeniedHost, Target: name, Program: program})
		return dnsmessage.RCodeNameError, nil
	case q.Type != dnsmessage.TypeA:
		return dnsmessage.RCodeSuccess, nil
	}
	a, err := b.names.address(name)
	if err != nil {
		return dnsmessage.RCodeServerFailure, nil
	}
	body := &dnsmessage.AResource{A: a.As4()}
	return dnsmessage.RCodeSuccess, []dnsmessage.Resource{{Header: header, Body: body}}
}
