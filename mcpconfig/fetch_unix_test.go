//go:build unix

package mcpconfig_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
)

// pipe returns the path of a named pipe, through which a command reports to the
// test.
func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(tempDir(t), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// told waits for the text that comes through a pipe, and returns it.
func told(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// waitGone waits until none of the processes lives. The time limit of the test
// bounds it.
func waitGone(t *testing.T, pids string) {
	t.Helper()
	for _, text := range strings.Fields(pids) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		for !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) && !zombie(pid) {
			time.Sleep(time.Millisecond)
		}
	}
}

// zombie reports whether a process is dead and only waits to be reaped. The first
// process of the machine decides when that happens.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}

func TestACommandThatTakesTooLongIsEndedWithItsChildren(t *testing.T) {
	t.Parallel()
	p := pipe(t)
	pids := make(chan string, 1)
	go func() { pids <- told(t, p) }()
	// Both processes ignore SIGTERM.
	line := `trap '' TERM; sleep 1000 & echo s3cret; echo $$ $! > ` + p + `; wait`
	value, wrong := mcpconfig.RunSecret(t.Context(), line, 3*time.Second) // the pipe has the ids by then
	if value != "" || wrong != "took longer than 3 s" {
		t.Errorf("%q, %s", value, wrong)
	}
	waitGone(t, <-pids)
}

func TestACommandLeavesNothingRunning(t *testing.T) {
	p := pipe(t)
	pids := make(chan string, 1)
	go func() { pids <- told(t, p) }()
	value, wrong := mcpconfig.RunSecret(t.Context(), `sleep 1000 >/dev/null 2>&1 & echo $! > `+p+`; echo done`, time.Minute)
	if value != "done" || wrong != "" {
		t.Errorf("%q, %s", value, wrong)
	}
	waitGone(t, <-pids)
}

func TestACommandThatPrintsTooMuchIsEnded(t *testing.T) {
	t.Parallel()
	value, wrong := mcpconfig.RunSecret(t.Context(), `while :; do echo s3cret; done`, time.Hour)
	if value != "" || wrong != "printed more than 64 KiB" {
		t.Errorf("%q, %s", value, wrong)
	}
	for size, want := range map[int]string{64 << 10: "", 64<<10 + 1: "printed more than 64 KiB"} {
		value, wrong := mcpconfig.RunSecret(t.Context(), fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x; echo`, size), time.Hour)
		if wrong != want || want == "" && len(value) != size {
			t.Errorf("%d: %d bytes, %s", size, len(value), wrong)
		}
	}
}

func TestReadEndsItsCommandsWithItsContext(t *testing.T) {
	p := pipe(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, `{"servers": {"a": {"command": "x", "args": ["${cmd:sleep 1000 & echo $$ $! > `+p+`; wait}"]}}}`)
	ctx, cancel := context.WithCancel(t.Context())
	pids := make(chan string, 1)
	go func() {
		pids <- told(t, p)
		cancel()
	}()
	c, err := mcpconfig.Read(ctx, []string{path}, nil)
	if c != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", c, err)
	}
	waitGone(t, <-pids)
}

// Each of the two waits for the other, so they end only if both run at the same
// time.
func TestCommandsRunSideBySide(t *testing.T) {
	one, two := pipe(t), pipe(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, fmt.Sprintf(`{"servers": {
		"a": {"command": "x", "args": ["${cmd:echo from-a > %[1]s; cat %[2]s}"]},
		"b": {"command": "x", "args": ["${cmd:cat %[1]s; echo from-b > %[2]s}"]}
	}}`, one, two))
	c, err := mcpconfig.Read(t.Context(), []string{path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Servers()) != 2 || len(c.Notes) != 0 {
		t.Errorf("%v", c.Notes)
	}
}

func TestACommandRunsOnceAReading(t *testing.T) {
	dir := tempDir(t)
	path := filepath.Join(dir, "mcp.json")
	const cmd = `${cmd:echo ran >> log; echo x}`
	write(t, path, `{"servers": {
		"a": {"command": "x", "args": ["`+cmd+`", "`+cmd+`"], "env": {"A": "`+cmd+`"}},
		"b": {"command": "`+cmd+`"}
	}}`)
	c, err := mcpconfig.Read(t.Context(), []string{path}, nil)
	if err != nil || len(c.Servers()) != 2 {
		t.Fatal(c, err)
	}
	if log, err := os.ReadFile(filepath.Join(dir, "log")); err != nil || string(log) != "ran\n" {
		t.Errorf("%q, %v", log, err)
	}
}

// Before approval, no command of a project's file runs and no file is read. The
// same holds for a row that does not start.
func TestNothingIsFetchedForARowThatDoesNotStart(t *testing.T) {
	const evil = `"command": "x", "env": {"A": "${cmd:touch ran}", "B": "${file:pipe}"}, "args": ["${cmd:touch ran}"], "cwd": "${cmd:touch ran}"`
	p := newProject(t)
	p.write(`{"servers": {
		"held": {` + evil + `},
		"off": {` + evil + `, "disabled": true},
		"skipped": {` + evil + `, "tools": 1},
		"unset": {"url": "https://${UNSET}/", "headers": {"A": "${cmd:touch ran}", "B": "${file:pipe}"}},
		"twice": {` + evil + `}
	}, "mcpServers": {"twice": {"command": "x"}}}`)
	if err := syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := p.read()
	if got := states(c); got != "held held\noff disabled\nskipped skipped\nunset skipped\ntwice shadowed\ntwice held" {
		t.Fatal(got)
	}
	p.approve(c.Rows[5])
	if got := states(p.read()); !strings.HasSuffix(got, "twice active") {
		t.Fatal(got)
	}
	dry := p.options()
	dry.Trust, dry.Dry = true, true
	if c, err := mcpconfig.Read(t.Context(), nil, dry); err != nil || len(c.Servers()) != 2 {
		t.Fatal(c, err)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "ran")); err == nil {
		t.Error("something ran")
	}
}

// A secret must be in a regular file. None of these paths blocks, and none is
// read.
func TestWhatIsNoFileIsNotRead(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"loop": "loop", "nothing": "none", "to-pipe": "pipe"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	sparse := filepath.Join(dir, "sparse")
	write(t, sparse, "")
	if err := os.Truncate(sparse, 1<<40); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "nul"), "a\x00b")
	write(t, filepath.Join(dir, "line"), "\r\n")
	write(t, filepath.Join(dir, "full"), strings.Repeat("x", 64<<10))
	write(t, filepath.Join(dir, "over"), strings.Repeat("x", 64<<10+1))
	for name, want := range map[string]string{
		"pipe": "not a file but a named pipe", "to-pipe": "not a file but a named pipe", "/dev/zero": "not a file but a device",
		"loop": "too many levels of symbolic links", "nothing": "no such file or directory", ".": "not a file but a directory",
		"sparse": "larger than 64 KiB", "over": "larger than 64 KiB", "nul": "holds a NUL character", "line": "holds nothing", "full": "",
	} {
		path := filepath.Join(dir, "mcp.json")
		write(t, path, `{"servers": {"a": {"command": "x", "env": {"A": "${file:`+name+`}"}}}}`)
		c, err := mcpconfig.Read(t.Context(), []string{path}, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case want == "" && len(c.Notes) != 0, want != "" && len(c.Servers()) != 0:
			t.Errorf("%s: %v", name, c.Notes)
		case want != "" && !strings.Contains(c.Notes[0].Reason, `env "A": "${file:`+name+`}": `+want):
			t.Errorf("%s: %v, want %s", name, c.Notes[0], want)
		}
	}
}

// Files of the kernel have no size, and some of them block. The reader must end.
func TestAFileOfTheKernelIsNotRead(t *testing.T) {
	const name = "/proc/self/environ"
	if _, err := os.Stat(name); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, `{"servers": {"a": {"command": "x", "env": {"A": "${file:`+name+`}"}}}}`)
	c, err := mcpconfig.Read(t.Context(), []string{path}, nil)
	if err != nil || len(c.Notes) != 1 || !strings.HasSuffix(c.Notes[0].Reason, ": is empty") {
		t.Error(c, err)
	}
}

// If a keyring is locked, a server of the same name in another file must not start
// instead.
func TestAFailedFetchKeepsItsID(t *testing.T) {
	p := newProject(t)
	write(t, filepath.Join(p.home, ".config", "indusvx", "mcp.json"), `{"servers": {"a": {"command": "x", "env": {"A": "${cmd:exit 3}"}}}}`)
	write(t, filepath.Join(p.home, ".indusvx", "agent", "mcp.json"), `{"servers": {"a": {"command": "other"}}}`)
	c := p.read()
	if got := states(c); got != "a skipped\na shadowed" {
		t.Errorf("%s\n%v", got, c.Notes)
	}
	if r := c.Rows[0]; r.Reason != `env "A": ${cmd:…} ended with exit status 3` || r.Server.Transport != nil {
		t.Errorf("%s, %v", r.Reason, r.Server.Transport)
	}
}

func TestWatchedIsWhatChangesTheOutcome(t *testing.T) {
	p := newProject(t)
	p.write(`{"servers": {"held": {"command": "x", "env": {"A": "${file:theirs}"}}}}`)
	own := filepath.Join(p.home, ".config", "indusvx")
	write(t, filepath.Join(own, "token"), "t")
	write(t, filepath.Join(own, "mcp.json"), `{"servers": {
		"a": {"command": "x", "args": ["${file:token}", "${file:./token}"]},
		"b": {"command": "x", "args": ["${file:~/none}"]},
		"c": {"command": "x", "args": ["${file:off}"], "enabled": false}
	}}`)
	c := p.read()
	want := append(append([]string{}, c.Searched...), p.store(), filepath.Join(own, "token"), filepath.Join(p.home, "none"), filepath.Join(p.dir, "theirs"))
	if fmt.Sprint(c.Watched) != fmt.Sprint(want) {
		t.Errorf("%v\nwant %v", c.Watched, want)
	}
}

// For servers that are not selected, nothing is run, and they are not returned.
func TestOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	text := `{"servers": {"a": {"command": "a", "env": {"A": "${cmd:touch a.ran; echo a}"}}, "b": {"command": "b", "env": {"B": "${cmd:touch b.ran; echo b}"}}}}`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := mcpconfig.Read(t.Context(), []string{path}, &mcpconfig.Options{Home: dir, Only: func(id string) bool { return id == "b" }})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Servers(); len(c.Rows) != 2 || len(got) != 1 || got[0].ID != "b" || got[0].Transport.(config.Stdio).Env[0].Value.Reveal() != "b" {
		t.Errorf("%d rows, servers %v", len(c.Rows), got)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.ran")); err == nil {
		t.Error("the command of a was run")
	}
	if _, err := os.Stat(filepath.Join(dir, "b.ran")); err != nil {
		t.Error(err)
	}
}

// Resolve runs the commands that are part of a server's command line, and no other
// command of its row.
func TestResolveFetchesNothingElse(t *testing.T) {
	p := newProject(t)
	ran := filepath.Join(t.TempDir(), "ran")
	p.write(`{"servers": {"a": {"command": "run", "args": ["${cmd:echo one}"], "env": {"A": "${cmd:touch ` + ran + `; echo a}"}}}}`)
	c := p.read()
	r := p.resolve(c, c.Held()[0])
	if args := r.Server.Transport.(config.Stdio).Args; len(args) != 1 || args[0] != "one" || r.Pinned() {
		t.Errorf("%q, %v", args, r)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a command of the environment ran")
	}
}
