package attack

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// filesLimit is the limit of open files in the sandbox.
const filesLimit = 256

// callAttacks are the attempts by system calls.
func callAttacks() []Attack {
	page := make([]byte, 4096) // an argument that is large enough for every structure
	at := func(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }
	return []Attack{
		{"ptrace", "trace another process", Denied, func(s *scene) error {
			return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(s.Victim), 0, 0)
		}},
		{"vm-read", "read the memory of another process", Denied, func(s *scene) error {
			local := []unix.Iovec{{Base: &page[0], Len: 8}}
			_, err := unix.ProcessVMReadv(s.Victim, local, []unix.RemoteIovec{{Base: 0x10000, Len: 8}}, 0)
			if errors.Is(err, unix.EFAULT) { // it was allowed, and the address is empty
				return nil
			}
			return err
		}},
		{"pidfd-getfd", "take a descriptor of another process", Denied, func(s *scene) error {
			fd, err := unix.PidfdOpen(s.Victim, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			_, err = unix.PidfdGetfd(fd, 0, 0)
			if errors.Is(err, unix.EBADF) {
				return nil
			}
			return err
		}},
		{"prlimit", "change the limits of another process", Denied, func(s *scene) error {
			return unix.Prlimit(s.Victim, unix.RLIMIT_NOFILE, nil, &unix.Rlimit{})
		}},
		{"unshare", "create a user namespace", Denied, func(*scene) error { return namespace(0, "unshare") }},
		{"clone-namespace", "start a process in a user namespace", Denied, func(*scene) error {
			return namespace(unix.CLONE_NEWUSER, "")
		}},
		{"clone3", "start a process by the call whose flags a filter cannot read", Denied, func(*scene) error {
			return called(call(unix.SYS_CLONE3, 0, 0))
		}},
		{"setns", "enter the namespace of another process", Denied, func(*scene) error {
			return called(unix.Setns(-1, unix.CLONE_NEWUSER))
		}},
		{"mount", "mount a file system", Denied, func(*scene) error {
			return unix.Mount("none", homeDir(), "tmpfs", 0, "")
		}},
		{"fsopen", "mount a file system by the new calls", Denied, func(*scene) error {
			_, err := unix.Fsopen("tmpfs", 0)
			return err
		}},
		{"open-tree", "clone a mount", Denied, func(*scene) error {
			_, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE)
			return err
		}},
		{"chroot", "change the root", Denied, func(*scene) error { return unix.Chroot(homeDir()) }},
		{"keyring", "read the keyring of the session", Denied, func(*scene) error {
			_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
			return err
		}},
		{"add-key", "add a key to the keyring of the user", Denied, func(*scene) error {
			_, err := unix.AddKey("user", "indus", []byte("x"), unix.KEY_SPEC_USER_KEYRING)
			return err
		}},
		{"shared-memory", "attach shared memory of another process", Denied, func(s *scene) error {
			_, err := unix.SysvShmGet(s.Shared, 4096, 0)
			return err
		}},
		{"message-queue", "open a message queue of the machine", Denied, func(*scene) error {
			name := []byte("indus-attack\x00")
			return call(unix.SYS_MQ_OPEN, at(name), unix.O_CREAT|unix.O_RDWR, 0o600, 0)
		}},
		{"bpf", "load a program into the kernel", Denied, func(*scene) error {
			return called(call(unix.SYS_BPF, 5, at(page), 120))
		}},
		{"perf", "watch processes by performance events", Denied, func(s *scene) error {
			return called(call(unix.SYS_PERF_EVENT_OPEN, at(page), uintptr(s.Victim), ^uintptr(0), ^uintptr(0), 0))
		}},
		{"userfaultfd", "handle page faults", Denied, func(*scene) error { return call(unix.SYS_USERFAULTFD, 1) }},
		{"io-uring", "use calls that no filter sees", Denied, func(*scene) error {
			return call(unix.SYS_IO_URING_SETUP, 4, at(make([]byte, 4096)))
		}},
		{"fanotify", "watch all files", Denied, func(*scene) error { _, err := unix.FanotifyInit(0x200, 0); return err }},
		{"kcmp", "compare with another process", Denied, func(s *scene) error {
			return call(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(s.Victim), 1, 0, 0)
		}},
		{"seccomp-listener", "answer the notifications of the sandbox in place of indus", Denied, func(*scene) error {
			accept := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
			prog := unix.SockFprog{Len: 1, Filter: &accept}
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
				return err
			}
			return call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
				uintptr(unsafe.Pointer(&prog)))
		}},
		{"terminal", "type into the terminal of the user", Denied, func(*scene) error {
			char := byte('x')
			return call(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&char)))
		}},
		{"future", "use a call that is younger than the filter", Denied, func(*scene) error {
			return called(call(unix.SYS_RSEQ_SLICE_YIELD + 1))
		}},
		{"x32", "use a call of the x32 interface", Denied, func(*scene) error {
			return call(1<<30 | unix.SYS_GETPID)
		}},
		{"int80", "use a call of the 32-bit interface", Denied, func(*scene) error {
			if os.Getenv(singleVariable) != "" {
				return legacyCall()
			}
			return tryAgain("int80") // where the kernel has no such interface, the program crashes
		}},
		{"setuid", "become root by a setuid program", Denied, func(*scene) error { return setuidProgram() }},
		{"core", "write a core dump", Denied, func(*scene) error {
			var limit unix.Rlimit
			if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil || limit.Max > 0 {
				return err
			}
			return errors.New("the limit is 0")
		}},
		{"open-files", "open more files than the limit", Denied, func(*scene) error {
			limit := unix.Rlimit{Cur: filesLimit + 1, Max: filesLimit + 1}
			return unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
		}},
	}
}

// call makes a system call.
func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

// called returns nil if a call was made and failed for its arguments.
func called(err error) error {
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EBADF) || errors.Is(err, unix.EFAULT) {
		return nil
	}
	return err
}

// namespace starts a process with flags of clone, or one that calls unshare.
func namespace(flags uintptr, program string) error {
	c := exec.Command("/bin/true")
	if program != "" {
		c = exec.Command(program, "--user", "/bin/true")
	}
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	return c.Run()
}

// tryAgain starts this program with one attack. The result is nil only if the attack has reached something there.
func tryAgain(name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.Command(self, os.Args[1:]...)
	c.Env = append(os.Environ(), singleVariable+"="+name)
	out, err := c.Output()
	if err == nil && !bytes.Contains(out, []byte(`"Detail":""`)) {
		err = fmt.Errorf("%s", bytes.TrimSpace(out))
	}
	return err
}

// setuidProgram starts a program that belongs to root and waits for input. It returns nil if root runs it.
func setuidProgram() error {
	for _, path := range []string{"/bin/su", "/usr/bin/passwd", "/usr/bin/chsh"} {
		info, err := os.Stat(path)
		if err != nil || info.Mode()&os.ModeSetuid == 0 {
			continue
		}
		c := exec.Command(path)
		stdin, err := c.StdinPipe()
		if err != nil {
			return err
		}
		if err := c.Start(); err != nil {
			return err
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
		stdin.Close()
		_ = c.Process.Kill()
		_ = c.Wait()
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(status)) {
			if ids := strings.Fields(line); len(ids) > 2 && ids[0] == "Uid:" && ids[2] == "0" {
				return nil
			}
		}
		return errors.New("the program does not run as root")
	}
	return errors.New("there is no such program")
}
