package locked

import (
	"fmt"
	"io/fs"
	"syscall"
)

// changeOf returns the place of a file and the time of its last change, which the system alone sets.
func changeOf(info fs.FileInfo) (string, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false
	}
	return fmt.Sprintf("%d:%d %d.%09d", s.Dev, s.Ino, s.Ctim.Sec, s.Ctim.Nsec), true
}
