package peers

import (
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

const sdk = "github.com/modelcontextprotocol/go-sdk"

// SDKEverythingServer returns the path of the Go SDK's conformance server. It is a stdio server. With -http
// ADDR it serves streamable HTTP of the modern era, and with -stateless=false also of the legacy era.
func SDKEverythingServer(t testing.TB) string {
	t.Helper()
	return sdkProgram(t, "everything-server")
}

// SDKEverythingClient returns the path of the Go SDK's conformance client. Its argument is a server's URL,
// and the scenario comes from the environment.
func SDKEverythingClient(t testing.TB) string {
	t.Helper()
	return sdkProgram(t, "everything-client")
}

// SDKEverythingHTTP starts the Go SDK's conformance server and returns its URL.
func SDKEverythingHTTP(t testing.TB, stateless bool) string {
	t.Helper()
	bin := SDKEverythingServer(t)
	mode := "-stateless=false"
	if stateless {
		mode = "-stateless=true"
	}
	// It cannot report the port for 0. If another process takes the free port before the server does, the
	// next one is tried.
	for range 5 {
		addr := fixture.FreeAddr(t)
		p := fixture.Start(t, fixture.Command{Path: bin, Args: []string{"-http", addr, mode}})
		p.Drain()
		if listens(addr, p) {
			return "http://" + addr + "/mcp"
		}
		p.Kill()
	}
	t.Fatal("the SDK's server found no port")
	return ""
}

// listens waits until a process listens. It returns false if the process fails to.
func listens(addr string, p *fixture.Process) bool {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if strings.Contains(p.Stderr(), "address already in use") {
			return false
		}
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return true
		}
	}
	return false
}

// sdkProgram builds a program of the SDK's module, in the version of go.mod.
func sdkProgram(t testing.TB, name string) string {
	t.Helper()
	version, err := exec.Command("go", "list", "-m", sdk).Output()
	if err != nil {
		t.Fatalf("go list -m %s: %v", sdk, err)
	}
	return fixture.GoBuild(t, sdk+"/conformance/"+name, string(version))
}
