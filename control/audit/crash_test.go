//go:build linux || darwin

package audit_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/internal/testkit/fixture"
)

const (
	crashPath  = "AUDIT_TEST_PATH"  // this process appends until it is killed
	crashLimit = "AUDIT_TEST_LIMIT" // the largest file, in bytes
	crashMode  = "AUDIT_TEST_MODE"
)

// TestMain is also a program that appends records from 50 goroutines, and prints the tool of each acknowledged one.
func TestMain(m *testing.M) {
	path := os.Getenv(crashPath)
	switch {
	case path == "":
		os.Exit(m.Run())
	case os.Getenv(crashLimit) != "":
		limitedWriter(path)
	default:
		endlessWriter(path)
	}
}

func endlessWriter(path string) {
	l, err := audit.Open(path, &audit.Options{MaxSize: 256 << 10})
	if err != nil {
		panic(err)
	}
	run := os.Getpid()
	var all sync.WaitGroup
	for g := range 50 {
		all.Go(func() {
			for i := 0; ; i++ {
				r := call(fmt.Sprintf("%d-%d-%d", run, g, i))
				if err := l.Append(&r); err != nil {
					panic(err)
				}
				if _, err := os.Stdout.WriteString(r.Tool + "\n"); err != nil {
					panic(err)
				}
			}
		})
	}
	all.Wait()
}

func child(path string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), crashPath+"="+path), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// TestKilledWriter kills a process that writes under load, again and again, while its files rotate. Each acknowledged
// record must be in the log, once, and the log must be intact.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	const kills = 10
	total := fixture.Size(t, 20_000, 100_000)
	path := newPath(t)
	acknowledged := map[string]bool{}
	for k := range kills {
		cmd := child(path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		killed := false
		for lines := bufio.NewReader(out); ; {
			line, err := lines.ReadString('\n')
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			acknowledged[strings.TrimSuffix(line, "\n")] = true
			if !killed && len(acknowledged) >= (k+1)*total/kills {
				killed = true
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait()
		if !killed {
			t.Fatal("the writer ended by itself")
		}
	}
	l := open(t, path, nil) // cuts a torn end
	add(t, l, call("end"))
	r := wantIntact(t, path)
	seen := map[string]bool{}
	for _, r := range read(t, path, nil) {
		if seen[r.Tool] {
			t.Errorf("%s is there twice", r.Tool)
		}
		seen[r.Tool] = true
	}
	for tool := range acknowledged {
		if !seen[tool] {
			t.Errorf("%s was acknowledged, and is not there", tool)
		}
	}
	t.Logf("%d records in %d files, %d acknowledged", r.Records, r.Files, len(acknowledged))
}

// limitedWriter appends with a limit of the size of files, which ends writes in the middle of a line.
func limitedWriter(path string) {
	limit, err := strconv.ParseUint(os.Getenv(crashLimit), 10, 64)
	if err != nil {
		panic(err)
	}
	mode, _ := strconv.Atoi(os.Getenv(crashMode))
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		panic(err)
	}
	l, err := audit.Open(path, &audit.Options{OnFull: audit.OnFull(mode)})
	if err != nil {
		panic(err)
	}
	setLimit := func(n uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: old.Max}); err != nil {
			panic(err)
		}
	}
	setLimit(limit)
	failed := 0
	for range 100 {
		r := call("x")
		if err := l.Append(&r); err != nil {
			failed++
		}
	}
	setLimit(old.Cur)
	r := call("last")
	if err := l.Append(&r); err != nil {
		panic(err)
	}
	fmt.Println(failed)
}

// TestFileSizeLimit lets writes end at every kind of byte of a line.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	for _, mode := range []audit.OnFull{audit.Stop, audit.Continue} {
		for limit := 5000; limit < 5400; limit += 67 {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			cmd := child(path, fmt.Sprintf("%s=%d", crashLimit, limit), fmt.Sprintf("%s=%d", crashMode, mode))
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			failed, err := strconv.Atoi(string(bytes.TrimSpace(out)))
			if err != nil {
				t.Fatal(err)
			}
			r := wantIntact(t, path)
			written := len(read(t, path, nil))
			if written+int(r.Lost) != 101 || r.Lost == 0 || mode == audit.Stop && failed != int(r.Lost) ||
				mode == audit.Continue && failed > 0 {
				t.Errorf("limit %d: %d written, %d lost, %d failed", limit, written, r.Lost, failed)
			}
		}
	}
}
