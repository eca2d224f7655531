package bridge_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/operation"
)

// Variables of the child process of TestNoEnvironmentVariableIsRead: the URL of the server, and marks in the log of
// reads before and after the adapter's work.
const (
	environURL   = "BRIDGE_TEST_URL"
	environBegin = "BRIDGE_TEST_BEGIN"
	environEnd   = "BRIDGE_TEST_END"
)

// TestNoEnvironmentVariableIsRead sets variables that would send requests through a proxy, or tokens to the server, and
// checks the requests that arrive. The log of package testing shows that no variable was read. Reads before main are
// not in the log: a package of the SDK reads HTTP_PROXY, but the adapter does not use it. The server's address is
// 0.0.0.0 because Go uses proxies for this address of the local machine.
func TestNoEnvironmentVariableIsRead(t *testing.T) {
	if os.Getenv(environURL) != "" {
		environChild(t)
		return
	}
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			var proxied atomic.Int64
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				proxied.Add(1)
				http.Error(w, "this is a proxy", http.StatusBadGateway)
			}))
			defer proxy.Close()
			s := newService(t, era, whoami)
			_, port, err := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/mcp"))
			if err != nil {
				t.Fatal(err)
			}
			read := filepath.Join(t.TempDir(), "log")
			child := exec.Command(os.Args[0], "-test.run=^TestNoEnvironmentVariableIsRead$", "-test.testlogfile="+read)
			child.Env = append(os.Environ(), environURL+"=http://0.0.0.0:"+port+"/mcp", "NO_PROXY=", "no_proxy=",
				"SSL_CERT_FILE=/nonexistent", "SSL_CERT_DIR=/nonexistent")
			for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
				child.Env = append(child.Env, name+"="+proxy.URL)
			}
			for _, name := range []string{"TOKEN", "MCP_TOKEN", "MCP_THEM_TOKEN", "THEM_TOKEN", "BEARER_TOKEN", "AUTHORIZATION", "MCP_API_KEY", "OPENAI_API_KEY"} {
				child.Env = append(child.Env, name+"=hostile")
			}
			out, err := child.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, one := range s.seen() {
				if one.token != "" && one.token != "ada" {
					t.Errorf("%+v", one)
				}
			}
			if proxied.Load() == 0 {
				t.Error("the control did not go through the proxy: this test shows nothing")
			}
			during, after := readEnvironment(t, read)
			if len(during) != 0 {
				t.Errorf("read: %v", during)
			}
			if !slices.Contains(after, "TOKEN") {
				t.Errorf("the log does not show what the control read: %v", after)
			}
		})
	}
}

// environChild imports and calls, and then reads variables and uses a proxy, as a control.
func environChild(t *testing.T) {
	url := os.Getenv(environURL)
	os.Getenv(environBegin)
	r := operation.NewRegistry(nil)
	if err := r.Import(t.Context(), "them", them(url)); err != nil {
		t.Error(err)
	}
	for want, caps := range map[string]operation.Capabilities{"": nil, "ada": token("ada")} {
		if got, _ := tokenAndSession(t, ask(t.Context(), r, "whoami", `{}`, caps)); got != want {
			t.Errorf("%q was sent, not %q", got, want)
		}
	}
	r.Close()
	os.Getenv(environEnd)
	e := interop.NewEndpoint(config.Server{ID: "x", Transport: config.HTTP{URL: url}}, nil)
	defer e.Close()
	if err := e.Open(t.Context()); err == nil {
		t.Error("the control reached the server, and no proxy")
	}
	os.Getenv("TOKEN")
}

// readEnvironment returns the names of the variables that were read between the two marks, and after them.
func readEnvironment(t *testing.T, file string) (during, after []string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begun := strings.Cut(string(raw), "getenv "+environBegin+"\n")
	between, rest, ended := strings.Cut(rest, "getenv "+environEnd+"\n")
	if !begun || !ended {
		t.Fatalf("no marks in %q", raw)
	}
	names := func(text string) (list []string) {
		for line := range strings.Lines(text) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "getenv "); ok {
				list = append(list, name)
			}
		}
		return list
	}
	return names(between), names(rest)
}

// TestTLS checks that https works with configured roots, and that an untrusted server is refused without them.
func TestTLS(t *testing.T) {
	s := newService(t, eraModern, whoami)
	secure := httptest.NewUnstartedServer(s.door(s.handler))
	secure.EnableHTTP2 = true
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // for the handshake that must fail
	secure.StartTLS()
	defer secure.Close()
	f := them(secure.URL)
	if _, err := f.Import(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	f = them(secure.URL)
	f.TLS = &tls.Config{RootCAs: roots}
	r := imported(t, f)
	for _, principal := range []string{"ada", "eve"} {
		if got, _ := tokenAndSession(t, ask(t.Context(), r, "whoami", `{}`, token(principal))); got != principal {
			t.Error(got)
		}
	}
	r.Close()
}
