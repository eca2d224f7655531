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

// SDKEverythingServer is the path of the Go SDK's conformance server: a stdio
// server, or with -http ADDR streamable HTTP of the modern era, of the legacy era
// with -stateless=false besides.
func SDKEverythingServer(t testing.TB) string {
	t.Helper()
	return sdkProgram(t, "everything-server")
}

// SDKEverythingClient is the path of the Go SDK's conformance client. It takes a
// server's URL, and the scenario from the environment.
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
	// It cannot tell the port that 0 becomes. Somebody may take the free one before it does: then the next.
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

// listens waits until a process listens, and says no if it gave up.
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

// sdkProgram builds a program of the SDK's module, in the version that go.mod has.
func sdkProgram(t testing.TB, name string) string {
	t.Helper()
	version, err := exec.Command("go", "list", "-m", sdk).Output()
	if err != nil {
		t.Fatalf("go list -m %s: %v", sdk, err)
	}
	return fixture.GoBuild(t, sdk+"/conformance/"+name, string(version))
}
