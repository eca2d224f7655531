package broker

import (
	"net"
	"time"
)

// SetResolver sets the resolver for permitted names.
func (b *Broker) SetResolver(r *net.Resolver) { b.dialer.Resolver = r }

// LimitDial sets the time limit for a connection to a host.
func (b *Broker) LimitDial(limit time.Duration) { b.dialer.Timeout = limit }

// Gate returns the address of the gate.
func (b *Broker) Gate() string { return b.gateAddress.String() }

// AnswerQuery answers a message of DNS.
func (b *Broker) AnswerQuery(query []byte) ([]byte, error) { return b.answerQuery(query, "test") }

// Slots returns the number of connections through the gate.
func (b *Broker) Slots() int { return len(b.slots) }

// ParseSockaddr decodes an address.
func ParseSockaddr(b []byte) error {
	_, err := parseSockaddr(b)
	return err
}
