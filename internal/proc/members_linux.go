package proc

import (
	"bytes"
	"fmt"
	"os"
	ossignal "os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// lastScan holds the last scan of all processes. Several servers often end together, and a scan costs milliseconds.
// Therefore callers that wait during one scan share the next.
var lastScan struct {
	mu    sync.Mutex
	began time.Time
	found []member
}

// A member is a process that may belong to a child. mark is "" if the process has no mark, or has hidden it, or is
// executing a program just now and has no environment yet.
type member struct {
	pid, session, group int
	mark                string
	executing           bool
}

// alone reports whether no process of p lives. If a process seems to execute a program for longer than that can take,
// it counts as foreign, so that it cannot block us.
func (p *Process) alone() bool {
	found, unsure := p.members()
	if !unsure {
		p.unsure = time.Time{}
	} else if p.unsure.IsZero() {
		p.unsure = time.Now()
	}
	return len(found) == 0 && (!unsure || time.Since(p.unsure) > execWait)
}

// members returns the living processes of p that we may signal: the processes of its group or session, and the
// processes with its mark. unsure reports that there may be more, because a process that started after p is about to
// execute a program.
func (p *Process) members() (found []member, unsure bool) {
	requested := time.Now()
	lastScan.mu.Lock()
	if !lastScan.began.After(requested) {
		lastScan.began = time.Now()
		lastScan.found = scanProcesses()
	}
	all := lastScan.found
	lastScan.mu.Unlock()
	for _, m := range all {
		if p.owns(m) {
			found = append(found, m)
		} else if m.executing {
			state, start := stat(m.pid)
			unsure = unsure || living(state) && startedAfter(start, p.session)
		}
	}
	return found, unsure
}

// startedAfter reports whether a process that started at start may descend from the leader of a session ("pid:start").
func startedAfter(start, session string) bool {
	_, since, _ := strings.Cut(session, ":")
	return len(start) > len(since) || len(start) == len(since) && start >= since
}

// scanProcesses returns all processes that we may signal.
func scanProcesses() (found []member) {
	var buf []byte
	for _, pid := range allPids() {
		if m := memberOf(pid, &buf); m.pid != 0 {
			found = append(found, m)
		}
	}
	return found
}

// allPids returns the numbers of all processes in /proc.
func allPids() (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// memberOf returns one process. The result is zero if the process is gone or we may not signal it. If the leader of a
// session is in another PID namespace (a container that was entered), the session is 0. If the group is 0 too, the
// process belongs to the kernel, or a process outside the namespace started it. buf is reused.
func memberOf(pid int, buf *[]byte) member {
	session, err := unix.Getsid(pid)
	group, _ := unix.Getpgid(pid)
	if err != nil || session == 0 && group == 0 || unix.Kill(pid, 0) != nil {
		return member{}
	}
	m := member{pid: pid, session: session, group: group}
	env, err := environOf(pid, buf)
	for tries := 0; err == nil && len(env) == 0 && tries < 3; tries++ {
		// When a program is executed, its environment is set last.
		var empty bool
		m.executing, empty = environState(pid)
		if m.executing || empty {
			break
		}
		m.executing = true // until its environment is read
		env, err = environOf(pid, buf)
	}
	m.executing = m.executing && len(env) == 0
	for pair := range bytes.SplitSeq(env, []byte{0}) {
		if mark, ok := bytes.CutPrefix(pair, []byte(markName+"=")); ok {
			m.mark = string(mark)
		}
	}
	return m
}

func environOf(pid int, buf *[]byte) ([]byte, error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/environ", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	env := (*buf)[:0]
	for n := 1; n > 0; env = env[:len(env)+max(0, n)] {
		env = slices.Grow(env, 16<<10)
		n, _ = unix.Read(fd, env[len(env):cap(env)])
	}
	*buf = env
	return env, nil
}

// environState reads the place of a process's environment in memory. It reports whether there is none yet, and whether
// it is empty.
func environState(pid int) (missing, empty bool) {
	f := statFields(pid)
	return len(f) > 48 && f[48] == "0", len(f) > 48 && f[47] == f[48]
}

func (p *Process) owns(m member) bool {
	if m.session != p.Pid() && m.group != p.Pid() && (p.mark == "" || m.mark != p.mark) {
		return false
	}
	state, _ := stat(m.pid)
	return living(state)
}

func living(state string) bool { return state != "" && state != "Z" && state != "X" }

// signalMembers signals the members outside of the leader's group that are not in asked. It reports whether there are
// any, and whether there may be more. It uses a pidfd, so a process that reuses the number is not signaled.
func (p *Process) signalMembers(s signal, signaled map[int]bool) (sent, unsure bool) {
	var buf []byte
	found, unsure := p.members()
	for _, m := range found {
		if m.group == p.Pid() || signaled[m.pid] {
			continue
		}
		if signaled != nil {
			signaled[m.pid] = true
		}
		if h, err := os.FindProcess(m.pid); err == nil {
			if p.owns(memberOf(m.pid, &buf)) {
				sent = h.Signal(s) == nil || sent
			}
			_ = h.Release()
		}
	}
	return sent, unsure
}

// startOf returns the start time of a process, in clock ticks since the start of the system.
func startOf(pid int) string {
	_, start := stat(pid)
	return start
}

// stat returns a process's state and start time, or "" if the process does not exist.
func stat(pid int) (state, start string) {
	f := statFields(pid)
	if len(f) < 20 {
		return "", ""
	}
	return f[0], f[19]
}

// statFields returns the fields of /proc/PID/stat after the name, from the third field on. It returns none if the
// process does not exist.
func statFields(pid int) []string {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:])) // a name may contain any character
}

// ReapOrphans reaps orphans until stop is called, if this process is PID 1. An orphan is a process with an exited
// parent: it becomes a child of PID 1, and stays a zombie until PID 1 waits for it.
//
// Children of Start and Run keep their exit status, and so does a child in the process group of this process, which
// os/exec starts by default. Any other child is reaped too, so only a program without other children may call it.
func ReapOrphans() (stop func()) {
	if os.Getpid() != 1 {
		return func() {}
	}
	exits := make(chan os.Signal, 1)
	ossignal.Notify(exits, unix.SIGCHLD)
	done := make(chan struct{})
	go func() {
		defer close(done)
		reapOrphans() // orphans of the program that executed this one
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

// reapOrphans scans all processes, because a wait for any child would take the status of ours as well.
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
	ownChildren.starting.Lock()
	defer ownChildren.starting.Unlock()
	if _, own := ownChildren.pids.Load(pid); !own {
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
	}
}
