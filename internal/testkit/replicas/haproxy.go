package replicas

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// installHAProxy is the command that installs HAProxy.
const installHAProxy = "apt-get install haproxy"

// resolved matches the part of a line of deploy/haproxy.cfg that depends on the resolver of Docker.
var resolved = regexp.MustCompile(`(?m) resolvers docker init-addr none$|^resolvers docker\n(  .*\n)*`)

var haproxy = flag.Bool("haproxy", false, "use HAProxy with deploy/haproxy.cfg as the balancer of replicas")

// NewFront starts a balancer for these backends, and returns its URL. It is HAProxy if the test runs with -haproxy, and
// otherwise a [Balancer], which needs no program of the machine.
func NewFront(t testing.TB, backends ...string) string {
	t.Helper()
	front, ready := NewEarlyFront(t, backends...)
	ready()
	return front
}

// NewEarlyFront is NewFront for backends that start later. ready waits until all of them get requests.
func NewEarlyFront(t testing.TB, backends ...string) (front string, ready func()) {
	t.Helper()
	if *haproxy {
		front = startHAProxy(t, backends...)
		return front, func() {
			t.Helper()
			waitAnswer(t, front+"/mcp", func(status int) bool { return status != http.StatusServiceUnavailable })
		}
	}
	b := NewBalancer(t, backends...)
	return b.URL, func() { t.Helper(); b.WaitReady(t, len(backends)) }
}

// waitAnswer waits until the answer to a GET has a status that fits.
func waitAnswer(t testing.TB, address string, fits func(status int) bool) {
	t.Helper()
	wait(t, func() string {
		answer, err := http.Get(address)
		if err != nil {
			return err.Error()
		}
		_ = answer.Body.Close()
		if !fits(answer.StatusCode) {
			return answer.Status
		}
		return ""
	})
}

// startHAProxy starts HAProxy with the configuration of deploy/haproxy.cfg, for these backends. The addresses are the
// only difference. It returns the URL.
func startHAProxy(t testing.TB, backends ...string) string {
	t.Helper()
	program, err := exec.LookPath("haproxy")
	if err != nil {
		t.Fatal("HAProxy is missing: run " + installHAProxy)
	}
	_, here, _, _ := runtime.Caller(0)
	shipped, err := os.ReadFile(filepath.Join(filepath.Dir(here), "../../../deploy/haproxy.cfg"))
	if err != nil {
		t.Fatal(err)
	}
	config, servers, _ := strings.Cut(resolved.ReplaceAllString(string(shipped), ""), "  server a ")
	if n := strings.Count(servers, "  server "); n != 1 {
		t.Fatalf("haproxy.cfg has %d servers after the first one, want 1", n)
	}
	address := fixture.FreeAddr(t)
	config = strings.Replace(config, "bind :7332", "bind "+address, 1)
	for i, backend := range backends {
		u, err := url.Parse(backend)
		if err != nil {
			t.Fatal(err)
		}
		config += fmt.Sprintf("  server %c %s\n", 'a'+i, u.Host)
	}
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-db", "-f", file)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("HAProxy: %s", said.String())
		}
	})
	site := "http://" + address
	waitAnswer(t, site+"/livez", func(status int) bool { return status == http.StatusNotFound }) // it does not pass
	return site
}
