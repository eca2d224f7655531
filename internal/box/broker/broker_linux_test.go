package broker_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/box/broker"
)

var fixtures = map[string]func(){}

// site starts a server of HTTP and returns its port.
func site(t testing.TB) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s", r.Host)
	}))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	return port
}

// namedRig returns a rig for one name that leads to a server on this machine.
func namedRig(t testing.TB, name, port string) *rig {
	t.Helper()
	r := newRig(t, broker.Rules{Hosts: []string{name + ":" + port, "127.0.0.1:" + port}})
	r.SetResolver(dnsServer(t, map[string][]string{name + ".": {"127.0.0.1"}}))
	return r
}

const urllib = `
import sys, urllib.request
for u in sys.argv[1:]:
    try: print(urllib.request.urlopen(u, timeout=10).read().decode())
    except Exception as e: print(e)
`

func TestPythonByName(t *testing.T) {
	t.Parallel()
	port := site(t)
	r := namedRig(t, "api.example.com", port)
	got := r.python(urllib, "http://api.example.com:"+port, "http://telemetry.example.com:"+port, "http://api.example.com:1")
	want := []string{"hello api.example.com:" + port, "<urlopen error [Errno -2] Name or service not known>",
		"<urlopen error [Errno 13] Permission denied>"}
	if lines := strings.Split(strings.TrimSpace(got), "\n"); !slices.Equal(lines, want) {
		t.Errorf("got %q", lines)
	}
	if got, want := r.denied(), []string{"host telemetry.example.com", "host api.example.com:1"}; !slices.Equal(got, want) {
		t.Errorf("denied %q", got)
	}
}
