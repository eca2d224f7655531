package broker_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/indusagi/indus/internal/box/broker"
)

// listener serves each connection with a function, and returns the port.
func listener(t testing.TB, serve func(*net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn.(*net.TCPConn))
			}()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// through is the beginning of a script that connects through the proxy. Its first argument is the gate.
const through = `
import socket, sys, errno
gate = sys.argv[1].split(":")
def through(host, port):
    s = socket.create_connection((gate[0], int(gate[1])), timeout=15)
    s.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"): head += s.recv(1)
    if not head.startswith(b"HTTP/1.1 200"): raise Exception(head)
    return s
`

// TestHalfClose sends more than all buffers hold, ends its direction, and reads the answer.
func TestHalfClose(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	port := listener(t, func(conn *net.TCPConn) {
		b, err := io.ReadAll(conn)
		if err != nil || len(b) != size {
			return
		}
		time.Sleep(time.Millisecond) // the end arrives alone
		_, _ = conn.Write(bytes.Repeat([]byte("x"), size))
	})
	r := namedRig(t, "big.example.com", port)
	out := r.python(through+`
s = through("big.example.com", sys.argv[2])
s.sendall(b"y" * (8 << 20)); s.shutdown(socket.SHUT_WR)
n = 0
while b := s.recv(65536): n += len(b)
print(n)
`, r.Gate(), port)
	if out != fmt.Sprintln(size) {
		t.Errorf("got %s", out)
	}
}

// TestErrorsOfHosts checks the errors that a process gets for hosts that fail, with blocking sockets and others.
func TestErrorsOfHosts(t *testing.T) {
	t.Parallel()
	port := listener(t, func(conn *net.TCPConn) { _, _ = conn.Read(make([]byte, 1)); _ = conn.SetLinger(0) })
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, refused, _ := net.SplitHostPort(dead.Addr().String())
	_ = dead.Close()
	hosts := []string{"127.0.0.1:" + port, "127.0.0.1:" + refused}
	for _, name := range []string{"reset", "two", "gone", "private", "cloud", "self"} {
		hosts = append(hosts, name+".example.com:"+port, name+".example.com:"+refused)
	}
	r := newRig(t, broker.Rules{Hosts: hosts})
	r.SetResolver(dnsServer(t, map[string][]string{
		"reset.example.com.": {"127.0.0.1"}, "two.example.com.": {"127.0.0.2", "127.0.0.1"},
		"private.example.com.": {"10.1.2.3"}, "cloud.example.com.": {"169.254.169.254"}, "self.example.com.": {"0.0.0.0"},
	}))
	out := r.python(through+`
import select
port, refused = sys.argv[2:]
def show(name, f):
    try: print(name, f())
    except OSError as e: print(name, errno.errorcode.get(e.errno, e))
def block(host, port):
    s = socket.create_connection((host, int(port)), timeout=None); s.send(b"x"); return s.recv(1)
def nonblock(host, port):
    at = socket.getaddrinfo(host, int(port), proto=socket.IPPROTO_TCP)[0][4]
    s = socket.socket(); s.setblocking(False)
    e = s.connect_ex(at)
    if e not in (0, errno.EINPROGRESS): raise OSError(e, "")
    select.select([], [s], [], 10)
    e = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if e: raise OSError(e, "")
    s.setblocking(True); s.settimeout(10); s.send(b"x"); return s.recv(1)
for f in block, nonblock:
    for host, p in ("reset.example.com", port), ("reset.example.com", refused), ("127.0.0.1", port), ("127.0.0.1", refused), ("gone.example.com", port), ("private.example.com", port), ("cloud.example.com", port), ("self.example.com", port):
        show(f.__name__ + " " + host + (" refused" if p == refused else ""), lambda: f(host, p))
show("two", lambda: block("two.example.com", port)) # create_connection tries the next address
show("literal", lambda: block("10.1.2.3", port)) # a look-up does not permit an address that is not public
show("unknown", lambda: block("10.1.2.4", port))
def proxied():
    s = through("reset.example.com", port); s.send(b"x"); return s.recv(1)
show("proxied", proxied)
`, r.Gate(), port, refused)
	want := `block reset.example.com ECONNRESET
block reset.example.com refused ECONNREFUSED
block 127.0.0.1 ECONNRESET
block 127.0.0.1 refused ECONNREFUSED
block gone.example.com [Errno -2] Name or service not known
block private.example.com EACCES
block cloud.example.com EACCES
block self.example.com ECONNRESET
nonblock reset.example.com ECONNRESET
nonblock reset.example.com refused ECONNREFUSED
nonblock 127.0.0.1 ECONNRESET
nonblock 127.0.0.1 refused ECONNREFUSED
nonblock gone.example.com [Errno -2] Name or service not known
nonblock private.example.com EACCES
nonblock cloud.example.com EACCES
nonblock self.example.com ECONNRESET
two ECONNRESET
literal EACCES
unknown EACCES
proxied ECONNRESET
`
	if out != want {
		t.Errorf("got\n%s", out)
	}
	if got := strings.Join(r.denied(), "|"); got != "host private.example.com:"+port+"|host cloud.example.com:"+port+
		"|host two.example.com:"+port+"|host 10.1.2.4:"+port {
		t.Errorf("denied %s", got)
	}
}

// descriptors returns the number of our descriptors.
func descriptors(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// eventually waits until a condition holds.
func eventually(t testing.TB, condition string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", condition)
		}
	}
}

// TestManyConnections makes many connections one after the other, and then more at once than there are slots. The
// variable INDUS_BROKER_CONNECTIONS sets their number.
func TestManyConnections(t *testing.T) {
	count := cmp.Or(os.Getenv("INDUS_BROKER_CONNECTIONS"), "500")
	port := listener(t, func(conn *net.TCPConn) { _, _ = io.Copy(conn, conn) })
	r := namedRig(t, "echo.example.com", port)
	before := descriptors(t)
	out := r.python(through+`
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
port, count = map(int, sys.argv[2:])
at = socket.getaddrinfo("echo.example.com", port, proto=socket.IPPROTO_TCP)[0][4]
def direct():
    s = socket.socket(); s.connect(at); return s
def check(s):
    s.send(b"x")
    assert s.recv(1) == b"x"
    return s
for connect in direct, lambda: through("echo.example.com", port):
    for i in range(count): check(connect()).close()
held, failed = [], set()
for i in range(600):
    try: held.append(check(through("echo.example.com", port)))
    except OSError as e: failed.add(e.errno)
print(len(held), failed)
check(direct())
for s in held: s.close()
`, r.Gate(), port, count)
	if want := fmt.Sprintf("512 {%d}\n", syscall.EADDRNOTAVAIL); out != want {
		t.Errorf("got %s, not %s", out, want)
	}
	eventually(t, "all slots are free", func() bool { return r.Slots() == 0 })
	eventually(t, "no descriptor is left", func() bool { return descriptors(t) <= before+4 })
}

// blackHole returns the address of a listener whose queue is full, so that connecting to it takes for ever.
func blackHole(t testing.TB) (port string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	local, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", local.(*unix.SockaddrInet4).Port)
	for {
		conn, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if err != nil {
			break
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	_, port, _ = net.SplitHostPort(address)
	return port
}

// TestKilledWhileConnecting kills a process with many connects that wait: of both kinds of sockets, to an address and to
// a name. The broker still answers others, and nothing is left afterwards.
func TestKilledWhileConnecting(t *testing.T) {
	port := blackHole(t)
	r := namedRig(t, "slow.example.com", port)
	before := descriptors(t)
	for _, host := range []string{"127.0.0.1", "slow.example.com"} {
		cmd := exec.Command(program(t, "/usr/bin/python3"), "-c", `
import socket, sys, threading
at = socket.getaddrinfo(sys.argv[1], int(sys.argv[2]), proto=socket.IPPROTO_TCP)[0][4]
held = []
for i in range(800):
    s = socket.socket(); s.setblocking(False); s.connect_ex(at); held.append(s)
for i in range(200):
    threading.Thread(target=lambda: socket.socket().connect(at), daemon=True).start()
s = socket.socket()
try: s.connect(("127.0.0.1", 1))
except PermissionError: print("ready", flush=True)
threading.Event().wait()
`, host, port)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		r.start(cmd)
		if b := make([]byte, 6); true {
			if _, err := io.ReadFull(out, b); err != nil {
				t.Fatalf("%q: %v", b, err)
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		eventually(t, "the slots of a killed process are free", func() bool { return r.Slots() == 0 })
		eventually(t, "no descriptor of a killed process is left", func() bool { return descriptors(t) <= before+4 })
	}
}

// TestClosedBroker closes the broker while a process holds a tunnel.
func TestClosedBroker(t *testing.T) {
	t.Parallel()
	port := listener(t, func(conn *net.TCPConn) { _, _ = io.Copy(conn, conn) })
	r := namedRig(t, "echo.example.com", port)
	cmd := exec.Command(program(t, "/usr/bin/python3"), "-c", through+`
at = socket.getaddrinfo("echo.example.com", int(sys.argv[2]), proto=socket.IPPROTO_TCP)[0][4]
s = through("echo.example.com", sys.argv[2]); s.send(b"x"); assert s.recv(1) == b"x"
print("ready", flush=True)
try: print(s.recv(1))
except OSError as e: print(errno.errorcode[e.errno])
try: socket.socket().connect(at)
except OSError as e: print(errno.errorcode[e.errno])
`, r.Gate(), port)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.start(cmd)
	if _, err := io.ReadFull(out, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(out); string(b) != "b''\nENOSYS\n" && string(b) != "ECONNRESET\nENOSYS\n" {
		t.Errorf("got %s", b)
	}
	if r.Slots() != 0 {
		t.Error("a tunnel is open")
	}
}
