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

// lastScan is the last look at all processes. Servers end together, and a look costs
// milliseconds: whoever waited while another one was taken shares the next.
var lastScan struct {
	mu    sync.Mutex
	began time.Time
	found []member
}

// A member is a process that may belong to somebody. Its mark is "" where it has
// none, or has hidden it, or is executing a program just now and has no environment yet.
type member struct {
	pid, session, group int
	mark                string
	executing           bool
}

// alone reports whether none of ours lives. What seems to execute a program for longer
// than that takes counts as nobody's: it must not hold us up.
func (p *Process) alone() bool {
	found, unsure := p.members()
	if !unsure {
		p.unsure = time.Time{}
	} else if p.unsure.IsZero() {
		p.unsure = time.Now()
	}
	return len(found) == 0 && (!unsure || time.Since(p.unsure) > execWait)
}

// members are the processes of p that live and that we may signal: those of its
// group or session, and those that carry its mark. unsure: there may be more, because
// somebody that started after p is about to execute a program.
func (p *Process) members() (found []member, unsure bool) {
	asked := time.Now()
	lastScan.mu.Lock()
	if !lastScan.began.After(asked) {
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

// scanProcesses looks at all processes that we may signal.
func scanProcesses() (found []member) {
	var buf []byte
	for _, pid := range allPids() {
		if m := memberOf(pid, &buf); m.pid != 0 {
			found = append(found, m)
		}
	}
	return found
}

// allPids are the numbers of all processes that /proc shows.
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

// memberOf is one process, or none where it is gone or not ours to signal. Where the leader of a
// session is in another PID namespace (a container that was entered) the session is 0; without a
// group, too, a process is the kernel's own, or started by nobody whom we see.
// buf is used again.
func memberOf(pid int, buf *[]byte) member {
	session, err := unix.Getsid(pid)
	group, _ := unix.Getpgid(pid)
	if err != nil || session == 0 && group == 0 || unix.Kill(pid, 0) != nil {
		return member{}
	}
	m := member{pid: pid, session: session, group: group}
	env, err := environOf(pid, buf)
	for tries := 0; err == nil && len(env) == 0 && tries < 3; tries++ {
		// The environment of a program comes last when it is executed.
		var empty bool
		if m.executing, empty = environState(pid); m.executing || empty {
			break
		}
		m.executing = true // until it is read
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

// environState reads where the environment of a process is in its memory: nowhere yet, or at nothing.
func environState(pid int) (none, empty bool) {
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

// signalMembers signals those outside of the leader's group that are not among the asked,
// and reports whether there are any, and whether there may be more. A handle is a pidfd:
// a process that gets the number meanwhile is not met.
func (p *Process) signalMembers(s signal, asked map[int]bool) (any, unsure bool) {
	var buf []byte
	found, unsure := p.members()
	for _, m := range found {
		if m.group == p.Pid() || asked[m.pid] {
			continue
		}
		if asked != nil {
			asked[m.pid] = true
		}
		if h, err := os.FindProcess(m.pid); err == nil {
			if p.owns(memberOf(m.pid, &buf)) {
				any = h.Signal(s) == nil || any
			}
			_ = h.Release()
		}
	}
	return any, unsure
}

// startOf is when a process started, in clock ticks since the system did.
func startOf(pid int) string {
	_, start := stat(pid)
	return start
}

// stat reads a process's state and start time, "" where there is none.
func stat(pid int) (state, start string) {
	f := statFields(pid)
	if len(f) < 20 {
		return "", ""
	}
	return f[0], f[19]
}

// statFields are what /proc/PID/stat has after the name, from the third field on; none where there is no process.
func statFields(pid int) []string {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:])) // a name may hold anything
}

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
