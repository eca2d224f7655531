//go:build linux

package attack

import (
	"fmt"
	"syscall"
)

// int80 makes a call without arguments through the 32-bit interface of the kernel.
func int80(number uintptr) uintptr

// legacyCall asks for the number of this process through the 32-bit interface.
func legacyCall() error {
	if n := int32(int80(20)); n < 0 { //nolint:gosec // the interface has 32 bits
		return fmt.Errorf("getpid: %w", syscall.Errno(-n))
	}
	return nil
}
