package proc_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/internal/proc"
)

// inside runs a test of this package as PID 1 of a PID namespace.
func inside(t *testing.T, test string) {
	t.Helper()
	flags := []string{"--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child", "--"}
	if out, err := exec.Command("unshare", append(flags, "true")...).CombinedOutput(); err != nil {
		t.Skipf("no namespaces for us here: %v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append(flags, os.Args[0], "-test.run=^"+test+"$", "-test.v")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// In a container that was entered from outside, the session of all processes has no number.
// Processes that left the group of a server must be found anyway.
func TestInAPIDNamespace(t *testing.T) { inside(t, "TestCloseEndsWhatLeftTheGroup") }

// PID 1 is the parent of each daemon. Its own children must keep their exit status.
func TestReapOrphansAsPIDOne(t *testing.T) {
	if os.Getpid() != 1 {
		inside(t, t.Name())
		return
	}
	t.Cleanup(proc.ReapOrphans())
	const daemon = `(setsid sh -c 'echo $$' &); `
	server := start(t, sh(daemon+`cat`))
	pids := numbers(t, line(server))
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			p := start(t, sh(daemon+`exit 7`))
			waitDone(t, p)
			exit, ok := errors.AsType[*exec.ExitError](p.Err())
			if !ok || exit.ExitCode() != 7 {
				t.Errorf("a server ended with %v", p.Err())
			}
		})
		all.Go(func() {
			if exit, err := proc.Run(context.Background(), sh(daemon+`exit 7`), nil, nil, nil); exit != 7 || err != nil {
				t.Errorf("a command ended with %d, %v", exit, err)
			}
		})
		all.Go(func() {
			if err := exec.Command("sh", "-c", daemon+`exit 7`).Run(); fmt.Sprint(err) != "exit status 7" {
				t.Errorf("a command of os/exec ended with %v", err)
			}
		})
	}
	all.Wait()
	for _, pid := range pids {
		eventually(t, "the daemon is reaped", func() bool {
			_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
			return err != nil
		})
	}
	server.Close()
	eventually(t, "no zombie is left", func() bool {
		stats, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, name := range stats {
			stat, _ := os.ReadFile(name)
			if _, rest, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(rest, "Z") {
				return false
			}
		}
		return true
	})
}
