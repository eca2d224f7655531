//go:build linux || darwin

package proc_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/testkit/processes"
)

// spawn runs this binary as a program with children. It returns the program and the numbers of all
// its processes, with its watcher's last.
func spawn(t *testing.T, mode string) (program *exec.Cmd, pids []int) {
	t.Helper()
	program = exec.Command(os.Args[0])
	program.Env = append(os.Environ(), fixture+"="+mode)
	program.Stderr = os.Stderr
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		program.Process.Kill()
		program.Wait()
	})
	l, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.HasPrefix(l, "error") {
		t.Fatal(l, err)
	}
	pids = numbers(t, l)
	if len(pids) != 3*2+1+1 {
		t.Fatalf("pids: %v", pids)
	}
	return program, pids
}

func TestKillNineLeavesNothing(t *testing.T) {
	for _, mode := range []string{
		"parent", "parent whose watcher dies", "parent in the middle of a start", "parent of those who drop the mark",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			if mode == "parent in the middle of a start" && runtime.GOOS != "linux" {
				t.Skip("marks are read in /proc")
			}
			program, pids := spawn(t, mode)
			for _, pid := range pids {
				if !alive(pid) {
					t.Errorf("%d has not lived", pid)
				}
			}
			program.Process.Kill()
			waitGone(t, pids...)
		})
	}
}

func TestWatcherIsOutOfReachOfTheTerminal(t *testing.T) {
	p := start(t, sh("cat"))
	pid := proc.WatcherPid()
	if sid, err := syscall.Getpgid(pid); err != nil || sid != pid {
		t.Errorf("its group is %d, %v", sid, err)
	}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if err := syscall.Kill(pid, s); err != nil {
			t.Error(err)
		}
	}
	if !proc.Watched(p) || proc.WatcherPid() != pid || !alive(pid) {
		t.Error("it is gone")
	}
	if p, ok := processes.Find(pid); !ok || strings.Contains(p.Command, "indus") {
		t.Errorf("pkill -9 -f indus ends it with us: %v, %v", p, ok)
	}
}

func TestOneWatcherForAll(t *testing.T) {
	first := start(t, sh("cat"))
	pid := proc.WatcherPid()
	second := start(t, sh("cat"))
	if got := proc.WatcherPid(); pid == 0 || got != pid {
		t.Errorf("watchers %d and %d", pid, got)
	}
	if !proc.Watched(first) || !proc.Watched(second) {
		t.Error("unwatched")
	}
}

func TestAWatcherIsReplaced(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(s.String(), func(t *testing.T) {
			first, other := start(t, sh("cat")), start(t, sh("cat"))
			within(t, func() { newWatcher(func(pid int) { syscall.Kill(pid, s) }) })
			if !proc.Watched(first) || !proc.Watched(other) {
				t.Error("who lived before was forgotten")
			}
			if z := zombies(t); len(z) != 0 {
				t.Errorf("zombies: %v", z)
			}
		})
	}
}

// The script is POSIX: every shell that may be /bin/sh can run it.
func TestWatcherScript(t *testing.T) {
	for _, shell := range []string{"sh", "dash", "bash --posix", "ksh", "mksh", "yash", "zsh --emulate sh", "busybox sh"} {
		for _, since := range []string{proc.StartOf(os.Getpid()), ""} {
			t.Run(shell+" since "+since, func(t *testing.T) {
				t.Parallel()
				args := append(strings.Fields(shell), "-c", proc.WatcherScript, "watcher", since)
				if _, err := exec.LookPath(args[0]); err != nil {
					t.Skip(err)
				}
				dead := []*proc.Process{start(t, patient(sh(stubborn))), start(t, patient(sh("echo $$; sleep 1000")))}
				spared := []*proc.Process{start(t, sh("cat")), start(t, sh("cat")), start(t, sh("cat")), start(t, sh("cat"))}
				if since != "" { // the watcher finds it only by its mark
					byMark := start(t, patient(sh(`set -m; env -u PATH sleep 1000 >/dev/null & echo $! $$; wait`)))
					defer waitGone(t, numbers(t, line(byMark))...)
					dead = append(dead, byMark)
				}
				var pids []int
				for _, p := range dead[:2] {
					pids = append(pids, numbers(t, line(p))...)
				}
				leaderless := exec.Command("sh", "-c",
					`sleep 1000 >/dev/null 2>&1 & echo $! "$(sed 's/.*) //' /proc/$$/stat | cut -d ' ' -f 20)"`)
				leaderless.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
				out, err := leaderless.Output()
				if err != nil {
					t.Fatal(err)
				}
				left := strings.Fields(string(out))
				pids = append(pids, numbers(t, left[0])...)
				w := exec.Command(args[0], args[1:]...)
				foreign := "" // a session with a reused number
				if since != "" {
					foreign = strconv.Itoa(spared[3].Pid()) + ":1"
				}
				names := []string{"F", foreign, "L", fmt.Sprintf("%d:%s", leaderless.Process.Pid, strings.Join(left[1:], ""))}
				for i, name := range []string{"A", "B", "C"} {
					names = append(names, name, proc.Session(spared[i]))
				}
				names = append(names, "X", proc.Session(dead[0]), "Y", proc.Session(dead[1]), "Z", proc.Mark(dead[len(dead)-1]))
				w.Stdin = strings.NewReader(strings.NewReplacer(names...).Replace(
					"+A\n+X\n?\n\n+B\n-A\n-A\nnonsense\n+-1\n+*\n+\n+C\n-B\n+A\n-A\n-7\n+Y\n-C\n+F\n+L\n?\n+Z\n"))
				var none *os.File
				if out, closed, err := os.Pipe(); err == nil { // the reader of its answers has died
					out.Close()
					none = closed
					defer none.Close()
				}
				w.Stdout = none
				w.Run() // busybox reports the "--" that POSIX requires, and continues
				waitGone(t, pids...)
				for _, p := range spared {
					if !alive(p.Pid()) {
						t.Errorf("%d was killed", p.Pid())
					}
				}
			})
		}
	}
}

// The watcher kills a process and its descendants at the time that was set last, without our help.
func TestKillAfter(t *testing.T) {
	p := start(t, patient(sh(`trap '' TERM; set -m; (trap '' TERM; exec sleep 1000) & echo $!; cat; exec sleep 1000`)))
	pids := numbers(t, line(p))
	p.KillAfter(time.Millisecond)
	p.KillAfter(time.Hour)
	other := start(t, sh("cat"))
	other.KillAfter(10 * time.Millisecond)
	waitDone(t, other)
	if !alive(p.Pid()) {
		t.Error("it was killed at the time that was set first")
	}
	p.KillAfter(10 * time.Millisecond)
	waitDone(t, p)
	waitGone(t, append(pids, p.Pid())...)
	if got := fmt.Sprint(p.Err()); got != "signal: killed" {
		t.Error(got)
	}
	p.KillAfter(time.Millisecond) // it has ended
}
