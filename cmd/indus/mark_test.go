package main

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
		if hasMark(filepath.Base(dir), mark) {
			line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			found = append(found, filepath.Base(dir)+": "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

func hasMark(pid, mark string) bool {
	env, _ := os.ReadFile(filepath.Join("/proc", pid, "environ")) // empty for a zombie
	return bytes.Contains(append([]byte{0}, env...), []byte("\x00"+markName+"="+mark+"\x00"))
}

// waitMarked waits until enough processes carry the mark. There is no event for it.
func waitMarked(t testing.TB, mark string, enough func(running []string) bool) {
	t.Helper()
	eventually(t, func() string {
		if running := markedProcesses(t, mark); !enough(running) {
			return "these run:\n" + strings.Join(running, "\n")
		}
		return ""
	})
}

// waitGone waits until no process carries the mark. Between two searches it reads only the processes that it has found.
func waitGone(t testing.TB, mark string) {
	t.Helper()
	left := markedProcesses(t, mark)
	eventually(t, func() string {
		left = slices.DeleteFunc(left, func(found string) bool {
			pid, _, _ := strings.Cut(found, ":")
			return !hasMark(pid, mark)
		})
		if len(left) == 0 {
			left = markedProcesses(t, mark)
		}
		if len(left) > 0 {
			return "still running:\n" + strings.Join(left, "\n")
		}
		return ""
	})
}
