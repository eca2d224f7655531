package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Works reports whether locks exclude other processes on this system.
const Works = true

// Try takes the lock for this open file, or returns [ErrHeld]. The lock ends when the file is
// closed, which includes the end of the process.
func Try(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrHeld
	}
	return err
}
