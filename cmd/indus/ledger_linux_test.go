package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/ledger"
)

// TestWatchDrawsATerminalAnew checks that lines keep their places while servers start and stop.
func TestWatchDrawsATerminalAnew(t *testing.T) {
	t.Parallel()
	f := fixture.New(t, "-list-file", fixture.File(t, shelfTools))
	cmd := indusCommand(t, map[string]row{"shelf": {f.Path, f.Args, nil}}, "serve", "--addr", "127.0.0.1:0")
	p := launch(t, cmd)
	p.waitFor(&p.err, `shelf: ready`)
	eventually(t, func() string { return missing(len(ledger.Live(entriesOf(t, ledgerOf(t, cmd)))) == 2, "two tools") })

	seen, tty := pseudoTerminal(t, 120, 10)
	look := indusCommand(t, nil, "mcp", "watch")
	look.Args = look.Args[:3] // it reads no configuration
	look.Env, look.Dir = append(cmd.Env, "TERM=xterm"), cmd.Dir
	look.Stdout = tty
	w := launch(t, look)
	seen.waitFor(t, `indus serve at http://\S+, process \d+ \([0-9A-Z]{4}\), since `, w.done)
	seen.waitFor(t, `  shelf  ready  2 tools  since `, w.done)

	piped := indusCommand(t, nil, "mcp", "watch", "--json")
	piped.Args, piped.Env, piped.Dir = piped.Args[:4], cmd.Env, cmd.Dir
	lines := launch(t, piped)
	lines.waitFor(&lines.out, `"server":"shelf","health":"ready",.*"tools":2,`)

	configure(t, cmd, map[string]row{})
	// The server's line is gone.
	seen.waitFor(t, regexp.QuoteMeta("\x1b[2A")+`indus serve at [^\n]*`+`\x1b\[K\s+\x1b\[J\x1b\[\?7h`, w.done)
	lines.waitFor(&lines.out, `"server":"shelf",.*"gone":true`)
	p.signal(syscall.SIGKILL)
	p.ends(-1)
	seen.waitFor(t, `no indus serve is running`, w.done)
	w.signal(syscall.SIGINT)
	w.ends(0)
	lines.signal(syscall.SIGTERM)
	lines.ends(0)
}

func missing(ok bool, what string) string {
	if ok {
		return ""
	}
	return "there never was " + what
}

// TestServingGoesBeforeTheLedger checks that tools are served if the ledger cannot be opened or written, or is locked
// by another process. The problem is reported once.
func TestServingGoesBeforeTheLedger(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, dir string) (flags []string)
		told    string
	}{
		"no directory can be made": {func(t *testing.T, dir string) []string {
			return []string{"--ledger", filepath.Join(os.DevNull, "indus", "ledger.jsonl")}
		}, `no ledger is kept: .*not a directory`},
		"somebody holds it": {func(t *testing.T, dir string) []string {
			path := filepath.Join(dir, "held.jsonl")
			if _, err := ledger.OpenFile(t.Context(), path, nil); err != nil {
				t.Fatal(err)
			}
			lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { lock.Close() })
			if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			return []string{"--ledger", path}
		}, `no ledger is kept: .*held\.jsonl: another process keeps it locked`},
		"its directory goes": {func(t *testing.T, dir string) []string {
			return []string{"--ledger", filepath.Join(dir, "state", "ledger.jsonl")}
		}, `the ledger cannot be written, and serving goes on: `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := fixture.File(t, shelfTools)
			f := fixture.New(t, "-hang", "server/discover", "-list-file", list)
			cmd := indusCommand(t, map[string]row{"shelf": {f.Path, f.Args, nil}}, "serve", "--addr", "127.0.0.1:0")
			cmd.Args = append(cmd.Args, c.prepare(t, cmd.Dir)...)
			p := launch(t, cmd)
			url := p.waitFor(&p.err, `serving at (\S+)\n`)
			f.Wait("recv server/discover") // by now the ledger is open, if it can be opened
			if name == "its directory goes" {
				if err := os.RemoveAll(filepath.Join(cmd.Dir, "state")); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(cmd.Dir, "state"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f.Send("release server/discover")
			p.waitFor(&p.err, `shelf: ready`)
			p.waitFor(&p.err, c.told)
			if err := callError(t.Context(), dial(t, url), "shelf__echo", map[string]any{"message": "hi"}); err != nil {
				t.Error(err)
			}
			p.signal(syscall.SIGTERM)
			p.ends(0)
			if n := len(regexp.MustCompile(c.told).FindAllString(p.err.String(), -1)); n != 1 {
				t.Errorf("it was told %d times", n)
			}
		})
	}
}

// TestNothingIsLetInWithoutALedger checks that all tools are held back if changes must be held back and the approvals
// are unknown.
func TestNothingIsLetInWithoutALedger(t *testing.T) {
	t.Parallel()
	f := fixture.New(t, "-list-file", fixture.File(t, shelfTools))
	cmd := indusCommand(t, map[string]row{"shelf": {f.Path, f.Args, nil}}, "serve", "--addr", "127.0.0.1:0",
		"--changes", "hold", "--ledger", filepath.Join(os.DevNull, "indus", "ledger.jsonl"))
	p := launch(t, cmd)
	url := p.waitFor(&p.err, `serving at (\S+)\n`)
	p.waitFor(&p.err, `no ledger is kept: .*not a directory; with --changes hold every tool is held back, until `)
	p.waitFor(&p.err, `shelf: ready`)
	if err := callError(t.Context(), dial(t, url), "shelf__echo", map[string]any{"message": "hi"}); err == nil {
		t.Error("a tool is live of which nobody knows what it was")
	}
	p.signal(syscall.SIGTERM)
	p.ends(0)
	if told := p.err.String(); strings.Contains(told, "not what it was") {
		t.Errorf("it claims to know what changed:\n%s", told)
	}
}

// TestAClosedTerminalEndsServe checks that SIGHUP reloads the configuration, but ends a process whose terminal is
// closed.
func TestAClosedTerminalEndsServe(t *testing.T) {
	t.Parallel()
	f := fixture.New(t)
	cmd := indusCommand(t, map[string]row{"one": {f.Path, f.Args, nil}}, "serve", "--addr", "127.0.0.1:0")
	control, tty := openTerminal(t, 80, 24)
	cmd.Stderr = tty
	p := launch(t, cmd)
	tty.Close()
	readUntil(t, control, `one: ready`)
	p.signal(syscall.SIGHUP)
	readUntil(t, control, `the configuration was read again: 1 unchanged`)
	control.Close() // the window closes, and no process may be reading it
	p.signal(syscall.SIGHUP)
	p.ends(0)
}

// readUntil reads a terminal until it shows a pattern, or until the program ends.
func readUntil(t *testing.T, control *os.File, pattern string) {
	t.Helper()
	re, text, buf := regexp.MustCompile(pattern), "", make([]byte, 4096)
	for !re.MatchString(text) {
		n, err := control.Read(buf)
		text += string(buf[:n])
		if err != nil {
			t.Fatalf("never %q, but %v:\n%s", pattern, err, text)
		}
	}
}

// TestAPipeIsReadOnce checks that a configuration from a pipe stays in use, although it cannot be read again.
func TestAPipeIsReadOnce(t *testing.T) {
	t.Parallel()
	f := fixture.New(t)
	cmd := indusCommand(t, map[string]row{"one": {f.Path, f.Args, nil}}, "serve", "--addr", "127.0.0.1:0")
	raw, err := os.ReadFile(filepath.Join(cmd.Dir, "servers.json"))
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	w.Close()
	cmd.ExtraFiles = []*os.File{r}
	cmd.Args[len(cmd.Args)-1] = "/dev/fd/3"
	p := launch(t, cmd)
	r.Close()
	p.waitFor(&p.err, `one: ready`)
	p.waitFor(&p.err, `/dev/fd/3 can be read only once: changes of it are not seen`)
	p.signal(syscall.SIGHUP)
	p.signal(syscall.SIGTERM)
	p.ends(0)
	if strings.Contains(p.err.String(), "the configuration") {
		t.Error("it was read again")
	}
}
