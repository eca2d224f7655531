package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Works reports whether a free lock means that nobody has it.
const Works = true

// Try takes the lock for this open file, or says [ErrHeld]; it ends when the file is
// closed, also by the end of the process.
func Try(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrHeld
	}
	return err
}
