package audit_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/indusagi/indus/control/audit"
)

// TestFullDisk fills a file system of 64 KiB. It needs root; without, TestFileSizeLimit covers the same code.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=700"); err != nil {
		t.Skipf("no small file system can be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	for _, mode := range []audit.OnFull{audit.Stop, audit.Continue} {
		path := filepath.Join(dir, fmt.Sprint(mode), "audit.jsonl")
		l, logged := onFull(t, path, mode)
		add(t, l, call("a"))
		ballast := filepath.Join(dir, "ballast")
		_ = os.WriteFile(ballast, make([]byte, 64<<10), 0o600) // fails in its middle
		failed := fill(t, l, mode, syscall.ENOSPC)
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		recovered(t, l, path, failed, logged.String())
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
	}
}

// fill appends until the disk is full, and 9 times more. It returns the number of lost records.
func fill(t *testing.T, l *audit.Log, mode audit.OnFull, want error) (failed int) {
	t.Helper()
	for i := 0; i < 2000 && failed < 10; i++ {
		r := call("b")
		err := l.Append(&r)
		switch {
		case mode == audit.Stop && err != nil:
			failed++
			if !errors.Is(err, want) || l.Ready() == nil {
				t.Fatal(err)
			}
		case err != nil:
			t.Fatal(err)
		}
	}
	if mode == audit.Stop && failed < 10 {
		t.Fatal("the disk was never full")
	}
	return failed
}

// recovered checks that records are written again, after a record that counts the lost ones.
func recovered(t *testing.T, l *audit.Log, path string, failed int, logged string) {
	t.Helper()
	if err := l.Ready(); err != nil {
		t.Fatal(err)
	}
	add(t, l, call("last"))
	r := wantIntact(t, path)
	if r.Lost == 0 || failed > 0 && int(r.Lost) != failed || !strings.Contains(logged, "audit records cannot be written") {
		t.Errorf("%d lost records, want %d; logged: %s", r.Lost, failed, logged)
	}
	if got := read(t, path, &audit.Filter{Last: 1}); len(got) != 1 || got[0].Tool != "last" {
		t.Errorf("%+v", got)
	}
}
