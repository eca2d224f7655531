package box

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// errEscaped is the error of a child that the kernel does not show as confined. It has been killed.
var errEscaped = errors.New("sandbox: the kernel does not show the process as confined, so it was killed")

// Start starts a process in the sandbox, as [os.StartProcess] does. It returns an [Unenforced] error if this system
// cannot enforce the sandbox.
func (b *Box) Start(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	k := b.kernel()
	if refusal := k.refusal(b); refusal != nil && !b.Optional {
		return nil, refusal
	}
	owner, err := b.credential()
	if err != nil {
		return nil, err
	}
	g, env, err := b.resolve(path, argv, attr.Dir, attr.Env, owner)
	if err != nil {
		return nil, err
	}
	c := confinement{filtered: k.filters}
	if c.ruleset, c.flags, err = k.ruleset(g, b.Listen); err != nil {
		return nil, err
	}
	if c.ruleset >= 0 {
		defer unix.Close(c.ruleset)
		c.probe = !g.readsRoot()
	}
	if k.notifies && b.Broker != nil {
		if c.broker, err = b.Broker(g.write); err != nil {
			return nil, err
		}
		env = setEnviron(env, c.broker.Environ()...)
	}
	c.filter = k.filter(c.broker != nil)
	confined := *attr
	confined.Env = env
	if owner != nil {
		sys := syscall.SysProcAttr{}
		if attr.Sys != nil {
			sys = *attr.Sys
		}
		sys.Credential = owner
		confined.Sys = &sys
	}
	child, err := c.start(path, argv, &confined)
	if err != nil {
		return nil, err
	}
	if err := b.limit(child, owner, k); err != nil {
		return nil, err
	}
	return child, nil
}

// Support returns the parts of a sandbox that can be enforced for b.
func (b *Box) Support() Support { return b.kernel().support() }

func (b *Box) kernel() kernel {
	if b.emulated != nil {
		return *b.emulated
	}
	return ownKernel()
}

// confinement is everything that a thread needs to confine itself.
type confinement struct {
	ruleset  int // of Landlock, or -1
	flags    uint32
	probe    bool // check on the thread that Landlock acts
	filtered bool
	filter   []unix.SockFilter
	broker   Broker // or nil
}

// checkPidfd makes package os test pidfds once, on a thread that may do everything. It keeps the result for all
// threads.
var checkPidfd = sync.OnceFunc(func() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Release()
	}
})

// start starts the child on a thread of its own that confines itself before. The thread ends afterwards.
func (c *confinement) start(path string, argv []string, attr *os.ProcAttr) (child *os.Process, err error) {
	checkPidfd()
	served := false
	onOwnThread(func() {
		var listener *os.File
		if listener, err = c.confineThread(); err != nil {
			return
		}
		if c.broker != nil {
			served = true
			go func() {
				c.broker.Serve(listener)
				listener.Close()
				c.broker.Close()
			}()
		}
		if child, err = os.StartProcess(path, argv, attr); err == nil {
			err = c.check(child)
		}
	})
	if c.broker != nil && !served {
		c.broker.Close()
	}
	if err != nil {
		return nil, err
	}
	return child, nil
}

// onOwnThread runs do on a thread that ends with it. The main thread is not taken: the runtime does not end it, but
// keeps it for ever.
func onOwnThread(do func()) {
	done := make(chan struct{})
	var run func()
	run = func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			defer close(done)
			do()
			return // without UnlockOSThread, so that the thread ends
		}
		go run() // while this goroutine holds the main thread
		<-done
		runtime.UnlockOSThread()
	}
	go run()
	<-done
}

// confineThread confines the calling thread. It returns the listener of the filter's notifications, if there is a
// broker.
func (c *confinement) confineThread() (listener *os.File, err error) {
	// Descriptors that we inherited without the flag would reach the child.
	_ = unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("sandbox: no new privileges: %w", err)
	}
	if c.ruleset >= 0 {
		if err := ll.LandlockRestrictSelf(c.ruleset, c.flags); err != nil {
			return nil, fmt.Errorf("sandbox: Landlock: %w", err)
		}
	}
	if c.probe {
		if fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
			unix.Close(fd)
			return nil, errors.New("sandbox: Landlock does not act on this system")
		}
	}
	if !c.filtered {
		return nil, nil
	}
	var flags uintptr
	if c.broker != nil {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	}
	fd, errno := c.install(flags)
	if errno == unix.EINVAL && c.broker != nil { // before Linux 5.19, a signal interrupts a notification
		fd, errno = c.install(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	}
	if errno != 0 {
		return nil, fmt.Errorf("sandbox: seccomp: %w", errno)
	}
	if c.broker != nil {
		listener = os.NewFile(fd, "seccomp listener")
	}
	return listener, nil
}

func (c *confinement) install(flags uintptr) (fd uintptr, errno unix.Errno) {
	prog := unix.SockFprog{Len: uint16(len(c.filter)), Filter: &c.filter[0]}
	fd, _, errno = unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	return fd, errno
}

// check kills a child that the kernel does not show as confined.
func (c *confinement) check(child *os.Process) error {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", child.Pid))
	lines := strings.Split(string(status), "\n")
	if err == nil && slices.Contains(lines, "NoNewPrivs:\t1") &&
		(!c.filtered || slices.Contains(lines, "Seccomp:\t2")) {
		return nil
	}
	_ = child.Kill()
	_, _ = child.Wait()
	return errEscaped
}
