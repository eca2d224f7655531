//go:build linux || darwin

package proc_test

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/indusagi/indus/internal/proc"
)

// spawn runs this binary as a program that has children, and returns it with
// the numbers of all its processes, its watcher's last.
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
	for _, mode := range []string{"parent", "parent whose watcher dies"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
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
	if !p.Watched() || proc.WatcherPid() != pid || !alive(pid) {
		t.Error("it is gone")
	}
}

func TestOneWatcherForAll(t *testing.T) {
	first := start(t, sh("cat"))
	pid := proc.WatcherPid()
	second := start(t, sh("cat"))
	if got := proc.WatcherPid(); pid == 0 || got != pid {
		t.Errorf("watchers %d and %d", pid, got)
	}
	if !first.Watched() || !second.Watched() {
		t.Error("unwatched")
	}
}

func TestAWatcherThatWasKilledIsReplaced(t *testing.T) {
	for name, next := range map[string]func(*testing.T){
		"by a start": func(t *testing.T) { start(t, sh("cat")) },
		"by an end":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			first, other := start(t, sh("cat")), start(t, sh("cat"))
			killed := proc.WatcherPid()
			if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the loss is noticed", func() bool { return !first.Watched() })
			if next == nil {
				other.Close()
			} else {
				next(t)
			}
			if pid := proc.WatcherPid(); pid == 0 || pid == killed {
				t.Errorf("watcher %d after %d", pid, killed)
			}
			if !first.Watched() {
				t.Error("the first group was forgotten")
			}
			if z := zombies(t); len(z) != 0 {
				t.Errorf("zombies: %v", z)
			}
		})
	}
}

// The script is POSIX: every shell that may be /bin/sh runs it.
func TestWatcherScript(t *testing.T) {
	for _, shell := range []string{"sh", "dash", "bash --posix", "ksh", "mksh", "yash", "zsh --emulate sh", "busybox sh"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			args := append(strings.Fields(shell), "-c", proc.WatcherScript)
			if _, err := exec.LookPath(args[0]); err != nil {
				t.Skip(err)
			}
			dead := []*proc.Process{start(t, patient(sh(stubborn))), start(t, patient(sh("echo $$; sleep 1000")))}
			spared := []*proc.Process{start(t, sh("cat")), start(t, sh("cat")), start(t, sh("cat"))}
			var pids []int
			for _, p := range dead {
				pids = append(pids, numbers(t, line(p))...)
			}
			w := exec.Command(args[0], args[1:]...)
			w.Stdin = strings.NewReader(strings.NewReplacer(
				"A", strconv.Itoa(spared[0].Pid()), "B", strconv.Itoa(spared[1].Pid()), "C", strconv.Itoa(spared[2].Pid()),
				"X", strconv.Itoa(dead[0].Pid()), "Y", strconv.Itoa(dead[1].Pid()),
			).Replace("+A\n+X\n\n+B\n-A\n-A\nnonsense\n+-1\n+\n+C\n-B\n+A\n-A\n-7\n+Y\n-C\n"))
			w.Run() // busybox minds the "--" that POSIX asks for, and goes on
			waitGone(t, pids...)
			for _, p := range spared {
				if !alive(p.Pid()) {
					t.Errorf("%d was killed", p.Pid())
				}
			}
		})
	}
}
