package broker

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// nameServices has sockets of name services. The C library tries them before files and the resolver, and is content
// without them, so they are missing in the eyes of the process and not worth a report.
var nameServices = []string{
	"/run/nscd/", "/var/run/nscd/", "/run/systemd/resolve/", "/run/systemd/userdb/", "/var/lib/sss/",
}

// connectPath connects a Unix stream socket. The path is opened here, without symbolic links, and the socket is
// connected to the opened file.
func (c *call) connectPath(path string) error {
	switch {
	case path == "":
		return unix.EINVAL
	case path[0] == 0:
		return c.deny(Denial{What: DeniedSocket, Target: "@" + strings.TrimRight(path[1:], "\x00")})
	}
	proc := "/proc/" + strconv.Itoa(c.tid)
	if root, err := os.Readlink(proc + "/root"); err != nil || root != "/" {
		return c.deny(Denial{What: DeniedSocket, Target: path})
	}
	if !filepath.IsAbs(path) {
		dir, err := os.Readlink(proc + "/cwd")
		if err != nil {
			return unix.EACCES
		}
		path = dir + "/" + path
	}
	path = filepath.Clean(path)
	resolved, ok := c.b.rules.socketPath(path)
	if !ok {
		if slices.ContainsFunc(nameServices, func(dir string) bool { return strings.HasPrefix(path, dir) }) {
			return unix.ENOENT
		}
		return c.deny(Denial{What: DeniedSocket, Target: path})
	}
	err := c.asItsUser(func() error {
		fd, err := unix.Openat2(unix.AT_FDCWD, resolved, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_NO_SYMLINKS})
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return c.connectTo(&unix.SockaddrUnix{Name: "/proc/self/fd/" + strconv.Itoa(fd)})
	})
	if err == unix.ELOOP {
		return c.deny(Denial{What: DeniedSocket, Target: path})
	}
	return err
}
