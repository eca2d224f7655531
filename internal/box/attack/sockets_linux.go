package attack

import (
	"errors"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// protocolMPTCP is the number of Multipath TCP.
const protocolMPTCP = 262

// socketAttacks are the attempts to reach other programs and machines by sockets.
func socketAttacks() []Attack {
	tcp := func(port int) *unix.SockaddrInet4 {
		return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
	}
	open := func(family, kind, protocol int) func(*scene) error {
		return func(*scene) error {
			fd, err := socket(family, kind, protocol)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}
	}
	return []Attack{
		{"tcp", "connect to a port of this machine", Denied, func(s *scene) error {
			return connect(unix.AF_INET, unix.SOCK_STREAM, 0, tcp(s.TCP))
		}},
		{"tcp6", "connect to a port by an IPv6 address", Denied, func(s *scene) error {
			to := &unix.SockaddrInet6{Port: s.TCP, Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}}
			return connect(unix.AF_INET6, unix.SOCK_STREAM, 0, to)
		}},
		{"mptcp", "connect by Multipath TCP", Denied, func(s *scene) error {
			return connect(unix.AF_INET, unix.SOCK_STREAM, protocolMPTCP, tcp(s.TCP))
		}},
		{"fast-open", "connect by TCP Fast Open", Denied, func(s *scene) error {
			fd, err := socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			if err := unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, tcp(s.TCP)); err != nil {
				return err
			}
			return receive(fd)
		}},
		{"fast-open-sendmsg", "connect by TCP Fast Open and sendmsg", Denied, func(s *scene) error {
			fd, err := socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Sendmsg(fd, []byte("x"), nil, tcp(s.TCP), unix.MSG_FASTOPEN)
		}},
		{"fast-open-option", "delay a connection until its first data", Denied, func(*scene) error {
			fd, err := socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1)
		}},
		{"source-route", "route a connection over another machine", Denied, func(*scene) error {
			fd, err := socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			route := string([]byte{131, 7, 4, 127, 0, 0, 1, 0})
			return unix.SetsockoptString(fd, unix.IPPROTO_IP, unix.IP_OPTIONS, route)
		}},
		{"udp", "send a datagram, as to a name server", Denied, func(s *scene) error {
			fd, err := socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			if err := unix.Sendto(fd, []byte("x"), 0, tcp(s.UDP)); err != nil {
				return err
			}
			return receive(fd)
		}},
		{"udp6", "open a datagram socket of IPv6", Denied, open(unix.AF_INET6, unix.SOCK_DGRAM, 0)},
		{"raw", "open a raw socket", Denied, open(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)},
		{"ping", "open a socket for ping", Denied, open(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP)},
		{"sctp", "open a socket of SCTP", Denied, open(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP)},
		{"netlink", "open a netlink socket", Denied, open(unix.AF_NETLINK, unix.SOCK_RAW, 0)},
		{"vsock", "open a socket to the machine's host", Denied, open(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
		{"packet", "open a packet socket", Denied, open(unix.AF_PACKET, unix.SOCK_DGRAM, 0)},
		{"alg", "open a socket for the kernel's ciphers", Denied, open(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)},
		{"bluetooth", "open a Bluetooth socket", Denied, open(unix.AF_BLUETOOTH, unix.SOCK_STREAM, 3)},
		{"unix", "connect to a Unix socket outside", Denied, func(s *scene) error {
			return connect(unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: s.Socket})
		}},
		{"unix-symlink", "connect to a Unix socket outside through a link", Denied, func(s *scene) error {
			link := inHome("socket")
			if err := os.Symlink(s.Socket, link); err != nil {
				return err
			}
			return connect(unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: link})
		}},
		{"unix-abstract", "connect to an abstract Unix socket", Denied, func(s *scene) error {
			return connect(unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: s.Abstract})
		}},
		{"unix-datagram", "send a datagram to a Unix socket outside", Denied, func(s *scene) error {
			fd, err := socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: s.Datagrams})
		}},
		{"unix-raw", "send a datagram by the old name of its type", Denied, open(unix.AF_UNIX, unix.SOCK_RAW, 0)},
		{"unix-pair", "send a datagram from a pair of sockets", Denied, func(s *scene) error {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(pair[0])
			defer unix.Close(pair[1])
			return unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: s.Datagrams})
		}},
		{"listen", "open a port", Denied, func(*scene) error { return listen(&unix.SockaddrInet4{}) }},
		{"listen-unbound", "open any port, without choosing one", Denied, func(*scene) error { return listen(nil) }},
	}
}

// socket opens a socket whose calls end after a second.
func socket(family, kind, protocol int) (int, error) {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err == nil {
		limit := unix.NsecToTimeval(time.Second.Nanoseconds())
		_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit)
		_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit)
	}
	return fd, err
}

// connect connects and reads the secret of the server.
func connect(family, kind, protocol int, to unix.Sockaddr) error {
	fd, err := socket(family, kind, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, to); err != nil {
		return err
	}
	return receive(fd)
}

func receive(fd int) error {
	buf := make([]byte, 64)
	n, _, err := unix.Recvfrom(fd, buf, 0)
	if err == nil && !strings.Contains(string(buf[:max(0, n)]), secretText) {
		err = errors.New("no answer")
	}
	return err
}

// listen opens a TCP port.
func listen(at unix.Sockaddr) error {
	fd, err := socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if at != nil {
		if err := unix.Bind(fd, at); err != nil {
			return err
		}
	}
	return unix.Listen(fd, 1)
}
