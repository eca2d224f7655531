package box_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/indusagi/indus/internal/box"
)

// TestLimitsOfAGroup uses a directory in place of a cgroup, which shows what is written there.
func TestLimitsOfAGroup(t *testing.T) {
	parent := t.TempDir()
	empty := filepath.Join(parent, "indus-box-1")
	must(t, os.Mkdir(empty, 0o755))
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	child, err := os.StartProcess("/bin/sh", []string{"sh", "-c", "sleep 60 & echo $!; wait"},
		&os.ProcAttr{Files: []*os.File{nil, w, nil}})
	must(t, err)
	w.Close()
	grandchild, err := bufio.NewReader(r).ReadString('\n')
	must(t, err)
	defer func() {
		_ = child.Kill()
		_, _ = child.Wait()
		var pid int
		_, _ = fmt.Sscan(grandchild, &pid)
		_ = unix.Kill(pid, unix.SIGKILL)
	}()
	b := &box.Box{Limits: box.Limits{Memory: 1 << 30, Processes: 128}}
	must(t, b.EnterGroup(child, parent))
	for file, want := range map[string]string{
		"memory.max": "1073741824", "pids.max": "128", "memory.swap.max": "0", "cgroup.procs": strings.TrimSpace(grandchild),
	} {
		text, err := os.ReadFile(filepath.Join(parent, fmt.Sprintf("indus-box-%d", child.Pid), file))
		if err != nil || string(text) != want {
			t.Errorf("%s: %q, %v, want %s", file, text, err, want)
		}
	}
	if _, err := os.Stat(empty); err == nil {
		t.Error("the cgroup of a process that has ended is still there")
	}
}

// TestOpenFilesAreLimited checks both limits of a process, from its inside.
func TestOpenFilesAreLimited(t *testing.T) {
	b := newRoom(t).boxed()
	b.Limits.Files = 77
	// The limits are set just after the start.
	script := `i=0; while [ "$(ulimit -n)" != 77 ] && [ $i -lt 1000 ]; do sleep 0.01; i=$((i+1)); done; ulimit -n; ulimit -H -c`
	if out, _ := output(t, b, "/bin/sh", "-c", script); out != "77\n0" {
		t.Errorf("%q", out)
	}
}
