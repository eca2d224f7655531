//go:build linux

package box

import "golang.org/x/sys/unix"

// filterArch is the name of this processor in seccomp.
const filterArch = unix.AUDIT_ARCH_X86_64
