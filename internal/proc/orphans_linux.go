package proc

import (
	"os"
	ossignal "os/signal"
	"strconv"

	"golang.org/x/sys/unix"
)

// ReapOrphans reaps orphans until stop is called, if this process is PID 1. An orphan is a process whose parent has
// exited: it becomes a child of PID 1, and stays a zombie until PID 1 waits for it.
//
// Children of Start and Run keep their exit status, and so does a child in the process group of this process, which
// os/exec starts by default. Any other child is reaped too, so only a program that has none may call it.
func ReapOrphans() (stop func()) {
	if os.Getpid() != 1 {
		return func() {}
	}
	exits := make(chan os.Signal, 1)
	ossignal.Notify(exits, unix.SIGCHLD)
	done := make(chan struct{})
	go func() {
		defer close(done)
		reapOrphans() // those that a program left here which executed this one
		for range exits {
			reapOrphans()
		}
	}()
	return func() {
		ossignal.Stop(exits)
		close(exits)
		<-done
	}
}

// reapOrphans looks at all processes, because a wait for any child would take the status of ours as well.
func reapOrphans() {
	self, group := strconv.Itoa(os.Getpid()), strconv.Itoa(unix.Getpgrp())
	for _, pid := range allPids() {
		if f := statFields(pid); len(f) > 2 && f[0] == "Z" && f[1] == self && f[2] != group {
			reapOrphan(pid)
		}
	}
}

// reapOrphan reaps a child that has exited, unless it is one of ours.
func reapOrphan(pid int) {
	ourChildren.starting.Lock()
	defer ourChildren.starting.Unlock()
	if _, ours := ourChildren.pids.Load(pid); !ours {
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
	}
}
