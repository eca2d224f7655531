package interoptest_test

import (
	"os"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/interoptest"
	"github.com/indusagi/indus/toolbox"
)

// opener is the type of the argument of TestTransport.
type opener func(*testing.T, *interop.EndpointOptions) *interop.Endpoint

// transport is one connection between client and server.
type transport struct {
	name string
	era  interop.Era
	open opener
}

// transports returns every transport, with our own host as the server if it supports
// it. It also returns each with the fixture, which shares no code with the bridge.
func transports() []transport {
	return []transport{
		{"memory, modern", interop.Modern, inMemory(interop.Modern)},
		{"memory, legacy", interop.Legacy, inMemory(interop.Legacy)},
		{"stdio, modern", interop.Modern, overStdio(interop.Modern)},
		{"stdio, legacy", interop.Legacy, overStdio(interop.Legacy)},
		{"HTTP, modern", interop.Modern, overHTTP(interop.Modern)},
		{"HTTP, legacy", interop.Legacy, overHTTP(interop.Legacy)},
		{"fixture, stdio, modern", interop.Modern, fixtureStdio("-era", "modern")},
		{"fixture, stdio, legacy", interop.Legacy, fixtureStdio("-era", "legacy", "-noise")},
		{"fixture, HTTP, modern", interop.Modern, fixtureHTTP("-era", "modern")},
		{"fixture, HTTP, legacy", interop.Legacy, fixtureHTTP("-era", "legacy")},
		{"fixture, HTTP with event streams, modern", interop.Modern, fixtureHTTP("-era", "modern", "-sse-answers")},
		{"fixture, HTTP with event streams, legacy", interop.Legacy, fixtureHTTP("-era", "legacy", "-sse-answers")},
		{"fixture, HTTP+SSE", interop.Legacy, fixtureSSE},
	}
}

func TestEveryTransportPasses(t *testing.T) {
	for _, tr := range transports() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			interoptest.TestTransport(t, tr.open)
		})
	}
}

// TestTransportsAreWhatTheySay detects a table that tests the same thing under many
// names.
func TestTransportsAreWhatTheySay(t *testing.T) {
	for _, tr := range transports() {
		client := tr.open(t, &interop.EndpointOptions{})
		if err := client.Open(t.Context()); err != nil {
			t.Errorf("%s: %v", tr.name, err)
		}
		if got := client.Era(); got != tr.era {
			t.Errorf("%s is of the era %q", tr.name, got)
		}
		client.Close()
	}
}

func inMemory(era interop.Era) opener {
	return func(t *testing.T, opts *interop.EndpointOptions) *interop.Endpoint {
		s := interoptest.Publish("memory", interoptest.Tools())
		t.Cleanup(s.Close)
		s.Era = era
		return s.Endpoint(opts)
	}
}

func overStdio(era interop.Era) opener {
	return func(t *testing.T, opts *interop.EndpointOptions) *interop.Endpoint {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		opts.Era = era
		return interop.NewEndpoint(config.Server{ID: "stdio", Transport: config.Stdio{
			Command: self, Env: []config.Pair{{Name: serveVariable, Value: config.NewSecret("1")}, {Name: "GORACE", Value: config.NewSecret("atexit_sleep_ms=0")}},
		}}, opts)
	}
}

func overHTTP(era interop.Era) opener {
	return func(t *testing.T, opts *interop.EndpointOptions) *interop.Endpoint {
		opts.Era = era
		url := serveHTTP(t, interoptest.Tools())
		return interop.NewEndpoint(config.Server{ID: "http", Transport: config.HTTP{URL: url}}, opts)
	}
}

// suiteFlags makes the fixture a server of the suite, which lists in pages.
func suiteFlags(t *testing.T, flags ...string) []string {
	r, err := interoptest.Tools().Do(t.Context(), toolbox.Call{Name: "fidelity"})
	if err != nil {
		t.Fatal(err)
	}
	return append(flags, "-page", "3", "-fidelity-file", fixture.File(t, string(r.Wire().JSON)))
}

func fixtureStdio(flags ...string) opener {
	return func(t *testing.T, opts *interop.EndpointOptions) *interop.Endpoint {
		f := fixture.New(t, suiteFlags(t, flags...)...)
		return interop.NewEndpoint(config.Server{ID: "fixture", Transport: config.Stdio{Command: f.Path, Args: f.Args}}, opts)
	}
}

func fixtureHTTP(flags ...string) opener {
	return func(t *testing.T, opts *interop.EndpointOptions) *interop.Endpoint {
		f := fixture.New(t, suiteFlags(t, flags...)...)
		return interop.NewEndpoint(config.Server{ID: "fixture", Transport: config.HTTP{URL: f.HTTP()}}, opts)
	}
}

func fixtureSSE(t *testing.T, opts *interop.EndpointOptions) *interop.Endpoint {
	f := fixture.New(t, suiteFlags(t, "-sse")...)
	return interop.NewEndpoint(config.Server{ID: "fixture", Transport: config.SSE{URL: f.HTTP()}}, opts)
}
