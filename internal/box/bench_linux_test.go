package box_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/box"
)

// BenchmarkStart runs a program in a sandbox and without one, in turn. The metric "ratio" compares both.
func BenchmarkStart(b *testing.B) {
	node, err := exec.LookPath("node")
	if err != nil {
		b.Skip("there is no Node")
	}
	dir := b.TempDir()
	confined := &box.Box{Home: dir + "/home"}
	if os.Geteuid() == 0 {
		confined.User = nobody
		for up := dir; up != os.TempDir(); up = filepath.Dir(up) {
			_ = os.Chmod(up, 0o755)
		}
	}
	for _, program := range [][]string{{"/bin/true"}, {node, "-e", "0"}} {
		b.Run(program[0], func(b *testing.B) {
			var with, without time.Duration
			for range b.N {
				without += timed(b, os.StartProcess, program)
				with += timed(b, confined.Start, program)
			}
			b.ReportMetric(float64(with)/float64(without), "ratio")
			b.ReportMetric(float64((with-without).Microseconds())/float64(b.N), "µs-more")
		})
	}
}

// timed starts a program and waits for its end.
func timed(b *testing.B, start func(string, []string, *os.ProcAttr) (*os.Process, error), argv []string) time.Duration {
	begun := time.Now()
	child, err := start(argv[0], argv, &os.ProcAttr{Dir: "/", Env: os.Environ()})
	if err != nil {
		b.Fatal(err)
	}
	state, err := child.Wait()
	if err != nil || !state.Success() {
		b.Fatal(state, err)
	}
	return time.Since(begun)
}
