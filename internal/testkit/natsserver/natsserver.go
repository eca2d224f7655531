//go:build unix

package natsserver

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

// StartCluster starts n servers that replicate.
func StartCluster(tb testing.TB, n int) []*Server {
	tb.Helper()
	routes := make([]string, n)
	for i := range routes {
		routes[i] = freeAddress(tb)
	}
	all := make([]*Server, n)
	for i := range all {
		all[i] = Start(tb, fmt.Sprintf("server_name: n%d\ncluster { name: test, listen: %q, routes: [nats://%s] }", i,
			routes[i], strings.Join(routes, ", nats://")))
	}
	return all
}

func start(tb testing.TB, config []string) *Server {
	tb.Helper()
	s := &Server{tb: tb, config: filepath.Join(tb.TempDir(), "nats.conf")}
	address, monitor := freeAddress(tb), freeAddress(tb)
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

// freeAddress returns an address that was free a moment ago. The server gets it again after a restart.
func freeAddress(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
