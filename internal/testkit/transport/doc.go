// Package transport contains the test suite for transports between a client and a server, and the toolbox that it
// calls. Package interop/interoptest publishes both.
package transport
