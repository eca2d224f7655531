//go:build linux

package box

import "golang.org/x/sys/unix"

// filterArch is the name of this processor in seccomp.
const filterArch = unix.AUDIT_ARCH_X86_64

// refusedHere are the calls that only this processor has.
var refusedHere = []uint32{
	unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_MODIFY_LDT,
}

// openCalls maps each call that opens a file to the place of its flags.
var openCalls = map[uint32]uint32{unix.SYS_OPEN: 1, unix.SYS_OPENAT: 2}
