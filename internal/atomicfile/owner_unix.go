//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package atomicfile

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives the new file the owner of the old file, if root writes it.
func keepOwner(f *os.File, old fs.FileInfo) {
	if s, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(s.Uid), int(s.Gid))
	}
}

// isOfRoot reports whether root owns a file.
func isOfRoot(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Uid == 0
}
