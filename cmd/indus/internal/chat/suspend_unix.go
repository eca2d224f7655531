//go:build unix

package chat

import "syscall"

// suspend stops the process and those beside it, as Ctrl-Z does where a terminal is not in raw mode, until the shell lets
// them go on.
func suspend() { _ = syscall.Kill(0, syscall.SIGTSTP) }
