//go:build linux || darwin

package proc_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/testkit/processes"
)

func TestCloseEndsStdinFirst(t *testing.T) {
	p := start(t, patient(sh("cat >/dev/null; exit 7")))
	p.Close()
	if got := fmt.Sprint(p.Err()); got != "exit status 7" {
		t.Error(got)
	}
}

func TestCloseThenTerm(t *testing.T) {
	c := sh(`trap 'exit 9' TERM; echo up; while :; do sleep 0.01; done`)
	c.Grace.Term = time.Hour
	p := start(t, c)
	line(p)
	p.Close()
	if got := fmt.Sprint(p.Err()); got != "exit status 9" {
		t.Error(got)
	}
}

func TestCloseThenKill(t *testing.T) {
	p := start(t, sh(stubborn))
	pids := numbers(t, line(p))
	p.Close()
	if got := fmt.Sprint(p.Err()); got != "signal: killed" {
		t.Error(got)
	}
	waitGone(t, pids...)
}

func TestNegativeGraceIsNone(t *testing.T) {
	c := sh(stubborn)
	c.Grace = proc.Grace{Stdin: -1, Term: -1}
	p := start(t, c)
	pids := numbers(t, line(p))
	p.Close()
	waitGone(t, pids...)
}

// The descendant ignores SIGTERM and holds the pipes; its leader obeys.
func TestCloseTakesAStubbornGrandchildAlong(t *testing.T) {
	p := start(t, sh(`(trap '' TERM; exec sleep 1000) & echo $!; cat`))
	pids := numbers(t, line(p))
	p.Close()
	waitGone(t, append(pids, p.Pid())...)
}

func TestLeaderTakesItsGroupAlong(t *testing.T) {
	for name, script := range map[string]string{
		"stubborn": `(trap '' TERM; exec sleep 1000) & echo $!`,
		"obedient": `sleep 1000 & echo $!`,
		"silent":   `sleep 1000 >/dev/null 2>&1 & echo $!`,
		"stderr":   `sleep 1000 >/dev/null & echo $!`,
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, sh(script+"; exit 4"))
			pids := numbers(t, line(p))
			waitDone(t, p)
			waitGone(t, append(pids, p.Pid())...)
			if rest, err := io.ReadAll(p.Stdout()); err != nil || len(rest) != 0 {
				t.Errorf("no EOF: %q, %v", rest, err)
			}
			if got := fmt.Sprint(p.Err()); got != "exit status 4" {
				t.Error(got)
			}
		})
	}
}

// If the leader dies of SIGTERM, its descendants still have the rest of the grace.
func TestGrandchildHasTheGraceOfTerm(t *testing.T) {
	c := sh(`(trap 'sleep 0.3; echo saved; exit' TERM; echo up; while :; do sleep 0.01; done) & wait`)
	c.Grace.Term = time.Hour
	p := start(t, c)
	line(p)
	// Close closes stdout, so the test reads it before.
	result := make(chan string)
	go func() {
		out, _ := io.ReadAll(p.Stdout())
		result <- string(out)
	}()
	p.Close()
	if got := <-result; got != "saved\n" {
		t.Errorf("got %q", got)
	}
}

// All descendants of a server end with it, in any group or session: they get SIGTERM first, and are
// killed later.
func TestCloseEndsWhatLeftTheGroup(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only the group can be found")
	}
	const gentle, rude = `sh -c 'trap "echo asked >&2; exit" TERM; echo $$; while :; do sleep 0.01; done'`,
		`sh -c 'trap "" TERM; echo $$; exec sleep 1000 >/dev/null 2>&1'`
	for name, script := range map[string]string{
		"group":                 `set -m; ` + gentle + ` & cat`,
		"group, no environment": `set -m; exec 3>&1; PATH=$PATH env -i PATH="$PATH" ` + gentle + ` & cat`,
		"session":               `setsid ` + gentle + ` & cat`,
		"stubborn group":        `set -m; ` + rude + ` & cat`,
		"stubborn session":      `setsid ` + rude + ` & cat`,
		"timeout":               `set -m; timeout 1000 ` + gentle + ` & cat`,
		"its leader has exited": `setsid ` + rude + ` & read x; exit 0`,
		"its parent too":        `(setsid ` + rude + ` &) ; cat`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := sh(script)
			if strings.Contains(script, "asked") {
				c.Grace.Term = 2 * deadline // it ends as soon as the machine allows
			}
			p := start(t, c)
			pids := numbers(t, line(p))
			late := time.AfterFunc(deadline, func() {
				all, _ := processes.List()
				t.Errorf("%d hangs, of which %v should end:\n%v", p.Pid(), pids, all)
			})
			p.Close()
			late.Stop()
			waitGone(t, pids...)
			if strings.Contains(script, "asked") && !strings.Contains(p.Stderr(), "asked") {
				t.Errorf("killed without being asked: %q", p.Stderr())
			}
		})
	}
}

// A descendant in another session without the mark is out of reach. It must not block Close.
func TestPipesHeldByOneOutOfReach(t *testing.T) {
	setsid, err := exec.LookPath("setsid")
	if err != nil {
		t.Skip(err)
	}
	p := start(t, sh(`env -i `+setsid+` /bin/sh -c 'echo $$; exec /bin/sleep 1000' & sleep 1000`))
	pid := numbers(t, line(p))[0]
	escaped, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer escaped.Kill()
	within(t, p.Close)
	if !alive(pid) {
		t.Error("the descendant was not out of reach: the documentation says so")
	}
}

func TestKill(t *testing.T) {
	p := start(t, patient(sh(stubborn)))
	pids := numbers(t, line(p))
	p.Kill()
	p.Kill()
	waitDone(t, p)
	waitGone(t, pids...)
	p.Close()
	p.Kill()
}

func TestKillCutsCloseShort(t *testing.T) {
	p := start(t, patient(sh(stubborn)))
	line(p)
	go p.Kill()
	within(t, p.Close)
}

// The group would have an hour of grace after its leader.
func TestKillCutsTheGraceOfTheGroupShort(t *testing.T) {
	p := start(t, patient(sh(`(trap '' TERM; echo $!; exec sleep 1000) & read x`)))
	line(p)
	p.Stdin().Close()
	eventually(t, "the leader is a zombie", func() bool { return !alive(p.Pid()) })
	p.Kill()
	waitDone(t, p)
}

func TestCloseByMany(t *testing.T) {
	p := start(t, sh(stubborn))
	pids := numbers(t, line(p))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			p.Close()
			select {
			case <-p.Done():
			default:
				t.Error("Close returned before the end")
			}
		})
	}
	all.Wait()
	p.Close()
	waitGone(t, pids...)
}

func TestCloseAfterTheEnd(t *testing.T) {
	p := start(t, sh("true"))
	waitDone(t, p)
	p.Close()
	if p.Err() != nil {
		t.Error(p.Err())
	}
	if proc.Watched(p) {
		t.Error("a group that is gone is watched")
	}
}

func TestManyLeaveNothing(t *testing.T) {
	start(t, sh("true")).Close() // opens the files of the watcher
	before := files(t)
	var all sync.WaitGroup
	pids := make(chan int, 150)
	for i := range 50 {
		all.Go(func() {
			p, err := proc.Start(t.Context(), sh(`sleep 1000 & echo $!; `+[]string{"cat", "sleep 1000", "exit 1"}[i%3]))
			if err != nil {
				t.Error(err)
				return
			}
			pids <- numbers(t, line(p))[0]
			pids <- p.Pid()
			p.Close()
		})
	}
	all.Wait()
	close(pids)
	for pid := range pids {
		waitGone(t, pid)
	}
	if z := zombies(t); len(z) != 0 {
		t.Errorf("zombies: %v", z)
	}
	if after := files(t); after > before {
		t.Errorf("%d files open, %d before", after, before)
	}
}

func TestAFailedStartLeavesNoFiles(t *testing.T) {
	start(t, sh("true")).Close()
	before := files(t)
	for range 20 {
		if _, err := proc.Start(t.Context(), proc.Command{Path: "no-such"}); err == nil {
			t.Fatal("it started")
		}
	}
	if after := files(t); after > before {
		t.Errorf("%d files open, %d before", after, before)
	}
}

// files counts the open files of this process.
func files(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(list)
}

// zombies lists our children that have not been reaped.
func zombies(t *testing.T) (found []string) {
	t.Helper()
	all, err := processes.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Parent == os.Getpid() && strings.HasPrefix(p.State, "Z") {
			found = append(found, p.String())
		}
	}
	return found
}

func within(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { do(); close(done) }()
	select {
	case <-done:
	case <-time.After(deadline):
		t.Fatal("it hangs")
	}
}
