package box_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/indusagi/indus/internal/box"
)

// languages has a program for each language. It runs the lines of its input as attempts, and prints one result for each.
var languages = []struct{ program, flag, runner, attempts string }{
	{"/usr/bin/python3", "-c", `import os,socket,subprocess,sys
S,P,V=os.environ["SECRET"],int(os.environ["PORT"]),int(os.environ["VICTIM"])
for line in os.environ["ATTEMPTS"].splitlines():
    try: exec(line); print("REACHED")
    except BaseException as e: print(type(e).__name__, flush=True)`, `
		open(S).read() = PermissionError
		subprocess.check_output(["cat",S],stderr=subprocess.DEVNULL) = CalledProcessError
		socket.create_connection(("127.0.0.1",P),2) = PermissionError
		socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(b"x",("127.0.0.1",53)) = PermissionError
		os.symlink(S,os.environ["HOME"]+"/p"); open(os.environ["HOME"]+"/p").read() = PermissionError
		os.chdir(os.path.dirname(S)); os.listdir(".") = PermissionError
		os.kill(V,0) = PermissionError
		import threading as t; threading=t; r=[]; w=t.Thread(target=lambda:(os.close(2),r.append(open(S)))); w.start(); w.join(); r[0] = IndexError
		os.fork()==0 and os._exit(os.system("cat "+S) != 0); assert os.wait()[1]==0 = AssertionError`},
	{"/usr/bin/node", "-e", `const fs=require("fs"),{SECRET:S,PORT:P,VICTIM:V,HOME,ATTEMPTS}=process.env;(async()=>{
for (const line of ATTEMPTS.split("\n")) await new Promise((ok,no)=>{eval(line);if(!/\bok\b/.test(line))ok()}).then(
()=>console.log("REACHED"),e=>console.log(e.code||e.cause?.code||e.message))})()`, `
		fs.readFileSync(S) = EACCES
		fs.writeFileSync(S,"x") = EACCES
		fs.copyFileSync(S,HOME+"/n") = EACCES
		fs.readdirSync("/proc/"+V+"/fd") = EACCES
		process.kill(+V,0) = EPERM
		require("net").connect(P,"127.0.0.1").on("connect",ok).on("error",no) = EACCES
		fetch("http://127.0.0.1:"+P).then(ok,no) = EACCES
		require("http").createServer().on("error",no).listen(0,ok) = EACCES
		const s=require("dgram").createSocket("udp4").on("error",no);s.send("x",53,"127.0.0.1",e=>e?no(e):ok()) = EPERM
		new (require("worker_threads").Worker)("require('fs').readFileSync(process.env.SECRET)",{eval:true}).on("error",no).on("exit",ok) = EACCES
		require("child_process").exec("cat "+S,e=>e?no(e):ok()) = 1`},
	{"/bin/sh", "-c", `echo "$ATTEMPTS" | while read -r line; do if (eval "$line") >/dev/null 2>&1; then echo REACHED; else echo denied; fi; done`, `
		cat "$SECRET" = denied
		. "$SECRET" = denied
		read -r a <"$SECRET" = denied
		cp "$SECRET" "$HOME/c" = denied
		ln "$SECRET" "$HOME/l" && cat "$HOME/l" = denied
		kill -0 "$VICTIM" = denied
		echo x >>"$SECRET" = denied
		mount -t tmpfs none "$HOME" = denied
		unshare -U true = denied`},
}

func TestProgramsOfOtherLanguagesReachNothing(t *testing.T) {
	r := newRoom(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	t.Setenv("SECRET", r.secret)
	t.Setenv("PORT", port)
	t.Setenv("VICTIM", fmt.Sprint(os.Getpid()))
	for _, language := range languages {
		if _, err := exec.LookPath(language.program); err != nil {
			t.Logf("there is no %s", language.program)
			continue
		}
		var codes, want []string
		for line := range strings.Lines(strings.TrimSpace(language.attempts)) {
			i := strings.LastIndex(line, " = ")
			codes = append(codes, strings.TrimSpace(line[:i]))
			want = append(want, strings.TrimSpace(line[i+3:]))
		}
		t.Setenv("ATTEMPTS", strings.Join(codes, "\n"))
		out, _ := output(t, r.boxed(), language.program, language.flag, language.runner)
		if diff := cmp.Diff(want, strings.Split(out, "\n")); diff != "" {
			t.Errorf("%s:\n%s", language.program, diff)
		}
	}
}

// refusing is a broker that refuses every connection.
type refusing struct {
	writable []string
	refused  atomic.Int32
	served   chan struct{} // closed after Serve
	closed   chan struct{}
}

func (*refusing) Environ() []string { return []string{"BROKER=yes"} }

func (b *refusing) Close() error { close(b.closed); return nil }

func (b *refusing) Serve(listener *os.File) {
	defer close(b.served)
	fd := int(listener.Fd())
	for {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); errors.Is(err, unix.EINTR) {
			continue
		}
		if poll[0].Revents&unix.POLLIN == 0 { // no process is left
			return
		}
		var request [80]byte
		if ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&request)) != 0 {
			continue
		}
		b.refused.Add(1)
		var answer [24]byte
		copy(answer[:8], request[:8])
		*(*int32)(unsafe.Pointer(&answer[16])) = -int32(unix.ETIMEDOUT)
		ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer))
	}
}

func ioctl(fd int, request uintptr, argument unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(argument))
	return errno
}

// TestABrokerServesUntilTheLastProcess also checks that a descendant that outlives its parent is still served.
func TestABrokerServesUntilTheLastProcess(t *testing.T) {
	r := newRoom(t)
	broker := &refusing{served: make(chan struct{}), closed: make(chan struct{})}
	b := r.boxed()
	b.Broker = func(writable []string) (box.Broker, error) { broker.writable = writable; return broker, nil }
	code := `import os, socket, time
def dial():
    try: socket.create_connection(("127.0.0.1", 9))
    except OSError as e: print(os.environ["BROKER"], e.errno, flush=True)
dial()
if os.fork() == 0:
    time.sleep(0.1)
    dial()`
	out, _ := output(t, b, "/usr/bin/python3", "-c", code)
	if out != "yes 110\nyes 110" || broker.refused.Load() != 2 {
		t.Errorf("%q, %d connections", out, broker.refused.Load())
	}
	<-broker.served
	<-broker.closed
	if want := filepath.Join(r.home, "home"); len(broker.writable) != 2 || broker.writable[0] != want {
		t.Errorf("writable: %v", broker.writable)
	}
}

// TestABrokerIsClosedIfNothingStarts checks the start of a program that does not exist.
func TestABrokerIsClosedIfNothingStarts(t *testing.T) {
	broker := &refusing{served: make(chan struct{}), closed: make(chan struct{})}
	b := newRoom(t).boxed()
	b.Broker = func([]string) (box.Broker, error) { return broker, nil }
	if child, err := b.Start("/no/such/program", []string{"x"}, &os.ProcAttr{Dir: "/"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, %v", child, err)
	}
	<-broker.closed
}

// TestAChildThatIsNotConfinedIsKilled checks the last line of defence with a child that was started without a box.
func TestAChildThatIsNotConfinedIsKilled(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	child, err := os.StartProcess("/bin/sleep", []string{"sleep", "60"}, &os.ProcAttr{Files: []*os.File{nil, w}})
	w.Close()
	must(t, err)
	if err := box.Check(child); err == nil || !strings.Contains(err.Error(), "does not show the process as confined") {
		t.Error(err)
	}
	if _, err := io.ReadAll(r); err != nil { // returns when the child is dead
		t.Error(err)
	}
	if err := unix.Kill(child.Pid, 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("the child is still there: %v", err)
	}
}
