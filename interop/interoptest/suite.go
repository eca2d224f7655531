package interoptest

import (
	"testing"

	"github.com/indusagi/indus/internal/testkit/transport"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// TestTransport tests a connection between client and server. Each requirement for a
// transport is a subtest:
//
//   - All pages are listed.
//   - Results, failures of tools and errors of the protocol arrive with every byte, except bytes of the hop.
//   - Progress arrives in order, and none after its result.
//   - A cancellation reaches the server.
//   - A change of a list is reported.
//   - 5 MiB pass in both directions.
//   - Many calls run at once.
//   - After the end nothing is left.
//
// open returns a client of a new server, with opts, to which it may add. It is called
// for each subtest. The server publishes [Tools]. The suite opens the endpoint, if it
// is not open, and closes it. The server ends with t.
func TestTransport(t *testing.T, open func(t *testing.T, opts *interop.EndpointOptions) *interop.Endpoint) {
	transport.Run(t, open)
}

// Tools returns the toolbox that a server has to publish for [TestTransport]. Each
// result has its own state and is for one server.
func Tools() toolbox.Source { return transport.Tools() }
