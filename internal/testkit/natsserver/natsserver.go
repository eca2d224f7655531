//go:build unix

package natsserver

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// Server is a server on this machine. It ends with the test.
type Server struct {
	URL     string
	Monitor string
	Store   string // the directory of JetStream
	tb      testing.TB
	config  string // path
	cmd     *exec.Cmd
	stdin   io.Closer
}

// Start compiles and starts a server with JetStream. Lines of config are added to its configuration.
func Start(tb testing.TB, config ...string) *Server {
	tb.Helper()
	store := tb.TempDir()
	s := start(tb, append(config, fmt.Sprintf("jetstream { store_dir: %q, max_file: 256MB }", store)))
	s.Store = store
	return s
}

// StartCore starts a server without JetStream.
func StartCore(tb testing.TB, config ...string) *Server {
	tb.Helper()
	return start(tb, config)
}

// Cluster is servers that replicate.
type Cluster struct {
	Servers []*Server
	routes  map[[2]int]*Link // from the first server to the second one; none in StartCluster
}

// StartCluster starts n servers that replicate.
func StartCluster(tb testing.TB, n int) []*Server {
	tb.Helper()
	return startCluster(tb, n, false).Servers
}

// StartDividable starts n servers that replicate, and can be separated from each other. A server does not name the
// others to its clients.
func StartDividable(tb testing.TB, n int) *Cluster {
	tb.Helper()
	return startCluster(tb, n, true)
}

func startCluster(tb testing.TB, n int, links bool) *Cluster {
	tb.Helper()
	listen := make([]string, n)
	for i := range listen {
		listen[i] = fixture.FreeAddress(tb)
	}
	c := &Cluster{routes: map[[2]int]*Link{}}
	for i := range n {
		routes, more := slices.Clone(listen), ""
		if links {
			more = `no_advertise: true, advertise: "127.0.0.1:1"` // else servers find routes that are no links
			for j, to := range listen {
				if i != j {
					c.routes[[2]int{i, j}] = NewLink(tb, to)
					routes[j] = c.routes[[2]int{i, j}].Address
				}
			}
		}
		c.Servers = append(c.Servers, Start(tb, fmt.Sprintf("server_name: n%d\ncluster { name: test, listen: %q, "+
			"routes: [nats://%s], %s }", i, listen[i], strings.Join(routes, ", nats://"), more)))
	}
	return c
}

// Cut stops the messages from a server to another one. Those of the other direction still arrive.
func (c *Cluster) Cut(from, to int) { c.set(from, to, true) }

// Heal ends all cuts. What waited arrives then.
func (c *Cluster) Heal() {
	for pair := range c.routes {
		c.set(pair[0], pair[1], false)
	}
}

// set cuts or opens a direction, in the routes that either server began.
func (c *Cluster) set(from, to int, cut bool) {
	c.routes[[2]int{from, to}].there.set(cut)
	c.routes[[2]int{to, from}].back.set(cut)
}

// Isolate stops all messages between a server and the others.
func (c *Cluster) Isolate(server int) {
	for i := range c.Servers {
		if i != server {
			c.Cut(server, i)
			c.Cut(i, server)
		}
	}
}

func start(tb testing.TB, config []string) *Server {
	tb.Helper()
	s := &Server{tb: tb, config: filepath.Join(tb.TempDir(), "nats.conf")}
	address, monitor := fixture.FreeAddress(tb), fixture.FreeAddress(tb)
	config = append(config, fmt.Sprintf("listen: %q\nhttp: %q", address, monitor))
	err := os.WriteFile(s.config, []byte(strings.Join(config, "\n")+"\n"), 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	s.URL, s.Monitor = "nats://"+address, "http://"+monitor
	s.Run()
	tb.Cleanup(s.Stop)
	return s
}

// Program returns the path of the server's program, which also creates credentials.
func Program(tb testing.TB) string {
	_, file, _, _ := runtime.Caller(0)
	return fixture.GoBuildModule(tb, filepath.Join(filepath.Dir(file), "program"))
}

// Run starts the server again, at the same address with the same files.
func (s *Server) Run() {
	s.tb.Helper()
	s.cmd = exec.Command(Program(s.tb), s.config)
	var err error
	s.stdin, err = s.cmd.StdinPipe()
	if err != nil {
		s.tb.Fatal(err)
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		s.tb.Fatal(err)
	}
	var log strings.Builder
	s.cmd.Stderr = &log
	if err := s.cmd.Start(); err != nil {
		s.tb.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		s.Kill()
		s.tb.Fatalf("the NATS server does not start: %q, %v\n%s", line, err, log.String())
	}
}

// Kill ends the server at once.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		_ = s.stdin.Close()
		s.cmd = nil
	}
}

// Stop ends the server in order.
func (s *Server) Stop() {
	if s.cmd != nil {
		s.Signal(syscall.SIGCONT)
		_ = s.stdin.Close()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// Signal sends a signal, such as SIGSTOP.
func (s *Server) Signal(signal syscall.Signal) {
	s.tb.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		s.tb.Error(err)
	}
}
