//go:build linux || darwin

package proc_test

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/testkit/processes"
)

// fixture names the variable that turns the test binary into a child.
const fixture = "INDUS_PROC_FIXTURE"

// deadline limits the wait for an event that must come.
const deadline = 15 * time.Second

func TestMain(m *testing.M) {
	switch os.Getenv(fixture) {
	case "":
		goleak.VerifyTestMain(m)
	case "unreadable":
		unreadable()
	case "parent":
		parent(func(*proc.Process) {})
	case "parent whose watcher dies":
		parent(func(*proc.Process) { newWatcher(func(pid int) { syscall.Kill(pid, syscall.SIGKILL) }) })
	case "parent in the middle of a start": // the watcher knows only the mark
		parent(proc.ForgetSession)
	case "parent of those who drop the mark": // the watcher knows only the session
		parent(proc.ForgetMark)
	}
}

// newWatcher runs do on the watcher and returns when another watcher runs.
func newWatcher(do func(pid int)) {
	old := proc.WatcherPid()
	for do(old); proc.WatcherPid() == old || proc.WatcherPid() == 0; {
		time.Sleep(time.Millisecond)
	}
}

// stubborn is a server with a descendant. Both ignore SIGTERM and the end of stdin, and both hold
// the pipes. It prints both process numbers.
const stubborn = `trap '' TERM HUP INT; sleep 1000 & echo $$ $!; wait; while :; do sleep 1000; done`

// parent starts stubborn children, prints their numbers and the number of its watcher, and waits to
// be killed.
func parent(between func(*proc.Process)) {
	var pids []string
	for range 3 {
		p, err := proc.Start(background, sh(stubborn))
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		pids = append(pids, strings.Fields(line(p))...)
		between(p)
	}
	p, err := proc.Start(background, sh("cat"))
	if err != nil || !proc.Watched(p) {
		fmt.Println("error: unwatched", err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(append(pids, strconv.Itoa(p.Pid()), strconv.Itoa(proc.WatcherPid())), " "))
	select {}
}

// sh returns a command that runs a script.
func sh(script string, args ...string) proc.Command {
	return proc.Command{
		Path:  "sh",
		Args:  append([]string{"-c", script, "sh"}, args...),
		Env:   proc.Environ(os.Environ(), nil, false),
		Grace: proc.Grace{Stdin: 100 * time.Millisecond, Term: 100 * time.Millisecond},
	}
}

// patient gives a command so much grace that a test that needs it would fail.
func patient(c proc.Command) proc.Command {
	c.Grace = proc.Grace{Stdin: time.Hour, Term: time.Hour}
	return c
}

// line reads one line of a child's stdout. The child writes no more for now.
func line(p *proc.Process) string {
	s, err := bufio.NewReader(p.Stdout()).ReadString('\n')
	if err != nil {
		panic(fmt.Sprintf("child said %q: %v", s, err))
	}
	return strings.TrimSpace(s)
}

func start(t *testing.T, c proc.Command) *proc.Process {
	t.Helper()
	p, err := proc.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() { // a failed test does not wait for an hour of grace
			p.Kill()
		}
		p.Close()
	})
	return p
}

func waitDone(t *testing.T, p *proc.Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(deadline):
		t.Fatal("the child does not end")
	}
}

func waitGone(t *testing.T, pids ...int) {
	t.Helper()
	end := time.Now().Add(deadline)
	for _, pid := range pids {
		for alive(pid) {
			if time.Now().After(end) {
				p, _ := processes.Find(pid)
				t.Fatalf("process %d is not gone: %v", pid, p)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// alive counts a zombie as gone, because the init of the system decides when it is reaped.
func alive(pid int) bool {
	return syscall.Kill(pid, 0) != syscall.ESRCH && processes.Alive(pid)
}

func numbers(t *testing.T, s string) (pids []int) {
	t.Helper()
	for field := range strings.FieldsSeq(s) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatalf("not numbers: %q", s)
		}
		pids = append(pids, pid)
	}
	return pids
}
