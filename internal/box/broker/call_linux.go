package broker

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxAddress is the longest address of a socket (struct sockaddr_storage).
const maxAddress = 128

// call is one connect or listen of a thread.
type call struct {
	b        *Broker
	listener int
	id       uint64
	tid      int
	args     [6]uint64

	sock   int // our descriptor of its socket, or -1
	domain int
	limit  time.Duration // of a connect of a blocking socket, or 0
}

// alive reports whether the thread still waits for the answer.
func (c *call) alive() bool {
	id := c.id
	return ioctl(c.listener, ioctlValid, unsafe.Pointer(&id)) == nil
}

func (c *call) close() {
	if c.sock >= 0 {
		_ = unix.Close(c.sock)
	}
}

// memory copies the address out of the memory of the process. It is called once for each call.
func (c *call) memory(at, length uint64) ([]byte, error) {
	if int32(length) < 2 || int32(length) > maxAddress {
		return nil, unix.EINVAL
	}
	b := make([]byte, int32(length))
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	n, err := unix.ProcessVMReadv(c.tid, local, []unix.RemoteIovec{{Base: uintptr(at), Len: len(b)}}, 0)
	if err == unix.EPERM { // the process made itself unreadable
		return nil, unix.EACCES
	}
	if err != nil || n != len(b) {
		return nil, unix.EFAULT
	}
	return b, nil
}

// take takes the socket of the call. It fails if the thread does not wait any more: then its number may belong to
// another process, and so may the memory that was read.
func (c *call) take() error {
	pidfd, err := openThread(c.tid)
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	if !c.alive() {
		return unix.ESRCH
	}
	sock, err := unix.PidfdGetfd(pidfd, int(int32(c.args[0])), 0)
	if err == unix.EPERM {
		return unix.EACCES
	}
	if err != nil {
		return err
	}
	c.sock = sock
	return c.check()
}

// openThread returns a pidfd of a thread, or before Linux 6.9 of its process.
func openThread(tid int) (int, error) {
	fd, err := unix.PidfdOpen(tid, unix.O_EXCL) // PIDFD_THREAD
	if err != unix.EINVAL {
		return fd, err
	}
	return openProcess(tid)
}

// openProcess returns a pidfd of the process of a thread.
func openProcess(tid int) (int, error) {
	fields := statusFields(tid, "Tgid")
	if len(fields) == 0 {
		return -1, unix.ESRCH
	}
	pid, err := strconv.Atoi(fields[0])
	if err != nil {
		return -1, unix.ESRCH
	}
	return unix.PidfdOpen(pid, 0)
}

// check refuses every socket that is not TCP or a Unix stream. It looks at the socket that is taken, so the process
// cannot put another one in its place.
func (c *call) check() (err error) {
	option := func(name int) (n int) {
		if err == nil {
			n, err = unix.GetsockoptInt(c.sock, unix.SOL_SOCKET, name)
		}
		return n
	}
	c.domain = option(unix.SO_DOMAIN)
	kind, protocol := option(unix.SO_TYPE), option(unix.SO_PROTOCOL)
	switch {
	case err != nil: // ENOTSOCK
		return err
	case kind != unix.SOCK_STREAM:
		return unix.EACCES
	case c.domain == unix.AF_UNIX:
		return nil
	case (c.domain == unix.AF_INET || c.domain == unix.AF_INET6) && protocol == unix.IPPROTO_TCP && !c.isRouted():
		return nil
	}
	return unix.EACCES
}

// isRouted reports whether the socket has options that send its packets through other hosts, or to them.
func (c *call) isRouted() bool {
	if c.domain == unix.AF_INET {
		return c.hasOption(unix.IPPROTO_IP, unix.IP_OPTIONS)
	}
	return c.hasOption(unix.IPPROTO_IPV6, unix.IPV6_RTHDR) || c.hasOption(unix.IPPROTO_IP, unix.IP_OPTIONS)
}

func (c *call) hasOption(level, name int) bool {
	var b [256]byte
	length := uint32(len(b))
	_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(c.sock), uintptr(level), uintptr(name),
		uintptr(unsafe.Pointer(&b)), uintptr(unsafe.Pointer(&length)), 0)
	return e == 0 && length > 0
}

func (c *call) nonblocking() bool {
	flags, err := unix.FcntlInt(uintptr(c.sock), unix.F_GETFL, 0)
	return err != nil || flags&unix.O_NONBLOCK != 0
}

// sockaddr is an address that a process passed to connect.
type sockaddr struct {
	family int
	at     netip.AddrPort // of AF_INET and AF_INET6
	scope  uint32
	path   string // of AF_UNIX; an abstract one begins with a zero byte
}

// parseSockaddr decodes an address as the kernel does. Families that it does not know have no fields.
func parseSockaddr(b []byte) (sockaddr, error) {
	if len(b) < 2 {
		return sockaddr{}, unix.EINVAL
	}
	a := sockaddr{family: int(binary.NativeEndian.Uint16(b))}
	switch a.family {
	case unix.AF_INET:
		if len(b) < unix.SizeofSockaddrInet4 {
			return a, unix.EINVAL
		}
		a.at = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[2:]))
	case unix.AF_INET6:
		if len(b) < unix.SizeofSockaddrInet6-4 { // the scope may be missing (RFC 2133)
			return a, unix.EINVAL
		}
		a.at = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), binary.BigEndian.Uint16(b[2:]))
		if len(b) >= unix.SizeofSockaddrInet6 {
			a.scope = binary.NativeEndian.Uint32(b[24:])
		}
	case unix.AF_UNIX:
		if len(b) > unix.SizeofSockaddrUnix {
			return a, unix.EINVAL
		}
		a.path = string(b[2:])
		if a.path != "" && a.path[0] != 0 {
			a.path, _, _ = strings.Cut(a.path, "\x00")
		}
	}
	return a, nil
}
