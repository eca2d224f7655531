package broker_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/indusagi/indus/internal/box/broker"
)

// inet returns struct sockaddr_in.
func inet(a [4]byte, port int) []byte {
	b := make([]byte, 16)
	binary.NativeEndian.PutUint16(b, unix.AF_INET)
	binary.BigEndian.PutUint16(b[2:], uint16(port))
	copy(b[4:], a[:])
	return b
}

// inet6 returns struct sockaddr_in6.
func inet6(a string, port int) []byte {
	b := make([]byte, 28)
	binary.NativeEndian.PutUint16(b, unix.AF_INET6)
	binary.BigEndian.PutUint16(b[2:], uint16(port))
	copy(b[8:], net.ParseIP(a).To16())
	return b
}

func rawConnect(fd int, b []byte, length int) error {
	var at unsafe.Pointer
	if len(b) > 0 {
		at = unsafe.Pointer(&b[0])
	}
	if _, _, e := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(at), uintptr(length)); e != 0 {
		return e
	}
	return nil
}

func open(family, kind, protocol int) int {
	fd, err := unix.Socket(family, kind, protocol)
	if err != nil {
		return -1
	}
	return fd
}

// number returns a number from the environment of a fixture.
func number(name string) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		panic(err)
	}
	return n
}

// bareFilter makes notifications and restricts nothing, so that only the broker's own checks hold.
func bareFilter() []unix.SockFilter {
	f := []unix.SockFilter{{Code: 0x20}}
	for _, call := range []uint32{unix.SYS_CONNECT, unix.SYS_LISTEN} {
		f = append(f, unix.SockFilter{Code: 0x15, K: call, Jf: 1}, unix.SockFilter{Code: 0x06, K: unix.SECCOMP_RET_USER_NOTIF})
	}
	return append(f, unix.SockFilter{Code: 0x06, K: unix.SECCOMP_RET_ALLOW})
}

func TestSocketsAndAddresses(t *testing.T) {
	t.Parallel()
	port := site(t)
	r := newRig(t, broker.Rules{Hosts: []string{"127.0.0.1:" + port}, Write: []string{"/nonexistent"}})
	r.filter = bareFilter()
	cmd := self(t, "sockets")
	cmd.Env = append(cmd.Env, "PORT="+port)
	want := `
connect: <nil>
other address: permission denied
other port: permission denied
any address: <nil>
IPv4 in IPv6: <nil>
other IPv4 in IPv6: permission denied
IPv6: permission denied
IPv6 without scope: permission denied
any IPv6: permission denied
short IPv6: invalid argument
family of IPv6: address family not supported by protocol
again: transport endpoint is already connected
after AF_UNSPEC: <nil>
UDP: permission denied
MPTCP: permission denied
netlink: permission denied
Unix datagram: permission denied
Unix packets: permission denied
IP options: permission denied
routing header: permission denied
no length: invalid argument
one byte: invalid argument
family only: invalid argument
15 bytes: invalid argument
longest: <nil>
129 bytes: invalid argument
negative: invalid argument
4 GiB: <nil>
no memory: bad address
end of memory: bad address
no descriptor: bad file descriptor
closed: bad file descriptor
a file: socket operation on non-socket
`
	if got := r.run(cmd); "\n"+got != want {
		t.Errorf("got\n%s", got)
	}
}

func init() { fixtures["sockets"] = sockets }

func sockets() {
	port := number("PORT")
	own := [4]byte{127, 0, 0, 1}
	show := func(name string, err error) { fmt.Printf("%s: %v\n", name, err) }
	try := func(name string, fd int, b []byte) {
		show(name, rawConnect(fd, b, len(b)))
		_ = unix.Close(fd)
	}
	tcp := func() int { return open(unix.AF_INET, unix.SOCK_STREAM, 0) }
	tcp6 := func() int { return open(unix.AF_INET6, unix.SOCK_STREAM, 0) }
	try("connect", tcp(), inet(own, port))
	try("other address", tcp(), inet([4]byte{127, 0, 0, 2}, port))
	try("other port", tcp(), inet(own, 1))
	try("any address", tcp(), inet([4]byte{}, port))
	try("IPv4 in IPv6", tcp6(), inet6("::ffff:127.0.0.1", port))
	try("other IPv4 in IPv6", tcp6(), inet6("::ffff:127.0.0.2", port))
	try("IPv6", tcp6(), inet6("::1", port))
	try("IPv6 without scope", tcp6(), inet6("::1", port)[:24])
	try("any IPv6", tcp6(), inet6("::", port))
	try("short IPv6", tcp6(), inet6("::1", port)[:23])
	try("family of IPv6", tcp(), inet6("::ffff:127.0.0.1", port))

	fd := tcp()
	_ = rawConnect(fd, inet(own, port), 16)
	show("again", rawConnect(fd, inet(own, port), 16))
	_ = rawConnect(fd, make([]byte, 16), 16)
	show("after AF_UNSPEC", rawConnect(fd, inet(own, port), 16))

	try("UDP", open(unix.AF_INET, unix.SOCK_DGRAM, 0), inet(own, port))
	try("MPTCP", open(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP), inet(own, port))
	try("netlink", open(unix.AF_NETLINK, unix.SOCK_RAW, 0), []byte{unix.AF_NETLINK, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	path := append([]byte{unix.AF_UNIX, 0}, "/nonexistent/a\x00"...)
	try("Unix datagram", open(unix.AF_UNIX, unix.SOCK_DGRAM, 0), path)
	try("Unix packets", open(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0), path)

	fd = tcp()
	// A source route needs a privilege in new kernels. An option without meaning stands for it.
	if err := unix.SetsockoptString(fd, unix.IPPROTO_IP, unix.IP_OPTIONS, "\x01\x01\x01\x01"); err != nil {
		show("IP_OPTIONS", err)
	}
	try("IP options", fd, inet(own, port))
	fd = tcp6()
	// a segment routing header with two segments
	header := append([]byte{0, 4, 4, 1, 1, 0, 0, 0}, make([]byte, 32)...)
	header[8+15], header[24+15] = 1, 1
	if err := unix.SetsockoptString(fd, unix.IPPROTO_IPV6, unix.IPV6_RTHDR, string(header)); err != nil {
		show("IPV6_RTHDR", err)
	}
	try("routing header", fd, inet6("::ffff:127.0.0.1", port))

	long := append(inet(own, port), make([]byte, 200)...)
	lengths := func(name string, b []byte, length int) {
		fd := tcp()
		show(name, rawConnect(fd, b, length))
		_ = unix.Close(fd)
	}
	lengths("no length", long, 0)
	lengths("one byte", long, 1)
	lengths("family only", long, 2)
	lengths("15 bytes", long, 15)
	lengths("longest", long, 128)
	lengths("129 bytes", long, 129)
	lengths("negative", long, -1)
	lengths("4 GiB", long, 1<<32+16) // the kernel reads an int
	lengths("no memory", nil, 16)
	page, err := unix.Mmap(-1, 0, 2*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	_ = unix.Mprotect(page[os.Getpagesize():], unix.PROT_NONE)
	edge := page[os.Getpagesize()-8:]
	copy(edge[:8], inet(own, port))
	lengths("end of memory", edge, 16)
	show("no descriptor", rawConnect(-1, long, 16))
	fd = tcp()
	_ = unix.Close(fd)
	show("closed", rawConnect(fd, long, 16))
	show("a file", rawConnect(3, long, 16))
}

func FuzzSockaddr(f *testing.F) {
	f.Add(inet([4]byte{1, 2, 3, 4}, 5))
	f.Add(inet6("::1", 5))
	f.Add([]byte{unix.AF_UNIX, 0, '/', 'a', 0, 'b'})
	f.Add([]byte{unix.AF_UNIX, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := broker.ParseSockaddr(b); err != nil && err != unix.EINVAL {
			t.Error(err)
		}
	})
}

// TestRaces checks that a process cannot change an address or a socket while it is connected.
func TestRaces(t *testing.T) {
	t.Parallel()
	var good, bad atomic.Int64
	counting := func(n *atomic.Int64) string {
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
				n.Add(1)
				_ = conn.Close()
			}
		}()
		t.Cleanup(func() {
			_ = l.Close()
			<-ended
		})
		_, port, _ := net.SplitHostPort(l.Addr().String())
		return port
	}
	allowed, forbidden := counting(&good), counting(&bad)
	r := newRig(t, broker.Rules{Hosts: []string{"127.0.0.1:" + allowed}})
	r.filter = bareFilter()
	cmd := self(t, "race")
	cmd.Env = append(cmd.Env, "ALLOWED="+allowed, "FORBIDDEN="+forbidden)
	out := r.run(cmd)
	if bad.Load() != 0 || good.Load() == 0 || !strings.HasSuffix(out, "done\n") {
		t.Errorf("%d connections to the denied port, %d to the permitted one\n%s", bad.Load(), good.Load(), out)
	}
	if !slices.Equal(r.denied(), []string{"host 127.0.0.1:" + forbidden}) {
		t.Errorf("denied %q", r.denied())
	}
}

func init() { fixtures["race"] = race }

// race changes the port of an address, and the socket of a descriptor, while another thread connects.
func race() {
	runtime.GOMAXPROCS(4)
	own := [4]byte{127, 0, 0, 1}
	yes, no := inet(own, number("ALLOWED")), inet(own, number("FORBIDDEN"))
	address := slices.Clone(yes)
	port := (*uint16)(unsafe.Pointer(&address[2]))
	ports := []uint16{binary.NativeEndian.Uint16(yes[2:]), binary.NativeEndian.Uint16(no[2:])}
	var end atomic.Bool
	const fd = 77
	go func() {
		for i := 0; !end.Load(); i++ {
			*port = ports[i%2]
		}
	}()
	go func() {
		for !end.Load() {
			a, b := open(unix.AF_INET, unix.SOCK_STREAM, 0), open(unix.AF_INET, unix.SOCK_DGRAM, 0)
			for range 20 {
				_, _ = unix.Dup2(a, fd), unix.Dup2(b, fd)
			}
			_, _ = unix.Close(a), unix.Close(b)
		}
	}()
	for i := range 4000 {
		sock := fd
		if i%2 == 0 {
			sock = open(unix.AF_INET, unix.SOCK_STREAM, 0)
		}
		_ = rawConnect(sock, address, 16)
		_ = unix.Close(sock)
	}
	end.Store(true)
	fmt.Println("done")
}

// TestInterruptedConnect sends signals to threads that connect. Before Linux 5.19 a signal repeats the call, although the
// socket may be connected already.
func TestInterruptedConnect(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string]uintptr{"new kernel": unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, "old kernel": 0} {
		port := listener(t, func(*net.TCPConn) {})
		r := newRig(t, broker.Rules{Hosts: []string{"127.0.0.1:" + port}})
		if r.flags = flags; flags == 0 {
			r.RepeatCalls()
		}
		cmd := self(t, "interrupted")
		cmd.Env = append(cmd.Env, "PORT="+port)
		if out := r.run(cmd); out != "done\n" {
			t.Errorf("%s: got %s", name, out)
		}
	}
}

func init() { fixtures["interrupted"] = interrupted }

func interrupted() {
	runtime.LockOSThread()
	tid := unix.Gettid()
	var end atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !end.Load() {
			_ = unix.Tgkill(unix.Getpid(), tid, unix.SIGURG) // the runtime restarts system calls
			for range 2000 {
				runtime.Gosched()
			}
		}
	}()
	at := inet([4]byte{127, 0, 0, 1}, number("PORT"))
	for range 500 {
		fd := open(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err := rawConnect(fd, at, 16); err != nil {
			fmt.Println(err)
		}
		_ = unix.Close(fd)
	}
	end.Store(true)
	<-ended
	fmt.Println("done")
}

// TestGateOfAnotherBroker checks that a gate serves only the processes of its own broker.
func TestGateOfAnotherBroker(t *testing.T) {
	t.Parallel()
	port := site(t)
	other := namedRig(t, "api.example.com", port)
	r := newRig(t, broker.Rules{})
	out := r.python(urllib, "http://"+other.Gate())
	if out != "<urlopen error [Errno 13] Permission denied>\n" {
		t.Errorf("got %s", out)
	}
	// We are another process too: our connections are closed when the next socket enters the gate.
	for range 300 {
		conn, err := net.Dial("tcp", other.Gate())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET http://api.example.com:%s/ HTTP/1.0\r\n\r\n", port)
		defer func() {
			if n, err := conn.Read(make([]byte, 1)); err == nil {
				t.Errorf("the gate serves another process: %d bytes", n)
			}
		}()
	}
	if out := other.python(urllib, "http://api.example.com:"+port); !strings.HasPrefix(out, "hello") {
		t.Errorf("got %s", out)
	}
}

// TestBoundSockets connects sockets that are bound before: to one address, to all, and of IPv6.
func TestBoundSockets(t *testing.T) {
	t.Parallel()
	port := site(t)
	r := namedRig(t, "api.example.com", port)
	out := r.python(`
import socket, sys
gate = sys.argv[1].split(":")
for family, own, to in (2, "127.0.0.1", gate[0]), (2, "127.0.0.9", gate[0]), (2, "", gate[0]), (10, "::", "::ffff:" + gate[0]), \
        (10, "::ffff:127.0.0.9", "::ffff:" + gate[0]), (10, "::1", "::ffff:" + gate[0]):
    s = socket.socket(family); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((own, 0))
    try:
        s.connect((to, int(gate[1])))
        s.sendall(f"GET http://api.example.com:{sys.argv[2]}/ HTTP/1.0\r\n\r\n".encode())
        print(s.recv(12).decode())
    except OSError as e: print(e.errno)
`, r.Gate(), port)
	ok := "HTTP/1.0 200\n"
	if out != strings.Repeat(ok, 5)+"101\n" && out != strings.Repeat(ok, 5)+"22\n" {
		t.Errorf("got %s", out)
	}
}

// TestTimeoutOfSocket checks that the time limit of a blocking socket holds and stays.
func TestTimeoutOfSocket(t *testing.T) {
	t.Parallel()
	port := blackHole(t)
	r := newRig(t, broker.Rules{Hosts: []string{"localhost:" + port}})
	out := r.python(`
import socket, struct, sys, time
s = socket.socket(); limit = struct.pack("ll", 0, 200000)
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
start = time.time()
print(s.connect_ex(("127.0.0.1", int(sys.argv[1]))), s.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16) == limit,
    .19 < time.time() - start)
`, port)
	if out != "115 True True\n" {
		t.Errorf("got %s", out)
	}
}

// TestProcessOfThread checks the way to a socket before Linux 6.9: through the process of the thread.
func TestProcessOfThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fd, err := broker.OpenProcess(unix.Gettid())
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil || !strings.Contains(string(info), fmt.Sprintf("Pid:\t%d\n", os.Getpid())) {
		t.Errorf("%v, %s", err, info)
	}
}
