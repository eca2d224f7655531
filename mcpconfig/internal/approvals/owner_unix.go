//go:build unix

package approvals

import (
	"io/fs"
	"os"
	"syscall"
)

// isOwn reports whether a file belongs to the user of this process, or to root, which may write everything anyway.
func isOwn(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return !ok || s.Uid == 0 || int(s.Uid) == os.Geteuid()
}
