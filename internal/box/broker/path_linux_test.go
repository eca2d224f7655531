package broker_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/indusagi/indus/internal/box/broker"
)

// openDir returns a directory that every user may search. The children of a test that runs as root may write it.
func openDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "broker")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if os.Getuid() == 0 {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// socketAt serves a Unix socket. It sends the user that it sees.
func socketAt(t testing.TB, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
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
			raw, _ := conn.(*net.UnixConn).SyscallConn()
			_ = raw.Control(func(fd uintptr) {
				cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
				fmt.Fprint(conn, cred.Uid, " ", err)
			})
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	if !strings.HasPrefix(path, "@") {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnixSockets(t *testing.T) {
	t.Parallel()
	work, outside := openDir(t), openDir(t)
	_ = os.Chmod(outside, 0o755)
	named, other := outside+"/named.sock", outside+"/other.sock"
	abstract := "@" + filepath.Base(outside)
	closed := outside + "/closed.sock"
	for _, path := range []string{named, other, abstract, closed, work + "/own.sock"} {
		socketAt(t, path)
	}
	_ = os.Chmod(closed, 0o700)
	link := outside + "-link"
	for from, to := range map[string]string{link: outside, work + "/link.sock": other, work + "/dir": outside} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Remove(link) })
	r := newRig(t, broker.Rules{Sockets: []string{named, closed, outside + "/later.sock"}, Write: []string{work}})
	out := r.python(`
import socket, sys, os, errno, threading
work, outside, abstract = sys.argv[1:]
os.chdir(work)
def show(path, kind=socket.SOCK_STREAM):
    s = socket.socket(socket.AF_UNIX, kind)
    try: s.connect(path); print(s.recv(100).decode())
    except OSError as e: print(errno.errorcode[e.errno])
for path in (outside + "/named.sock", outside + "/other.sock", "\0" + abstract[1:], work + "/own.sock", "own.sock",
    "./x/../own.sock", "../" + os.path.basename(outside) + "/named.sock", "../" + os.path.basename(outside) + "/other.sock",
    "link.sock", "dir/named.sock", outside + "-link/named.sock", outside + "/later.sock", outside + "/closed.sock",
    "missing.sock", "/proc/self/root" + outside + "/other.sock", "/var/run/nscd/socket", "", outside + "/named.sock/x"):
    show(path)
server = socket.socket(socket.AF_UNIX); server.bind("new.sock"); server.listen()
threading.Thread(target=lambda: server.accept()[0].send(b"from myself"), daemon=True).start()
show("new.sock")
full = socket.socket(socket.AF_UNIX); full.bind("full.sock"); full.listen(0)
first = socket.socket(socket.AF_UNIX); print(first.connect_ex("full.sock"))
s = socket.socket(socket.AF_UNIX); s.setblocking(False); print(s.connect_ex("full.sock"))
threading.Timer(.05, full.accept).start()
s = socket.socket(socket.AF_UNIX); print(s.connect_ex("full.sock"))
`, work, outside, abstract)
	uid := os.Getuid()
	if uid == 0 {
		uid = nobody
	}
	ok := fmt.Sprintf("%d <nil>", uid)
	want := strings.Join([]string{ok, "EACCES", "EACCES", ok, ok,
		ok, ok, "EACCES",
		"EACCES", "EACCES", "EACCES", "ENOENT", map[bool]string{true: "EACCES", false: ok}[os.Getuid() == 0],
		"ENOENT", "EACCES", "ENOENT", "EINVAL", "EACCES",
		"from myself", "0", "11", "0", ""}, "\n")
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

// triedPorts counts the ports that freePort has tried.
var triedPorts atomic.Int64

// freePort returns a port that the kernel does not give to others, and that no other test has.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(20000 + (os.Getpid()+int(triedPorts.Add(1)))%10000)
		if l, err := net.Listen("tcp", ":"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// TestOwnPort checks that a process reaches its own listener, and nothing else on the same port.
func TestOwnPort(t *testing.T) {
	t.Parallel()
	r := newRig(t, broker.Rules{Listen: []int{0}})
	out := r.python(`
import socket, errno
def show(family, at):
    try: socket.socket(family).connect(at); print("ok")
    except OSError as e: print(errno.errorcode[e.errno])
l = socket.socket(); l.bind(("127.0.0.1", 0)); port = l.getsockname()[1]
show(socket.AF_INET, ("127.0.0.1", port))
l.listen()
show(socket.AF_INET, ("127.0.0.1", port)); show(socket.AF_INET6, ("::ffff:127.0.0.1", port)); show(socket.AF_INET6, ("::1", port))
l.close()
show(socket.AF_INET, ("127.0.0.1", port))
`)
	if out != "EACCES\nok\nok\nECONNREFUSED\nEACCES\n" {
		t.Errorf("got %s", out)
	}
	// The child listens on one address, and another process on another one.
	port := freePort(t)
	other, err := net.Listen("tcp", "127.0.0.7:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	out = r.python(`
import socket, sys
l = socket.socket(); l.bind(("127.0.0.1", int(sys.argv[1]))); l.listen()
for host in "127.0.0.7", "127.0.0.1": print(socket.socket().connect_ex((host, int(sys.argv[1]))))
`, port)
	if out != "13\n13\n" {
		t.Errorf("got %s", out)
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	const script = `
import socket, sys, errno
def show(port, bind=True, family=socket.AF_INET):
    s = socket.socket(family)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        if bind: s.bind(("", port))
        s.listen(); print("ok")
    except OSError as e: print(errno.errorcode[e.errno])
show(int(sys.argv[1])); show(int(sys.argv[1]), family=socket.AF_INET6); show(0); show(0, bind=False)
`
	for _, c := range []struct {
		listen []int
		want   string
	}{
		{nil, "EACCES\nEACCES\nEACCES\nEACCES\n"},
		{[]int{atoi(t, port)}, "ok\nok\nEACCES\nEACCES\n"},
		{[]int{0}, "ok\nok\nok\nok\n"},
	} {
		r := newRig(t, broker.Rules{Listen: c.listen})
		if got := r.python(script, port); got != c.want {
			t.Errorf("%v: got %s", c.listen, got)
		}
		if len(c.listen) == 0 && (len(r.denied()) == 0 || r.denied()[0] != "listen :"+port) {
			t.Errorf("denied %q", r.denied())
		}
	}
}
