//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows)

package ledger

import "os"

// locks: nobody can tell who lives.
const locks = false

// tryLock: there are no locks. One process at a time may have the log.
func tryLock(*os.File) error { return nil }
