package interop_test

import (
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// atFixture returns an idle endpoint on a fixture over HTTP.
func atFixture(t testing.TB, timeouts config.Timeouts, flags ...string) *rig {
	t.Helper()
	f := fixture.New(t, flags...)
	s := config.Server{ID: "fx", Transport: config.HTTP{URL: f.HTTP()}, Timeouts: timeouts}
	return &rig{newEndpoint(t, s, nil), f.Control, t}
}

func TestEndpointFaultsOverHTTP(t *testing.T) {
	t.Parallel()
	table := []faultCase{
		{name: "401", flags: []string{"-status", "401"}, kind: interop.Transport, as: isHTTP(401), texts: []string{"HTTP 401 Unauthorized"}},
		{name: "404", flags: []string{"-status", "404"}, kind: interop.Transport, as: isHTTP(404)},
		{name: "500", flags: []string{"-status", "500"}, kind: interop.Transport, as: isHTTP(500)},
		{name: "hangs on the probe and on initialize", flags: []string{"-hang", "server/discover,initialize"},
			timeouts: config.Timeouts{Connect: brief}, kind: interop.Timeout},
		{name: "hangs on tools/list", flags: []string{"-hang", "tools/list"}, timeouts: config.Timeouts{List: brief},
			act: listTools, kind: interop.Timeout, ready: true},
		{name: "hangs on a call", timeouts: config.Timeouts{Call: brief}, act: callTool("hang", `{"key":"k"}`), kind: interop.Timeout, ready: true},
		{name: "malformed list", flags: []string{"-malformed", "tools/list"}, act: listTools, kind: interop.Protocol, ready: true},
		{name: "malformed call", flags: []string{"-malformed", "tools/call"}, act: callTool("echo", ""), kind: interop.Protocol, ready: true},
		{name: "list error", flags: []string{"-listerror"}, act: listTools, kind: interop.Protocol,
			as: isRPC(-32603, "the list is lost", `{"lost":true}`), ready: true},
		{name: "JSON-RPC error of a call", act: callTool("rpcerror", `{"code":-5}`), kind: interop.ToolError,
			as: isRPC(-5, "no such luck", `{"why":"9007199254740993","n":9007199254740993,"z":null,"a":[]}`), ready: true},
	}
	for _, era := range []string{"modern", "legacy"} {
		for _, c := range table {
			t.Run(era+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				c.check(t, atFixture(t, c.timeouts, append([]string{"-era", era}, c.flags...)...).Endpoint)
			})
		}
	}
}

func TestEndpointFaultsOfTheRequestsOfAReadyServer(t *testing.T) {
	for _, status := range []int{401, 500, 503} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			f := fixture.New(t, "-era", "modern", "-no-list-changed")
			target, err := url.Parse(f.HTTP())
			if err != nil {
				t.Fatal(err)
			}
			// A proxy between the two gives up after a while.
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if m := r.Header.Get("Mcp-Method"); m == "tools/list" || m == "tools/call" {
					http.Error(w, "enough", status)
					return
				}
				relay(w, r, target)
			}))
			t.Cleanup(site.Close)
			e := newEndpoint(t, config.Server{ID: "fx", Transport: config.HTTP{URL: site.URL}}, nil)
			faultCase{act: listTools, kind: interop.Protocol, as: isHTTP(status), ready: true}.check(t, e)
			faultCase{act: callTool("echo", ""), kind: interop.ToolError, as: isHTTP(status), ready: true}.check(t, e)
		})
	}
}

// relay forwards a request and returns its response.
func relay(w http.ResponseWriter, r *http.Request, target *url.URL) {
	out := r.Clone(r.Context())
	out.RequestURI, out.URL, out.Host = "", target, target.Host
	var tr http.Transport
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}

func TestEndpointFaultsBeforeHTTP(t *testing.T) {
	refused := "http://" + fixture.FreeAddr(t) + "/mcp"

	site := httptest.NewUnstartedServer(http.NotFoundHandler())
	site.Config.ErrorLog = log.New(io.Discard, "", 0)
	site.StartTLS()
	t.Cleanup(site.Close)
	untrusted := func(err error) bool {
		_, ok := errors.AsType[x509.UnknownAuthorityError](err)
		return ok
	}

	for _, transport := range []func(url string) config.TransportConfig{
		func(url string) config.TransportConfig { return config.HTTP{URL: url} },
		func(url string) config.TransportConfig { return config.SSE{URL: url} },
	} {
		for _, c := range []struct {
			faultCase
			url string
		}{
			{faultCase{name: "refused", kind: interop.Transport, is: []error{syscall.ECONNREFUSED}}, refused},
			{faultCase{name: "TLS", kind: interop.Transport, as: untrusted, texts: []string{"certificate"}}, site.URL},
			{faultCase{name: "TLS to a server without", kind: interop.Transport}, strings.Replace(refused, "http", "https", 1)},
			{faultCase{name: "no URL", kind: interop.Transport}, "http://%zz/"},
			{faultCase{name: "no scheme", kind: interop.Transport}, "127.0.0.1/mcp"},
		} {
			reach := transport(c.url)
			t.Run(string(reach.Kind())+"/"+c.name, func(t *testing.T) {
				c.check(t, newEndpoint(t, config.Server{ID: "fx", Transport: reach}, nil))
			})
		}
	}
	t.Run("no transport", func(t *testing.T) {
		faultCase{kind: interop.Transport, texts: []string{"no transport"}}.check(t, newEndpoint(t, config.Server{ID: "fx"}, nil))
	})
}
