package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// approveTerminal is a command that asks for approval on a terminal: its output and its keyboard.
type approveTerminal struct {
	*program
	seen *transcript
	keys *os.File
}

func startApprove(t *testing.T, project string) *approveTerminal {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, ".indusvx", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(project), 0o600); err != nil {
		t.Fatal(err)
	}
	return startOnTerminal(t, dir, "mcp", "approve")
}

// startOnTerminal starts a command on a terminal, in a directory that is also its home.
func startOnTerminal(t *testing.T, dir string, args ...string) *approveTerminal {
	t.Helper()
	keys, tty := openTerminal(t, 80, 24)
	seen := &transcript{}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(seen, keys) // ends when the terminal is closed on all sides
	}()
	t.Cleanup(func() {
		tty.Close()
		<-read
		keys.Close()
	})
	cmd := projectCommand(dir, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	p := &program{t: t, cmd: cmd, done: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = cmd.Wait()
		tty.Close() // then its last output is read before done
		<-read
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.done
	})
	return &approveTerminal{p, seen, keys}
}

// projectCommand returns a command of indus in a directory that is also its home.
func projectCommand(dir string, args ...string) *exec.Cmd {
	cmd := timedCommand(args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "HOME="+dir, "USERPROFILE="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir,
		"TERM=xterm")
	return cmd
}

func (a *approveTerminal) types(keys string) {
	a.t.Helper()
	if _, err := io.WriteString(a.keys, keys); err != nil {
		a.t.Fatal(err)
	}
}

// states returns the states of servers in the project, from indus mcp get.
func (a *approveTerminal) states(ids ...string) string {
	a.t.Helper()
	var out []string
	for _, id := range ids {
		text, err := projectCommand(a.cmd.Dir, "mcp", "get", id).Output()
		if err != nil {
			a.t.Fatal(err)
		}
		out = append(out, strings.Fields(string(text))[1])
	}
	return strings.Join(out, " ")
}

func TestApproveAsksOnATerminal(t *testing.T) {
	t.Parallel()
	a := startApprove(t, `{"servers": {
		"one": {"command": "x", "args": ["\u001b[2Jred"], "env": {"TOKEN": "s3cret"}},
		"two": {"url": "https://h/\u202ex"},
		"three": {"command": "z"},
		"four": {"command": "z"},
		"five": {"command": "z"}
	}}`)
	a.seen.waitFor(t, `approve one\? \[y/N\] $`, a.done)
	a.types("y\n")
	a.seen.waitFor(t, `approved one(.*\n)+.*approve two\? \[y/N\] $`, a.done)
	a.types("\n")
	a.seen.waitFor(t, `not approved: two(.*\n)+.*approve three\? \[y/N\] $`, a.done)
	a.types("YES\n")
	a.seen.waitFor(t, `approve four\? \[y/N\] $`, a.done)
	a.types("\x04") // the end of the input
	a.seen.waitFor(t, `not approved: four, five`, a.done)
	a.ends(0)
	text := a.seen.String()
	if strings.Contains(text, "\x1b") || strings.Contains(text, "\u202e") || !strings.Contains(text, "TOKEN=s3cret") {
		t.Errorf("it says %q", text)
	}
	if got := a.states("one", "two", "three", "four", "five"); got != "active held active held held" {
		t.Errorf("they are %s", got)
	}
}

// TestApproveAsksAgainAboutWhatACommandGives checks that the output of a command is shown and approved separately.
func TestApproveAsksAgainAboutWhatACommandGives(t *testing.T) {
	t.Parallel()
	a := startApprove(t, `{"servers": {
		"one": {"url": "https://${cmd:echo evil.example.com}/mcp"},
		"two": {"url": "https://${cmd:touch ran; echo two.example.com}/mcp"},
		"three": {"url": "https://${cmd:echo three.example.com}/mcp"}
	}}`)
	a.seen.waitFor(t, `approve one\? \[y/N\] $`, a.done)
	if strings.Contains(a.seen.String(), "host ") {
		t.Errorf("it knows the host: %q", a.seen)
	}
	a.types("y\n")
	a.seen.waitFor(t, `host +evil\.example\.com(.*\n)+.*approve one as it is now\? \[y/N\] $`, a.done)
	a.types("n\n")
	a.seen.waitFor(t, `not approved: one(.*\n)+.*approve two\? \[y/N\] $`, a.done)
	a.types("n\n")
	a.seen.waitFor(t, `not approved: two(.*\n)+.*approve three\? \[y/N\] $`, a.done)
	a.types("y\n")
	a.seen.waitFor(t, `approve three as it is now\? \[y/N\] $`, a.done)
	a.types("y\n")
	a.ends(0)
	if got := a.states("one", "two", "three"); got != "held held active" {
		t.Errorf("they are %s", got)
	}
	if _, err := os.Stat(filepath.Join(a.cmd.Dir, "ran")); err == nil {
		t.Error("a command that was not approved ran")
	}
}

func TestApproveIsInterrupted(t *testing.T) {
	t.Parallel()
	a := startApprove(t, `{"servers": {"one": {"command": "x"}}}`)
	a.seen.waitFor(t, `approve one\? \[y/N\] $`, a.done)
	a.signal(syscall.SIGINT)
	a.ends(130)
	if got := a.states("one"); got != "held" {
		t.Errorf("it is %s", got)
	}
}

// TestApproveShowsAllOfIt checks that a long command is shown to its end, and that a name cannot pass for other text.
func TestApproveShowsAllOfIt(t *testing.T) {
	t.Parallel()
	padding := strings.Repeat("harmless ", 1000)
	a := startApprove(t,
		`{"servers": {"fs  .indusvx/mcp.json:3: fine": {"command": "sh", "args": ["-c", "`+padding+`; the end of it"]}}}`)
	a.seen.waitFor(t, `; the end of\s+it'(.*\n)*approve 'fs  \.indusvx/mcp\.json:3: fine'\? \[y/N\] $`, a.done)
	a.types("n\n")
	a.ends(0)
}
