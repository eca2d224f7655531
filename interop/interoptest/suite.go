package interoptest

import (
	"testing"

	"github.com/indusagi/indus/internal/testkit/transport"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// TestTransport tests a way between client and server, as a subtest for each
// thing that a transport must bring about: that all pages are listed; that
// results, failures of tools and errors of the protocol arrive, with every byte
// of them that is not the hop's own; progress in order and none after its
// result; a cancellation at the server; news of a changed list; 5 MiB in both
// directions; many calls at once; an end that leaves nothing behind.
//
// open gives a client of a new server, with opts, to which it may add; it is
// called for each subtest. The server publishes [Tools]. The suite opens the
// endpoint, if that has not been done, and closes it; the server ends with t.
func TestTransport(t *testing.T, open func(t *testing.T, opts *interop.EndpointOptions) *interop.Endpoint) {
	transport.Run(t, open)
}

// Tools is the toolbox that a server has to publish for [TestTransport]. Each
// one has a state of its own: it is for one server.
func Tools() toolbox.Source { return transport.Tools() }
