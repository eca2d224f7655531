//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package mcpconfig

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock of an open directory, which ends with it, also when the
// process is killed. On a file system without locks everybody has it.
func tryLock(f *os.File) bool {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR)
}

// keepOwner gives the new file the owner of the old one, where root writes it.
func keepOwner(f *os.File, old fs.FileInfo) {
	if s, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(s.Uid), int(s.Gid))
	}
}
