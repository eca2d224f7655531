package fidelity

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// upstream is one kind of connection to a server.
type upstream struct {
	name  string
	era   interop.Era
	http  bool
	sse   bool
	flags []string
}

func upstreams() []upstream {
	return []upstream{
		{"stdio, legacy", interop.Legacy, false, false, []string{"-era", "legacy"}},
		{"stdio, modern", interop.Modern, false, false, []string{"-era", "modern"}},
		{"HTTP, legacy", interop.Legacy, true, false, []string{"-era", "legacy"}},
		{"HTTP, modern", interop.Modern, true, false, []string{"-era", "modern"}},
		{"HTTP with event streams, legacy", interop.Legacy, true, false, []string{"-era", "legacy", "-sse-answers"}},
		{"HTTP with event streams, modern", interop.Modern, true, false, []string{"-era", "modern", "-sse-answers"}},
		{"HTTP+SSE", interop.Legacy, true, true, []string{"-sse"}},
	}
}

// rig is a fixture, mounted and published.
type rig struct {
	*testing.T
	*fixture.Server
	up      upstream
	result  string // the file with the result of the tool fidelity
	host    *host.Host
	url     string
	clients []*client
}

// everyUpstream runs a test for each kind of upstream.
func everyUpstream(t *testing.T, test func(*rig)) {
	for _, up := range upstreams() {
		t.Run(up.name, func(t *testing.T) {
			t.Parallel()
			test(newRig(t, up))
		})
	}
}

func newRig(t *testing.T, up upstream) *rig {
	r := &rig{T: t, up: up, result: fixture.File(t, "{}")}
	flags := append(up.flags, "-fidelity-file", r.result, "-list-file", fixture.File(t, "["+toolRows+",\n"+oddRows+"]"))
	r.Server = fixture.New(t, flags...)
	r.publish(r.mount("fx", up.config(r.Server), interop.EndpointOptions{Era: up.era}))
	return r
}

func (up upstream) config(f *fixture.Server) config.TransportConfig {
	switch {
	case up.sse:
		return config.SSE{URL: f.HTTP()}
	case up.http:
		return config.HTTP{URL: f.HTTP()}
	}
	return config.Stdio{Command: f.Path, Args: f.Args}
}

// mount mounts one server. Its era has to be the era of the options.
func (r *rig) mount(id string, via config.TransportConfig, opts interop.EndpointOptions) toolbox.Source {
	r.Helper()
	m := interop.Mount(r.Context(), []config.Server{{ID: id, Transport: via}}, &interop.MountOptions{
		FleetOptions: interop.FleetOptions{Endpoint: func(config.Server) *interop.EndpointOptions { return &opts }},
	})
	r.Cleanup(m.Close)
	if s := m.Fleet.Status()[0]; s.Phase != interop.Ready || s.Era != opts.Era || s.Fault != nil {
		r.Fatalf("%+v", s)
	}
	return m.Box
}

// publish puts a host before a toolbox, and connects every client to the host.
func (r *rig) publish(src toolbox.Source) {
	r.host = host.New(src, &host.Options{Exact: true}) // the tests of the host cover values that are mended for clients
	r.url = r.serve(r.host.Handler())
	const both, stream = "application/json, text/event-stream", "text/event-stream"
	r.clients = []*client{
		httpClient(r, "HTTP client, modern", r.url, true, both),
		httpClient(r, "HTTP client, legacy", r.url, false, both),
		httpClient(r, "HTTP client of event streams, modern", r.url, true, stream),
		httpClient(r, "HTTP client of event streams, legacy", r.url, false, stream),
		r.pipe("client on a pipe, modern", true),
		r.pipe("client on a pipe, legacy", false),
	}
}

// serve returns the URL of a handler. The host is closed before its server, which waits for open
// streams.
func (r *rig) serve(h http.Handler) string {
	url := newSite(r, h)
	r.Cleanup(r.host.Close)
	return url
}

// newSite returns the URL of a handler that is served until the test ends.
func newSite(t testing.TB, h http.Handler) string {
	site := httptest.NewServer(h)
	t.Cleanup(site.Close)
	return site.URL
}

func (r *rig) pipe(name string, modern bool) *client {
	in, out := r.connect()
	return pipeClient(r, name, modern, in, out)
}

// connect returns a connection to the host on a pair of pipes.
func (r *rig) connect() (in io.WriteCloser, out io.ReadCloser) {
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- r.host.ServeIO(r.Context(), fromClient, toClient) }()
	r.Cleanup(func() {
		_ = in.Close()
		if err := <-ended; err != nil {
			r.Errorf("the host on a pipe: %v", err)
		}
	})
	return in, out
}

// answers makes the tool fidelity return that result.
func (r *rig) answers(result string) {
	r.Helper()
	if err := os.WriteFile(r.result, []byte(result), 0o600); err != nil {
		r.Fatal(err)
	}
}

// each runs a test for each client, one after the other.
func (r *rig) each(t *testing.T, test func(t *testing.T, c *client)) {
	for _, c := range r.clients {
		t.Run(c.name, func(t *testing.T) {
			c.t = t
			test(t, c)
		})
	}
}

// eachCase runs a test for each case and each client.
func (r *rig) eachCase(cases map[string]string, test func(t *testing.T, c *client, text string)) {
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		r.Run(name, func(t *testing.T) {
			r.each(t, func(t *testing.T, c *client) { test(t, c, cases[name]) })
		})
	}
}
