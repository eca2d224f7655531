package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// TestATerminalSeesTheDoctorWait checks that servers being waited for are drawn on stderr, and erased before the
// results are printed.
func TestATerminalSeesTheDoctorWait(t *testing.T) {
	t.Parallel()
	slow, f := hangingServer(t)
	seen, tty := pseudoTerminal(t, 60, 10)
	cmd := indusCommand(t, map[string]row{"good": {fixture.Build(t), nil, nil}, "slow": slow}, "mcp", "doctor")
	cmd.Env = append(cmd.Env, "TERM=xterm")
	cmd.Stderr = tty
	p := launch(t, cmd)
	seen.waitFor(t, `slow  connecting  `, p.done)
	p.waitFor(&p.out, `(?m)^good  (.*\n)+  ok    schemas `)
	if text := p.out.String(); strings.Contains(text, "\nslow  ") {
		t.Errorf("it speaks of a server that is still connecting: %q", text)
	}
	releaseServer(f)
	p.ends(0)
	seen.waitFor(t, regexp.QuoteMeta("\x1b[?7l\r\x1b[2A\x1b[J\x1b[?7h")+"$", nil)
	if text := p.out.String(); strings.Contains(text, "\x1b") || !strings.Contains(text, "2 servers: 2 are well") {
		t.Errorf("%q", text)
	}
}
