//go:build unix

package chat

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// stopTimeout is how long to wait for the stop signal. Without a shell that could resume the process, the signal has no
// effect.
const stopTimeout = 100 * time.Millisecond

// suspend stops the process group until the shell resumes it, as Ctrl-Z does on a terminal that is not in raw mode.
func suspend() {
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, syscall.SIGCONT)
	defer signal.Stop(resumed)
	_ = syscall.Kill(0, syscall.SIGTSTP)
	select {
	case <-resumed:
	case <-time.After(stopTimeout):
	}
}
