package ledger

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// locks: they tell who lives.
const locks = true

// tryLock takes the lock for this open file; it ends when the file is closed, also
// by the end of the process.
func tryLock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errHeld
	}
	return err
}
