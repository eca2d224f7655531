package audit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/control/audit"
)

// processLog returns the path of the log of a process beside a log.
func processLog(path string, number int) string {
	return strings.TrimSuffix(path, ".jsonl") + fmt.Sprintf("-process-%d.jsonl", number)
}

func toolsOf(t *testing.T, path string, f *audit.Filter) (tools []string) {
	t.Helper()
	_, err := audit.Read(t.Context(), path, f, func(r *audit.Record) error {
		if r.Tool != "" {
			tools = append(tools, r.Tool)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// TestLogsOfProcessesAreReadTogether checks that records of a log and of the logs of processes beside it are read in the
// order of their times, and no other file.
func TestLogsOfProcessesAreReadTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	for _, other := range []string{"audit-process-x.jsonl", "audit-process-9.a.b.jsonl", "audit-process-.jsonl", "audit-process-9.txt", "audit2-process-9.jsonl", "audit-9.jsonl"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), other), []byte("no record\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	logs := map[string]*audit.Log{}
	began := time.Now().Add(time.Hour)
	write := func(at int, path string) {
		t.Helper()
		if logs[path] == nil {
			logs[path] = open(t, path, &audit.Options{MaxSize: 3000})
		}
		r := call(fmt.Sprint(at))
		r.At = began.Add(time.Duration(at) * time.Second)
		add(t, logs[path], r)
	}
	one, two := processLog(path, 1), audit.ProcessPath(path)
	for at := range 20 {
		write(at, []string{one, two}[at%2])
	}
	var want []string
	for at := range 20 {
		want = append(want, fmt.Sprint(at))
	}
	if got := toolsOf(t, path, nil); !slices.Equal(got, want) { // no log at the path itself
		t.Errorf("%v", got)
	}
	for at := 20; at < 60; at++ {
		write(at, []string{path, one, two, path}[at%4])
		want = append(want, fmt.Sprint(at))
	}
	paths, err := audit.Logs(path)
	if err != nil || !slices.Equal(paths, []string{path, one, two}) {
		t.Errorf("%v, %v", paths, err)
	}
	if got := toolsOf(t, path, nil); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := toolsOf(t, path, &audit.Filter{Last: 7}); !slices.Equal(got, want[53:]) {
		t.Errorf("the last: %v", got)
	}
	if got := toolsOf(t, one, &audit.Filter{Last: 2}); !slices.Equal(got, []string{"53", "57"}) {
		t.Errorf("of one process: %v", got)
	}
	enough, n := errors.New("enough"), 0
	if _, err := audit.Read(t.Context(), path, nil, func(*audit.Record) error { n++; return enough }); err != enough || n != 1 {
		t.Errorf("%v after %d", err, n)
	}
	for _, p := range paths {
		if r, err := audit.Verify(t.Context(), p); err != nil || !r.Intact() || r.Files < 2 {
			t.Errorf("%s: %+v, %v", p, r, err)
		}
	}
}

// TestFollowReadsNewProcesses checks that Follow reads each record of each log once, also of a process that begins later.
func TestFollowReadsNewProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	own, first := open(t, path, nil), open(t, processLog(path, 1), &audit.Options{MaxSize: 2000})
	for i := range 10 {
		add(t, own, call(fmt.Sprint("own ", i)))
		add(t, first, call(fmt.Sprint("first ", i)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := map[string]int{}
	var later *audit.Log
	err := audit.Follow(ctx, path, &audit.Filter{Server: "fs"}, func(r *audit.Record) error {
		seen[r.Tool]++
		switch len(seen) {
		case 20:
			later = open(t, processLog(path, 2), nil)
			for i := range 10 {
				add(t, first, call(fmt.Sprint("more ", i)))
				add(t, later, call(fmt.Sprint("later ", i)))
			}
		case 40:
			cancel()
		}
		return nil
	})
	if err != nil || len(seen) != 40 {
		t.Fatalf("%d, %v", len(seen), err)
	}
	for tool, n := range seen {
		if n != 1 {
			t.Errorf("%s: %d times", tool, n)
		}
	}
}

// TestALogWithoutARequestIsRemoved checks that a process that served nothing leaves no file, and others leave theirs.
func TestALogWithoutARequestIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, want := range map[string]int{"none.jsonl": 0, "some.jsonl": 2, "common.jsonl": 2} {
		path := filepath.Join(dir, name)
		if name != "common.jsonl" {
			path = audit.ProcessPath(path)
		}
		log := open(t, path, nil)
		if name == "some.jsonl" {
			add(t, log, call("t"))
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		files, err := filepath.Glob(strings.TrimSuffix(path, ".jsonl") + "*")
		if err != nil || len(files) != want {
			t.Errorf("%s: %v, %v, want %d", name, files, err, want)
		}
	}
}
