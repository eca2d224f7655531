package main

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// markName is the variable that marks the processes of a test's servers. Child processes inherit it.
const markName = "INDUS_TEST_MARK"

func newMark() string { return rand.Text() }

// markedProcesses returns the processes that carry a mark. It ignores zombies, because reaping them depends on the
// system's init.
func markedProcesses(t testing.TB, mark string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(all) == 0 {
		t.Log("without /proc nobody knows what a process was given: nothing is looked for")
	}
	var found []string
	for _, dir := range all {
		env, _ := os.ReadFile(filepath.Join(dir, "environ")) // empty for a zombie
		for pair := range bytes.SplitSeq(env, []byte{0}) {
			if string(pair) == markName+"="+mark {
				line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
				found = append(found, filepath.Base(dir)+": "+strings.ReplaceAll(string(line), "\x00", " "))
			}
		}
	}
	return found
}

// waitGone waits until no process carries the mark.
func waitGone(t testing.TB, mark string) {
	t.Helper()
	late := time.After(deadline)
	for {
		left := markedProcesses(t, mark)
		if len(left) == 0 {
			return
		}
		select {
		case <-late:
			t.Fatalf("still running:\n%s", strings.Join(left, "\n"))
		case <-time.After(10 * time.Millisecond):
		}
	}
}
