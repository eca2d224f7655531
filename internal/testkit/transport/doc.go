// Package transport is the suite that every way between a client and a server passes, and the toolbox that it calls.
// Package interop/interoptest publishes both.
package transport
