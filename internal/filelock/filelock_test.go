//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows

package filelock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/indusagi/indus/internal/filelock"
)

const lockOf = "FILELOCK_TEST_LOCK"

// TestMain is also a program that takes a lock, reports it, and keeps the lock until it is killed.
func TestMain(m *testing.M) {
	path := os.Getenv(lockOf)
	if path == "" {
		os.Exit(m.Run())
	}
	_, err := filelock.Lock(context.Background(), path)
	fmt.Println(err)
	_, _ = os.Stdin.Read(make([]byte, 1))
}

func TestOneAtATime(t *testing.T) {
	for name, lock := range map[string]func(context.Context, string) (func(), error){"lasting": filelock.Lock,
		"passing": filelock.LockTemporary} {
		t.Run(name, func(t *testing.T) { oneAtATime(t, lock) })
	}
}

func oneAtATime(t *testing.T, lock func(context.Context, string) (func(), error)) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	var inside atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 5 {
				unlock, err := lock(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d have the lock", n)
				}
				runtime.Gosched()
				inside.Add(-1)
				unlock()
			}
		})
	}
	all.Wait()
	if left, err := os.ReadDir(dir); err != nil || t.Name() == "TestOneAtATime/passing" && len(left) > 0 &&
		runtime.GOOS != "windows" {
		t.Error(left, err)
	}
}

func TestTheWaitEndsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := filelock.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := filelock.Lock(ctx, path); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	unlock()
	unlock, err = filelock.Lock(ctx, path) // a free lock is taken without a wait
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestALockEndsWithItsProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), lockOf+"="+path)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "<nil>\n" {
		t.Fatal(line, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := filelock.Lock(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("the other process has not got it: %v", err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // killed
	unlock, err := filelock.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestWhereNoLockCanBe(t *testing.T) {
	if _, err := filelock.Lock(t.Context(), filepath.Join(t.TempDir(), "none", "lock")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
