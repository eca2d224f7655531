//go:build unix

package toolbox

import "syscall"

const nonBlocking = syscall.O_NONBLOCK
