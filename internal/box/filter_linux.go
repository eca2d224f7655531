//go:build linux && (amd64 || arm64)

package box

import "golang.org/x/sys/unix"

// newestCall is the last system call that this table knows. Later ones do not exist for a confined process, because
// nobody has looked yet at what they can reach.
const newestCall = unix.SYS_RSEQ_SLICE_YIELD

// Instructions of classic BPF.
const (
	bpfLoad   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	bpfAnd    = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	bpfEqual  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	bpfAbove  = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
	bpfAnyBit = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	bpfReturn = unix.BPF_RET | unix.BPF_K
)

// Places in struct seccomp_data. An argument has 64 bits. All arguments that the filter reads are int or unsigned int
// for the kernel, so it reads their lower halves only.
const (
	atNumber = 0
	atArch   = 4
	atArg    = 16
)

// refused are the calls that fail with EPERM.
var refused = append([]uint32{
	// other processes
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP,
	unix.SYS_PIDFD_GETFD, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_PERF_EVENT_OPEN,
	// namespaces and mounts
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	// keys, and objects that all processes of the user share
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_MSGGET,
	unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMCTL,
	unix.SYS_SEMTIMEDOP, unix.SYS_SEMOP, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	// the kernel
	unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_SYSLOG,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_ACCT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD,
	// owners and attributes of files, which Landlock does not know. Modes and times stay: npm and tar set them.
	unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_FILE_SETATTR,
}, refusedHere...)

// unsupported are the calls on attributes. Programs go on without attributes, but not without permission.
var unsupported = []uint32{
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
}

// missing are the calls that do not exist for a confined process, so that libraries use older ones. The flags of
// clone3 are in memory, which a filter cannot read.
var missing = []uint32{
	unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
}

// namespaceFlags are the flags of clone that create a namespace.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// filter returns the seccomp filter of a confined process. With a broker, connect and listen are notifications. No
// other call is one. In particular execve must not be: the fork of Go blocks the goroutine that would answer.
func (k kernel) filter(broker bool) []unix.SockFilter {
	var p program
	p = append(p, load(atArch), jump(bpfEqual, filterArch, 1, 0), answerError(unix.ENOSYS), load(atNumber),
		jump(bpfAbove, newestCall, 0, 1), answerError(unix.ENOSYS)) // also the calls of x32, which have a high bit
	p.answer(answerError(unix.EPERM), refused...)
	p.answer(answerError(unix.EOPNOTSUPP), unsupported...)
	p.answer(answerError(unix.ENOSYS), missing...)
	if broker {
		p.answer(answer(unix.SECCOMP_RET_USER_NOTIF), unix.SYS_CONNECT, unix.SYS_LISTEN)
	} else {
		p.answer(answerError(unix.EACCES), unix.SYS_CONNECT, unix.SYS_LISTEN)
	}
	p.on(unix.SYS_CLONE, refuseBits(0, namespaceFlags, unix.EPERM)...)
	// A listener of its own would take the notifications of connect.
	p.on(unix.SYS_SECCOMP, refuseBits(1, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, unix.EPERM)...)
	p.on(unix.SYS_PRLIMIT64, load(atArg), jump(bpfEqual, 0, 1, 0), answerError(unix.EPERM), allow)
	p.on(unix.SYS_IOCTL, load(atArg+8), jump(bpfEqual, unix.TIOCSTI, 1, 0), jump(bpfEqual, unix.TIOCLINUX, 0, 1),
		answerError(unix.EPERM), allow)
	p.sockets()
	if k.abi < abiTruncate {
		p.truncations()
	}
	if k.abi < abiScopes { // at least not all processes of the user at once
		p.on(unix.SYS_KILL, load(atArg), jump(bpfEqual, ^uint32(0), 0, 1), answerError(unix.EPERM), allow)
	}
	return append(p, allow)
}

// sockets allows TCP and Unix streams. A datagram carries its address in memory, which a filter cannot read.
func (p *program) sockets() {
	family, kind, protocol := load(atArg), load(atArg+8), load(atArg+16)
	low := unix.SockFilter{Code: bpfAnd, K: 0xf}
	p.on(unix.SYS_SOCKET, family,
		jump(bpfEqual, unix.AF_INET, 3, 0), jump(bpfEqual, unix.AF_INET6, 2, 0), jump(bpfEqual, unix.AF_UNIX, 8, 0),
		answerError(unix.EAFNOSUPPORT),
		kind, low, jump(bpfEqual, unix.SOCK_STREAM, 0, 3),
		protocol, jump(bpfEqual, 0, 7, 0), jump(bpfEqual, unix.IPPROTO_TCP, 6, 0),
		answerError(unix.EPERM),
		kind, low, jump(bpfEqual, unix.SOCK_STREAM, 2, 0), jump(bpfEqual, unix.SOCK_SEQPACKET, 1, 0),
		answerError(unix.EPERM), allow)
	p.on(unix.SYS_SOCKETPAIR, kind, low, jump(bpfEqual, unix.SOCK_STREAM, 2, 0),
		jump(bpfEqual, unix.SOCK_SEQPACKET, 1, 0), answerError(unix.EPERM), allow)
	// TCP Fast Open connects without connect.
	p.on(unix.SYS_SENDTO, refuseBits(3, unix.MSG_FASTOPEN, unix.EOPNOTSUPP)...)
	p.on(unix.SYS_SENDMSG, refuseBits(2, unix.MSG_FASTOPEN, unix.EOPNOTSUPP)...)
	p.on(unix.SYS_SENDMMSG, refuseBits(3, unix.MSG_FASTOPEN, unix.EOPNOTSUPP)...)
	// These options delay the connection that the broker makes, or route it over another host.
	level, option := load(atArg+8), load(atArg+16)
	p.on(unix.SYS_SETSOCKOPT, level,
		jump(bpfEqual, unix.IPPROTO_TCP, 0, 2), option, jump(bpfEqual, unix.TCP_FASTOPEN_CONNECT, 8, 9),
		jump(bpfEqual, unix.IPPROTO_IP, 0, 2), option, jump(bpfEqual, unix.IP_OPTIONS, 5, 6),
		jump(bpfEqual, unix.IPPROTO_IPV6, 0, 5), option, jump(bpfEqual, unix.IPV6_RTHDR, 2, 0),
		jump(bpfEqual, unix.IPV6_2292RTHDR, 1, 0), jump(bpfEqual, unix.IPV6_2292PKTOPTIONS, 0, 1),
		answerError(unix.ENOPROTOOPT), allow)
}

// truncations refuses what Landlock cannot see before ABI 3: to empty a file that may only be read.
func (p *program) truncations() {
	p.answer(answerError(unix.EACCES), unix.SYS_TRUNCATE)
	p.answer(answerError(unix.ENOSYS), unix.SYS_OPENAT2) // its flags are in memory
	for call, arg := range openCalls {
		p.on(call, load(atArg+8*arg), jump(bpfAnyBit, unix.O_TRUNC, 0, 4),
			unix.SockFilter{Code: bpfAnd, K: unix.O_ACCMODE},
			jump(bpfEqual, unix.O_WRONLY, 2, 0), jump(bpfEqual, unix.O_RDWR, 1, 0), answerError(unix.EACCES), allow)
	}
}

// program is a filter under construction. Between its parts the accumulator holds the number of the call.
type program []unix.SockFilter

// answer gives one answer to several calls.
func (p *program) answer(result unix.SockFilter, calls ...uint32) {
	for _, call := range calls {
		p.on(call, result)
	}
}

// on runs body for one call. Each way through body ends with an answer.
func (p *program) on(call uint32, body ...unix.SockFilter) {
	*p = append(append(*p, jump(bpfEqual, call, 0, uint8(len(body)))), body...)
}

// refuseBits is the body for a call that fails if an argument has one of some bits.
func refuseBits(arg, bits uint32, errno unix.Errno) []unix.SockFilter {
	return []unix.SockFilter{load(atArg + 8*arg), jump(bpfAnyBit, bits, 0, 1), answerError(errno), allow}
}

func load(at uint32) unix.SockFilter { return unix.SockFilter{Code: bpfLoad, K: at} }

// jump skips instructions: as many as yes if the test holds, else as many as no.
func jump(test uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: test, Jt: yes, Jf: no, K: k}
}

func answer(result uint32) unix.SockFilter { return unix.SockFilter{Code: bpfReturn, K: result} }

func answerError(errno unix.Errno) unix.SockFilter {
	return answer(unix.SECCOMP_RET_ERRNO | uint32(errno))
}

var allow = answer(unix.SECCOMP_RET_ALLOW)
