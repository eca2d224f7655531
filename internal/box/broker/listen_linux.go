package broker

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// maxListeners limits the remembered sockets that listen.
const maxListeners = 1024

// listen answers listen(2). Sockets that are not bound get a free port.
func (c *call) listen() error {
	if err := c.take(); err != nil {
		return err
	}
	if c.domain != unix.AF_UNIX {
		local, err := unix.Getsockname(c.sock)
		if err != nil {
			return err
		}
		if port := int(addressPort(local).Port()); !c.b.rules.permitsListen(port) {
			return c.deny(Denial{What: DeniedListen, Target: ":" + strconv.Itoa(port)})
		}
		c.b.listening.add(c.sock)
	}
	return unix.Listen(c.sock, int(int32(c.args[1])))
}

// listening holds the sockets of processes that listen. A process may connect to them: a program often connects to a
// helper that has chosen a free port.
type listening struct {
	mu     sync.Mutex
	inodes map[string]bool
}

func (l *listening) add(sock int) {
	var stat unix.Stat_t
	if unix.Fstat(sock, &stat) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inodes == nil || len(l.inodes) >= maxListeners {
		l.inodes = map[string]bool{}
	}
	l.inodes[strconv.FormatUint(stat.Ino, 10)] = true
}

// owns reports whether all sockets that listen on a port, on whichever address, are ours.
func (l *listening) owns(port uint16) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := false
	if len(l.inodes) == 0 {
		return false
	}
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		b, err := os.ReadFile(table)
		if err != nil && !os.IsNotExist(err) { // a system without IPv6 has one table
			return false
		}
		for line := range strings.Lines(string(b)) {
			// The fields are number, local address, remote address, state, three of queues and timers, user, probes, inode.
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != "0A" || !strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
				continue
			}
			if !l.inodes[f[9]] {
				return false
			}
			own = true
		}
	}
	return own
}
