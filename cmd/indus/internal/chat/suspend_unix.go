//go:build unix

package chat

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// stops is how long a stop may take to come: none does where no shell could let the process go on.
const stops = 100 * time.Millisecond

// suspend stops the process and those beside it, as Ctrl-Z does where a terminal is not in raw mode, until the shell lets
// them go on.
func suspend() {
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, syscall.SIGCONT)
	defer signal.Stop(resumed)
	_ = syscall.Kill(0, syscall.SIGTSTP)
	select {
	case <-resumed:
	case <-time.After(stops):
	}
}
