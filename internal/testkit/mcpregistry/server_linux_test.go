package mcpregistry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const deadline = 2 * time.Minute // of each wait

// server is a running registry.
type server struct {
	t          *testing.T
	url, token string
}

// startServer starts the registry with entries. Publishing needs no login.
func startServer(t *testing.T, entries []entry) *server {
	t.Helper()
	seed, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "seed.json")
	if err := os.WriteFile(file, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	program := build(t, ".", "github.com/modelcontextprotocol/registry/cmd/registry")
	address := freeAddress(t)
	cmd := exec.Command(program)
	cmd.Env = []string{
		"MCP_REGISTRY_SERVER_ADDRESS=" + address, "MCP_REGISTRY_SEED_FROM=" + file,
		"MCP_REGISTRY_DATABASE_URL=postgres://postgres@" + startPostgres(t) + "/postgres?sslmode=disable",
		"MCP_REGISTRY_JWT_PRIVATE_KEY=" + strings.Repeat("0", 64), "MCP_REGISTRY_ENABLE_ANONYMOUS_AUTH=true",
		"MCP_REGISTRY_ENABLE_REGISTRY_VALIDATION=false", // it would ask the registries of packages
	}
	run(t, cmd, syscall.SIGTERM)
	s := &server{t: t, url: "http://" + address}
	waitFor(t, address)
	var answer struct {
		Token string `json:"registry_token"`
	}
	s.send("POST", "/v0.1/auth/none", nil, &answer)
	s.token = answer.Token
	return s
}

// send sends a request and reads its answer.
func (s *server) send(method, path string, body, answer any) {
	s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequest(method, s.url+path, bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+s.token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ = io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %s: %s: %s", method, path, response.Status, text)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		s.t.Fatalf("%s %s: %v: %s", method, path, err, text)
	}
}

// publish adds a version of an npm package.
func (s *server) publish(name, version string) {
	s.t.Helper()
	s.send("POST", "/v0.1/publish", entry{
		"$schema": schema, "name": name, "version": version, "description": "Forecasts",
		"packages": []any{entry{"registryType": "npm", "identifier": "weather", "version": version,
			"transport": entry{"type": "stdio"}}},
	}, &struct{}{})
}

// setStatus sets the status of all versions of an entry.
func (s *server) setStatus(name, status string) {
	s.t.Helper()
	s.send("PATCH", "/v0.1/servers/"+url.PathEscape(name)+"/status", entry{"status": status}, &struct{}{})
}

// startPostgres starts a database in a directory of its own, and returns its address. PostgreSQL does not run as root.
func startPostgres(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "indus-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var attributes syscall.SysProcAttr
	if os.Geteuid() == 0 {
		const nobody = 65534
		attributes.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "data")
	initialize := exec.Command(postgres(t, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale",
		"--no-sync")
	initialize.Dir, initialize.SysProcAttr = dir, &attributes
	if out, err := initialize.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	address := freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	cmd := exec.Command(postgres(t, "postgres"), "-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "fsync=off")
	cmd.Dir, cmd.SysProcAttr = dir, &attributes
	run(t, cmd, syscall.SIGINT) // fast shutdown
	waitFor(t, address)
	return address
}

// postgres returns the path of a program of PostgreSQL. Debian does not have them on the PATH.
func postgres(t *testing.T, program string) string {
	t.Helper()
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + program)
	if len(found) == 0 {
		t.Fatalf("%s is missing: run apt-get install postgresql", program)
	}
	return found[len(found)-1]
}

// run runs a program until the end of the test. A signal ends it.
func run(t *testing.T, cmd *exec.Cmd, end syscall.Signal) {
	t.Helper()
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(end)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s ends its log with:\n%s", cmd.Path, log.Bytes()[max(0, log.Len()-2000):])
		}
	})
}

// waitFor waits until a server accepts connections.
func waitFor(t *testing.T, address string) {
	t.Helper()
	for start := time.Now(); time.Since(start) < deadline; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return
		}
	}
	t.Fatalf("%s does not accept connections", address)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// build compiles a command of the module in a directory, and returns its path.
func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-o", out, pkg)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("go build %s: %w\n%s", pkg, err, text))
	}
	return out
}
