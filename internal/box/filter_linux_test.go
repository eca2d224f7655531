//go:build linux && (amd64 || arm64)

package box_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/indusagi/indus/internal/box"
)

// answerOf runs a filter on one call, in the virtual machine of x/net.
func answerOf(t *testing.T, filter []unix.SockFilter, arch, number uint32, args ...uint64) string {
	t.Helper()
	raw := make([]bpf.RawInstruction, len(filter))
	for i, f := range filter {
		raw[i] = bpf.RawInstruction{Op: f.Code, Jt: f.Jt, Jf: f.Jf, K: f.K}
	}
	program, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("the filter has an instruction that is none")
	}
	vm, err := bpf.NewVM(program)
	must(t, err)
	call := make([]byte, 64) // struct seccomp_data, with each word in the byte order of the virtual machine
	binary.BigEndian.PutUint32(call[0:], number)
	binary.BigEndian.PutUint32(call[4:], arch)
	for i, arg := range args {
		binary.BigEndian.PutUint32(call[16+8*i:], uint32(arg))
		binary.BigEndian.PutUint32(call[20+8*i:], uint32(arg>>32))
	}
	result, err := vm.Run(call)
	must(t, err)
	switch uint32(result) {
	case unix.SECCOMP_RET_ALLOW:
		return "allow"
	case unix.SECCOMP_RET_USER_NOTIF:
		return "notify"
	}
	if errno := unix.Errno(uint32(result) & unix.SECCOMP_RET_DATA); uint32(result)&^unix.SECCOMP_RET_DATA ==
		unix.SECCOMP_RET_ERRNO {
		return unix.ErrnoName(errno)
	}
	return fmt.Sprintf("%#x", result)
}

func TestTheFilterAnswersEachCall(t *testing.T) {
	now := box.Kernel{ABI: 7, Filters: true, Notifies: true}
	old := box.Kernel{ABI: 1, Filters: true, Notifies: true}
	const high = 1 << 32 // the kernel ignores the upper half of an int
	rows := []struct {
		call   uint32
		args   []uint64
		now    string
		before string // with Landlock ABI 1, if it differs
	}{
		{unix.SYS_EXECVE, nil, "allow", ""},
		{unix.SYS_EXECVEAT, nil, "allow", ""},
		{unix.SYS_OPENAT, []uint64{0, 0, unix.O_RDONLY}, "allow", ""},
		{unix.SYS_OPENAT, []uint64{0, 0, unix.O_WRONLY | unix.O_TRUNC | unix.O_CREAT}, "allow", ""},
		{unix.SYS_OPENAT, []uint64{0, 0, unix.O_RDWR | unix.O_TRUNC}, "allow", ""},
		{unix.SYS_OPENAT, []uint64{0, 0, unix.O_RDONLY | unix.O_TRUNC}, "allow", "EACCES"},
		{unix.SYS_OPENAT, []uint64{0, 0, high | unix.O_ACCMODE | unix.O_TRUNC}, "allow", "EACCES"},
		{unix.SYS_OPENAT2, nil, "allow", "ENOSYS"},
		{unix.SYS_TRUNCATE, nil, "allow", "EACCES"},
		{unix.SYS_FTRUNCATE, nil, "allow", ""},
		{unix.SYS_KILL, []uint64{1, 9}, "allow", ""},
		{unix.SYS_KILL, []uint64{0xffffffff, 9}, "allow", "EPERM"},
		{unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 0}, "allow", ""},
		{unix.SYS_SOCKET, []uint64{unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP}, "allow", ""},
		{unix.SYS_SOCKET, []uint64{high | unix.AF_INET, unix.SOCK_STREAM, 262}, "EPERM", ""},
		{unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_DGRAM | unix.SOCK_NONBLOCK, 0}, "EPERM", ""},
		{unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_RAW, 1}, "EPERM", ""},
		{unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM, 0}, "allow", ""},
		{unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET, 0}, "allow", ""},
		{unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM, 0}, "EPERM", ""},
		{unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_RAW, 0}, "EPERM", ""},
		{unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, 0}, "EAFNOSUPPORT", ""},
		{unix.SYS_SOCKET, []uint64{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, "EAFNOSUPPORT", ""},
		{unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_STREAM, 0}, "allow", ""},
		{unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM, 0}, "EPERM", ""},
		{unix.SYS_CONNECT, nil, "notify", ""},
		{unix.SYS_LISTEN, nil, "notify", ""},
		{unix.SYS_BIND, nil, "allow", ""},
		{unix.SYS_ACCEPT4, nil, "allow", ""},
		{unix.SYS_SENDTO, []uint64{3, 0, 0, unix.MSG_NOSIGNAL}, "allow", ""},
		{unix.SYS_SENDTO, []uint64{3, 0, 0, high | unix.MSG_FASTOPEN}, "ENOTSUP", ""},
		{unix.SYS_SENDMSG, []uint64{3, 0, unix.MSG_FASTOPEN}, "ENOTSUP", ""},
		{unix.SYS_SENDMMSG, []uint64{3, 0, 1, unix.MSG_FASTOPEN}, "ENOTSUP", ""},
		{unix.SYS_SETSOCKOPT, []uint64{3, unix.IPPROTO_TCP, unix.TCP_NODELAY}, "allow", ""},
		{unix.SYS_SETSOCKOPT, []uint64{3, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT}, "ENOPROTOOPT", ""},
		{unix.SYS_SETSOCKOPT, []uint64{3, unix.IPPROTO_IP, unix.IP_OPTIONS}, "ENOPROTOOPT", ""},
		{unix.SYS_SETSOCKOPT, []uint64{3, unix.IPPROTO_IP, unix.IP_TOS}, "allow", ""},
		{unix.SYS_SETSOCKOPT, []uint64{3, unix.IPPROTO_IPV6, unix.IPV6_RTHDR}, "ENOPROTOOPT", ""},
		{unix.SYS_SETSOCKOPT, []uint64{3, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY}, "allow", ""},
		{unix.SYS_SETSOCKOPT, []uint64{3, unix.SOL_SOCKET, unix.SO_REUSEADDR}, "allow", ""},
		{unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD}, "allow", ""},
		{unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}, "EPERM", ""},
		{unix.SYS_CLONE3, nil, "ENOSYS", ""},
		{unix.SYS_SECCOMP, []uint64{unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC}, "allow", ""},
		{unix.SYS_SECCOMP, []uint64{unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER}, "EPERM", ""},
		{unix.SYS_PRLIMIT64, []uint64{0, 7}, "allow", ""},
		{unix.SYS_PRLIMIT64, []uint64{high, 7}, "allow", ""},
		{unix.SYS_PRLIMIT64, []uint64{77, 7}, "EPERM", ""},
		{unix.SYS_IOCTL, []uint64{0, unix.TCGETS}, "allow", ""},
		{unix.SYS_IOCTL, []uint64{0, high | unix.TIOCSTI}, "EPERM", ""},
		{unix.SYS_IOCTL, []uint64{0, unix.TIOCLINUX}, "EPERM", ""},
		{unix.SYS_PTRACE, nil, "EPERM", ""},
		{unix.SYS_FCHMODAT, nil, "allow", ""},
		{unix.SYS_FCHOWNAT, nil, "EPERM", ""},
		{unix.SYS_SETXATTR, nil, "ENOTSUP", ""},
		{unix.SYS_IO_URING_SETUP, nil, "ENOSYS", ""},
		{unix.SYS_RSEQ_SLICE_YIELD, nil, "allow", ""},
		{unix.SYS_RSEQ_SLICE_YIELD + 1, nil, "ENOSYS", ""},
		{1<<30 | unix.SYS_READ, nil, "ENOSYS", ""},
		{1 << 31, nil, "ENOSYS", ""},
	}
	own := uint32(box.FilterArch)
	for _, row := range rows {
		if got := answerOf(t, now.Filter(true), own, row.call, row.args...); got != row.now {
			t.Errorf("call %d %#x: %s, want %s", row.call, row.args, got, row.now)
		}
		want := row.before
		if want == "" {
			want = row.now
		}
		if got := answerOf(t, old.Filter(true), own, row.call, row.args...); got != want {
			t.Errorf("call %d %#x with ABI 1: %s, want %s", row.call, row.args, got, want)
		}
	}
	for _, number := range []uint32{unix.SYS_CONNECT, unix.SYS_LISTEN} {
		if got := answerOf(t, now.Filter(false), own, number); got != "EACCES" {
			t.Errorf("call %d without a broker: %s", number, got)
		}
	}
	if got := answerOf(t, now.Filter(true), unix.AUDIT_ARCH_I386, unix.SYS_READ); got != "ENOSYS" {
		t.Errorf("a call of another processor: %s", got)
	}
	for number := range uint32(1024) { // only two calls may wait for another process
		if got := answerOf(t, now.Filter(true), own, number); (got == "notify") != (number == unix.SYS_CONNECT ||
			number == unix.SYS_LISTEN) {
			t.Errorf("call %d: %s", number, got)
		}
	}
}
