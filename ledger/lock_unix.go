//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package ledger

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// locks: they tell who lives.
const locks = true

// tryLock takes the lock for this open file; it ends when the file is closed, also
// by the end of the process.
func tryLock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errHeld
		default:
			return err
		}
	}
}
