package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/filelock"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"golang.org/x/sys/unix"
)

// TestATerminalSeesServersConnect checks that stderr shows a line per connecting server. The lines are erased before
// the table is printed on stdout, which has no escape sequences.
func TestATerminalSeesServersConnect(t *testing.T) {
	t.Parallel()
	slow, f := hangingServer(t)
	seen, tty := pseudoTerminal(t, 60, 10)
	cmd := indusCommand(t, map[string]row{"good": {fixture.Build(t), nil, nil}, "slow": slow}, "mcp", "ls")
	cmd.Env = append(cmd.Env, "TERM=xterm")
	cmd.Stderr = tty
	p := launch(t, cmd)
	seen.waitFor(t, `good  ready       \d+ tools, `, p.done)
	seen.waitFor(t, `slow  connecting  `, p.done)
	releaseServer(f)
	p.ends(0)
	seen.waitFor(t, regexp.QuoteMeta("\x1b[?7l\r\x1b[2A\x1b[J\x1b[?7h")+"$", nil) // they were erased
	if text := p.out.String(); strings.Contains(text, "\x1b") || !strings.Contains(text, "slow    ready") {
		t.Errorf("%q", text)
	}
}

// TestAServerDoesNotDriveTheTerminal checks that control characters are removed from a server's text and escaped in its
// JSON.
func TestAServerDoesNotDriveTheTerminal(t *testing.T) {
	t.Parallel()
	const evil = `{"message":"\u001b[2Jred\u009b1m\u202e\nline"}`
	for _, c := range []struct{ flag, want string }{
		{"--json=false", "[2Jred1m\r\nline\r\n"},
		{"--json=true", `"text":"\u001b[2Jred\u009b1m\u202e\nline"`},
	} {
		seen, tty := pseudoTerminal(t, 60, 10)
		cmd := indusCommand(t, map[string]row{"one": {fixture.Build(t), nil, nil}}, "mcp", "call", "one__echo", "--args",
			evil, c.flag)
		cmd.Env = append(cmd.Env, "TERM=xterm")
		cmd.Stdout = tty
		p := launch(t, cmd)
		p.ends(0)
		seen.waitFor(t, regexp.QuoteMeta(c.want), nil)
	}
}

// pseudoTerminal returns a terminal of this size, and a transcript of its output.
func pseudoTerminal(t testing.TB, columns, rows uint16) (*transcript, *os.File) {
	t.Helper()
	control, tty := openTerminal(t, columns, rows)
	seen := &transcript{}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(seen, control) // ends when the terminal is closed on all sides
	}()
	t.Cleanup(func() {
		tty.Close()
		<-read
		control.Close()
	})
	return seen, tty
}

// openTerminal opens a terminal of this size and returns both sides: for the window and for the program.
func openTerminal(t testing.TB, columns, rows uint16) (control, tty *os.File) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(control.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows})
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return control, tty
}

// TestATerminalSeesALockThatIsWaitedFor checks that commands say which lock they wait for, and go on once it is free.
func TestATerminalSeesALockThatIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lock, says string // the file, in the state directory
		args       []string
	}{
		"ledger":  {"ledger.jsonl.lock", "that has the ledger", []string{"mcp", "log"}},
		"connect": {"edit.lock", "that changes the configuration", []string{"connect", "cursor", "--yes"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen, tty := pseudoTerminal(t, 80, 10)
			cmd := indusCommand(t, nil, c.args...)
			cmd.Env = append(cmd.Env, "TERM=xterm")
			cmd.Stderr = tty
			state := filepath.Join(cmd.Dir, "indus")
			if err := os.Mkdir(state, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(state, "ledger.jsonl"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			unlock, err := filelock.Lock(t.Context(), filepath.Join(state, c.lock))
			if err != nil {
				t.Fatal(err)
			}
			p := launch(t, cmd)
			seen.waitFor(t, "waiting for another indus "+c.says+"  1s", p.done)
			unlock()
			p.ends(0)
		})
	}
}
