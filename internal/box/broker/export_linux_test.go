package broker

import "net"

// SetResolver sets the resolver for permitted names.
func (b *Broker) SetResolver(r *net.Resolver) { b.dialer.Resolver = r }

// OpenProcess returns a pidfd of the process of a thread.
var OpenProcess = openProcess

// RepeatCalls makes the broker expect interrupted calls.
func (b *Broker) RepeatCalls() { b.repeats = true }

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
