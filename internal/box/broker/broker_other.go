//go:build !linux

package broker

import (
	"errors"
	"os"
)

// Broker cannot run on this system.
type Broker struct{}

// New returns an error: only Linux has notifications of system calls.
func New(Rules, func(Denial)) (*Broker, error) {
	return nil, errors.New("hosts cannot be limited on this system: it has no notifications of system calls")
}

// Environ returns nil.
func (*Broker) Environ() []string { return nil }

// Serve closes the listener.
func (*Broker) Serve(listener *os.File) { _ = listener.Close() }

// Close does nothing.
func (*Broker) Close() error { return nil }
