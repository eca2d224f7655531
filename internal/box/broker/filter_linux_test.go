package broker_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"github.com/indusagi/indus/internal/box/broker"
)

// deadline limits the wait for an event that must come.
const deadline = 20 * time.Second

// nobody is the user of children if the test runs as root.
const nobody = 65534

// fixture names the variable that turns the test binary into a child.
const fixture = "INDUS_BROKER_FIXTURE"

func TestMain(m *testing.M) {
	if name := os.Getenv(fixture); name != "" {
		fixtures[name]()
		return
	}
	goleak.VerifyTestMain(m)
}

// seccompFilter makes connect and listen notifications, and permits only TCP and Unix streams.
func seccompFilter() []unix.SockFilter {
	const load, equal, set, and, answer = 0x20, 0x15, 0x45, 0x54, 0x06
	arch := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	fails := func(e syscall.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	argument := func(n uint32) unix.SockFilter { return unix.SockFilter{Code: load, K: 16 + 8*n} }
	jump := func(code uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: code, K: k, Jt: yes, Jf: no}
	}
	give := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: answer, K: k} }
	f := []unix.SockFilter{{Code: load, K: 4}, jump(equal, arch, 1, 0), give(unix.SECCOMP_RET_KILL_PROCESS), {Code: load}}
	for number, action := range map[uint32]uint32{
		unix.SYS_CONNECT: unix.SECCOMP_RET_USER_NOTIF, unix.SYS_LISTEN: unix.SECCOMP_RET_USER_NOTIF,
		unix.SYS_IO_URING_SETUP: fails(unix.ENOSYS), unix.SYS_PTRACE: fails(unix.EPERM), unix.SYS_UNSHARE: fails(unix.EPERM),
		unix.SYS_SECCOMP: fails(unix.EPERM), unix.SYS_PIDFD_GETFD: fails(unix.EPERM),
	} {
		f = append(f, jump(equal, number, 0, 1), give(action))
	}
	for number, flags := range map[uint32]uint32{unix.SYS_SENDTO: 3, unix.SYS_SENDMSG: 2, unix.SYS_SENDMMSG: 3} {
		f = append(f, jump(equal, number, 0, 4), argument(flags), jump(set, unix.MSG_FASTOPEN, 0, 1),
			give(fails(unix.EOPNOTSUPP)), give(unix.SECCOMP_RET_ALLOW))
	}
	return append(f, jump(equal, unix.SYS_SOCKET, 1, 0), give(unix.SECCOMP_RET_ALLOW),
		argument(0), jump(equal, unix.AF_UNIX, 6, 0), jump(equal, unix.AF_INET, 2, 0), jump(equal, unix.AF_INET6, 1, 0),
		give(fails(unix.EAFNOSUPPORT)),
		argument(2), jump(equal, 0, 1, 0), jump(equal, unix.IPPROTO_TCP, 0, 3),
		argument(1), unix.SockFilter{Code: and, K: 0xf}, jump(equal, unix.SOCK_STREAM, 1, 0),
		give(fails(unix.EPERM)), give(unix.SECCOMP_RET_ALLOW))
}

// startFiltered starts a command with a filter, and returns the listener of the filter.
func startFiltered(cmd *exec.Cmd, filter []unix.SockFilter) (*os.File, error) {
	type result struct {
		listener *os.File
		err      error
	}
	done, started := make(chan result), make(chan struct{})
	var run func()
	run = func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if unix.Gettid() == unix.Getpid() {
			go run() // the main thread cannot end, so it waits while another one starts the child
			<-started
			runtime.UnlockOSThread()
			return
		}
		program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			done <- result{nil, err}
			return
		}
		fd, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
			unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, uintptr(unsafe.Pointer(&program)))
		if e != 0 {
			done <- result{nil, e}
			return
		}
		listener := os.NewFile(fd, "listener")
		done <- result{listener, cmd.Start()}
	}
	go run()
	r := <-done
	close(started)
	return r.listener, r.err
}

// rig is a broker with a child's rights.
type rig struct {
	*broker.Broker
	t       testing.TB
	filter  []unix.SockFilter
	mu      sync.Mutex
	denials []string
}

func newRig(t testing.TB, rules broker.Rules) *rig {
	t.Helper()
	r := &rig{t: t, filter: seccompFilter()}
	b, err := broker.New(rules, func(d broker.Denial) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.denials = append(r.denials, d.What+" "+d.Target)
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Broker = b
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// denied returns the denials so far.
func (r *rig) denied() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.denials)
}

// start starts a command as a child of the broker. Its environment has only the variables for the resolver.
func (r *rig) start(cmd *exec.Cmd) {
	r.t.Helper()
	if cmd.Env == nil {
		cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "RES_OPTIONS=use-vc"}
	}
	if os.Getuid() == 0 {
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	listener, err := startFiltered(cmd, r.filter)
	if err != nil {
		r.t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		r.Serve(listener)
	}()
	r.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		select {
		case <-served:
		case <-time.After(deadline):
			r.t.Error("Serve does not end with the child")
		}
	})
}

// run runs a command to its end and returns its output.
func (r *rig) run(cmd *exec.Cmd) string {
	r.t.Helper()
	out, err := os.CreateTemp(r.t.TempDir(), "out")
	if err != nil {
		r.t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	r.start(cmd)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(4 * deadline):
		r.t.Error("the child does not end")
		_ = cmd.Process.Kill()
		<-ended
	}
	b, err := os.ReadFile(out.Name())
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

// python runs a script.
func (r *rig) python(script string, args ...string) string {
	r.t.Helper()
	return r.run(exec.Command(program(r.t, "/usr/bin/python3"), append([]string{"-c", script}, args...)...))
}

// program returns the path of a program that every user can run, or skips the test.
func program(t testing.TB, path string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	return path
}

// self returns a command that runs a fixture of the test binary. The child cannot search the directory of the binary, so
// it is opened here.
func self(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	cmd := exec.Command("/proc/self/fd/3", args...)
	cmd.ExtraFiles = []*os.File{file}
	cmd.Env = []string{fixture + "=" + name, "RES_OPTIONS=use-vc"}
	return cmd
}

// dnsServer answers queries for names. Each query for a name gets the next of its lists, and the last one for ever.
func dnsServer(t testing.TB, names map[string][]string) *net.Resolver {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = socket.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		buf := make([]byte, 512)
		for {
			n, from, err := socket.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Response, m.RCode, m.Additionals = true, dnsmessage.RCodeNameError, nil
			if list := names[q.Name.String()]; len(list) > 0 {
				m.RCode = dnsmessage.RCodeSuccess
				if ip := net.ParseIP(list[0]).To4(); q.Type == dnsmessage.TypeA {
					m.Answers = []dnsmessage.Resource{{
						Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1},
						Body:   &dnsmessage.AResource{A: [4]byte(ip)},
					}}
					if len(list) > 1 {
						names[q.Name.String()] = list[1:]
					}
				}
			}
			if b, err := m.Pack(); err == nil {
				_, _ = socket.WriteTo(b, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", socket.LocalAddr().String())
	}}
}
